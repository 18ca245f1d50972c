/* SPDX-License-Identifier: BSD-3-Clause */
/* The history of a route: the document, and the rates of the sessions. */
#include "web/page/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/http.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "web/draw/plot.h"
#include "web/page/html_table.h"

enum { SHOWN_MAX = 500, LINES = 4, STAGES = 6, PERIODS_MAX = 25 };
#define DAY_NS  86400e9
#define HOUR_NS 3600e9

/* --- addresses --- */

void
page_route_href(struct html *h, const char *path, const char *route, const char *program)
{
	char *r = evhttp_uriencode(route != NULL ? route : "", -1, 1),
	     *p = evhttp_uriencode(program != NULL ? program : "", -1, 1);
	struct evbuffer *b = evbuffer_new();

	if (b != NULL && r != NULL && p != NULL &&
	    evbuffer_add_printf(b, "%s?route=%s&program=%s", path, r, p) >= 0 &&
	    evbuffer_add(b, "", 1) == 0)
		html_attr(h, "href", (const char *)evbuffer_pullup(b, -1));
	if (b != NULL)
		evbuffer_free(b);
	free(r);
	free(p);
}

static void
write_session_link(struct html *h, const json_t *doc, enum result_key key)
{
	double id = result_number(doc, key);

	if (!(id > 0 && id < 9e15))
		return;
	html_raw(h, " (<a href=\"/session/");
	html_int(h, (int64_t)id);
	html_raw(h, "\">session ");
	html_int(h, (int64_t)id);
	html_raw(h, "</a>)");
}

/* --- parts --- */

static void
write_extreme(struct html *h, const char *name, const json_t *doc, enum result_key rate,
    enum result_key session)
{
	html_raw(h, "<div><dt>");
	html_text(h, name);
	html_raw(h, "</dt><dd>");
	page_rate(h, result_number(doc, rate));
	write_session_link(h, doc, session);
	html_raw(h, "</dd></div>");
}

static void
write_figures(struct html *h, const json_t *doc)
{
	html_raw(h,
	    "<section><h2>Usual rate</h2><dl class=\"items\"><div><dt>Usual"
	    "</dt><dd>");
	page_rate(h, result_number(doc, KEY_route_median));
	html_raw(h, "</dd></div><div><dt>Eight in ten sessions lie between</dt><dd>");
	html_text(h, fmt_bytes_per_s(result_number(doc, KEY_route_low)).s);
	html_raw(h, " and ");
	html_text(h, fmt_bytes_per_s(result_number(doc, KEY_route_high)).s);
	html_raw(h, "</dd></div>");
	write_extreme(h, "Best", doc, KEY_route_best, KEY_route_best_session);
	write_extreme(h, "Worst", doc, KEY_route_worst, KEY_route_worst_session);
	html_raw(h, "<div><dt>First and last session</dt><dd>");
	page_time(h, result_ns(doc, KEY_route_first_ns));
	html_raw(h, " and ");
	page_time(h, result_ns(doc, KEY_route_last_ns));
	html_raw(h, "</dd></div>");
	if (result_number(doc, KEY_route_best_session) > 0 &&
	    result_number(doc, KEY_route_worst_session) > 0 &&
	    result_number(doc, KEY_route_best_session) !=
		result_number(doc, KEY_route_worst_session)) {
		html_raw(h, "<div><dt>Beside each other</dt><dd><a href=\"/compare?ids=");
		html_int(h, (int64_t)result_number(doc, KEY_route_best_session));
		html_raw(h, ",");
		html_int(h, (int64_t)result_number(doc, KEY_route_worst_session));
		html_raw(h, "&amp;by=bytes\">the best and the worst</a></dd></div>");
	}
	if (result_number(doc, KEY_route_n_failed) > 0)
		page_item(h, "Sessions whose program failed, left out",
		    fmt_count((uint64_t)result_number(doc, KEY_route_n_failed)).s);
	html_raw(h, "</dl></section>");
}

static void
column_at(struct html *h, const json_t *row)
{
	page_time(h, result_ns(row, KEY_route_change_at_ns));
	write_session_link(h, row, KEY_route_change_session);
}

static void
column_between(struct html *h, const json_t *row)
{
	page_time(h, result_ns(row, KEY_route_change_from_ns));
	html_raw(h, "<span class=\"under\">and ");
	page_time(h, result_ns(row, KEY_route_change_to_ns));
	html_raw(h, "</span>");
}

TABLE_NUMBER(column_before, KEY_route_change_before, fmt_bytes_per_s)
TABLE_NUMBER(column_after, KEY_route_change_after, fmt_bytes_per_s)

