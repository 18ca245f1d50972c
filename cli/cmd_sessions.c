/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows sessions: the list, newest first, or those sessions that pass every filter. */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/show.h"
#include "cli/source.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/quantity.h"
#include "narrows/result.h"

enum { COUNT_DEFAULT = 20 };

struct filter {
	const char *host, *program, *verdict; /* NULL: any */
	int64_t since_wall_ns;                /* 0: any */
	long count;
	bool json;
};

/* --- filters --- */

/* Whether one of the names in "dtn-a -> dtn-b" or "vm (local)" is the host. */
static bool
route_has(const char *route, const char *host)
{
	size_t len;

	for (; route != NULL && *route != '\0'; route += len + strspn(route + len, " ->")) {
		len = strcspn(route, " ");
		if (strlen(host) == len && strncmp(route, host, len) == 0)
			return true;
	}
	return false;
}

/* The verdict of a listed session as the list prints: a stage in words, "cannot tell", or the state
 * of a session without a verdict. */
static const char *
verdict_words(const json_t *o)
{
	const char *stage = result_text(o, KEY_listed_stage);

	if (stage != NULL)
		return result_stage_words(stage);
	if (result_text(o, KEY_listed_sentence) != NULL)
		return "cannot tell";
	return result_text(o, KEY_listed_state);
}

/* A verdict may be named by the stage's key or by the words. */
static bool
verdict_is(const json_t *o, const char *wanted)
{
	const char *stage = result_text(o, KEY_listed_stage), *words = verdict_words(o);

	return (stage != NULL && strcmp(stage, wanted) == 0) ||
	    (words != NULL && strcmp(words, wanted) == 0);
}

static bool
passes(const json_t *o, const struct filter *f)
{
	const char *program = result_text(o, KEY_listed_program);

	return (f->host == NULL || route_has(result_text(o, KEY_listed_route), f->host)) &&
	    (f->program == NULL || (program != NULL && strcmp(program, f->program) == 0)) &&
	    (f->verdict == NULL || verdict_is(o, f->verdict)) &&
	    result_ns(o, KEY_listed_start_ns) >= f->since_wall_ns;
}

/* A time in ISO 8601, or a time span before now. */
static bool
since_parse(const char *text, int64_t *wall_ns)
{
	int64_t span_ns;
	const char *why;

	if ((*wall_ns = fmt_parse_iso(text)) > 0)
		return true;
	if (quantity_duration(text, &span_ns, &why) < 0)
		return false;
	*wall_ns = nw_wall_ns() - span_ns;
	return true;
}

/* --- output --- */

static void
session_print(const json_t *o)
{
	const char *verdict = verdict_words(o);
	char start[32];

	snprintf(start, sizeof(start), "%.19s", show_text(o, KEY_listed_start, "-"));
	printf("%6" JSON_INTEGER_FORMAT "  %-19s  %-28s  %-12s  %9s  %11s  %s\n",
	    json_integer_value(result_get(o, KEY_listed_id)), start,
	    show_text(o, KEY_listed_route, "-"), show_text(o, KEY_listed_program, "-"),
	    fmt_bytes(result_number(o, KEY_listed_bytes)).s,
	    fmt_bytes_per_s(result_number(o, KEY_listed_bytes_per_s)).s,
	    verdict != NULL ? show_string(verdict) : "-");
}

/* Prints the sessions of a page that pass, at most *left of them. */
static void
page_print(const json_t *list, const struct filter *f, long *left)
{
	json_t *o;
	size_t i;

	json_array_foreach(list, i, o)
	{
		if (*left == 0 || !passes(o, f))
			continue;
		--*left;
		if (f->json) {
			json_dumpf(o, stdout, JSON_COMPACT);
			putchar('\n');
		} else
			session_print(o);
	}
}

/* Pages are read as long as they may hold what is asked for. Sessions come by number: a session
 * that is a day older than the filter's time ends the search. */
static int
sessions_print(struct source *s, const struct filter *f)
{
	const int64_t day_ns = INT64_C(86400) * 1000000000;
	const json_t *list, *last;
	int64_t before = 0;
	long left = f->count;
	json_t *doc;

	do {
		if ((doc = source_sessions(s, before)) == NULL)
			return COMMAND_FAILED;
		if (!f->json && before == 0)
			printf("%6s  %-19s  %-28s  %-12s  %9s  %11s  %s\n", "id", "start (UTC)",
			    "route", "program", "bytes", "rate", "limited by");
		list = result_get(doc, KEY_sessions_sessions);
		page_print(list, f, &left);
		before = json_integer_value(result_get(doc, KEY_sessions_next_before));
		last = json_array_get(list, json_array_size(list) - 1);
		if (last != NULL &&
		    result_ns(last, KEY_listed_start_ns) < f->since_wall_ns - day_ns)
			before = 0;
		json_decref(doc);
	} while (before > 0 && left > 0);
	return ferror(stdout) || fflush(stdout) != 0;
}

static bool
filter_parse(struct filter *f, int argc, char **argv)
{
	static const struct option longs[] = { { "json", no_argument, NULL, 'j' },
		{ "host", required_argument, NULL, 'H' },
		{ "program", required_argument, NULL, 'p' },
		{ "since", required_argument, NULL, 'S' },
		{ "verdict", required_argument, NULL, 'v' }, { NULL, 0, NULL, 0 } };
	bool good = true;
	char *end;
	int ch;

	*f = (struct filter){ .count = COUNT_DEFAULT };
	while (good && (ch = getopt_long(argc, argv, "jn:", longs, NULL)) != -1)
		switch (ch) {
		case 'H': f->host = optarg; break;
		case 'j': f->json = true; break;
		case 'n':
			f->count = strtol(optarg, &end, 10);
			good = f->count > 0 && *end == '\0';
			break;
		case 'p': f->program = optarg; break;
		case 'S': good = since_parse(optarg, &f->since_wall_ns); break;
		case 'v': f->verdict = optarg; break;
		default: good = false;
		}
	return good && optind == argc;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	struct filter f;

	if (!filter_parse(&f, argc, argv))
		return command_misused(env->command);
	return sessions_print(env->source, &f);
}

const struct command command_sessions = {
	.name = "sessions",
	.summary = "list sessions, newest first",
	.usage = "[-n COUNT] [--json] [--host HOST] [--program NAME] [--since TIME] [--verdict "
		 "STAGE]",
	.help = "  -n COUNT          list COUNT sessions; 20 if not given\n"
		"  -j, --json        one JSON object a line\n"
		"      --host        only sessions with this host in their route\n"
		"      --program     only sessions of this program\n"
		"      --since       only sessions from this time: 2026-11-20T08:12:11Z, or 2h, 7d "
		"before now\n"
		"      --verdict     only sessions that this stage limited: network, \"disk "
		"write\", \"cannot tell\", open\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};
