/* SPDX-License-Identifier: BSD-3-Clause */
/* narrows report: the verdict of one session, in words first. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/pdf.h"
#include "cli/report_check.h"
#include "cli/show.h"
#include "cli/last.h"
#include "cli/query.h"
#include "cli/source.h"
#include "narrows/chain.h"
#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "narrows/terminal.h"
#include "narrows/web.h"
#include "web/answer/clock_words.h"
#include "web/answer/incidents.h"

/* "25 MB/s", "at least 38 MB/s", "25 MB/s to 40 MB/s"; nothing of a stage not measured, or whose
 * only bound is the session's own rate. */
static void
could_text(const json_t *stage, double rate, char *out, size_t size)
{
	double low = result_number(stage, KEY_stage_could_low),
	       high = result_number(stage, KEY_stage_could_high);

	*out = '\0';
	if (!(low > 0) || !isfinite(result_number(stage, KEY_stage_bytes_per_s)))
		return;
	if (!isfinite(high) && low <= rate)
		return;
	if (!isfinite(high))
		snprintf(out, size, "at least %s", fmt_plain(fmt_bytes_per_s(low)).s);
	else if (high > low)
		snprintf(out, size, "%s to %s", fmt_plain(fmt_bytes_per_s(low)).s,
		    fmt_plain(fmt_bytes_per_s(high)).s);
	else
		snprintf(out, size, "%s", fmt_plain(fmt_bytes_per_s(low)).s);
}

static void
stage_print(const json_t *o, double rate)
{
	char could[160];

	could_text(o, rate, could, sizeof(could));
	printf("%s %-18s %-22s %6s %22s %6s %8s %8.0f\n",
	    json_is_true(result_get(o, KEY_stage_candidate)) ? "*" : " ",
	    show_text(o, KEY_stage_words, "?"), show_text(o, KEY_stage_host, "?"),
	    fmt_plain(fmt_share(1 - result_number(o, KEY_stage_free_share))).s, could,
	    fmt_plain(fmt_share(result_number(o, KEY_stage_busy_share))).s,
	    fmt_plain(fmt_share(result_number(o, KEY_stage_wait_share))).s,
	    result_number(o, KEY_stage_windows));
}

static void
stages_print(const json_t *list, double rate)
{
	const json_t *o;
	size_t i;

	if (json_array_size(list) == 0)
		return;
	printf("\n  %-18s %-22s %6s %22s %6s %8s %8s\n", "stage", "where", "held", "could carry",
	    "busy", "waiting", "windows");
	json_array_foreach(list, i, o) stage_print(o, rate);
}

static void
witnesses_print(const json_t *list)
{
	const json_t *o, *agrees;
	size_t i;

	if (json_array_size(list) == 0)
		return;
	printf("\n");
	json_array_foreach(list, i, o)
	{
		agrees = result_get(o, KEY_witness_agrees);
		printf("  %-10s %-9s %s\n", show_text(o, KEY_witness_name, "?"),
		    json_is_true(agrees)        ? "agrees"
			: json_is_false(agrees) ? "disagrees"
						: "",
		    show_text(o, KEY_witness_detail, ""));
	}
}

/* Bytes, time and rate, as far as they are known. */
static void
amount_print(const json_t *session)
{
	double bytes = result_number(session, KEY_session_bytes),
	       duration_s = result_number(session, KEY_session_duration_s),
	       rate = result_number(session, KEY_session_bytes_per_s);

	putchar('\n');
	if (isnan(bytes) && !isnan(duration_s) &&
	    json_is_true(result_get(session, KEY_session_announced_alone)))
		printf("Bytes unknown, in %s", fmt_duration(duration_s).s);
	else if (isnan(bytes) || isnan(duration_s))
		printf("No bytes seen yet.");
	else
		printf("%s in %s", fmt_bytes(bytes).s, fmt_duration(duration_s).s);
	if (!isnan(rate))
		printf(": %s (%s)", fmt_bytes_per_s(rate).s, fmt_bits_per_s(rate).s);
	putchar('\n');
}