static void
write_incidents(struct html *h, const json_t *doc)
{
	const json_t *list = result_list(doc, KEY_route_incidents), *row;
	size_t i;

	html_raw(h, "<section><h2>Incidents</h2>");
	if (json_array_size(list) == 0)
		html_raw(h, "<p>No incident so far.</p>");
	else {
		html_raw(h, "<ul>");
		for (i = json_array_size(list); i-- > 0;) {
			row = json_array_get(list, i);
			html_raw(h, "<li>");
			html_text(h, result_text(row, KEY_incident_sentence));
			write_session_link(h, row, KEY_incident_session);
			html_raw(h, "</li>");
		}
		html_raw(h, "</ul>");
	}
	html_raw(h, "</section>");
}

/* Whether the newest incident is open. */
static bool
is_slower_now(const json_t *doc)
{
	const json_t *list = result_list(doc, KEY_route_incidents), *row;
	const char *state;
	size_t i;

	json_array_foreach(list, i, row)
	{
		state = result_text(row, KEY_incident_state);
		if (state != NULL && strcmp(state, "open") == 0)
			return true;
	}
	return false;
}

static void
write_levels(struct html *h, const json_t *doc)
{
	static const struct table_column columns[] = {
		{ "First session after it", column_at, false },
		{ "Between", column_between, false },
		{ "Before", column_before, true },
		{ "After", column_after, true },
	};
	const json_t *list = result_list(doc, KEY_route_changes);

	if (json_array_size(list) == 0)
		return;
	html_raw(h, "<section><h2>New levels</h2>");
	table_write(h, list, columns, sizeof(columns) / sizeof(columns[0]));
	html_raw(h,
	    "<p class=\"note\">The rates before and after were usual. A level is new after an "
	    "incident of 30 sessions, or after a lasting change to faster.</p></section>");
}

/* --- verdicts over time --- */

struct mix {
	double x[PERIODS_MAX], y[STAGES][PERIODS_MAX];
	const char *stage[STAGES - 1]; /* most frequent stages; the last line is all other stages */
	size_t n, n_stages;
	double unit_ns; /* of x */
};

static bool
is_same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void
mix_stages(struct mix *m, const json_t *doc)
{
	const json_t *o;
	size_t i;

	json_array_foreach(result_list(doc, KEY_route_verdicts), i, o)
	{
		if (i == STAGES - 1)
			break;
		m->stage[m->n_stages++] = result_text(o, KEY_route_verdict_stage);
	}
}

/* Shares of the verdicts of a stretch; a stretch without sessions is a gap. */
static void
mix_period(struct mix *m, const json_t *period, double first_ns)
{
	const double n = result_number(period, KEY_route_period_n_sessions);
	const json_t *o;
	size_t i, k;

	m->x[m->n] = ((double)result_ns(period, KEY_route_period_from_ns) - first_ns) / m->unit_ns;
	for (k = 0; k < STAGES; k++)
		m->y[k][m->n] = n > 0 ? 0 : NAN;
	json_array_foreach(result_list(period, KEY_route_period_stages), i, o)
	{
		for (k = 0; k < m->n_stages; k++)
			if (is_same(m->stage[k], result_text(o, KEY_route_period_stage_stage)))
				break;
		k = k < m->n_stages ? k : STAGES - 1;
		m->y[k][m->n] += result_number(o, KEY_route_period_stage_n) / n;
	}
	m->n++;
}

static bool
mix_read(struct mix *m, const json_t *doc)
{
	const json_t *list = result_list(doc, KEY_route_periods), *o;
	size_t i;

	mix_stages(m, doc);
	json_array_foreach(list, i, o)
	{
		if (i == PERIODS_MAX)
			break;
		mix_period(m, o, (double)result_ns(doc, KEY_route_first_ns));
	}
	return m->n > 1;
}

