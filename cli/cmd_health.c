/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows health: the state of the running box, in words or as the box's own JSON. Exit status 0
 * where the box is well, 1 where the box is not well or does not run. */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cmd.h"
#include "cli/show.h"
#include "cli/source.h"
#include "narrows/counters.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/terminal.h"

/* --- values of the health document; what is absent is NaN or NULL --- */

static const char *
text(const json_t *o, enum result_key key)
{
	const char *s = result_text(o, key);

	return s != NULL ? terminal_text(s) : NULL;
}

/* Seconds from a time of the document to the box's "now". */
static double
age_s(const json_t *doc, const json_t *o, enum result_key key)
{
	const char *then = result_text(o, key), *now = result_text(doc, KEY_health_now);
	int64_t then_ns = then != NULL ? fmt_parse_iso(then) : 0;
	int64_t now_ns = now != NULL ? fmt_parse_iso(now) : 0;

	return then_ns > 0 && now_ns >= then_ns ? (double)(now_ns - then_ns) / 1e9 : NAN;
}

/* --- lines --- */

static void
listeners_print(const json_t *doc)
{
	static const struct {
		enum result_key key;
		const char *words;
	} ports[] = {
		{ KEY_health_listen_xsp, "XSP" },
		{ KEY_health_listen_xsp_tls, "XSP in TLS" },
		{ KEY_health_listen_http, "HTTP" },
		{ KEY_health_listen_https, "HTTPS" },
	};
	const char *between = "listens   ", *address;
	size_t i;

	for (i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		if ((address = text(doc, ports[i].key)) == NULL || *address == '\0')
			continue;
		printf("%s%s %s", between, ports[i].words, address);
		between = ", ";
	}
	putchar('\n');
}

static void
grants_print(const json_t *doc)
{
	const json_t *grants = result_get(doc, KEY_health_speaks_for), *grant;
	size_t i;

	json_array_foreach(grants, i, grant)
	    printf("%s%s may speak for %s\n", i == 0 ? "grants    " : "          ",
		text(grant, KEY_health_grant_owner), text(grant, KEY_health_grant_thing));
	if (json_array_size(grants) == 0)
		puts("grants    none: no host speaks for another's");
}

static void
store_print(const json_t *doc)
{
	const json_t *store = result_get(doc, KEY_health_store);
	double days_left = result_number(store, KEY_health_store_days_left),
	       commit_s = age_s(doc, store, KEY_health_store_last_commit);

	printf("store     %s of %s at most, %s free on the disk",
	    fmt_bytes(result_number(store, KEY_health_store_file_bytes)).s,
	    fmt_bytes(result_number(store, KEY_health_store_max_bytes)).s,
	    fmt_bytes(result_number(doc, KEY_health_disk_free_bytes)).s);
	if (!isnan(days_left))
		printf(", full in %s", fmt_duration(days_left * 86400).s);
	if (!isnan(commit_s))
		printf("; last commit %s ago", fmt_duration(commit_s).s);
	printf("; %.0f batches queued\n", result_number(store, KEY_health_store_queued_batches));
}

static void
clock_print(const json_t *doc)
{
	const json_t *clock = result_get(doc, KEY_health_clock);

	if (result_bool(clock, KEY_clock_known) != 1)
		puts("clock     not known: chronyd does not answer");
	else if (result_bool(clock, KEY_clock_synchronised) != 1)
		puts("clock     not synchronised");
	else
		printf("clock     synchronised, wrong by at most %s\n",
		    fmt_duration(result_number(clock, KEY_clock_bound_s)).s);
}

static void
work_print(const json_t *doc)
{
	const json_t *c = result_get(doc, KEY_health_counters);
	double analysis_s = age_s(doc, doc, KEY_health_last_analysis);

	printf("now       %.0f connections, %.0f sessions running, %.0f analyses waiting\n",
	    result_number(c, KEY_counters_connections),
	    result_number(c, KEY_counters_sessions_open),
	    result_number(c, KEY_counters_analysis_queued));
	printf("so far    %.0f sessions, %.0f documents, %s, %.0f analyses",
	    result_number(c, KEY_counters_sessions_total), result_number(c, KEY_counters_documents),
	    fmt_si(result_number(c, KEY_counters_samples), "samples").s,
	    result_number(c, KEY_counters_analysis_runs));
	if (!isnan(analysis_s))
		printf(", the last %s ago", fmt_duration(analysis_s).s);
	putchar('\n');
}

/* Every counter of faults that is not zero, by the words of narrows/counters.h. */
static void
faults_print(const json_t *doc)
{
	static const struct {
		enum result_key key;
		const char *words;
		enum nw_counter_kind kind;
	} rows[] = {
#define X(name, section, kind, words) { KEY_counters_##name, words, NW_COUNTER_##kind },
		NW_COUNTERS(X)
#undef X
	};
	const json_t *c = result_get(doc, KEY_health_counters);
	size_t i, n = 0;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].kind == NW_COUNTER_FAULT && result_number(c, rows[i].key) > 0)
			printf("%s%s: %.0f\n", n++ == 0 ? "faults    " : "          ",
			    rows[i].words, result_number(c, rows[i].key));
	if (n == 0)
		puts("faults    none");
}

static void
health_print(const json_t *doc)
{
	const char *problem = text(doc, KEY_health_problem);

	if (result_bool(doc, KEY_health_ok) == 1)
		puts("The box is well.");
	else
		printf("The box is not well: %s.\n", problem != NULL ? problem : "no reason given");
	printf("version   %s, up for %s\n",
	    text(doc, KEY_health_version) != NULL ? text(doc, KEY_health_version) : "?",
	    fmt_duration(age_s(doc, doc, KEY_health_started)).s);
	listeners_print(doc);
	store_print(doc);
	clock_print(doc);
	work_print(doc);
	grants_print(doc);
	faults_print(doc);
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	static const struct option longs[] = { { "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 } };
	int status = 0, ch, json = 0;
	json_t *doc = NULL;
	char *body;

	while ((ch = getopt_long(argc, argv, "j", longs, NULL)) == 'j')
		json = 1;
	if (ch != -1 || optind != argc)
		return command_misused(env->command);
	if ((body = source_health(env->source, &status)) == NULL)
		return COMMAND_FAILED;
	if (json)
		fputs(body, stdout);
	else if ((doc = json_loads(body, 0, NULL)) != NULL)
		health_print(doc);
	else
		status = command_failed("health", "the answer is not JSON");
	json_decref(doc);
	free(body);
	return fflush(stdout) != 0 || status != 200;
}

const struct command command_health = {
	.name = "health",
	.summary = "how the running box is",
	.usage = "[--json]",
	.help = "  -j, --json   the box's own document\n"
		"Exit status 0: the box is well.\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};
