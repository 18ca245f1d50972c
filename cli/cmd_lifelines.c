/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows lifelines: the way of a session's objects through the points of their path. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli/cmd.h"
#include "cli/last.h"
#include "cli/query.h"
#include "cli/gather.h"
#include "cli/show.h"
#include "cli/source.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/terminal.h"
#include "narrows/xmalloc.h"
#include "web/lifelines/choice.h"

static void
segment_print(const json_t *g)
{
	const json_t *q = result_get(g, KEY_line_segment_duration_s);

	printf("  %-20s ", show_text(g, KEY_line_segment_from, "?"));
	printf("%-20s %8.0f %9s %9s %9s %9s %8s %9.0f %10.0f\n",
	    show_text(g, KEY_line_segment_to, "?"), result_number(g, KEY_line_segment_n),
	    fmt_duration(result_number(q, KEY_line_quantiles_median)).s,
	    fmt_duration(result_number(q, KEY_line_quantiles_p95)).s,
	    fmt_duration(result_number(q, KEY_line_quantiles_p99)).s,
	    fmt_duration(result_number(q, KEY_line_quantiles_max)).s,
	    fmt_share(result_number(g, KEY_line_segment_excess_share)).s,
	    result_number(g, KEY_line_segment_crossings),
	    result_number(g, KEY_line_segment_order_impossible));
}

static void
segments_print(const json_t *list)
{
	const json_t *g;
	size_t i;

	if (json_array_size(list) == 0)
		return;
	printf("\n  %-20s %-20s %8s %9s %9s %9s %9s %8s %9s %10s\n", "from", "to", "lines",
	    "median", "95 %", "99 %", "longest", "excess", "crossings", "impossible");
	json_array_foreach(list, i, g) segment_print(g);
}

static void
clocks_print(const json_t *list)
{
	const json_t *c;
	size_t i;
	double by, bound, rate;

	json_array_foreach(list, i, c)
	{
		by = result_number(c, KEY_line_clock_corrected_s);
		bound = result_number(c, KEY_line_clock_bound_s);
		rate = result_number(c, KEY_line_clock_corrected_rate);
		printf("%s  clock of %s: %s", i == 0 ? "\n" : "",
		    show_text(c, KEY_line_clock_host, "?"),
		    by != 0 ? "corrected by " : "as logged");
		printf("%s", by != 0 ? fmt_si(by, "s").s : "");
		if (rate != 0)
			printf(" at first, and by %s ppm", fmt_ratio(1e6 * rate).s);
		printf(", %s%s\n", isfinite(bound) ? "may be wrong by " : "no bound known",
		    isfinite(bound) ? fmt_si(bound, "s").s : "");
	}
}

static void
measure_print(const json_t *m)
{
	double rate = result_number(m, KEY_line_measure_bytes_per_s);

	if (!json_is_object(m))
		return;
	printf("\n  from %s at ", show_text(m, KEY_line_measure_a, "?"));
	printf("%s to ", show_text(m, KEY_line_measure_a_point, "?"));
	printf("%s at ", show_text(m, KEY_line_measure_b, "?"));
	printf("%s: %s, %s lines a second, %s\n", show_text(m, KEY_line_measure_b_point, "?"),
	    fmt_si(result_number(m, KEY_line_measure_seconds), "s").s,
	    fmt_ratio(result_number(m, KEY_line_measure_lines_per_s)).s,
	    isfinite(rate) ? fmt_bytes_per_s(rate).s : "bytes not known");
}

static int
document_print(const char *text)
{
	json_t *doc = json_loads(text, 0, NULL);
	const char *lacks;

	if (doc == NULL) {
		fputs("narrows: lifelines: the document does not parse\n", stderr);
		return COMMAND_FAILED;
	}
	printf("%s\n", show_text(doc, KEY_lifelines_sentence, "?"));
	if (json_is_object(result_get(doc, KEY_lifelines_against)))
		printf("%s\n",
		    show_text(
			result_get(doc, KEY_lifelines_against), KEY_line_against_sentence, "?"));
	printf("\n%.0f lifelines, %.0f chosen: %.0f finished, %.0f flushed, %.0f unfinished\n",
	    result_number(doc, KEY_lifelines_lifelines), result_number(doc, KEY_lifelines_chosen),
	    result_number(doc, KEY_lifelines_finished), result_number(doc, KEY_lifelines_flushed),
	    result_number(doc, KEY_lifelines_unfinished));
	segments_print(result_get(doc, KEY_lifelines_segments));
	clocks_print(result_get(doc, KEY_lifelines_clocks));
	measure_print(result_get(doc, KEY_lifelines_measure));
	if ((lacks = result_text(doc, KEY_lifelines_measure_lacks)) != NULL) {
		fflush(stdout);
		fprintf(
		    stderr, "narrows: lifelines: nothing is measured. %s\n", terminal_text(lacks));
	}
	json_decref(doc);
	return lacks != NULL ? COMMAND_FAILED : 0;
}

struct wish {
	char *query;
	const char *ending; /* of the address; NULL: text for people */
	const char *path;   /* of the file to write; NULL: standard output */
};

