/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/last.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/show.h"
#include "cli/source.h"
#include "narrows/address.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/lastrun.h"
#include "narrows/result.h"
#include "narrows/task.h"
#include "narrows/terminal.h"

/* FINAL_STEPS: for the verdict of a run that is over; ABSENT_STEPS: for a run that no session
 * shows; PAGES_MAX: of the list, before the run's session is given up. */
enum { FINAL_STEPS = 240, ABSENT_STEPS = 40, STEP_US = 250000, PAGES_MAX = 50 };
/* A run older than RECENT_NS without a session here went elsewhere. A session may begin CLOCKS_NS
 * before its run, by the clock of another host. */
#define DEFAULT_BOX "127.0.0.1/5006" /* of nwrun */
static const int64_t RECENT_NS = INT64_C(600000000000), CLOCKS_NS = INT64_C(600000000000);

/* The newest session of a box, and the session of this user's newest run; 0 without such a
 * session. */
struct newest {
	int64_t id, start_wall_ns, run_id;
	bool run_judged; /* closed, and with the verdict of the whole session */
};

/* An open session has a verdict of the data so far, which stays for a moment after the close. */
static bool
is_judged(struct source *s, const json_t *listed)
{
	const char *state = result_text(listed, KEY_listed_state);
	json_t *doc;
	char *text;
	bool judged;

	if (state == NULL || strcmp(state, "closed") != 0 ||
	    !json_is_true(result_get(listed, KEY_listed_analysed)) ||
	    (text = source_result(s, json_integer_value(result_get(listed, KEY_listed_id)))) ==
		NULL)
		return false;
	doc = json_loads(text, 0, NULL);
	state = result_text(result_get(doc, KEY_result_session), KEY_session_state);
	judged = state != NULL && strcmp(state, "closed") == 0;
	json_decref(doc);
	free(text);
	return judged;
}

/* Looks for the run in a page of the list. Returns whether an older page may have the run. */
static bool
page_read(struct source *s, const json_t *doc, const char *label, int64_t since_wall_ns,
    struct newest *out)
{
	const json_t *list = result_list(doc, KEY_sessions_sessions), *o;
	const char *task;
	size_t i;

	json_array_foreach(list, i, o)
	{
		if (out->id == 0) {
			out->id = json_integer_value(result_get(o, KEY_listed_id));
			out->start_wall_ns = result_ns(o, KEY_listed_start_ns);
		}
		task = result_text(o, KEY_listed_task_id);
		if (label != NULL && task != NULL && strcmp(task, label) == 0) {
			out->run_id = json_integer_value(result_get(o, KEY_listed_id));
			out->run_judged = is_judged(s, o);
			return false;
		}
		if (result_ns(o, KEY_listed_start_ns) < since_wall_ns)
			return false;
	}
	return label != NULL;
}

static int
newest_get(struct source *s, const struct lastrun *run, struct newest *out)
{
	char *label = run != NULL ? task_label(run->task) : NULL;
	int64_t before = 0, since = run != NULL ? run->start_wall_ns - CLOCKS_NS : 0;
	json_t *doc;
	bool more;
	int page;

	*out = (struct newest){ 0 };
	for (page = 0; page < PAGES_MAX && (page == 0 || before > 0); page++) {
		if ((doc = source_sessions(s, before, "")) == NULL) {
			free(label);
			return NW_EIO;
		}
		more = page_read(s, doc, label, since, out);
		before = more ? json_integer_value(result_get(doc, KEY_sessions_next_before)) : 0;
		json_decref(doc);
	}
	free(label);
	return NW_OK;
}

