/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows routes, route and expected: the routes, the history of a route, regular sessions. */
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/route_rows.h"
#include "cli/show.h"
#include "cli/source.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/terminal.h"
#include "narrows/xmalloc.h"

static const char heading[] =
    "route                         program       sessions   usual rate  most verdicts";

static void
route_print(const json_t *o, bool all)
{
	const char *stage = result_text(o, KEY_route_listed_stage);

	(void)all;
	printf("%-28s  %-12s  %8.0f  %11s  %s\n", show_text(o, KEY_route_listed_route, "-"),
	    show_text(o, KEY_route_listed_program, "-"),
	    result_number(o, KEY_route_listed_n_sessions),
	    fmt_bytes_per_s(result_number(o, KEY_route_listed_bytes_per_s)).s,
	    stage != NULL ? terminal_text(result_stage_words(stage)) : "-");
	printf("    %s\n", show_text(o, KEY_route_listed_sentence, "-"));
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	static const struct route_rows rows = { false, source_routes, KEY_routes_routes,
		KEY_route_listed_route, KEY_route_listed_program, heading, route_print };

	return route_rows_run(&rows, env, argc, argv);
}

const struct command command_routes = {
	.name = "routes",
	.summary = "list the routes: usual rates, and since when they are slower",
	.usage = "[--json] [--host HOST] [--program NAME]",
	.help = "  -j, --json        one JSON object a line\n"
		"      --host        only routes with this host\n"
		"      --program     only routes of this program\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};

/* --- narrows expected: regular sessions, and missing sessions --- */

static const char expected_heading[] =
    "state     route                         program            every  next before";

static void
expected_print(const json_t *o, bool all)
{
	const double every_s = result_number(o, KEY_expected_every_s);

	(void)all;
	printf("%-8s  %-28s  %-12s  %9s  %s%s\n",
	    result_bool(o, KEY_expected_missing) == 1 ? "missing" : "expected",
	    show_text(o, KEY_expected_route, "-"), show_text(o, KEY_expected_program, "-"),
	    isfinite(every_s) ? fmt_duration(every_s).s : "-", show_text(o, KEY_expected_due, "-"),
	    result_bool(o, KEY_expected_told) == 1 ? " (narrowsd.conf)" : "");
}

static int
expected_run(const struct command_env *env, int argc, char **argv)
{
	static const struct route_rows rows = { false, source_expected, KEY_expected_list_expected,
		KEY_expected_route, KEY_expected_program, expected_heading, expected_print };

	return route_rows_run(&rows, env, argc, argv);
}

const struct command command_expected = {
	.name = "expected",
	.summary = "list the sessions that come regularly, the longest overdue first",
	.usage = "[--json] [--host HOST] [--program NAME]",
	.help = "  -j, --json        one JSON object a line\n"
		"      --host        only routes with this host\n"
		"      --program     only routes of this program\n"
		"Sessions that narrowsd.conf expects are known to a running box alone: -u URL.\n",
	.needs = NEEDS_SOURCE,
	.run = expected_run,
};

/* --- narrows route: the history of one route --- */

/* The program of the route with the newest session, if the user names none. Free the text. */
static char *
program_find(struct source *source, const char *route)
{
	json_t *doc = source_routes(source);
	const json_t *row;
	char *program = NULL;
	size_t i;

	json_array_foreach(result_list(doc, KEY_routes_routes), i, row)
	{
		const char *name = result_text(row, KEY_route_listed_route),
			   *runs = result_text(row, KEY_route_listed_program);

		if (program == NULL && name != NULL && strcmp(name, route) == 0)
			program = xstrdup(runs != NULL ? runs : "");
	}
	if (doc != NULL && program == NULL)
		command_failed(route, "no such route: \"narrows routes\" lists all");
	json_decref(doc);
	return program;
}

static void
sentences_print(const char *title, const json_t *list, enum result_key key)
{
	const json_t *row;
	size_t i;

	if (json_array_size(list) == 0)
		return;
	printf("\n%s\n", title);
	json_array_foreach(list, i, row) printf("- %s\n", show_text(row, key, "?"));
}

static void
verdicts_print(const json_t *doc)
{
	const json_t *row;
	size_t i;

	printf("\nVerdicts\n");
	json_array_foreach(result_list(doc, KEY_route_verdicts), i, row)
	{
		const char *stage = result_text(row, KEY_route_verdict_stage);

		printf("%8.0f  %s\n", result_number(row, KEY_route_verdict_n),
		    stage != NULL ? terminal_text(result_stage_words(stage)) : "cannot tell");
	}
}

/* The newest active tests of the path. */
static void
tests_print(const json_t *doc)
{
	enum { SHOWN_MAX = 10 };
	const json_t *list = result_list(doc, KEY_route_active_tests), *row;
	size_t i;

	if (json_array_size(list) == 0)
		return;
	printf("\nActive tests of the path\n");
	if (result_get(doc, KEY_route_tests_sentence) != NULL)
		printf("%s\n", show_text(doc, KEY_route_tests_sentence, "?"));
	json_array_foreach(list, i, row)
	{
		const double rate = result_number(row, KEY_active_test_bytes_per_s),
			     loss = result_number(row, KEY_active_test_loss);

		if (i == SHOWN_MAX)
			break;
		printf("%s  %-10s  %11s  %s%s\n",
		    fmt_iso(result_ns(row, KEY_active_test_start_ns), 0).s,
		    show_text(row, KEY_active_test_kind, "?"),
		    rate > 0 ? fmt_plain(fmt_bits_per_s(rate)).s : "-",
		    isfinite(loss) ? fmt_plain(fmt_percent(loss)).s : "",
		    result_bool(row, KEY_active_test_succeeded) != 1 ? "failed"
			: isfinite(loss)                             ? " lost"
								     : "");
	}
}

static void
history_text(const json_t *doc)
{
	static const struct {
		enum result_key object, sentence;
	} patterns[] = {
		{ KEY_route_hours, KEY_route_pattern_sentence },
		{ KEY_route_weekdays, KEY_route_pattern_sentence },
	};
	size_t i;

	printf("%s (%s)\n%s\n", show_text(doc, KEY_route_route, "?"),
	    show_text(doc, KEY_route_program, "unknown program"),
	    show_text(doc, KEY_route_sentence, "?"));
	printf("Best %s (session %.0f), worst %s (session %.0f).\n",
	    fmt_bytes_per_s(result_number(doc, KEY_route_best)).s,
	    result_number(doc, KEY_route_best_session),
	    fmt_bytes_per_s(result_number(doc, KEY_route_worst)).s,
	    result_number(doc, KEY_route_worst_session));
	for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (result_get(doc, patterns[i].object) != NULL)
			printf("%s\n",
			    show_text(
				result_get(doc, patterns[i].object), patterns[i].sentence, "?"));
	sentences_print("Incidents", result_list(doc, KEY_route_incidents), KEY_incident_sentence);
	sentences_print(
	    "New levels", result_list(doc, KEY_route_changes), KEY_route_change_sentence);
	sentences_print("Advice", result_list(doc, KEY_route_advice), KEY_route_advice_title);
	verdicts_print(doc);
	tests_print(doc);
}

static int
history_print(struct source *source, const char *route, const char *program, bool json)
{
	json_t *doc = source_route(source, route, program);

	if (doc == NULL)
		return COMMAND_FAILED;
	if (json)
		show_json_line(doc);
	else
		history_text(doc);
	json_decref(doc);
	return ferror(stdout) || fflush(stdout) != 0;
}

static int
route_run(const struct command_env *env, int argc, char **argv)
{
	static const struct option longs[] = { { "json", no_argument, NULL, 'j' },
		{ "program", required_argument, NULL, 'p' }, { NULL, 0, NULL, 0 } };
	const char *program = NULL;
	char *found = NULL;
	bool json = false;
	int ch, status;

	while ((ch = getopt_long(argc, argv, "jp:", longs, NULL)) != -1)
		switch (ch) {
		case 'j': json = true; break;
		case 'p': program = optarg; break;
		default: return command_misused(env->command);
		}
	if (optind + 1 != argc)
		return command_misused(env->command);
	if (program == NULL && (found = program_find(env->source, argv[optind])) == NULL)
		return COMMAND_FAILED;
	status = history_print(env->source, argv[optind], program != NULL ? program : found, json);
	free(found);
	return status;
}

const struct command command_route = {
	.name = "route",
	.summary = "the history of a route: usual rate, incidents, levels, verdicts",
	.usage = "[--json] [--program NAME] ROUTE     (ROUTE: as in the list of routes)",
	.help = "  -j, --json     the document of the history\n"
		"  -p, --program  the program, if not that of the newest session\n",
	.needs = NEEDS_SOURCE,
	.run = route_run,
};