static int
bytes_write(const struct wish *w, const struct gathered *t)
{
	FILE *f = w->path != NULL && strcmp(w->path, "-") != 0 ? fopen(w->path, "w") : stdout;
	bool failed = f == NULL || fwrite(t->s, 1, t->len, f) != t->len;

	if (f != NULL && (f == stdout ? fflush(f) : fclose(f)) != 0)
		failed = true;
	if (failed)
		fprintf(stderr, "narrows: %s: %s\n", w->path != NULL ? w->path : "output",
		    strerror(errno));
	return failed ? COMMAND_FAILED : 0;
}

static int
answer_print(struct source *source, int64_t id, const struct wish *w)
{
	struct gathered t = { .s = NULL };
	char *ending = xasprintf("/lifelines%s", w->ending != NULL ? w->ending : ".json");
	int rc = source_export(source, id, ending, w->query != NULL ? w->query : "", gather, &t);

	free(ending);
	if (rc == NW_OK)
		rc = t.s == NULL        ? COMMAND_FAILED
		    : w->ending != NULL ? bytes_write(w, &t)
					: document_print(t.s);
	else
		rc = COMMAND_FAILED;
	free(t.s);
	return rc;
}

enum { OPTION_FORM = 256, OPTION_CHOICE };

static const struct option longs[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "csv", no_argument, NULL, 'c' },
	{ "otlp", no_argument, NULL, 'O' },
	{ "svg", no_argument, NULL, 's' },
	{ "output", required_argument, NULL, 'o' },
	{ "raw", no_argument, NULL, 'r' },
	{ "id", required_argument, NULL, OPTION_CHOICE },
	{ "server", required_argument, NULL, OPTION_CHOICE },
	{ "percentile", required_argument, NULL, OPTION_CHOICE },
	{ "from", required_argument, NULL, OPTION_CHOICE },
	{ "to", required_argument, NULL, OPTION_CHOICE },
	{ "path", required_argument, NULL, OPTION_CHOICE },
	{ "against", required_argument, NULL, OPTION_CHOICE },
	{ "by", required_argument, NULL, OPTION_CHOICE },
	{ "lane", required_argument, NULL, OPTION_CHOICE },
	{ "a", required_argument, NULL, OPTION_CHOICE },
	{ "b", required_argument, NULL, OPTION_CHOICE },
	{ "bytes", required_argument, NULL, OPTION_CHOICE },
	{ NULL, 0, NULL, 0 },
};

/* Returns 0, or the exit status after a message. */
static int
wish_parse(const struct command *self, struct wish *w, int argc, char **argv)
{
	struct choice c;
	const char *why;
	int ch, at;

	while ((ch = getopt_long(argc, argv, "jco:", longs, &at)) != -1)
		switch (ch) {
		case 'j': w->ending = ".json"; break;
		case 'c': w->ending = ".csv"; break;
		case 'O': w->ending = ".otlp.json"; break;
		case 's': w->ending = ".svg"; break;
		case 'o': w->path = optarg; break;
		case 'r': query_add(&w->query, "clock", "raw"); break;
		case OPTION_CHOICE: query_add(&w->query, longs[at].name, optarg); break;
		default: return command_misused(self);
		}
	if (optind + 1 != argc)
		return command_misused(self);
	if (choice_parse(&c, w->query, &why) < 0) {
		fprintf(stderr, "narrows: lifelines: %s\n", why);
		return COMMAND_MISUSED;
	}
	return 0;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	struct wish w = { .query = NULL };
	int64_t id;
	int rc, status = wish_parse(env->command, &w, argc, argv);

	if (status == 0 && (rc = last_or_number(env->source, argv[optind], &id)) < 0)
		status = rc == NW_EINVAL ? COMMAND_MISUSED : COMMAND_FAILED;
	if (status == 0)
		status = answer_print(env->source, id, &w);
	free(w.query);
	return status;
}

const struct command command_lifelines = {
	.name = "lifelines",
	.summary = "the way of a session's objects through their path",
	.usage = "[OPTION ...] ID        (ID: a number, or \"last\")",
	.help = "  -j, --json            the whole document\n"
		"  -c, --csv             one row per lifeline\n"
		"  --otlp                OpenTelemetry spans, as OTLP JSON\n"
		"  --svg                 the drawing\n"
		"  -o, --output FILE     into a file\n"
		"  --id TEXT             lines whose ids contain TEXT\n"
		"  --server NAME         lines of a server\n"
		"  --percentile RANGE    lines whose duration lies between two percentiles\n"
		"  --from, --to SECONDS  lines with points in this time of the session\n"
		"  --path NAME,...       the points, in the order of the path\n"
		"  --by KEY,...          the ids that make an object\n"
		"  --lane KEY            the attribute that names the server\n"
		"  --against SESSION     compares the segments with another session's\n"
		"  --raw                 times as logged, without correction of clocks\n"
		"  --a, --b IDS@POINT    measures from a point of a line to another\n"
		"  --bytes N             size of a line whose events tell none, for rates\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};
