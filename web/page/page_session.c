/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page of one session: answers in words first, numbers second, graphs third, raw data last. The
 * page is a view of the result document and says in words when a part of the document is absent.
 * The table at the end lists the sections.
 */
#include "web/page/page.h"

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
#include "web/answer/feedback.h"
#include "web/answer/notes.h"
#include "web/page/session_stretch.h"

enum { REFRESH_S = 10, LIST_MAX = 20 };
#define SECONDS_MAX 1e9 /* of a time axis */

/* --- the line of facts below the verdict --- */

/* "Data quality: 99.8 % of intervals, 2 hosts, clocks within 180 us, nothing lost." */
static void
write_quality(struct html *h, const json_t *doc)
{
	const json_t *q = result_get(doc, KEY_result_quality),
		     *hosts = result_list(result_get(doc, KEY_result_session), KEY_session_hosts);
	double got = result_number(q, KEY_quality_intervals_got) /
	    result_number(q, KEY_quality_intervals_expected),
	       bound = session_clock_bound(doc),
	       lost = result_number(q, KEY_quality_documents_dropped) +
	    result_number(q, KEY_quality_documents_rejected);

	if (q == NULL)
		return;
	html_raw(h, "<p class=\"note quality\">Data quality: ");
	if (isfinite(got)) {
		html_text(h, fmt_share(fmin(got, 1)).s);
		html_raw(h, " of intervals, ");
	}
	html_int(h, (int64_t)json_array_size(hosts));
	html_text(h, json_array_size(hosts) == 1 ? " host" : " hosts");
	if (json_array_size(hosts) > 1)
		html_text(h,
		    isfinite(bound)
			? ", clocks within "
			: ", whose clocks are not known well enough to order their events");
	if (json_array_size(hosts) > 1 && isfinite(bound))
		html_text(h, fmt_duration(bound).s);
	if (lost > 0 && lost < 1e15) {
		html_raw(h, ", <a href=\"#quality\">documents lost: ");
		html_int(h, (int64_t)lost);
		html_raw(h, "</a>");
	} else if (lost >= 0)
		html_raw(h, ", nothing lost");
	html_raw(h, ".</p>");
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
	    page_either(
		page_either(result_text(s, KEY_session_program), rec->program), "unknown program"));
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
	html_raw(h, "</ul>");
	write_quality(h, doc);
	html_raw(h, "</header>");
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

	html_raw(h, "<p class=\"running\" role=\"status\"><b>Interim: still running.</b> ");
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
	page_name(h, page_either(result_text(imported, KEY_imported_host), "a host"));
	html_raw(h, " brought it here");
	if (result_text(imported, KEY_imported_at) != NULL) {
		html_raw(h, " on ");
		page_stamp(h, result_text(imported, KEY_imported_at));
	}
	html_raw(h, ". The session was not measured here, and no route counts the session.</p>");
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
	return page_either(test, "not stated");
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
	page_item(h, "Version", page_either(result_text(run, KEY_run_version), "not stated"));
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
		{ ".xml", "NM-WG" },
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

static bool
take_seconds(void *out, const char *text)
{
	double *seconds = out;
	char *end;

	if (*text == '\0')
		return true;
	*seconds = strtod(text, &end);
	return *end == '\0' && *seconds >= 0 && *seconds < SECONDS_MAX;
}

/* Another value than 1 folds the page. */
static bool
take_all(void *out, const char *text)
{
	*(bool *)out = strcmp(text, "1") == 0;
	return true;
}

#define AT(member) .at = offsetof(struct session_query, member)
#define SECONDS    .take = take_seconds, .form = "seconds since the begin", .example = "1.5"

const struct param part_params[] = {
	{ "all", AT(all), .take = take_all, .meaning = "Every fold is open.", .form = "1",
	    .example = "1" },
	{ "from", AT(from_s), SECONDS, .meaning = "Begin of a stretch." },
	{ "to", AT(to_s), SECONDS, .meaning = "End of a stretch." },
	{ .name = NULL },
};

