/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page of one session: answers in words first, numbers second, graphs third, raw data last. The
 * page is a view of the result document and says in words when a part of the document is absent.
 * The table at the end lists the sections.
 */
#include "web/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "web/session_stretch.h"

enum { REFRESH_S = 10, LIST_MAX = 20 };
#define SECONDS_MAX 1e9 /* of a time axis */

/* --- one line of facts --- */

static const char *
first_text(const char *a, const char *b)
{
	return a != NULL ? a : b;
}

static void
write_facts(struct html *h, const json_t *doc, const struct nw_session_rec *rec, bool alone)
{
	const json_t *s = result_get(doc, KEY_result_session);
	int64_t start = result_ns(s, KEY_session_start_ns);
	double duration = result_number(s, KEY_session_duration_s);

	html_raw(h, "<header class=\"facts\"><h1>");
	page_route(h, result_text(s, KEY_session_route));
	html_raw(h, "</h1><ul><li>");
	page_name(h,
	    first_text(
		first_text(result_text(s, KEY_session_program), rec->program), "unknown program"));
	html_raw(h, "</li><li>");
	page_time(h, start != 0 ? start : rec->opened_wall_ns);
	html_raw(h, "</li><li>");
	if (isfinite(duration))
		html_text(h, fmt_duration(duration).s);
	else
		html_raw(h, "duration unknown");
	html_raw(h, "</li><li>");
	if (isfinite(result_number(s, KEY_session_bytes)))
		html_text(h, fmt_bytes(result_number(s, KEY_session_bytes)).s);
	else
		html_raw(h, "bytes unknown");
	html_raw(h, "</li><li>");
	if (isfinite(result_number(s, KEY_session_bytes_per_s))) {
		html_raw(h, "mean ");
		page_rate(h, result_number(s, KEY_session_bytes_per_s));
	} else
		html_raw(h, "rate unknown");
	if (result_task(s) != NULL) {
		html_raw(h, "</li><li>task ");
		page_name(h, result_task(s));
	}
	if (result_text(s, KEY_session_label) != NULL) {
		html_raw(h, "</li><li>label ");
		page_name(h, result_text(s, KEY_session_label));
	}
	if (result_number(s, KEY_session_exit_status) > 0) {
		html_raw(h, "</li><li><b>failed with status ");
		html_int(h, (int64_t)fmin(result_number(s, KEY_session_exit_status), 1e6));
		html_raw(h, "</b>");
	}
	html_raw(h, "</li><li>session ");
	html_int(h, rec->id);
	html_raw(h, "</li>");
	if (!alone) {
		html_raw(h, "<li><a href=\"/session/");
		html_int(h, rec->id);
		html_raw(h, ".html\">One file</a></li><li><a href=\"/session/");
		html_int(h, rec->id);
		html_raw(h, ".json\">JSON</a></li><li><a href=\"/session/");
		html_int(h, rec->id);
		html_raw(h, ".csv\">CSV</a></li>");
	}
	html_raw(h, "</ul></header>");
}

/* --- the verdict --- */

/* Bytes read of the files that the session reads, and their sizes; false where no size is known. */
static bool
progress_find(const json_t *doc, double *done, double *size)
{
	const json_t *list = result_list(result_get(doc, KEY_result_session), KEY_session_files),
		     *file;
	size_t i;

	*done = *size = 0;
	json_array_foreach(list, i, file)
	{
		double bytes = result_number(file, KEY_file_read_bytes),
		       whole = result_number(file, KEY_file_size_bytes);

		if (!(bytes > 0 && whole > 0))
			continue;
		*done += fmin(bytes, whole);
		*size += whole;
	}
	return *size > 0 && *size < 1e18;
}

