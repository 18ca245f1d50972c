/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows collectors: cost and health of the programs that measure hosts. */
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

struct wanted {
	bool json;
	const char *host; /* NULL: every host */
};

/* A count; "-" where the collector told none. */
static struct fmt
told_fmt(double v)
{
	struct fmt text = { "-" };

	if (isfinite(v))
		snprintf(text.s, sizeof(text.s), "%.0f", v);
	return text;
}

static void
collector_print(const json_t *o)
{
	printf("%-24s  %-10s  %8s  %9s  %12s  %8s  %8s  %6s  %8s  %s\n",
	    show_text(o, KEY_collector_host, "-"), show_text(o, KEY_collector_name, "-"),
	    fmt_percent(result_number(o, KEY_collector_cpu_share)).s,
	    fmt_bytes(result_number(o, KEY_collector_resident_bytes)).s,
	    told_fmt(result_number(o, KEY_collector_samples)).s,
	    told_fmt(result_number(o, KEY_collector_dropped)).s,
	    fmt_duration(result_number(o, KEY_collector_interval_s)).s,
	    fmt_ratio(result_number(o, KEY_collector_slowed)).s,
	    told_fmt(result_number(o, KEY_collector_overruns)).s,
	    show_text(o, KEY_collector_at, "-"));
}

static int
collectors_print(const json_t *doc, const struct wanted *w)
{
	const json_t *o;
	const char *host;
	size_t i;

	if (!w->json)
		printf("%-24s  %-10s  %8s  %9s  %12s  %8s  %8s  %6s  %8s  %s\n", "host",
		    "collector", "core", "memory", "samples", "lost", "interval", "slowed",
		    "overruns", "said");
	json_array_foreach(result_list(doc, KEY_collectors_collectors), i, o)
	{
		host = result_text(o, KEY_collector_host);
		if (w->host != NULL && (host == NULL || strcmp(host, w->host) != 0))
			continue;
		if (w->json)
			show_json_line(o);
		else
			collector_print(o);
	}
	return ferror(stdout) || fflush(stdout) != 0;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	static const struct option longs[] = { { "json", no_argument, NULL, 'j' },
		{ "host", required_argument, NULL, 'H' }, { NULL, 0, NULL, 0 } };
	struct wanted w = { 0 };
	json_t *doc;
	int ch, status;

	while ((ch = getopt_long(argc, argv, "j", longs, NULL)) != -1)
		switch (ch) {
		case 'j': w.json = true; break;
		case 'H': w.host = optarg; break;
		default: return command_misused(env->command);
		}
	if (optind != argc)
		return command_misused(env->command);
	if ((doc = source_collectors(env->source)) == NULL)
		return COMMAND_FAILED;
	status = collectors_print(doc, &w);
	json_decref(doc);
	return status;
}

const struct command command_collectors = {
	.name = "collectors",
	.summary = "what the programs that measure hosts cost, and how they fare",
	.usage = "[--json] [--host HOST]",
	.help = "  -j, --json        one JSON object a line\n"
		"      --host        only this host's\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};