static void
quality_print(const json_t *quality)
{
	static const struct {
		enum result_key key;
		const char *words;
	} parts[] = {
		{ KEY_quality_intervals_expected, "intervals expected" },
		{ KEY_quality_intervals_got, "got" },
		{ KEY_quality_documents_rejected, "documents rejected" },
	};
	const char *between = "\n";
	double v;
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (isnan(v = result_number(quality, parts[i].key)))
			continue;
		printf("%s%s %.0f", between, parts[i].words, v);
		between = i == 0 ? ", " : "; ";
	}
	if (*between != '\n')
		putchar('\n');
}

/* The clock of each host, and its largest error. */
static void
clocks_print(const json_t *hosts)
{
	const json_t *o;
	struct clock_words w;
	size_t i;

	json_array_foreach(hosts, i, o)
	{
		w = clock_words(result_get(o, KEY_session_host_clock));
		printf("%s  %s: %s%s%s\n", i == 0 ? "\n" : "",
		    show_text(o, KEY_session_host_name, "?"), w.bound,
		    w.offset[0] != '\0' ? " " : "", w.offset);
	}
}

/* Classes of file operations, and the time that the slow ones lost. */
static void
iotime_print(const json_t *io)
{
	const json_t *stage, *k;
	size_t i, j;

	if (result_text(io, KEY_io_sentence) == NULL)
		return;
	printf("\n%s\n", show_text(io, KEY_io_sentence, ""));
	json_array_foreach(result_get(io, KEY_io_stages), i, stage)
	{
		json_array_foreach(result_get(stage, KEY_io_stage_classes), j, k) printf(
		    "  %-10s %-24s %7s of operations, %9s, lost %9s\n",
		    show_text(stage, KEY_io_stage_stage, "?"), show_text(k, KEY_io_class_name, "?"),
		    fmt_share(result_number(k, KEY_io_class_share_ops)).s,
		    fmt_duration(result_number(k, KEY_io_class_time_s)).s,
		    fmt_duration(result_number(k, KEY_io_class_lost_s)).s);
	}
}

/* The node of an edge's end. */
static const char *
chain_name(const json_t *chain, const json_t *edge, enum result_key end)
{
	return show_text(result_at(result_list(chain, KEY_chain_nodes), result_number(edge, end)),
	    KEY_chain_node_name, "?");
}

/* "for data from second", "for a processor, while other programs used the processors". */
static void
edge_print(const json_t *chain, const json_t *edge)
{
	const struct nw_chain_words *want = nw_chain_want_of(
					result_text(edge, KEY_chain_edge_waits_for)),
				    *user =
					nw_chain_user_of(result_text(edge, KEY_chain_edge_used_by));

	printf("  %s waited %s %s", chain_name(chain, edge, KEY_chain_edge_waiter),
	    fmt_share(result_number(edge, KEY_chain_edge_share)).s,
	    want != NULL ? want->joint : "for");
	if (json_is_integer(result_get(edge, KEY_chain_edge_holder)))
		printf(" %s", chain_name(chain, edge, KEY_chain_edge_holder));
	printf("%s\n", user != NULL ? user->joint : "");
}

/* The chain of waits. */
static void
chain_print(const json_t *chain)
{
	const json_t *edge;
	size_t i;

	if (result_text(chain, KEY_chain_sentence) == NULL)
		return;
	printf("\nWho waited for whom: %s\n", show_text(chain, KEY_chain_sentence, ""));
	json_array_foreach(result_list(chain, KEY_chain_edges), i, edge) edge_print(chain, edge);
}

static void
steps_print(const json_t *steps)
{
	const json_t *loop;
	size_t i;

	json_array_foreach(steps, i, loop) printf(
	    "%s%s\n", i == 0 ? "\nSteps: " : "       ", show_text(loop, KEY_steps_sentence, ""));
}

static void
imported_print(const json_t *imported)
{
	if (imported != NULL)
		printf(
		    "Imported: another box made this verdict, as its session %.0f; %s brought it "
		    "here on %s.\n",
		    result_number(imported, KEY_imported_session),
		    show_text(imported, KEY_imported_host, "a host"),
		    show_text(imported, KEY_imported_at, "?"));
}