/* Whether the run's box may be this one: a port of the box's run file, or no way to tell. */
static bool
is_same_box(struct source *s, const struct lastrun *run)
{
	char host[ADDRESS_HOST_BYTES], *ports, *at, needle[16];
	const char *address = run->box[0] != '\0' ? run->box : DEFAULT_BOX;
	uint16_t port = 5006;
	bool found;

	if (strncmp(address, "tls://", 6) == 0) {
		address += 6;
		port = 5007;
	}
	if ((strchr(address, '/') != NULL && address_parse(address, host, &port) < 0) ||
	    (ports = source_ports(s)) == NULL)
		return true;
	snprintf(needle, sizeof(needle), "/%u", port);
	at = strstr(ports, needle);
	found = at != NULL && strchr(" ,\n", at[strlen(needle)]) != NULL;
	free(ports);
	return found;
}

/* The newest run of the user that may be in this box: another box has the newer runs. */
static bool
run_find(struct source *s, struct lastrun *out, bool *same_box)
{
	struct lastrun all[LASTRUN_BOXES];
	size_t n = lastrun_read_all(all), i;

	for (i = 0; i < n && all[i].why[0] == '\0' && !is_same_box(s, &all[i]); i++)
		;
	if (i == n)
		i = 0;
	*same_box = n > 0 && is_same_box(s, &all[i]);
	if (n > 0)
		*out = all[i];
	return n > 0;
}

/* Whether no session shows the run, which has no older session in the list, or has just been. */
static bool
is_missing(const struct newest *n, const struct lastrun *run)
{
	return n->run_id == 0 &&
	    (n->start_wall_ns < run->start_wall_ns ||
		nw_wall_ns() - run->start_wall_ns < RECENT_NS);
}

static bool
is_over(const struct lastrun *run)
{
	return run->pid > 0 && kill((pid_t)run->pid, 0) != 0 && errno == ESRCH;
}

/* How often to look again: for the run's session, or for its verdict after its end. */
static int
steps_awaited(const struct newest *n, const struct lastrun *run)
{
	if (run->why[0] != '\0')
		return 0;
	if (n->run_id != 0)
		return !n->run_judged && is_over(run) ? FINAL_STEPS : 0;
	return is_missing(n, run) ? ABSENT_STEPS : 0;
}

static void
missing_say(const struct lastrun *run, bool same_box, const struct newest *n)
{
	fprintf(stderr, "narrows: the last nwrun here (task %s, %s) is not in this box: %s%s\n",
	    terminal_text(run->task), fmt_time(run->start_wall_ns).s,
	    run->why[0] != '\0' ? terminal_text(run->why)
		: same_box      ? "the box has no data of that task yet"
				: "the run reported to ",
	    run->why[0] == '\0' && !same_box ? terminal_text(run->box) : "");
	if (n->id != 0)
		fprintf(stderr, "narrows: the newest session is %s:\n",
		    n->start_wall_ns < run->start_wall_ns ? "older than that run"
							  : "of another run");
}

/* The run may have come too late for the list, or another user's session may be newer. */
static void
outcome_say(const struct newest *n, const struct lastrun *run, bool same_box)
{
	if (n->id == 0 && run == NULL)
		fputs("narrows: no sessions yet\n", stderr);
	else if (run != NULL && n->run_id == 0 && is_missing(n, run))
		missing_say(run, same_box, n);
	else if (n->run_id != 0 && n->run_id != n->id)
		fprintf(stderr,
		    "narrows: session %" PRId64 " is newer, and not of this user's last nwrun\n",
		    n->id);
}

int
last_session(struct source *s, int64_t *id)
{
	struct lastrun run;
	struct newest n;
	bool same_box, known = run_find(s, &run, &same_box);
	int steps, rc;

	if ((rc = newest_get(s, known ? &run : NULL, &n)) < 0)
		return rc;
	for (steps = 0; known && same_box && steps < steps_awaited(&n, &run) && source_is_live(s);
	     steps++) {
		usleep(STEP_US);
		if ((rc = newest_get(s, &run, &n)) < 0)
			return rc;
		known = run_find(s, &run, &same_box);
	}
	outcome_say(&n, known ? &run : NULL, same_box);
	*id = n.run_id != 0 ? n.run_id : n.id;
	return *id != 0 ? NW_OK : NW_ENOTFOUND;
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