/* How much of the opened files has been read, and when that ends at the present mean rate. */
static void
write_progress(struct html *h, const json_t *doc)
{
	double done, size,
	    rate = result_number(result_get(doc, KEY_result_session), KEY_session_bytes_per_s);

	if (!progress_find(doc, &done, &size))
		return;
	html_raw(h, "<p class=\"progress\"><progress aria-label=\"Read of the opened files\"");
	html_attr(h, "max", fmt_exact(size).s);
	html_attr(h, "value", fmt_exact(done).s);
	html_raw(h, "></progress> ");
	html_text(h, fmt_share(done / size).s);
	html_raw(h, ": ");
	html_text(h, fmt_bytes(done).s);
	html_raw(h, " of ");
	html_text(h, fmt_bytes(size).s);
	html_raw(h, " in the files opened so far");
	if (rate > 0 && done < size) {
		html_raw(h, "; the rest takes ");
		html_text(h, fmt_duration((size - done) / rate).s);
		html_raw(h, " at the mean rate so far");
	}
	html_raw(h, ".</p>");
}

static void
write_running(struct html *h, const json_t *doc)
{
	const char *at = result_text(result_get(doc, KEY_result_run), KEY_run_started);

	html_raw(h, "<p class=\"running\" role=\"status\"><b>Still running.</b> ");
	if (at != NULL) {
		html_raw(h, "This is the state at ");
		page_stamp(h, at);
		html_raw(h, ". ");
	}
	html_raw(h, "The page renews itself every ");
	html_int(h, REFRESH_S);
	html_raw(h, " seconds until the session ends.</p>");
	write_progress(h, doc);
}

/* Says that another box made the verdict. */
static void
write_imported(struct html *h, const json_t *doc)
{
	const json_t *imported = result_get(doc, KEY_result_imported),
		     *run = result_get(doc, KEY_result_run);
	double id = result_number(imported, KEY_imported_session);

	if (imported == NULL)
		return;
	html_raw(h, "<p class=\"running\"><b>Imported report.</b> Another box made this verdict");
	if (result_text(run, KEY_run_started) != NULL) {
		html_raw(h, " on ");
		page_stamp(h, result_text(run, KEY_run_started));
	}
	if (id >= 1 && id < 9e15) {
		html_raw(h, ", as its session ");
		html_int(h, (int64_t)id);
	}
	html_raw(h, "; ");
	page_name(h, first_text(result_text(imported, KEY_imported_host), "a host"));
	html_raw(h, " brought it here");
	if (result_text(imported, KEY_imported_at) != NULL) {
		html_raw(h, " on ");
		page_stamp(h, result_text(imported, KEY_imported_at));
	}
	html_raw(h, ". Nothing of it was measured here, and no route counts it.</p>");
}

/* "2 witnesses agree, 1 disagrees." Witnesses without an opinion are in the list below. */
static void
write_agreement(struct html *h, const json_t *witnesses)
{
	size_t i, n = json_array_size(witnesses), agree = 0, against = 0;

	for (i = 0; i < n; i++) {
		int agrees = result_bool(json_array_get(witnesses, i), KEY_witness_agrees);

		agree += agrees == 1;
		against += agrees == 0;
	}
	if (agree > 0) {
		html_raw(h, " ");
		html_int(h, (int64_t)agree);
		if (agree == 1)
			html_raw(h, " witness agrees");
		else
			html_raw(h, " witnesses agree");
	} else
		html_raw(h, " No witness confirms it");
	if (against > 0) {
		html_raw(h, ", ");
		html_int(h, (int64_t)against);
		if (against == 1)
			html_raw(h, " disagrees");
		else
			html_raw(h, " disagree");
	}
	html_raw(h, ".");
}

static void
write_reasons(struct html *h, const json_t *verdict)
{
	const json_t *reasons = result_list(verdict, KEY_verdict_reasons);
	size_t i, n = json_array_size(reasons);

	if (n == 0)
		return;
	html_raw(h, "<ul class=\"reasons\">");
	for (i = 0; i < n && i < LIST_MAX; i++) {
		html_raw(h, "<li>");
		html_text(h, json_string_value(json_array_get(reasons, i)));
		html_raw(h, "</li>");
	}
	html_raw(h, "</ul>");
}

/* Whether the verdict is an answer, perhaps of two stages. */
static bool
is_answered(const json_t *verdict)
{
	const char *confidence = result_text(verdict, KEY_verdict_confidence);

	return confidence != NULL && strcmp(confidence, "none") != 0;
}

