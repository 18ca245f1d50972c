/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/last.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/show.h"
#include "cli/source.h"
#include "narrows/address.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/lastrun.h"
#include "narrows/result.h"
#include "narrows/task.h"

enum { WAIT_STEPS = 40, STEP_US = 250000 };

/* The newest session of a list, and the run's, if it is there. */
struct newest {
	int64_t id, start_wall_ns;
	bool has_run, run_judged; /* judged: closed, and with a verdict */
};

static bool
is_judged(const json_t *listed)
{
	const char *state = result_text(listed, KEY_listed_state);

	return state != NULL && strcmp(state, "closed") == 0 &&
	    json_is_true(result_get(listed, KEY_listed_analysed));
}

static int
newest_get(struct source *s, const struct lastrun *run, struct newest *out)
{
	json_t *doc = source_sessions(s, 0, "");
	const json_t *list = result_list(doc, KEY_sessions_sessions);
	const json_t *o;
	const char *task;
	char *label;
	size_t i;

	*out = (struct newest){ 0 };
	if (doc == NULL)
		return NW_EIO;
	label = run != NULL ? task_label(run->task) : NULL;
	json_array_foreach(list, i, o)
	{
		if (i == 0) {
			out->id = json_integer_value(result_get(o, KEY_listed_id));
			out->start_wall_ns = result_ns(o, KEY_listed_start_ns);
		}
		task = result_text(o, KEY_listed_task_id);
		if (label != NULL && task != NULL && strcmp(task, label) == 0) {
			out->has_run = true;
			out->run_judged = is_judged(o);
		}
	}
	free(label);
	json_decref(doc);
	return NW_OK;
}

/* Whether the run's box may be this one: a port of the box's run file, or no way to tell. */
static bool
is_same_box(struct source *s, const struct lastrun *run)
{
	char host[ADDRESS_HOST_BYTES], *ports, *at, needle[16];
	const char *address = run->box;
	uint16_t port;
	bool found;

	if (strncmp(address, "tls://", 6) == 0)
		address += 6;
	if (address_parse(address, host, &port) < 0 || (ports = source_ports(s)) == NULL)
		return true;
	snprintf(needle, sizeof(needle), "/%u", port);
	at = strstr(ports, needle);
	found = at != NULL && strchr(" ,\n", at[strlen(needle)]) != NULL;
	free(ports);
	return found;
}

/* Whether the newest session is older than a run that no session shows. */
static bool
is_missing(const struct newest *n, const struct lastrun *run)
{
	return !n->has_run && n->start_wall_ns < run->start_wall_ns;
}

static bool
is_over(const struct lastrun *run)
{
	return run->pid > 0 && kill((pid_t)run->pid, 0) != 0 && errno == ESRCH;
}

/* Whether the box will soon know more of the run: its session, or the verdict after its end. */
static bool
is_awaited(const struct newest *n, const struct lastrun *run)
{
	return run->why[0] == '\0' &&
	    (is_missing(n, run) || (n->has_run && !n->run_judged && is_over(run)));
}

static void
missing_say(const struct lastrun *run, bool same_box, bool has_older)
{
	fprintf(stderr, "narrows: the last nwrun here (task %s, %s) is not in this box: %s%s\n",
	    show_string(run->task), fmt_time(run->start_wall_ns).s,
	    run->why[0] != '\0' ? show_string(run->why)
		: same_box      ? "the box has no data of that task yet"
				: "the run reported to ",
	    run->why[0] == '\0' && !same_box ? show_string(run->box) : "");
	if (has_older)
		fputs("narrows: the newest session is older than that run:\n", stderr);
}

int
last_session(struct source *s, int64_t *id)
{
	struct lastrun run;
	struct newest n;
	bool known = lastrun_read(&run) == NW_OK, same_box = known && is_same_box(s, &run);
	int steps, rc;

	if ((rc = newest_get(s, known ? &run : NULL, &n)) < 0)
		return rc;
	for (steps = 0;
	     known && same_box && is_awaited(&n, &run) && steps < WAIT_STEPS && source_is_live(s);
	     steps++) {
		usleep(STEP_US);
		if ((rc = newest_get(s, &run, &n)) < 0)
			return rc;
		known = lastrun_read(&run) == NW_OK;
	}
	if (known && is_missing(&n, &run))
		missing_say(&run, same_box, n.id != 0);
	else if (n.id == 0)
		fputs("narrows: no sessions yet\n", stderr);
	*id = n.id;
	return n.id != 0 ? NW_OK : NW_ENOTFOUND;
}

int
last_or_number(struct source *s, const char *text, int64_t *id)
{
	char *end;

	if (strcmp(text, "last") == 0)
		return last_session(s, id);
	errno = 0;
	*id = strtoll(text, &end, 10);
	if (errno == 0 && *text != '\0' && *end == '\0' && *id > 0)
		return NW_OK;
	fprintf(stderr, "narrows: %s: not a session: write a number, or \"last\"\n", text);
	return NW_EINVAL;
}
