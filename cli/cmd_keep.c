/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows keep: the metrics worth keeping, by route and program. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/cmd.h"
#include "cli/route_rows.h"
#include "cli/show.h"
#include "narrows/format.h"
#include "narrows/result.h"

static void
metric_print(const json_t *m)
{
	printf("  %-4s  %6s  %6s  %s\n",
	    result_bool(m, KEY_keep_metric_worth_keeping) == 1 ? "keep" : "-",
	    fmt_plain(fmt_share(result_number(m, KEY_keep_metric_share))).s,
	    fmt_plain(fmt_ratio(result_number(m, KEY_keep_metric_r))).s,
	    show_text(m, KEY_keep_metric_name, "-"));
}

static void
trial_print(const json_t *t)
{
	const double lacking = result_number(t, KEY_keep_trial_n_lacking);

	if (lacking > 0)
		printf("  on %s: its hosts lack %.0f of the metrics\n",
		    show_text(t, KEY_keep_trial_route, "-"), lacking);
	else
		printf(
		    "  on %s: R2 %.2f fitted anew and adjusted (random metrics %.2f), %.2f as it "
		    "is\n",
		    show_text(t, KEY_keep_trial_route, "-"),
		    result_number(t, KEY_keep_trial_r2_adjusted),
		    result_number(t, KEY_keep_trial_r2_random),
		    result_number(t, KEY_keep_trial_r2_out_of_sample));
}

static void
list_print(const json_t *list, bool all)
{
	const json_t *metrics = result_list(list, KEY_keeplist_metrics), *m;
	bool titled = false;
	size_t i;

	printf("%s\n", show_text(list, KEY_keeplist_sentence, "-"));
	json_array_foreach(metrics, i, m)
	{
		if (!all && result_bool(m, KEY_keep_metric_worth_keeping) != 1)
			continue;
		if (!titled)
			printf("        chosen       r  metric\n");
		titled = true;
		metric_print(m);
	}
	json_array_foreach(result_list(list, KEY_keeplist_trials), i, m) trial_print(m);
	printf("  %.0f sessions, %.0f rows of %g s, made %s\n\n",
	    result_number(list, KEY_keeplist_n_sessions), result_number(list, KEY_keeplist_n_rows),
	    result_number(list, KEY_keeplist_step_s), show_text(list, KEY_keeplist_made, "-"));
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	static const struct route_rows rows = { true, source_keep, KEY_keeplists_lists,
		KEY_keeplist_route, KEY_keeplist_program, NULL, list_print };

	return route_rows_run(&rows, env, argc, argv);
}

const struct command command_keep = {
	.name = "keep",
	.summary = "list the metrics worth keeping, by route and program",
	.usage = "[--all] [--json] [--host HOST] [--program NAME]",
	.help = "  -a, --all         also metrics that were chosen less often\n"
		"  -j, --json        one JSON object a line\n"
		"      --host        only routes with this host\n"
		"      --program     only lists of this program\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};
