/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows routes: the routes, and the history of those that a filter names. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/route_filter.h"
#include "cli/show.h"
#include "cli/source.h"
#include "narrows/format.h"
#include "narrows/result.h"

static bool
passes(const json_t *o, const struct route_filter *f)
{
	return route_filter_passes(
	    f, result_text(o, KEY_route_listed_route), result_text(o, KEY_route_listed_program));
}

static void
route_print(const json_t *o)
{
	const char *stage = result_text(o, KEY_route_listed_stage);

	printf("%-28s  %-12s  %8.0f  %11s  %s\n", show_text(o, KEY_route_listed_route, "-"),
	    show_text(o, KEY_route_listed_program, "-"),
	    result_number(o, KEY_route_listed_n_sessions),
	    fmt_bytes_per_s(result_number(o, KEY_route_listed_bytes_per_s)).s,
	    stage != NULL ? show_string(result_stage_words(stage)) : "-");
	printf("    %s\n", show_text(o, KEY_route_listed_sentence, "-"));
}

static int
routes_print(const json_t *doc, const struct route_filter *f)
{
	const json_t *o;
	size_t i;

	if (!f->json)
		printf("%-28s  %-12s  %8s  %11s  %s\n", "route", "program", "sessions",
		    "usual rate", "most verdicts");
	json_array_foreach(result_list(doc, KEY_routes_routes), i, o)
	{
		if (!passes(o, f))
			continue;
		if (f->json) {
			json_dumpf(o, stdout, JSON_COMPACT);
			putchar('\n');
		} else
			route_print(o);
	}
	return ferror(stdout) || fflush(stdout) != 0;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	struct route_filter f;
	json_t *doc;
	int status;

	if (!route_filter_parse(&f, false, argc, argv))
		return command_misused(env->command);
	if ((doc = source_routes(env->source)) == NULL)
		return COMMAND_FAILED;
	status = routes_print(doc, &f);
	json_decref(doc);
	return status;
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
