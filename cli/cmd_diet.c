/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows diet: series of hosts that told nothing for long, and the decision to sample them
 * seldom. */
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "pki/ask/ctlask.h"
#include "cli/show.h"
#include "cli/source.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"

struct wanted {
	bool json, all;
	const char *host; /* NULL: every host */
};

/* --- the list --- */

static void
measured_print(const json_t *diet)
{
	const json_t *m = result_get(diet, KEY_diet_measured);
	const double done = result_number(m, KEY_diet_measured_carried_out);

	if (m == NULL)
		return;
	printf(
	    "      since %s: in %s %.0f values instead of %.0f, %s saved; collector %s of a core, "
	    "%s in the day before\n",
	    show_text(diet, KEY_diet_accepted, "-"),
	    fmt_duration(result_number(m, KEY_diet_measured_elapsed_s)).s,
	    result_number(m, KEY_diet_measured_samples),
	    result_number(m, KEY_diet_measured_samples_before),
	    fmt_plain(fmt_share(result_number(m, KEY_diet_measured_saved))).s,
	    fmt_plain(fmt_percent(result_number(m, KEY_diet_measured_cpu_share))).s,
	    fmt_plain(fmt_percent(result_number(m, KEY_diet_measured_cpu_share_before))).s);
	if (done >= 0)
		printf(
		    "      the collector carries out %.0f names of the host's diets; none of its "
		    "series has %.0f\n",
		    done, result_number(m, KEY_diet_measured_refused));
	else
		printf("      the collector has not reported its diets\n");
}

static void
diet_print(const json_t *diet)
{
	const double bytes = result_number(diet, KEY_diet_bytes_saved_per_day);

	printf("%3.0f  %s  %s\n      %s\n", result_number(diet, KEY_diet_id),
	    show_text(diet, KEY_diet_host, "-"), show_text(diet, KEY_diet_state, "-"),
	    show_text(diet, KEY_diet_sentence, "-"));
	if (isfinite(bytes))
		printf("      saves %s a day in the store\n", fmt_plain(fmt_bytes(bytes)).s);
	printf("      %s\n", show_text(diet, KEY_diet_risk, "-"));
	measured_print(diet);
	if (result_text(diet, KEY_diet_carries_again) != NULL)
		printf("      a series carries something again since %s: narrows diet undo\n",
		    show_text(diet, KEY_diet_carries_again, "?"));
}

static bool
passes(const json_t *diet, const struct wanted *w)
{
	const char *host = result_text(diet, KEY_diet_host),
		   *state = result_text(diet, KEY_diet_state);

	return (w->host == NULL || (host != NULL && strcmp(host, w->host) == 0)) &&
	    (w->all || state == NULL || strcmp(state, "ended") != 0);
}

static int
list_print(struct source *source, const struct wanted *w)
{
	json_t *doc = source_diets(source);
	const json_t *diet;
	size_t i, n = 0;

	if (doc == NULL)
		return COMMAND_FAILED;
	json_array_foreach(result_list(doc, KEY_diets_diets), i, diet)
	{
		if (!passes(diet, w))
			continue;
		n++;
		if (w->json) {
			json_dumpf(diet, stdout, JSON_COMPACT);
			putchar('\n');
		} else
			diet_print(diet);
	}
	if (n == 0 && !w->json)
		puts("No diet is proposed or in force.");
	json_decref(doc);
	return ferror(stdout) || fflush(stdout) != 0;
}

/* --- decisions --- */

/* accept|undo HOST ID|--all */
static int
decide(const struct command_env *env, const char *verb, int n, char **words, bool all)
{
	char *line;
	int status;

	if (n != (all ? 1 : 2) || strpbrk(words[0], " \t\r\n") != NULL ||
	    (!all && strspn(words[1], "0123456789") != strlen(words[1])))
		return command_misused(env->command);
	if (source_is_remote(env->source))
		return command_failed("diet", "decisions are made on the box, not over HTTP");
	line = xasprintf("%s diet %s %s\n", words[0], verb, all ? "all" : words[1]);
	status = ctlask(env->state_dir, line);
	free(line);
	return status;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	static const struct option longs[] = { { "all", no_argument, NULL, 'a' },
		{ "json", no_argument, NULL, 'j' }, { NULL, 0, NULL, 0 } };
	struct wanted w = { 0 };
	int ch;

	while ((ch = getopt_long(argc, argv, "aj", longs, NULL)) != -1)
		switch (ch) {
		case 'a': w.all = true; break;
		case 'j': w.json = true; break;
		default: return command_misused(env->command);
		}
	argv += optind;
	argc -= optind;
	if (argc > 0 && (strcmp(argv[0], "accept") == 0 || strcmp(argv[0], "undo") == 0))
		return argc > 1 ? decide(env, argv[0], argc - 1, argv + 1, w.all)
				: command_misused(env->command);
	if (argc > 1)
		return command_misused(env->command);
	w.host = argv[0];
	return list_print(env->source, &w);
}

const struct command command_diet = {
	.name = "diet",
	.summary = "series without use for long: sample them slowly",
	.usage = "[--all] [--json] [HOST]\n"
		 "       narrows diet accept|undo HOST ID|--all",
	.help = "  -a, --all   also diets that have ended; of accept and undo: every one\n"
		"  -j, --json  one JSON object a line\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};