static void
write_candidates(struct html *h, const json_t *verdict)
{
	const json_t *list = result_list(verdict, KEY_verdict_candidates);
	size_t i, n = json_array_size(list);

	if (n < 2 || is_answered(verdict))
		return;
	html_raw(h, "<p>It may have been ");
	for (i = 0; i < n && i < LIST_MAX; i++) {
		if (i > 0 && i + 1 == n)
			html_raw(h, " or ");
		else if (i > 0)
			html_raw(h, ", ");
		html_text(h, result_stage_words(json_string_value(json_array_get(list, i))));
	}
	html_raw(h, ".</p>");
}

/* A sentence made of the fields, for documents without a sentence. */
static void
write_sentence(struct html *h, const json_t *verdict, const char *stage)
{
	const char *sentence = result_text(verdict, KEY_verdict_sentence);

	if (sentence != NULL)
		html_text(h, sentence);
	else if (stage != NULL) {
		html_raw(h, "The ");
		html_text(h,
		    first_text(result_text(verdict, KEY_verdict_words), result_stage_words(stage)));
		html_raw(h, " limited this transfer.");
	} else
		html_raw(h, "What limited this transfer cannot be told from what was measured.");
}

/* Verdicts that stood here before the closed session opened again, and who opened it. */
static void
write_before(struct html *h, const json_t *list)
{
	const char *sentence;
	const json_t *o;
	size_t i;

	json_array_foreach(list, i, o)
	{
		sentence = result_text(o, KEY_before_sentence);
		html_raw(h, "<p class=\"note\">Until ");
		html_text(h, first_text(result_text(o, KEY_before_replaced), "?"));
		html_raw(h, " the verdict was: ");
		html_text(h, first_text(sentence, "none"));
		html_raw(h, " Then ");
		html_text(h, first_text(result_text(o, KEY_before_why), "the session went on"));
		html_raw(h, ".</p>");
	}
}

/* "Confidence: medium, an account of this transfer." */
static void
write_confidence(struct html *h, const json_t *verdict)
{
	const char *claim = result_text(verdict, KEY_verdict_claim);
	double n_eff = result_number(verdict, KEY_verdict_n_eff);

	html_raw(h, "<p>Confidence: <b>");
	html_text(h, first_text(result_text(verdict, KEY_verdict_confidence), "not stated"));
	html_raw(h, "</b>");
	if (claim != NULL && strcmp(claim, "account") == 0)
		html_raw(h, ", an account of this transfer alone");
	else if (claim != NULL && n_eff >= 1) {
		html_raw(h, ", inferred from intervals worth ");
		html_int(h, (int64_t)fmin(n_eff, 1e6));
		html_raw(h, " independent ones");
	}
	html_raw(h, ".");
	/* of two stages no witness says whether they limit together */
	if (result_text(verdict, KEY_verdict_stage) != NULL)
		write_agreement(h, result_list(verdict, KEY_verdict_witnesses));
	html_raw(h, "</p>");
}

/* The comparison with the route's usual, and since when; nothing with too few sessions. */
static void
write_usual(struct html *h, const json_t *doc, bool alone)
{
	const json_t *usual = result_get(doc, KEY_result_usual),
		     *s = result_get(doc, KEY_result_session);
	const char *sentence = result_text(usual, KEY_usual_sentence),
		   *since =
		       result_text(result_get(usual, KEY_usual_since), KEY_route_change_sentence);

	if (sentence == NULL)
		return;
	html_raw(h, "<p class=\"usual\"><b>");
	html_text(h, sentence);
	html_raw(h, "</b>");
	if (since != NULL) {
		html_raw(h, " This route: ");
		html_text(h, since);
	}
	if (!alone && !h->foreign) {
		html_raw(h, " <a");
		page_route_href(h, "/route", result_text(s, KEY_session_route),
		    result_text(s, KEY_session_program));
		html_raw(h, ">History of the route</a>");
	}
	html_raw(h, "</p>");
}