bool
session_query_parse(struct session_query *q, const char *query)
{
	const struct param *p;
	struct evkeyvalq fields;
	const char *text;
	bool ok = true;

	*q = (struct session_query){ .from_s = NAN, .to_s = NAN };
	if (query != NULL && evhttp_parse_query_str(query, &fields) == 0) {
		for (p = part_params; p->name != NULL; p++)
			if ((text = evhttp_find_header(&fields, p->name)) != NULL)
				ok = param_take(p, q, text) && ok;
		evhttp_clear_headers(&fields);
	}
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
 * Depths of the page: the answers, then the evidence that an engineer looks at next, then
 * everything else, folded. A section without content is not written.
 */
static const struct section {
	const char *id, *title;
	void (*write)(struct html *h, const json_t *doc);
	bool folded;
	enum result_key object, list; /* where the content is; list: RESULT_KEYS for none */
} sections[] = {
	{ "time", "Over time", session_plots, false, KEY_result_timeline, RESULT_KEYS },
	{ "tcp", "TCP over time", session_tcp, false, KEY_result_timeline,
	    KEY_timeline_connections },
	{ "chain", "Who waited for whom", session_chain, false, KEY_result_chain, KEY_chain_nodes },
	{ "steps", "Steps of loops", session_steps, false, KEY_result_steps, RESULT_KEYS },
	{ "stages", "Stages", session_stages, true, KEY_result_bottleneck, KEY_bottleneck_stages },
	{ "witnesses", "Witnesses", session_witnesses, true, KEY_result_verdict,
	    KEY_verdict_witnesses },
	{ "changes", "Since when in the session", session_changes, true, KEY_result_changes,
	    KEY_changes_segments },
	{ "changed", "What changed", session_changed, true, KEY_result_changed,
	    KEY_changed_differences },
	{ "advice", "What to do", session_advice, true, KEY_result_advice, RESULT_KEYS },
	{ "kernel", "Below the programs", session_kernel, true, KEY_result_kernel,
	    KEY_kernel_waits },
	{ "ops", "Operations by size and duration", session_ops, true, KEY_result_density,
	    RESULT_KEYS },
	{ "classes", "Classes of operations", session_classes, true, KEY_result_density,
	    RESULT_KEYS },
	{ "io", "Time lost in file operations", session_iotime, true, KEY_result_io, KEY_io_files },
	{ "metrics", "Metrics that follow it", session_reduction, true, KEY_result_reduction,
	    RESULT_KEYS },
	{ "hosts", "Hosts and their clocks", session_hosts, true, KEY_result_session,
	    KEY_session_hosts },
	{ "quality", "Data quality", session_quality, true, KEY_result_quality, RESULT_KEYS },
	{ "senders", "Who sent what", session_senders, true, KEY_result_senders, RESULT_KEYS },
	{ "files", "Files", session_files, true, KEY_result_session, KEY_session_files },
	{ "connections", "Connections", session_connections, true, KEY_result_session,
	    KEY_session_connections },
	{ "methods", "Methods", session_methods, true, KEY_result_run, RESULT_KEYS },
};
enum { N_SECTIONS = sizeof(sections) / sizeof(sections[0]) };

/* How many entries a section has; 1 for content that is no list. */
static size_t
section_count(const struct section *s, const json_t *doc)
{
	const json_t *part = result_get(doc, s->object);

	if (s->object == KEY_result_timeline && !(result_number(part, KEY_timeline_n) >= 1))
		return 0;
	if (s->list != RESULT_KEYS)
		return json_array_size(result_list(part, s->list));
	return json_is_array(part) ? json_array_size(part) : part != NULL;
}

static void
write_contents_entry(struct html *h, const struct section *s, size_t n)
{
	html_raw(h, "<li><a href=\"#");
	html_text(h, s->id);
	html_raw(h, "\">");
	html_text(h, s->title);
	html_raw(h, "</a>");
	if (s->list != RESULT_KEYS && n > 1) {
		html_raw(h, " <span class=\"soft\">");
		html_int(h, (int64_t)n);
		html_raw(h, "</span>");
	}
	html_raw(h, "</li>");
}

/* Names the sections without content, in a sentence. */
static void
write_empty(struct html *h, const json_t *doc)
{
	size_t i, n = 0;

	for (i = 0; i < N_SECTIONS; i++) {
		if (section_count(&sections[i], doc) > 0)
			continue;
		if (n++ == 0)
			html_raw(h, "<li class=\"soft\">Without content: ");
		else
			html_raw(h, ", ");
		html_text(h, sections[i].title);
	}
	if (n > 0)
		html_raw(h, "</li>");
}

static void
write_contents(struct html *h, const json_t *doc, int64_t id, bool all)
{
	size_t i, n;

	html_raw(h, "<nav class=\"contents\" aria-label=\"Contents\"><ul>");
	for (i = 0; i < N_SECTIONS; i++)
		if ((n = section_count(&sections[i], doc)) > 0)
			write_contents_entry(h, &sections[i], n);
	if (!all) {
		html_raw(h, "<li><a href=\"/session/");
		html_int(h, id);
		html_raw(h, "?all=1\">Everything unfolded, to print</a></li>");
	}
	write_empty(h, doc);
	html_raw(h, "</ul></nav>");
}

/* The id of a folded section stands within the fold: a browser that follows a link to the id opens
 * the fold. */
static void
write_fold(struct html *h, const struct section *s, const json_t *doc, bool all)
{
	html_raw(h, "<details class=\"fold\" id=\"fold-");
	html_text(h, s->id);
	if (all)
		html_raw(h, "\" open>");
	else
		html_raw(h, "\">");
	html_raw(h, "<summary><h2>");
	html_text(h, s->title);
	html_raw(h, "</h2>");
	if (s->list != RESULT_KEYS && section_count(s, doc) > 1) {
		html_raw(h, " <span class=\"soft\">");
		html_int(h, (int64_t)section_count(s, doc));
		html_raw(h, "</span>");
	}
	html_raw(h, "</summary><div class=\"inside\"");
	html_attr(h, "id", s->id);
	html_raw(h, ">");
	s->write(h, doc);
	html_raw(h, "</div></details>");
}

static void
write_section(struct html *h, const struct section *s, const json_t *doc, bool all)
{
	if (s->folded) {
		write_fold(h, s, doc, all);
		return;
	}
	html_raw(h, "<section");
	html_attr(h, "id", s->id);
	html_raw(h, "><h2>");
	html_text(h, s->title);
	html_raw(h, "</h2>");
	s->write(h, doc);
	html_raw(h, "</section>");
}

/* A tab shows the begin of the title: the verdict, then what ran where. */
static void
title_make(char *out, size_t size, const json_t *doc, const struct nw_session_rec *rec)
{
	const json_t *s = result_get(doc, KEY_result_session);
	const json_t *v = result_get(doc, KEY_result_verdict);
	const char *route = result_text(s, KEY_session_route);

	snprintf(out, size, "%s: %.60s%s%.90s (session %s)",
	    doc != NULL
		? result_limit_words(result_text(v, KEY_verdict_stage),
		      result_text(v, KEY_verdict_confidence), result_text(v, KEY_verdict_sentence))
		: rec->closed_wall_ns == 0 ? "Running"
					   : "Session",
	    page_either(page_either(result_text(s, KEY_session_program), rec->program), "unknown"),
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
	json_t *incident;
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
	incident = h->foreign ? NULL : session_incident(v->r, doc);
	session_answers(h, doc, incident);
	json_decref(incident);
	if (v->r != NULL && session_partners(h, v->r, rec->id) < 0)
		h->failed = true;
	if (doc != NULL && v->r != NULL && !h->foreign && session_feedback(h, v->r, rec->id) < 0)
		h->failed = true;
	if (doc != NULL)
		write_contents(h, doc, rec->id, v->q.all);
	for (i = 0; i < N_SECTIONS && doc != NULL; i++) {
		if (sections[i].write == session_plots)
			session_stretch(h, doc);
		if (section_count(&sections[i], doc) > 0)
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
	if (rc == NW_OK && v->r != NULL)
		rc = session_notes(v->h, v->r, rec->id);
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

/* Writes no section to a page: the figure takes the way to h->figure_csv. */
static int
on_figure(void *arg, const struct nw_session_rec *rec, const struct nw_result_rec *res)
{
	struct html *h = arg;
	json_t *doc = res != NULL && res->json != NULL ? json_loads(res->json, 0, NULL) : NULL;
	size_t i;

	(void)rec;
	if (doc != NULL) {
		session_answers(h, doc, NULL);
		session_stretch(h, doc);
	}
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

static int
on_listed(void *arg, const struct nw_session_rec *rec, const struct nw_result_rec *res)
{
	struct html *h = arg;
	json_t *doc = res != NULL && res->json != NULL ? json_loads(res->json, 0, NULL) : NULL;
	size_t i;

	h->session_id = rec->id;
	for (i = 0; i < N_SECTIONS && doc != NULL; i++)
		sections[i].write(h, doc);
	json_decref(doc);
	return h->failed ? NW_ENOMEM : 0;
}

/* The sections are written for the notes of their figures alone. */
int
page_session_figures(struct store_reader *r, int64_t id, json_t **out)
{
	struct html h = { .out = evbuffer_new(), .figure_list = json_array() };
	json_t *doc = json_object();
	int rc = h.out != NULL ? store_session_get(r, id, on_listed, &h) : NW_ENOMEM;

	result_set(doc, KEY_figures_schema, json_string("narrows-figures/1"));
	result_set(doc, KEY_figures_session, json_integer(id));
	result_set(doc, KEY_figures_figures, h.figure_list);
	if (h.out != NULL)
		evbuffer_free(h.out);
	*out = rc == NW_OK ? doc : NULL;
	if (rc < 0)
		json_decref(doc);
	return rc;
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
	    "<var>this file</var></code> shows the report on another box, with its "
	    "verdict.</p></section><script type=\"application/json\" id=\"narrows-result\">");
	html_json(h, json);
	html_raw(h, "</script>");
	page_end(h);
	json_decref(doc);
	return NW_OK;
}
