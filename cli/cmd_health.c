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

/* --- values of the health document; what is absent is NaN or NULL --- */

static const char *
text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s != NULL ? show_string(s) : NULL;
}

/* Seconds from a time of the document to the box's "now". */
static double
age_s(const json_t *doc, const json_t *o, const char *key)
{
	const char *then = json_string_value(json_object_get(o, key));
	const char *now = json_string_value(json_object_get(doc, "now"));
	int64_t then_ns = then != NULL ? fmt_parse_iso(then) : 0;
	int64_t now_ns = now != NULL ? fmt_parse_iso(now) : 0;

	return then_ns > 0 && now_ns >= then_ns ? (double)(now_ns - then_ns) / 1e9 : NAN;
}

/* --- lines --- */

static void
listeners_print(const json_t *doc)
{
	static const struct {
		const char *key, *words;
	} ports[] = {
		{ "listen_xsp", "XSP" },
		{ "listen_xsp_tls", "XSP in TLS" },
		{ "listen_http", "HTTP" },
		{ "listen_https", "HTTPS" },
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
store_print(const json_t *doc)
{
	const json_t *store = json_object_get(doc, "store");
	double days_left = show_number(store, "days_left"),
	       commit_s = age_s(doc, store, "last_commit");

	printf("store     %s of %s at most, %s free on the disk",
	    fmt_bytes(show_number(store, "file_bytes")).s,
	    fmt_bytes(show_number(store, "max_bytes")).s,
	    fmt_bytes(show_number(doc, "disk_free_bytes")).s);
	if (!isnan(days_left))
		printf(", full in %s", fmt_duration(days_left * 86400).s);
	if (!isnan(commit_s))
		printf("; last commit %s ago", fmt_duration(commit_s).s);
	printf("; %.0f batches queued\n", show_number(store, "queued_batches"));
}

static void
clock_print(const json_t *doc)
{
	const json_t *clock = json_object_get(doc, "clock");

	if (!json_is_true(json_object_get(clock, "known")))
		puts("clock     not known: chronyd does not answer");
	else if (!json_is_true(json_object_get(clock, "synchronised")))
		puts("clock     not synchronised");
	else
		printf("clock     synchronised, wrong by at most %s\n",
		    fmt_duration(show_number(clock, "bound_s")).s);
}

static void
work_print(const json_t *doc)
{
	const json_t *c = json_object_get(doc, "counters");
	double analysis_s = age_s(doc, doc, "last_analysis");

	printf("now       %.0f connections, %.0f sessions running, %.0f analyses waiting\n",
	    show_number(c, "connections"), show_number(c, "sessions_open"),
	    show_number(c, "analysis_queued"));
	printf("so far    %.0f sessions, %.0f documents, %s, %.0f analyses",
	    show_number(c, "sessions_total"), show_number(c, "documents"),
	    fmt_si(show_number(c, "samples"), "samples").s, show_number(c, "analysis_runs"));
	if (!isnan(analysis_s))
		printf(", the last %s ago", fmt_duration(analysis_s).s);
	putchar('\n');
}

/* Every counter of faults that is not zero, by the words of narrows/counters.h. */
static void
faults_print(const json_t *doc)
{
	static const struct {
		const char *name, *words;
		enum nw_counter_kind kind;
	} rows[] = {
#define X(name, section, kind, words) { #name, words, NW_COUNTER_##kind },
		NW_COUNTERS(X)
#undef X
	};
	const json_t *c = json_object_get(doc, "counters");
	size_t i, n = 0;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].kind == NW_COUNTER_FAULT && show_number(c, rows[i].name) > 0)
			printf("%s%s: %.0f\n", n++ == 0 ? "faults    " : "          ",
			    rows[i].words, show_number(c, rows[i].name));
	if (n == 0)
		puts("faults    none");
}

static void
health_print(const json_t *doc)
{
	const char *problem = text(doc, "problem");

	if (json_is_true(json_object_get(doc, "ok")))
		puts("The box is well.");
	else
		printf("The box is not well: %s.\n", problem != NULL ? problem : "no reason given");
	printf("version   %s, up for %s\n",
	    text(doc, "version") != NULL ? text(doc, "version") : "?",
	    fmt_duration(age_s(doc, doc, "started")).s);
	listeners_print(doc);
	store_print(doc);
	clock_print(doc);
	work_print(doc);
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