static void
session_verdict(struct html *h, const json_t *doc, bool alone)
{
	const json_t *verdict = result_get(doc, KEY_result_verdict);
	const char *stage = result_text(verdict, KEY_verdict_stage);

	if (verdict == NULL) {
		html_raw(h,
		    "<section class=\"verdict none\"><p class=\"kicker\">Where did it "
		    "narrow?</p><h2 class=\"sentence\">"
		    "This session has not been analysed yet.</h2><p>A session is analysed within "
		    "seconds after it ends.</p></section>");
		return;
	}
	if (stage == NULL && is_answered(verdict))
		html_raw(h,
		    "<section class=\"verdict none\"><p class=\"kicker\">Where did it narrow? Not "
		    "in one place alone.</p>");
	else if (stage == NULL)
		html_raw(h,
		    "<section class=\"verdict none\"><p class=\"kicker\">Where did it narrow? It "
		    "cannot be told.</p>");
	else
		html_raw(
		    h, "<section class=\"verdict\"><p class=\"kicker\">Where did it narrow?</p>");
	html_raw(h, "<h2 class=\"sentence\">");
	write_sentence(h, verdict, stage);
	html_raw(h, "</h2>");
	write_usual(h, doc, alone);
	if (stage != NULL || is_answered(verdict))
		write_confidence(h, verdict);
	else
		write_candidates(h, verdict);
	write_reasons(h, verdict);
	write_before(h, result_list(doc, KEY_result_before));
	html_raw(h, "</section>");
}

/* --- the size of the difference, and witnesses --- */

/* "2.1x", "at least 1.5x", "at most 3x", or nothing. */
static void
write_effect(struct html *h, double effect, const double ends[2])
{
	bool about = isfinite(effect);

	if (!about)
		html_text(h, isfinite(ends[1]) ? "at most " : "at least ");
	html_text(h, fmt_ratio(about ? effect : isfinite(ends[1]) ? ends[1] : ends[0]).s);
	html_raw(h, "\xc3\x97");
}

static void
session_effect(struct html *h, const json_t *doc)
{
	const json_t *verdict = result_get(doc, KEY_result_verdict);
	double effect = result_number(verdict, KEY_verdict_effect), ends[2];

	result_numbers(result_list(verdict, KEY_verdict_interval), ends, 2);
	if (result_text(verdict, KEY_verdict_stage) == NULL ||
	    !(isfinite(effect) || isfinite(ends[0]) || isfinite(ends[1])))
		return;
	html_raw(h, "<section class=\"effect\"><p class=\"figure\">");
	write_effect(h, effect, ends);
	html_raw(h, "</p><p>as fast without this limit");
	if (isfinite(ends[1]) && result_text(verdict, KEY_verdict_runner_up) != NULL) {
		html_raw(h, ", until the next limits: ");
		html_text(h, result_stage_words(result_text(verdict, KEY_verdict_runner_up)));
	}
	if (isfinite(effect) && isfinite(ends[0]) && isfinite(ends[1])) {
		html_raw(h, "; between ");
		html_text(h, fmt_ratio(ends[0]).s);
		html_raw(h, " and ");
		html_text(h, fmt_ratio(ends[1]).s);
	}
	html_raw(h, ".</p></section>");
}

static void
session_witnesses(struct html *h, const json_t *doc)
{
	const json_t *list =
	    result_list(result_get(doc, KEY_result_verdict), KEY_verdict_witnesses);
	size_t i, n = json_array_size(list);

	if (n == 0)
		return;
	html_raw(h, "<ul class=\"witnesses\">");
	for (i = 0; i < n && i < LIST_MAX; i++) {
		const json_t *w = json_array_get(list, i);
		const char *says = result_text(w, KEY_witness_says);

		switch (result_bool(w, KEY_witness_agrees)) {
		case 1:
			html_raw(h, "<li class=\"yes\"><b class=\"mark\">\xe2\x9c\x93 agrees</b>");
			break;
		case 0:
			html_raw(
			    h, "<li class=\"no\"><b class=\"mark\">\xe2\x9c\x97 disagrees</b>");
			break;
		default: html_raw(h, "<li><b class=\"mark\">\xe2\x80\x93 neutral</b>");
		}
		html_raw(h, "<span><b>");
		html_text(h, first_text(result_text(w, KEY_witness_name), "unnamed"));
		html_raw(h, "</b>");
		if (says != NULL) {
			html_raw(h, " says ");
			html_text(h, result_stage_words(says));
		}
		html_raw(h, "</span><span class=\"soft\">");
		html_text(h, result_text(w, KEY_witness_detail));
		html_raw(h, "</span></li>");
	}
	html_raw(h, "</ul>");
}