static void
mix_plot(struct html *h, const json_t *doc)
{
	const json_t *first = json_array_get(result_list(doc, KEY_route_periods), 0);
	const double length_ns = (double)result_ns(first, KEY_route_period_to_ns) -
	    (double)result_ns(first, KEY_route_period_from_ns);
	const bool days = length_ns >= DAY_NS;
	struct mix m = { .unit_ns = days ? DAY_NS : HOUR_NS };
	struct plot_line lines[STAGES] = { 0 };
	struct plot p = { .id = "p-verdicts",
		.title = "Verdicts over time",
		.unit = PLOT_SHARE,
		.form = PLOT_STACK,
		.sentence = result_text(doc, KEY_route_verdicts_sentence),
		.x = m.x,
		.across = PLOT_VALUE,
		.across_words =
		    days ? "Days since the first session" : "Hours since the first session",
		.step_s = length_ns / m.unit_ns,
		.lines = lines };
	size_t k;

	if (!mix_read(&m, doc))
		return;
	p.n = m.n;
	for (k = 0; k < STAGES; k++) {
		const char *stage = k < m.n_stages ? m.stage[k] : NULL;

		if (k >= m.n_stages && k + 1 < STAGES)
			continue;
		snprintf(lines[p.n_lines].name, sizeof(lines[0].name), "%s",
		    k + 1 == STAGES     ? "others"
			: stage != NULL ? result_stage_words(stage)
					: "no single stage");
		lines[p.n_lines].y = m.y[k];
		lines[p.n_lines].style = (unsigned)k;
		p.n_lines++;
	}
	if (json_array_size(result_list(doc, KEY_route_verdicts)) < STAGES)
		p.n_lines--; /* there are no others */
	plot_write(h, &p);
}

static void
column_stage(struct html *h, const json_t *row)
{
	const char *stage = result_text(row, KEY_route_verdict_stage);

	html_text(h, stage != NULL ? result_stage_words(stage) : "no single stage");
}

TABLE_NUMBER(column_n, KEY_route_verdict_n, fmt_ratio)
TABLE_NUMBER(column_late, KEY_route_verdict_n_late, fmt_ratio)

static void
column_period(struct html *h, const json_t *row)
{
	page_time(h, result_ns(row, KEY_route_period_from_ns));
}

TABLE_NUMBER(column_period_n, KEY_route_period_n_sessions, fmt_ratio)

/* "disk write 5, network 2" */
static void
column_period_stages(struct html *h, const json_t *row)
{
	const json_t *o;
	size_t i;

	json_array_foreach(result_list(row, KEY_route_period_stages), i, o)
	{
		const char *stage = result_text(o, KEY_route_period_stage_stage);

		if (i > 0)
			html_raw(h, ", ");
		html_text(h, stage != NULL ? result_stage_words(stage) : "no single stage");
		html_raw(h, " ");
		html_int(h, (int64_t)result_number(o, KEY_route_period_stage_n));
	}
}

static void
write_verdicts(struct html *h, const json_t *doc)
{
	static const struct table_column columns[] = {
		{ "Limited by", column_stage, false },
		{ "Sessions", column_n, true },
		{ "In the later half", column_late, true },
	};
	static const struct table_column periods[] = {
		{ "From", column_period, false },
		{ "Sessions", column_period_n, true },
		{ "Limited by", column_period_stages, false },
	};
	const json_t *list = result_list(doc, KEY_route_periods);

	html_raw(h, "<section id=\"verdicts\"><h2>What limited it</h2>");
	mix_plot(h, doc);
	table_write(
	    h, result_list(doc, KEY_route_verdicts), columns, sizeof(columns) / sizeof(columns[0]));
	if (json_array_size(list) > 1) {
		html_raw(h, "<details><summary>Stretch by stretch</summary>");
		table_write(h, list, periods, sizeof(periods) / sizeof(periods[0]));
		html_raw(h, "</details>");
	}
	html_raw(h, "</section>");
}

static void
write_patterns(struct html *h, const json_t *doc)
{
	static const enum result_key keys[] = { KEY_route_hours, KEY_route_weekdays };
	const json_t *o;
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if ((o = result_get(doc, keys[i])) == NULL)
			continue;
		html_raw(h, "<p>");
		html_text(h, result_text(o, KEY_route_pattern_sentence));
		html_raw(h, "</p>");
	}
}

/* How the patterns were tested. */
static void
write_methods(struct html *h, const json_t *doc)
{
	static const struct {
		enum result_key key;
		const char *words;
	} patterns[] = {
		{ KEY_route_hours, "Hours of the day, days permuted: p" },
		{ KEY_route_weekdays, "Days of the week, days permuted: p" },
	};
	const json_t *o;
	size_t i, n = 0;

	for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		if ((o = result_get(doc, patterns[i].key)) == NULL)
			continue;
		if (n++ == 0)
			html_raw(h,
			    "<details class=\"fold\"><summary><h2>Methods</h2></summary><dl "
			    "class=\"items\">");
		page_item(h, patterns[i].words, fmt_p(result_number(o, KEY_route_pattern_p)).s);
	}
	if (n > 0)
		html_raw(h, "</dl></details>");
}

/* --- the rates --- */

struct rates {
	double x[SHOWN_MAX], y[LINES][SHOWN_MAX];
	size_t n;
	int64_t first_wall_ns;
	double unit_ns; /* of the time axis */
	const char *words;
};

