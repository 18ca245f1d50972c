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
#include "web/answer/api.h"
#include "web/answer/incidents.h"
#include "web/draw/plot.h"
#include "web/page/html_table.h"

enum {
	SHOWN_MAX = 500,
	LINES = 4,
	STAGES = 6,
	PERIODS_MAX = 25,
	RUN_STAGES = PLOT_STYLES,
	STAGE_BYTES = 48,
	EVENTS_MAX = 40
};

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
			html_raw(h, " <a");
			html_attr(h, "href", result_text(row, KEY_incident_page));
			html_raw(h, ">incident</a>");
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
	size_t i;

	json_array_foreach(list, i, row)
	{
		if (incident_is(row, KEY_incident_state, "open"))
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
mix_period(struct mix *m, const json_t *period)
{
	const double n = result_number(period, KEY_route_period_n_sessions);
	const json_t *o;
	size_t i, k;

	m->x[m->n] = (double)result_ns(period, KEY_route_period_from_ns) * 1e-9;
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
		mix_period(m, o);
	}
	return m->n > 1;
}

static void
mix_plot(struct html *h, const json_t *doc)
{
	const json_t *first = json_array_get(result_list(doc, KEY_route_periods), 0);
	const double length_ns = (double)result_ns(first, KEY_route_period_to_ns) -
	    (double)result_ns(first, KEY_route_period_from_ns);
	struct mix m = { .n = 0 };
	struct plot_line lines[STAGES] = { 0 };
	struct plot p = { .id = "p-verdicts",
		.title = "Verdicts over time",
		.unit = PLOT_SHARE,
		.form = PLOT_STACK,
		.sentence = result_text(doc, KEY_route_verdicts_sentence),
		.x = m.x,
		.across = PLOT_DATE,
		.across_words = "seconds since 1970",
		.step_s = length_ns * 1e-9,
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
		{ KEY_route_hours, "Chance that hours differ as much without a pattern" },
		{ KEY_route_weekdays, "Chance that weekdays differ as much without a pattern" },
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
	double x[SHOWN_MAX], y[LINES][SHOWN_MAX]; /* x: seconds since 1970 */
	int stage[SHOWN_MAX];                     /* line of the strip */
	size_t n;
	char stages[RUN_STAGES][STAGE_BYTES];
	size_t n_stages;
	struct plot_event events[EVENTS_MAX];
	size_t n_events;
	struct plot_run runs[SHOWN_MAX];
	size_t n_runs;
};

/* The place of a stage on the strip. Stages beyond the last place share that place. */
static int
stage_place(struct rates *r, const char *stage)
{
	const char *words = stage != NULL ? result_stage_words(stage) : "no single stage";
	size_t i;

	for (i = 0; i < r->n_stages; i++)
		if (strcmp(r->stages[i], words) == 0)
			return (int)i;
	if (r->n_stages == RUN_STAGES)
		return RUN_STAGES - 1;
	snprintf(r->stages[r->n_stages], STAGE_BYTES, "%s",
	    r->n_stages == RUN_STAGES - 1 ? "others" : words);
	return (int)r->n_stages++;
}

/* Sessions come latest first. */
static int
on_session(void *arg, const struct nw_session_rec *s, const struct nw_result_rec *res)
{
	struct rates *r = arg;

	if (s->closed_wall_ns == 0 || res == NULL || !(res->bytes_per_s > 0) ||
	    res->exit_status > 0)
		return 0;
	r->x[r->n] = (double)res->start_wall_ns * 1e-9;
	r->stage[r->n] = stage_place(r, res->stage);
	r->y[0][r->n++] = res->bytes_per_s;
	return r->n == SHOWN_MAX;
}

static void
rates_turn(struct rates *r)
{
	size_t i, k;

	for (i = 0, k = r->n; i + 1 < k; i++) {
		const double x = r->x[i], y = r->y[0][i];
		const int stage = r->stage[i];

		k--;
		r->x[i] = r->x[k];
		r->y[0][i] = r->y[0][k];
		r->stage[i] = r->stage[k];
		r->x[k] = x;
		r->y[0][k] = y;
		r->stage[k] = stage;
	}
}

/* The usual rate at a time: of the level that was usual then. */
static double
level_at(const json_t *doc, double s)
{
	const json_t *list = result_list(doc, KEY_route_changes), *row;
	size_t i;

	json_array_foreach(list, i, row) if (s * 1e9 <
	    (double)result_ns(row, KEY_route_change_at_ns)) return result_number(row,
	    KEY_route_change_before);
	return result_number(doc, KEY_route_median);
}

/* The band of each level is as wide, as a factor, as that of the newest level. */
static void
rates_bands(struct rates *r, const json_t *doc)
{
	const double usual = result_number(doc, KEY_route_median),
		     low = result_number(doc, KEY_route_low) / usual,
		     high = result_number(doc, KEY_route_high) / usual;
	size_t i;

	for (i = 0; i < r->n; i++) {
		r->y[1][i] = level_at(doc, r->x[i]);
		r->y[2][i] = r->y[1][i] * low;
		r->y[3][i] = r->y[1][i] * high;
	}
}

/* Sessions that one stage limited, one behind the other, are a stretch of the strip, from the begin
 * of the first to the begin of the next stretch. */
static void
rates_runs(struct rates *r)
{
	size_t i;

	for (i = 0; i < r->n; i++) {
		struct plot_run *last = r->n_runs > 0 ? &r->runs[r->n_runs - 1] : NULL;

		if (last != NULL)
			last->to = r->x[i];
		if (last == NULL || last->style != (unsigned)r->stage[i])
			r->runs[r->n_runs++] = (struct plot_run){ .from = r->x[i],
				.to = r->x[i],
				.style = (unsigned)r->stage[i],
				.name = r->stages[r->stage[i]] };
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
	const struct plot p = { .id = "p-route",
		.title = "Rates of the sessions",
		.unit = PLOT_BYTES_PER_S,
		.sentence = result_text(doc, KEY_route_sentence),
		.n = r->n,
		.x = r->x,
		.across = PLOT_DATE,
		.across_words = "seconds since 1970",
		.lines = lines,
		.n_lines = LINES,
		.events = r->events,
		.n_events = r->n_events,
		.events_words = "!: incident; S: settings; P: programs; N: note",
		.runs = r->runs,
		.n_runs = r->n_runs };

	plot_write_markers(h);
	plot_write(h, &p);
}

/* --- what happened meanwhile --- */

/* Events of a kind closer than a hundredth of the plot share a line. */
static void
event_add(struct rates *r, double at_s, char letter, const char *words)
{
	const double near_s = (r->x[r->n - 1] - r->x[0]) / 100;
	struct plot_event *e;
	size_t i, len;

	if (!(at_s >= r->x[0] && at_s <= r->x[r->n - 1]))
		return;
	for (i = 0; i < r->n_events; i++) {
		e = &r->events[i];
		if (e->letter != letter || !(fabs(e->at - at_s) < near_s))
			continue;
		len = strlen(e->words);
		if (strstr(e->words, words) == NULL)
			snprintf(e->words + len, sizeof(e->words) - len, "; %s", words);
		return;
	}
	if (r->n_events == EVENTS_MAX)
		return;
	e = &r->events[r->n_events++];
	*e = (struct plot_event){ .at = at_s, .letter = letter };
	snprintf(e->words, sizeof(e->words), "%s", words);
}

static void
incidents_add(struct rates *r, const json_t *doc)
{
	const json_t *row;
	size_t i;

	json_array_foreach(result_list(doc, KEY_route_incidents), i, row)
	    event_add(r, (double)result_ns(row, KEY_incident_at_ns) * 1e-9, '!',
		result_text(row, KEY_incident_sentence) != NULL
		    ? result_text(row, KEY_incident_sentence)
		    : "an incident began");
}

struct happened {
	struct rates *rates;
	const char *host;
};

static int
on_change(void *arg, const struct nw_setting_rec *s)
{
	const struct happened *at = arg;
	const bool is_program = strncmp(s->name, "program.", 8) == 0;
	char words[PLOT_EVENT_BYTES];

	if (s->first)
		return 0;
	snprintf(
	    words, sizeof(words), "%.90s on %.60s", is_program ? s->name + 8 : s->name, at->host);
	event_add(at->rates, (double)s->t_wall_ns * 1e-9, is_program ? 'P' : 'S', words);
	return 0;
}

static int
on_note(void *arg, const struct nw_note_rec *note)
{
	const struct happened *at = arg;

	event_add(at->rates, (double)note->t_wall_ns * 1e-9, 'N', note->text);
	return 0;
}

static int
on_host(void *arg, const struct nw_host_rec *host)
{
	*(int64_t *)arg = host->id;
	return 1;
}

/* Settings of the hosts of the route, "a -> b" or "a (local)", and notes of its sessions. */
static int
events_read(struct rates *r, struct store_reader *reader, const json_t *doc, const char *route,
    const char *program)
{
	struct happened at = { .rates = r };
	char host[SESSION_HOST_BYTES];
	const char *name;
	size_t len;
	int64_t id;
	int rc = NW_OK;

	incidents_add(r, doc);
	for (name = route; *name != '\0' && rc >= 0; name += len + strspn(name + len, " ->")) {
		len = strcspn(name, " ");
		if (*name == '(' || len == 0 || len >= sizeof(host))
			continue;
		snprintf(host, sizeof(host), "%.*s", (int)len, name);
		at.host = host;
		if (store_host_named(reader, host, on_host, &id) == NW_OK)
			rc = store_config_changes(reader, id, (int64_t)(r->x[0] * 1e9),
			    (int64_t)(r->x[r->n - 1] * 1e9), on_change, &at);
	}
	return rc < 0 ? rc : store_notes_of_route(reader, route, program, on_note, &at);
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
		rates_turn(rates);
		rates_bands(rates, doc);
		rates_runs(rates);
		rc = events_read(rates, r, doc, route, program);
	}
	if (rc == NW_OK && rates->n > 1) {
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
	if (rc == NW_OK)
		rc = route_tests_write(h, r, doc, route, program);
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
	json_t *doc;
	int rc = api_route_document(r, route, program, &doc);
	char *query = query_of(route, program);

	if (rc == NW_OK && query == NULL)
		rc = NW_ENOMEM;
	if (rc == NW_OK) {
		h->figures = "/route/";
		h->figures_query = query;
		rc = write_page(h, r, doc, route, program);
		h->figures = h->figures_query = NULL;
	}
	if (rc == NW_ENOTFOUND)
		rc = write_young(h, r, route, program);
	json_decref(doc);
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
	json_t *doc;
	int rc = api_route_document(of->r, of->route, of->program, &doc);

	if (rc == NW_OK)
		rc = write_rates(h, of->r, doc, of->route, of->program);
	if (rc == NW_OK)
		rc = route_tests_write(h, of->r, doc, of->route, of->program);
	if (rc == NW_OK)
		mix_plot(h, doc);
	json_decref(doc);
	return rc;
}

int
page_route_figure(struct store_reader *r, const char *route, const char *program,
    const char *figure, char **text, size_t *len)
{
	struct figure_of of = { r, route, program };

	return page_figure(figure, write_figure, &of, text, len);
}