/* --- methods --- */

static void
item_seconds(struct html *h, const char *name, const json_t *object, enum result_key key)
{
	double v = result_number(object, key);

	if (isfinite(v))
		page_item(h, name, fmt_duration(v).s);
}

static void
item_plain(struct html *h, const char *name, const json_t *object, enum result_key key)
{
	double v = result_number(object, key);

	if (isfinite(v))
		page_item(h, name, fmt_exact(v).s);
}

static const char *
test_words(const char *test)
{
	if (test != NULL && strcmp(test, "welch") == 0)
		return "Welch's t-test on the means of windows";
	if (test != NULL && strcmp(test, "student") == 0)
		return "Student's t-test on the means of windows";
	return first_text(test, "not stated");
}

static void
session_methods(struct html *h, const json_t *doc)
{
	const json_t *run = result_get(doc, KEY_result_run),
		     *bottleneck = result_get(doc, KEY_result_bottleneck);

	html_raw(h, "<dl class=\"items\">");
	if (bottleneck != NULL) {
		page_item(h, "Test", test_words(result_text(bottleneck, KEY_bottleneck_test)));
		if (result_text(bottleneck, KEY_bottleneck_tested) != NULL)
			page_item(
			    h, "What it compares", result_text(bottleneck, KEY_bottleneck_tested));
		item_plain(h, "Significance level", bottleneck, KEY_bottleneck_alpha);
		item_plain(h, "Stages count as equal within", result_get(run, KEY_run_parameters),
		    KEY_run_parameters_margin);
		item_seconds(h, "Length of a window", bottleneck, KEY_bottleneck_window_s);
		if (result_bool(bottleneck, KEY_bottleneck_n_eff) >= 0)
			page_item(h, "Corrected for autocorrelation",
			    result_bool(bottleneck, KEY_bottleneck_n_eff) == 1 ? "yes" : "no");
	}
	item_plain(h, "Rows read", run, KEY_run_rows);
	item_plain(h, "Samples read", run, KEY_run_samples);
	if (result_text(run, KEY_run_started) != NULL) {
		html_raw(h, "<div><dt>Analysed</dt><dd>");
		page_stamp(h, result_text(run, KEY_run_started));
		html_raw(h, "</dd></div>");
	}
	item_seconds(h, "The analysis took", run, KEY_run_took_s);
	page_item(h, "Version", first_text(result_text(run, KEY_run_version), "not stated"));
	html_raw(h, "</dl>");
}

static void
write_compare(struct html *h, int64_t id)
{
	char ids[32];

	html_raw(h,
	    "<form class=\"filter\" action=\"/compare\"><label>Compare sessions (up to six, with "
	    "commas) <input name=\"ids\" maxlength=\"120\"");
	snprintf(ids, sizeof(ids), "%lld, ", (long long)id);
	html_attr(h, "value", ids);
	html_raw(h,
	    "></label> <label>lined up <select name=\"by\"><option value=\"start\">from "
	    "the start</option><option value=\"bytes\">by share of the bytes</option><option "
	    "value=\"clock\">by the clock</option></select></label> <button>Compare"
	    "</button></form>");
}

static void
write_exports(struct html *h, int64_t id)
{
	static const struct {
		const char *ending, *text;
	} links[] = {
		{ ".json", "This result as JSON" },
		{ ".csv", "All measurements as CSV" },
		{ ".csv?shape=wide", "by seconds, for a spreadsheet" },
		{ ".ndjson", "NDJSON" },
		{ ".lp", "line protocol" },
		{ ".bson", "as it was sent, in BSON" },
	};
	size_t i;

	html_raw(h, "<p class=\"links\">");
	for (i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		html_raw(h, " <a href=\"/session/");
		html_int(h, id);
		html_text(h, links[i].ending);
		html_raw(h, "\">");
		html_text(h, links[i].text);
		html_raw(h, "</a>");
	}
	html_raw(h, "</p>");
}

/* --- the query --- */

