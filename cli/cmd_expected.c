/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows expected: regular sessions, and missing sessions. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/cmd.h"
#include "cli/route_rows.h"
#include "cli/show.h"
#include "narrows/format.h"
#include "narrows/result.h"

static const char heading[] =
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
run(const struct command_env *env, int argc, char **argv)
{
	static const struct route_rows rows = { false, source_expected, KEY_expected_list_expected,
		KEY_expected_route, KEY_expected_program, heading, expected_print };

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
	.run = run,
};
