/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows incidents: the incidents of the routes, newest begin first. */
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/http.h>

#include "cli/cmd.h"
#include "cli/show.h"
#include "cli/source.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/terminal.h"
#include "narrows/xmalloc.h"
#include "web/answer/incidents.h"

struct filter {
	char *query;
	bool json;
};

static bool
query_add(struct filter *f, const char *name, const char *value)
{
	char *encoded = evhttp_uriencode(value, -1, 0),
	     *one = xasprintf("%s=%s", name, encoded != NULL ? encoded : ""),
	     *longer = xasprintf("%s&%s", f->query, one);
	struct incidents_query asked;
	const bool good = encoded != NULL && incidents_query_parse(&asked, one);

	if (!good)
		fprintf(stderr, "narrows: incidents: \"%s\" is not %s\n", terminal_text(value),
		    param_find(incidents_params, name, 0)->form);
	free(f->query);
	f->query = longer;
	free(encoded);
	free(one);
	return good;
}

static bool
parse(struct filter *f, int argc, char **argv)
{
	static const struct option longs[] = { { "open", no_argument, NULL, 'o' },
		{ "json", no_argument, NULL, 'j' }, { "program", required_argument, NULL, 'p' },
		{ "since", required_argument, NULL, 's' }, { NULL, 0, NULL, 0 } };
	bool good = true;
	int ch;

	while (good && (ch = getopt_long(argc, argv, "j", longs, NULL)) != -1)
		switch (ch) {
		case 'o': good = query_add(f, "state", "open"); break;
		case 'p': good = query_add(f, "program", optarg); break;
		case 's': good = query_add(f, "since", optarg); break;
		case 'j': f->json = true; break;
		default: good = false;
		}
	if (good && optind < argc)
		good = query_add(f, "route", argv[optind++]);
	return good && optind == argc;
}

static void
line_print(const char *name, const char *text)
{
	if (text != NULL)
		printf("    %-8s %s\n", name, terminal_text(text));
}

static void
cards_print(const json_t *list)
{
	const json_t *card;
	size_t i;

	json_array_foreach(list, i, card)
	{
		const int kept = result_bool(card, KEY_route_advice_kept);
		const double predicted = result_number(card, KEY_route_advice_predicted);

		printf("    %-8s %s", i == 0 ? "to do" : "",
		    show_text(card, KEY_route_advice_title, "?"));
		if (isfinite(predicted))
			printf(", predicted %s times as fast", fmt_ratio(predicted).s);
		if (kept >= 0)
			printf(", obtained %s: prediction %s",
			    fmt_ratio(result_number(card, KEY_route_advice_obtained)).s,
			    kept == 1 ? "kept" : "not kept");
		else
			printf(", not tried");
		putchar('\n');
	}
}

static void
incident_print(const json_t *o)
{
	const char *before = result_text(o, KEY_incident_stage_before),
		   *since = result_text(o, KEY_incident_stage_since);

	printf("%8.0f  %-8s  %s (%s)\n", result_number(o, KEY_incident_session),
	    show_text(o, KEY_incident_state, "?"), show_text(o, KEY_incident_route, "?"),
	    show_text(o, KEY_incident_program, "unknown program"));
	line_print("", result_text(o, KEY_incident_sentence));
	if (since != NULL || before != NULL)
		printf("    %-8s %s before, %s since\n", "limits",
		    before != NULL ? terminal_text(result_stage_words(before)) : "no stage in most",
		    since != NULL ? terminal_text(result_stage_words(since)) : "no stage in most");
	line_print("cause", result_text(o, KEY_incident_cause));
	line_print("others", result_text(o, KEY_incident_reach));
	cards_print(result_list(o, KEY_incident_advice));
	if (result_text(o, KEY_incident_accepted) != NULL) {
		printf("    %-8s %s by %s: ", "accepted", show_text(o, KEY_incident_accepted, "?"),
		    show_text(o, KEY_incident_accepted_by, "?"));
		printf("%s\n", show_text(o, KEY_incident_accepted_why, "?"));
	}
}

static int
list_print(struct source *source, const struct filter *f)
{
	json_t *doc = source_incidents(source, f->query);
	const json_t *list, *o;
	size_t i;

	if (doc == NULL)
		return COMMAND_FAILED;
	list = result_list(doc, KEY_incidents_incidents);
	json_array_foreach(list, i, o)
	{
		if (f->json)
			show_json_line(o);
		else
			incident_print(o);
	}
	if (json_array_size(list) == 0 && !f->json)
		puts("No incident.");
	json_decref(doc);
	return ferror(stdout) || fflush(stdout) != 0;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	struct filter f = { .query = xasprintf("limit=%d", INCIDENTS_LIMIT_MAX) };
	const int status =
	    parse(&f, argc, argv) ? list_print(env->source, &f) : command_misused(env->command);

	free(f.query);
	return status;
}

const struct command command_incidents = {
	.name = "incidents",
	.summary = "list the incidents: which routes are slower, since when, and why",
	.usage = "[--json] [--open] [--since TIME] [--program NAME] [ROUTE]",
	.help =
	    "  -j, --json        one JSON object a line\n"
	    "      --open        only open incidents\n"
	    "      --since       only incidents that went on then or later: ISO 8601, or a span\n"
	    "      --program     only routes of this program\n"
	    "ROUTE is as in the list of routes: \"dtn1 -> dtn2\".\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};