/* The field's number of seconds. False: the field is there, and is no such number. */
static bool
seconds_take(const struct evkeyvalq *fields, const char *name, double *out)
{
	const char *text = evhttp_find_header(fields, name);
	char *end;

	*out = NAN;
	if (text == NULL || *text == '\0')
		return true;
	*out = strtod(text, &end);
	return *end == '\0' && *out >= 0 && *out < SECONDS_MAX;
}

bool
session_query_parse(struct session_query *q, const char *query)
{
	struct evkeyvalq fields;
	const char *all;
	bool ok;

	*q = (struct session_query){ .all = false };
	if (query == NULL || evhttp_parse_query_str(query, &fields) != 0)
		return true;
	all = evhttp_find_header(&fields, "all");
	q->all = all != NULL && strcmp(all, "1") == 0;
	ok = seconds_take(&fields, "from", &q->from_s) && seconds_take(&fields, "to", &q->to_s);
	evhttp_clear_headers(&fields);
	if (!ok || (isnan(q->from_s) && isnan(q->to_s))) {
		q->from_s = q->to_s = 0;
		return ok;
	}
	q->from_s = isnan(q->from_s) ? 0 : q->from_s;
	q->to_s = isnan(q->to_s) ? SECONDS_MAX : q->to_s;
	return q->to_s > q->from_s;
}

/* --- the page --- */

/*
 * Depths of the page: the answer, then the evidence that an engineer looks at next, then everything
 * else, folded. A section writes a part of the document, or says that the part is absent.
 */
static const struct section {
	const char *id, *title;
	void (*write)(struct html *h, const json_t *doc);
	bool folded, optional;        /* optional: not shown without content */
	enum result_key object, list; /* where the content is; list: RESULT_KEYS for none */
} sections[] = {
	{ "stages", "Stages", session_stages, false, false, KEY_result_bottleneck,
	    KEY_bottleneck_stages },
	{ "changed", "What changed", session_changed, false, true, KEY_result_changed,
	    RESULT_KEYS },
	{ "advice", "What to do", session_advice, false, true, KEY_result_advice, RESULT_KEYS },
	{ "witnesses", "Witnesses", session_witnesses, false, true, KEY_result_verdict,
	    KEY_verdict_witnesses },
	{ "changes", "Since when in the session", session_changes, false, true, KEY_result_changes,
	    KEY_changes_segments },
	{ "time", "Over time", session_plots, false, false, KEY_result_timeline, RESULT_KEYS },
	{ "tcp", "TCP over time", session_tcp, false, true, KEY_result_timeline,
	    KEY_timeline_connections },
	{ "kernel", "Below the programs", session_kernel, false, true, KEY_result_kernel,
	    KEY_kernel_waits },
	{ "ops", "Operations by size and duration", session_ops, true, true, KEY_result_density,
	    RESULT_KEYS },
	{ "classes", "Classes of operations", session_classes, true, true, KEY_result_density,
	    RESULT_KEYS },
	{ "io", "Time lost in file operations", session_iotime, true, true, KEY_result_io,
	    KEY_io_files },
	{ "metrics", "Metrics that follow it", session_reduction, true, true, KEY_result_reduction,
	    RESULT_KEYS },
	{ "hosts", "Hosts and their clocks", session_hosts, true, false, KEY_result_session,
	    KEY_session_hosts },
	{ "quality", "Data quality", session_quality, true, false, KEY_result_quality,
	    RESULT_KEYS },
	{ "files", "Files", session_files, true, false, KEY_result_session, KEY_session_files },
	{ "connections", "Connections", session_connections, true, false, KEY_result_session,
	    KEY_session_connections },
	{ "methods", "Methods", session_methods, true, false, KEY_result_run, RESULT_KEYS },
};
enum { N_SECTIONS = sizeof(sections) / sizeof(sections[0]) };

/* How many entries a section has; 1 for content that is no list. */
static size_t
section_count(const struct section *s, const json_t *doc)
{
	const json_t *part = result_get(doc, s->object);

	if (s->list != RESULT_KEYS)
		return json_array_size(result_list(part, s->list));
	return json_is_array(part) ? json_array_size(part) : part != NULL;
}

