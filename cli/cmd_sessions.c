/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows sessions: the list, newest first. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/show.h"
#include "cli/source.h"
#include "narrows/format.h"
#include "narrows/result.h"

static void
session_print(const json_t *o)
{
	char start[32];

	snprintf(start, sizeof(start), "%.19s", show_text(o, KEY_listed_start, "-"));
	printf("%6" JSON_INTEGER_FORMAT "  %-19s  %-28s  %-12s  %9s  %11s  %s\n",
	    json_integer_value(result_get(o, KEY_listed_id)), start,
	    show_text(o, KEY_listed_route, "-"), show_text(o, KEY_listed_program, "-"),
	    fmt_bytes(result_number(o, KEY_listed_bytes)).s,
	    fmt_bytes_per_s(result_number(o, KEY_listed_bytes_per_s)).s,
	    result_text(o, KEY_listed_stage) != NULL
		? show_string(result_stage_words(result_text(o, KEY_listed_stage)))
		: result_text(o, KEY_listed_sentence) != NULL
		? "cannot tell"
		: show_text(o, KEY_listed_state, "-"));
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	static const struct option longs[] = { { "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 } };
	long limit = 20, shown_count = 0;
	const json_t *list;
	json_t *doc, *o;
	int64_t before = 0;
	int ch, json = 0;
	size_t i;
	char *end;

	while ((ch = getopt_long(argc, argv, "jn:", longs, NULL)) != -1) {
		if (ch == 'j')
			json = 1;
		else if (ch == 'n' && (limit = strtol(optarg, &end, 10)) > 0 && *end == '\0')
			continue;
		else
			return command_misused(env->command);
	}
	if (optind != argc)
		return command_misused(env->command);
	do {
		if ((doc = source_sessions(env->source, before)) == NULL)
			return COMMAND_FAILED;
		if (!json && before == 0)
			printf("%6s  %-19s  %-28s  %-12s  %9s  %11s  %s\n", "id", "start (UTC)",
			    "route", "program", "bytes", "rate", "limited by");
		list = result_get(doc, KEY_sessions_sessions);
		json_array_foreach(list, i, o)
		{
			if (shown_count++ >= limit)
				break;
			if (json) {
				json_dumpf(o, stdout, JSON_COMPACT);
				putchar('\n');
			} else
				session_print(o);
		}
		before = json_integer_value(result_get(doc, KEY_sessions_next_before));
		json_decref(doc);
	} while (before > 0 && shown_count < limit);
	return ferror(stdout) || fflush(stdout) != 0;
}

const struct command command_sessions = {
	.name = "sessions",
	.summary = "list sessions, newest first",
	.usage = "[-n COUNT] [--json]",
	.help = "  -n COUNT     list COUNT sessions; 20 if not given\n"
		"  -j, --json   one JSON object a line\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};
