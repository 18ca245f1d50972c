/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows routes: the routes, and the history of those that a filter names. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/cmd.h"
#include "cli/route_rows.h"
#include "cli/show.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/terminal.h"

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