/* Sessions come latest first. */
static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct rates *r = arg;

	if (s->closed_wall_ns == 0 || res == NULL || !(res->bytes_per_s > 0) ||
	    res->exit_status > 0)
		return 0;
	r->x[r->n] = (double)res->start_wall_ns;
	r->y[0][r->n++] = res->bytes_per_s;
	r->first_wall_ns = res->start_wall_ns;
	return r->n == SHOWN_MAX;
}

/* The unit of the time axis: days, or what a few of the unit fit. */
static void
rates_unit(struct rates *r)
{
	double span_s = (r->x[0] - (double)r->first_wall_ns) * 1e-9;

	r->unit_ns = span_s > 3 * 86400 ? 86400e9 : span_s > 3 * 3600 ? 3600e9 : 60e9;
	r->words = span_s > 3 * 86400 ? "Days since the first session"
	    : span_s > 3 * 3600       ? "Hours since the first session"
				      : "Minutes since the first session";
}

/* Turns the order round, and times into the unit of the axis. */
static void
rates_finish(struct rates *r, const json_t *doc)
{
	static const enum result_key keys[LINES - 1] = { KEY_route_median, KEY_route_low,
		KEY_route_high };
	double kept;
	size_t i, k;

	rates_unit(r);
	for (i = 0; i < r->n; i++) {
		r->x[i] = (r->x[i] - (double)r->first_wall_ns) / r->unit_ns;
		for (k = 1; k < LINES; k++)
			r->y[k][i] = result_number(doc, keys[k - 1]);
	}
	for (i = 0; i < r->n / 2; i++) {
		kept = r->x[i];
		r->x[i] = r->x[r->n - 1 - i];
		r->x[r->n - 1 - i] = kept;
		kept = r->y[0][i];
		r->y[0][i] = r->y[0][r->n - 1 - i];
		r->y[0][r->n - 1 - i] = kept;
	}
}

static void
rates_plot(struct html *h, const struct rates *r, const json_t *doc)
{
	struct plot_line lines[LINES] = {
		{ "rate of the session", r->y[0], 0, true },
		{ "usual", r->y[1], 1, false },
		{ "one in ten is below", r->y[2], 5, false },
		{ "one in ten is above", r->y[3], 6, false },
	};
	const json_t *list = result_list(doc, KEY_route_incidents);
	double marks[8];
	struct plot p = { .id = "p-route",
		.title = "Rates of the sessions",
		.unit = PLOT_BYTES_PER_S,
		.sentence = result_text(doc, KEY_route_sentence),
		.n = r->n,
		.x = r->x,
		.across = PLOT_VALUE,
		.across_words = r->words,
		.lines = lines,
		.n_lines = LINES,
		.marks = marks,
		.marks_words = "an incident began" };
	size_t i;

	for (i = 0; i < json_array_size(list) && i < sizeof(marks) / sizeof(marks[0]); i++)
		marks[p.n_marks++] =
		    ((double)result_ns(json_array_get(list, i), KEY_incident_at_ns) -
			(double)r->first_wall_ns) /
		    r->unit_ns;
	plot_write_markers(h);
	plot_write(h, &p);
}

static int
write_rates(struct html *h, struct store_reader *r, const json_t *doc, const char *route,
    const char *program)
{
	struct rates *rates = calloc(1, sizeof(*rates));
	int rc;

	if (rates == NULL)
		return NW_ENOMEM;
	rc = store_sessions_of_route(r, route, program, INT64_MAX, SHOWN_MAX, on_session, rates);
	if (rc == NW_OK && rates->n > 1) {
		rates_finish(rates, doc);
		html_raw(h, "<section><h2>Over time</h2>");
		rates_plot(h, rates, doc);
		html_raw(h, "</section>");
	}
	free(rates);
	return rc;
}

/* --- the page --- */

static void
write_head(struct html *h, const json_t *doc, const char *route, const char *program)
{
	html_raw(h, "<header class=\"facts\"><h1>");
	page_route(h, route);
	html_raw(h, "</h1><ul><li>");
	page_name(h, *program != '\0' ? program : "unknown program");
	html_raw(h, "</li><li><a");
	page_route_href(h, "/", route, program);
	html_raw(h, ">Its sessions</a></li><li><a");
	page_route_href(h, "/route.json", route, program);
	html_raw(h, ">JSON</a></li><li><a");
	page_route_href(h, "/route.csv", route, program);
	html_raw(h, ">CSV</a></li></ul></header><section class=\"verdict");
	if (!is_slower_now(doc))
		html_raw(h, " well");
	html_raw(h, "\"><p class=\"kicker\">How fast is this route?</p><h2 class=\"sentence\">");
	html_text(h, result_text(doc, KEY_route_sentence));
	html_raw(h, "</h2>");
	write_patterns(h, doc);
	html_raw(h, "</section>");
}