static bool
section_is_shown(const struct section *s, const json_t *doc)
{
	return !s->optional || section_count(s, doc) > 0;
}

static void
write_contents(struct html *h, const json_t *doc, int64_t id, bool all)
{
	size_t i;

	html_raw(h, "<nav class=\"contents\" aria-label=\"Contents\"><ul>");
	for (i = 0; i < N_SECTIONS; i++) {
		size_t n = section_count(&sections[i], doc);

		if (!section_is_shown(&sections[i], doc))
			continue;
		html_raw(h, "<li><a href=\"#");
		html_text(h, sections[i].id);
		html_raw(h, "\">");
		html_text(h, sections[i].title);
		html_raw(h, "</a>");
		if (n == 0)
			html_raw(h, " <span class=\"soft\">nothing</span>");
		else if (sections[i].list != RESULT_KEYS && n > 1) {
			html_raw(h, " <span class=\"soft\">");
			html_int(h, (int64_t)n);
			html_raw(h, "</span>");
		}
		html_raw(h, "</li>");
	}
	if (!all) {
		html_raw(h, "<li><a href=\"/session/");
		html_int(h, id);
		html_raw(h, "?all=1\">Everything unfolded, to print</a></li>");
	}
	html_raw(h, "</ul></nav>");
}

static void
write_section(struct html *h, const struct section *s, const json_t *doc, bool all)
{
	if (s->folded)
		html_raw(h, "<details class=\"fold\"");
	else
		html_raw(h, "<section");
	html_attr(h, "id", s->id);
	if (s->folded && all)
		html_raw(h, " open");
	if (s->folded)
		html_raw(h, "><summary><h2>");
	else
		html_raw(h, "><h2>");
	html_text(h, s->title);
	if (s->folded)
		html_raw(h, "</h2></summary>");
	else
		html_raw(h, "</h2>");
	s->write(h, doc);
	if (s->folded)
		html_raw(h, "</details>");
	else
		html_raw(h, "</section>");
}

/* A tab shows the begin of the title: the verdict, then what ran where. */
static void
title_make(char *out, size_t size, const json_t *doc, const struct nw_session_rec *rec)
{
	const json_t *s = result_get(doc, KEY_result_session);
	const char *stage = result_text(result_get(doc, KEY_result_verdict), KEY_verdict_stage);
	const char *route = result_text(s, KEY_session_route);

	snprintf(out, size, "%s: %.60s%s%.90s (session %s)",
	    stage != NULL                  ? result_stage_words(stage)
		: doc != NULL              ? "Cannot tell"
		: rec->closed_wall_ns == 0 ? "Running"
					   : "Session",
	    first_text(first_text(result_text(s, KEY_session_program), rec->program), "unknown"),
	    route != NULL ? ", " : "", route != NULL ? route : "", fmt_int(rec->id).s);
}

struct view {
	struct html *h;
	struct store_reader *r; /* NULL: only the document is there */
	struct session_query q;
	bool alone;
	bool events; /* whether the session has any */
};

static void
lines_link(const struct view *v, int64_t id)
{
	if (!v->events)
		return;
	html_raw(v->h, "<p class=\"links\"><a href=\"/session/");
	html_int(v->h, id);
	html_raw(v->h, "/lifelines\">Lifelines of the session's events</a></p>");
}

/* doc: NULL before the first run. */
static void
write_page(const struct view *v, const json_t *doc, const struct nw_session_rec *rec)
{
	struct html *h = v->h;
	bool open = rec->closed_wall_ns == 0;
	char title[256];
	size_t i;

	h->session_id = v->alone ? 0 : rec->id;
	h->from_s = v->q.from_s;
	h->to_s = v->q.to_s;
	h->foreign = result_get(doc, KEY_result_imported) != NULL;
	title_make(title, sizeof(title), doc, rec);
	page_begin(h,
	    &(struct page_frame){ .title = title,
		.tab = PAGE_SESSIONS,
		.refresh_s = open && !v->alone ? REFRESH_S : 0,
		.alone = v->alone });
	write_facts(h, doc, rec, v->alone);
	if (!h->foreign)
		lines_link(v, rec->id);
	write_imported(h, doc);
	if (open)
		write_running(h, doc);
	session_verdict(h, doc, v->alone);
	if (doc != NULL) {
		session_effect(h, doc);
		write_contents(h, doc, rec->id, v->q.all);
	}
	for (i = 0; i < N_SECTIONS && doc != NULL; i++) {
		if (sections[i].write == session_plots)
			session_stretch(h, doc);
		if (section_is_shown(&sections[i], doc))
			write_section(h, &sections[i], doc, v->q.all);
	}
}

