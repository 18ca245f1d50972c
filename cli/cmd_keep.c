/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows keep: the metrics worth keeping, by route and program. */
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/show.h"
#include "cli/source.h"
#include "narrows/format.h"
#include "narrows/result.h"

struct filter {
	const char *host, *program; /* NULL: any */
	bool json, all;
};

static bool
passes(const json_t *list, const struct filter *f)
{
	const char *program = result_text(list, KEY_keeplist_program),
		   *route = result_text(list, KEY_keeplist_route);

	return (f->program == NULL || (program != NULL && strcmp(program, f->program) == 0)) &&
	    (f->host == NULL || (route != NULL && strstr(route, f->host) != NULL));
}

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
lists_print(const json_t *doc, const struct filter *f)
{
	const json_t *list;
	size_t i;

	json_array_foreach(result_list(doc, KEY_keeplists_lists), i, list)
	{
		if (!passes(list, f))
			continue;
		if (f->json) {
			json_dumpf(list, stdout, JSON_COMPACT);
			putchar('\n');
		} else
			list_print(list, f->all);
	}
	return ferror(stdout) || fflush(stdout) != 0;
}

static bool
filter_parse(struct filter *f, int argc, char **argv)
{
	static const struct option longs[] = { { "all", no_argument, NULL, 'a' },
		{ "json", no_argument, NULL, 'j' }, { "host", required_argument, NULL, 'H' },
		{ "program", required_argument, NULL, 'p' }, { NULL, 0, NULL, 0 } };
	bool good = true;
	int ch;

	*f = (struct filter){ 0 };
	while (good && (ch = getopt_long(argc, argv, "aj", longs, NULL)) != -1)
		switch (ch) {
		case 'a': f->all = true; break;
		case 'H': f->host = optarg; break;
		case 'j': f->json = true; break;
		case 'p': f->program = optarg; break;
		default: good = false;
		}
	return good && optind == argc;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	struct filter f;
	json_t *doc;
	int status;

	if (!filter_parse(&f, argc, argv))
		return command_misused(env->command);
	if ((doc = source_keep(env->source)) == NULL)
		return COMMAND_FAILED;
	status = lists_print(doc, &f);
	json_decref(doc);
	return status;
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