static void
heading_print(const json_t *s)
{
	printf("%ssession %" JSON_INTEGER_FORMAT ": %s, %s, %s",
	    strcmp(show_text(s, KEY_session_state, ""), "open") == 0 ? "Interim, still running: "
								     : "",
	    json_integer_value(result_get(s, KEY_session_id)),
	    show_text(s, KEY_session_program, "unknown program"),
	    show_text(s, KEY_session_route, "unknown route"), show_text(s, KEY_session_start, "?"));
	if (result_task(s) != NULL)
		printf(", task %s", terminal_text(result_task(s)));
}

/* For a ticket: the heading and the answers. */
static void
markdown_print(const json_t *doc, const json_t *incident)
{
	printf("### ");
	heading_print(result_get(doc, KEY_result_session));
	printf("\n\n");
	show_answers(doc, incident, true);
}

/* Contributions of other sites' boxes to the session, or the lack of an answer. */
static void
partners_print(struct source *source, int64_t id)
{
	json_t *notes = source_notes(source, id), *note;
	const char *line;
	size_t i;

	json_array_foreach(result_list(notes, KEY_notes_notes), i, note)
	{
		line = result_text(note, KEY_note_line);
		if (line != NULL && strcmp(line, STORE_NOTE_PARTNER) == 0)
			printf("\n%s\n", show_text(note, KEY_note_text, ""));
	}
	json_decref(notes);
}

static void
report_print(struct source *source, int64_t id, const json_t *doc, const json_t *incident)
{
	const json_t *s = result_get(doc, KEY_result_session),
		     *v = result_get(doc, KEY_result_verdict), *reason;
	const char *claim = json_string_value(result_get(v, KEY_verdict_claim));
	size_t i;

	heading_print(s);
	amount_print(s);
	imported_print(result_get(doc, KEY_result_imported));
	show_answers(doc, incident, false);
	partners_print(source, id);
	if (v == NULL)
		return;
	printf("\nConfidence: %s%s.\n", show_text(v, KEY_verdict_confidence, "none"),
	    claim == NULL                       ? ""
		: strcmp(claim, "account") == 0 ? ", an account of this transfer alone"
						: ", an inference about the path");
	json_array_foreach(
	    result_get(v, KEY_verdict_reasons), i, reason) if (json_is_string(reason))
	    printf("- %s\n", terminal_text(json_string_value(reason)));
	chain_print(result_get(doc, KEY_result_chain));
	steps_print(result_list(doc, KEY_result_steps));
	stages_print(result_get(result_get(doc, KEY_result_bottleneck), KEY_bottleneck_stages),
	    result_number(result_get(doc, KEY_result_session), KEY_session_bytes_per_s));
	witnesses_print(result_get(v, KEY_verdict_witnesses));
	iotime_print(result_get(doc, KEY_result_io));
	clocks_print(result_get(s, KEY_session_hosts));
	quality_print(result_get(doc, KEY_result_quality));
}

static int
schema_print(void)
{
	json_t *schema = result_schema();
	int rc = schema != NULL ? json_dumpf(schema, stdout, JSON_INDENT(1)) : -1;

	json_decref(schema);
	putchar('\n');
	return rc < 0 || ferror(stdout) || fflush(stdout) != 0 ? COMMAND_FAILED : 0;
}

/* The incident that the session is in, as the box knows it by now; a new reference, or NULL. */
static json_t *
incident_of(struct source *source, const json_t *doc)
{
	const json_t *s = result_get(doc, KEY_result_session);
	const int64_t start = result_ns(s, KEY_session_start_ns);
	json_t *list, *found;
	char *query = NULL;

	if (result_text(s, KEY_session_route) == NULL || start <= 0 ||
	    result_get(doc, KEY_result_usual) == NULL ||
	    result_get(doc, KEY_result_imported) != NULL)
		return NULL;
	query_add(&query, "route", result_text(s, KEY_session_route));
	if (result_text(s, KEY_session_program) != NULL)
		query_add(&query, "program", result_text(s, KEY_session_program));
	query_add(&query, "from", fmt_iso_ns(start).s);
	query_add(&query, "before", fmt_int(start + 1).s);
	list = source_incidents(source, query);
	free(query);
	found = json_deep_copy(incidents_of_session(list, start));
	json_decref(list);
	return found;
}