static int
on_session(void *arg, const struct nw_session_rec *rec, const struct nw_result_rec *res)
{
	const struct view *v = arg;
	json_t *doc = res != NULL && res->json != NULL ? json_loads(res->json, 0, NULL) : NULL;
	int rc = NW_OK;

	write_page(v, doc, rec);
	if (v->r != NULL && !v->h->foreign)
		rc = session_sensors(v->h, v->r, doc);
	write_compare(v->h, rec->id);
	if (!v->h->foreign)
		write_exports(v->h, rec->id);
	page_end(v->h);
	json_decref(doc);
	return rc;
}

int
page_session(struct html *h, struct store_reader *r, int64_t id, const struct session_query *q)
{
	struct nw_event_span span;
	int rc = store_event_span(r, id, &span);

	if (rc < 0)
		return rc;
	return store_session_get(
	    r, id, on_session, &(struct view){ .h = h, .r = r, .q = *q, .events = span.n > 0 });
}

/* Writes the sections for nobody: the figure takes the way to h->figure_csv. */
static int
on_figure(void *arg, const struct nw_session_rec *rec, const struct nw_result_rec *res)
{
	struct html *h = arg;
	json_t *doc = res != NULL && res->json != NULL ? json_loads(res->json, 0, NULL) : NULL;
	size_t i;

	(void)rec;
	if (doc != NULL)
		session_stretch(h, doc);
	for (i = 0; i < N_SECTIONS && doc != NULL && !h->figure_found; i++)
		sections[i].write(h, doc);
	json_decref(doc);
	return 0;
}

struct wanted {
	struct store_reader *r;
	int64_t id;
	const struct session_query *q;
};

static int
write_figure(struct html *h, void *arg)
{
	const struct wanted *w = arg;

	h->from_s = w->q->from_s;
	h->to_s = w->q->to_s;
	return store_session_get(w->r, w->id, on_figure, h);
}

int
page_session_figure(struct store_reader *r, int64_t id, const struct session_query *q,
    const char *figure, char **text, size_t *len)
{
	return page_figure(figure, write_figure, &(struct wanted){ r, id, q }, text, len);
}

/* The whole document stands behind the page, as data for programs. */
int
page_session_file(struct html *h, const char *json)
{
	json_t *doc = json_loads(json, 0, NULL);
	const json_t *s = result_get(doc, KEY_result_session);
	const char *state = result_text(s, KEY_session_state);
	struct nw_session_rec rec = { .task_id = result_text(s, KEY_session_task_id),
		.program = result_text(s, KEY_session_program),
		.opened_wall_ns = result_ns(s, KEY_session_start_ns),
		.closed_wall_ns = state != NULL && strcmp(state, "open") == 0 ? 0 : 1 };
	double id = result_number(s, KEY_session_id);

	if (!json_is_object(doc)) {
		json_decref(doc);
		return NW_EINVAL;
	}
	rec.id = id > 0 && id < 9e15 ? (int64_t)id : 0;
	write_page(&(struct view){ .h = h, .q = { .all = true }, .alone = true },
	    result_get(doc, KEY_result_run) != NULL ? doc : NULL, &rec);
	html_raw(h,
	    "<section><h2>In this file</h2><p>The whole result document is in this file, as JSON "
	    "in "
	    "its last element; each plot has its numbers as CSV below it. <code>narrows import "
	    "<var>this file</var></code> shows the report on another box, with the verdict as it "
	    "was made.</p></section><script type=\"application/json\" id=\"narrows-result\">");
	html_json(h, json);
	html_raw(h, "</script>");
	page_end(h);
	json_decref(doc);
	return NW_OK;
}
