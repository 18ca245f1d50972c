/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows annotate: notes on a session's lifelines, kept with the session. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/last.h"
#include "cli/source.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/store.h"
#include "narrows/utf8.h"
#include "narrows/xmalloc.h"

struct wish {
	const char *line, *point;
	const char
	    *at; /* seconds since the first event, or a time in ISO 8601; NULL: its beginning */
	int64_t drop_id; /* note to delete, or 0 */
};

/* Returns 0, or the exit status after a message. */
static int
wish_parse(const struct command *self, struct wish *w, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "line", required_argument, NULL, 'l' },
		{ "point", required_argument, NULL, 'p' },
		{ "at", required_argument, NULL, 'a' },
		{ "delete", required_argument, NULL, 'd' },
		{ NULL, 0, NULL, 0 },
	};
	char *end;
	int ch;

	while ((ch = getopt_long(argc, argv, "l:p:a:d:", longs, NULL)) != -1)
		switch (ch) {
		case 'l': w->line = optarg; break;
		case 'p': w->point = optarg; break;
		case 'a': w->at = optarg; break;
		case 'd':
			w->drop_id = strtoll(optarg, &end, 10);
			if (*end != '\0' || w->drop_id < 1)
				return command_failed(optarg, "not the number of a note");
			break;
		default: return command_misused(self);
		}
	return optind + (w->drop_id == 0 ? 2 : 0) == argc ? 0 : command_misused(self);
}

static int
first_event(const char *path, int64_t session_id, int64_t *t_wall_ns)
{
	struct nw_event_span span = { .n = 0 };
	char why[STORE_WHY_BYTES];
	struct store_reader *r;
	int rc = store_reader_open(path, &r, why);

	if (rc != NW_OK)
		return rc;
	rc = store_event_span(r, session_id, &span);
	store_reader_close(r);
	*t_wall_ns = span.first_wall_ns;
	return rc == NW_OK && span.n == 0 ? NW_ENOTFOUND : rc;
}

/* The time of a note; NW_EINVAL: no time. */
static int
time_find(const char *path, int64_t session_id, const char *at, int64_t *out)
{
	char *end;
	double seconds;
	int rc;

	if ((rc = first_event(path, session_id, out)) != NW_OK || at == NULL)
		return rc;
	errno = 0;
	seconds = strtod(at, &end);
	if (end != at && *end == '\0')
		return errno == 0 && fabs(seconds) < 4e9 &&
			!__builtin_add_overflow(*out, llround(seconds * 1e9), out)
		    ? NW_OK
		    : NW_EINVAL;
	*out = fmt_parse_iso(at);
	return *out > 0 ? NW_OK : NW_EINVAL;
}

static int
add(const struct command_env *env, const char *path, const struct wish *w, char **argv)
{
	struct nw_note_rec note = { .line = w->line != NULL ? w->line : "",
		.point = w->point != NULL ? w->point : "",
		.text = argv[1],
		.made_wall_ns = nw_wall_ns() };
	struct source *s = source_open(env->state_dir, NULL);
	char why[STORE_WHY_BYTES];
	int64_t id;
	int rc = last_or_number(s, argv[0], &note.session_id);

	source_close(s);
	if (rc < 0)
		return rc == NW_EINVAL ? COMMAND_MISUSED : COMMAND_FAILED;
	if (!utf8_whole(note.text) || !utf8_whole(note.line) || !utf8_whole(note.point))
		return command_failed("annotate", "not UTF-8");
	rc = time_find(path, note.session_id, w->at, &note.t_wall_ns);
	if (rc != NW_OK)
		return command_failed("annotate",
		    rc == NW_EINVAL ? "--at takes seconds or a time in ISO 8601"
				    : "the session has no events");
	if (store_note_add(path, &note, &id, why) < 0)
		return command_failed("annotate", why);
	printf("note %" PRId64 "\n", id);
	return fflush(stdout) != 0 ? COMMAND_FAILED : 0;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	struct wish w = { .line = NULL };
	char *path = xasprintf("%s/narrows.db", env->state_dir), why[STORE_WHY_BYTES];
	int status = wish_parse(env->command, &w, argc, argv);

	if (status == 0 && w.drop_id != 0)
		status =
		    store_note_drop(path, w.drop_id, why) < 0 ? command_failed("annotate", why) : 0;
	else if (status == 0)
		status = add(env, path, &w, argv + optind);
	free(path);
	return status;
}

const struct command command_annotate = {
	.name = "annotate",
	.summary = "keep a note with a session's lifelines",
	.usage = "[OPTION ...] ID TEXT | --delete NOTE     (ID: a number, or \"last\")",
	.help =
	    "  -a, --at TIME      the time that the note speaks of: seconds since the session's\n"
	    "                     first event (0), or ISO 8601\n"
	    "  -l, --line IDS     the lifeline that the note speaks of\n"
	    "  -p, --point NAME   the point of the path\n"
	    "  -d, --delete NOTE  takes a note away, by its number\n",
	.needs = NEEDS_STATE_DIR,
	.run = run,
};