struct record {
	json_t *doc;
};

static int
on_route(void *arg, const struct nw_route_rec *rec)
{
	struct record *to = arg;

	to->doc = rec->json != NULL ? json_loads(rec->json, 0, NULL) : NULL;
	return 1;
}

/* The query of this page, encoded; free() the text. NULL: memory was short. */
static char *
query_of(const char *route, const char *program)
{
	char *r = evhttp_uriencode(route, -1, 1), *p = evhttp_uriencode(program, -1, 1), *query;

	if (r == NULL || p == NULL || asprintf(&query, "route=%s&program=%s", r, p) < 0)
		query = NULL;
	free(r);
	free(p);
	return query;
}

static int
write_page(struct html *h, struct store_reader *r, const json_t *doc, const char *route,
    const char *program)
{
	char title[200];
	int rc;

	snprintf(title, sizeof(title), "%.90s, %.60s: route", route,
	    *program != '\0' ? program : "unknown program");
	page_begin(h, &(struct page_frame){ .title = title, .tab = PAGE_ROUTES });
	write_head(h, doc, route, program);
	write_figures(h, doc);
	rc = write_rates(h, r, doc, route, program);
	write_incidents(h, doc);
	write_levels(h, doc);
	if (result_get(doc, KEY_route_changed) != NULL) {
		html_raw(h, "<section><h2>What changed</h2>");
		session_differences(h, result_get(doc, KEY_route_changed));
		html_raw(h, "</section>");
	}
	write_verdicts(h, doc);
	write_methods(h, doc);
	route_advice(h, result_list(doc, KEY_route_advice));
	page_end(h);
	return rc;
}

static int
on_counted(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	(void)s;
	(void)res;
	++*(size_t *)arg;
	return 0;
}

/* A route whose sessions have no rate yet has no history. NW_ENOTFOUND: it has no session. */
static int
write_young(struct html *h, struct store_reader *r, const char *route, const char *program)
{
	size_t n = 0;
	int rc = store_sessions_of_route(r, route, program, INT64_MAX, SHOWN_MAX, on_counted, &n);

	if (rc < 0 || n == 0)
		return rc < 0 ? rc : NW_ENOTFOUND;
	page_begin(h, &(struct page_frame){ .title = "Route", .tab = PAGE_ROUTES });
	html_raw(h, "<h1 class=\"page\">");
	page_route(h, route);
	html_raw(h, ", ");
	page_name(h, *program != '\0' ? program : "unknown program");
	html_raw(h, "</h1><p>No history yet: of ");
	html_int(h, (int64_t)n);
	if (n == 1)
		html_raw(h, " session");
	else
		html_raw(h, " sessions");
	html_raw(h, " none ended well with data. A usual rate needs 8 such sessions.</p><p><a");
	page_route_href(h, "/", route, program);
	html_raw(h, ">Its sessions</a></p>");
	page_end(h);
	return NW_OK;
}

int
page_route_history(struct html *h, struct store_reader *r, const char *route, const char *program)
{
	struct record rec = { NULL };
	int rc = store_route_get(r, route, program, on_route, &rec);
	char *query = query_of(route, program);

	if (rc == NW_OK && query == NULL)
		rc = NW_ENOMEM;
	if (rc == NW_OK) {
		h->figures = "/route/";
		h->figures_query = query;
		rc = write_page(h, r, rec.doc, route, program);
		h->figures = h->figures_query = NULL;
	}
	if (rc == NW_ENOTFOUND)
		rc = write_young(h, r, route, program);
	json_decref(rec.doc);
	free(query);
	return rc;
}

struct figure_of {
	struct store_reader *r;
	const char *route, *program;
};

static int
write_figure(struct html *h, void *arg)
{
	const struct figure_of *of = arg;
	struct record rec = { NULL };
	int rc = store_route_get(of->r, of->route, of->program, on_route, &rec);

	if (rc == NW_OK)
		rc = write_rates(h, of->r, rec.doc, of->route, of->program);
	if (rc == NW_OK)
		mix_plot(h, rec.doc);
	json_decref(rec.doc);
	return rc;
}

int
page_route_figure(struct store_reader *r, const char *route, const char *program,
    const char *figure, char **text, size_t *len)
{
	struct figure_of of = { r, route, program };

	return page_figure(figure, write_figure, &of, text, len);
}