static int
text_print(struct source *source, const char *text, int64_t id, bool markdown)
{
	json_t *doc = json_loads(text, 0, NULL), *incident;

	if (doc == NULL) {
		fprintf(stderr,
		    "narrows: session %" PRId64 ": the result document does not parse\n", id);
		return COMMAND_FAILED;
	}
	incident = incident_of(source, doc);
	if (markdown)
		markdown_print(doc, incident);
	else
		report_print(source, id, doc, incident);
	json_decref(incident);
	json_decref(doc);
	return 0;
}

static int
html_write(const char *path, const char *html)
{
	FILE *f = fopen(path, "w");
	int rc = 0;

	if (f == NULL || fputs(html, f) == EOF)
		rc = command_failed(path, strerror(errno));
	if (f != NULL && fclose(f) != 0 && rc == 0)
		rc = command_failed(path, strerror(errno));
	return rc;
}

/* The report as one file, and as another: either path may be NULL. */
static int
files_write(const char *html_path, const char *pdf_path, const char *text)
{
	char *html = web_report_file(text);
	int rc = 0;

	if (html == NULL)
		return command_failed(NULL, "the session's document does not parse");
	if (html_path != NULL)
		rc = html_write(html_path, html);
	if (pdf_path != NULL && rc == 0)
		rc = pdf_write(pdf_path, html);
	free(html);
	return rc;
}

static int
run(const struct command_env *env, int argc, char **argv)
{
	static const struct option longs[] = { { "json", no_argument, NULL, 'j' },
		{ "schema", no_argument, NULL, 'S' }, { "html", required_argument, NULL, 'H' },
		{ "pdf", required_argument, NULL, 'P' }, { "md", no_argument, NULL, 'M' },
		{ "check", no_argument, NULL, 'C' }, { NULL, 0, NULL, 0 } };
	int64_t id;
	int ch, rc = 0, json = 0, schema = 0, check = 0, markdown = 0;
	const char *html = NULL, *pdf = NULL;
	char *text;

	while ((ch = getopt_long(argc, argv, "j", longs, NULL)) != -1) {
		if (ch != 'j' && ch != 'S' && ch != 'H' && ch != 'P' && ch != 'C' && ch != 'M')
			return command_misused(env->command);
		if (ch == 'H')
			html = optarg;
		if (ch == 'P')
			pdf = optarg;
		json |= ch == 'j';
		markdown |= ch == 'M';
		schema |= ch == 'S';
		check |= ch == 'C';
	}
	if (schema && optind == argc)
		return schema_print();
	if (schema || optind + 1 != argc)
		return command_misused(env->command);
	if (check)
		return report_check(env->source, argv[optind]);
	if ((rc = last_or_number(env->source, argv[optind], &id)) < 0)
		return rc == NW_EINVAL ? COMMAND_MISUSED : COMMAND_FAILED;
	if ((text = source_result(env->source, id)) == NULL)
		return COMMAND_FAILED;
	if (html != NULL || pdf != NULL)
		rc = files_write(html, pdf, text);
	else if (json)
		printf("%s%s", text, text[0] != '\0' && text[strlen(text) - 1] == '\n' ? "" : "\n");
	else
		rc = text_print(env->source, text, id, markdown != 0);
	free(text);
	return rc != 0 ? rc : ferror(stdout) || fflush(stdout) != 0;
}

const struct command command_report = {
	.name = "report",
	.summary = "the verdict of a session (ID, or \"last\")",
	.usage = "[--json | --md | --html FILE | --pdf FILE] ID | --check {ID | all | -} | "
		 "--schema     (ID: a "
		 "number, or \"last\")",
	.help = "  -j, --json   the result document, as it is stored\n"
		"  --md         the five answers in Markdown, for a ticket\n"
		"  --html FILE  the report as one file that asks for nothing\n"
		"  --pdf FILE   the same as PDF, by an installed chromium\n"
		"  --check      compares the sentences with the figures and with each other: of a "
		"session, "
		"of all,\n"
		"               or of the documents on standard input, a line each\n"
		"  --schema     the JSON schema of result documents\n",
	.needs = NEEDS_SOURCE,
	.run = run,
};
