/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/page/session_stretch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/quantile.h"
#include "narrows/autocorr.h"
#include "narrows/csv.h"
#include "narrows/differ.h"
#include "narrows/err.h"
#include "narrows/limit.h"
#include "narrows/result.h"
#include "web/page/page.h"
#include "web/page/session_timeline.h"
#include "web/page/html_table.h"

enum { SERIES_MAX = 64, CONNECTIONS_MAX = 3, DIFFERENCES_SAID = 3 };
static const double DISCOVERY = 0.05; /* largest share of false discoveries among the differences */
static const double ALPHA = 0.05, MARGIN = 0.1; /* of documents without parameters */

/* Kinds of series, in the order of the table. */
static const struct kind {
	enum result_key list, key;
	const char *words;
	enum plot_unit unit;
} kinds[] = {
	{ KEY_timeline_held, KEY_timeline_held_held, "held the bytes", PLOT_SHARE },
	{ KEY_timeline_stages, KEY_timeline_stage_bytes_per_s, "rate", PLOT_BYTES_PER_S },
	{ KEY_timeline_stages, KEY_timeline_stage_tput_i, "rate while working", PLOT_BYTES_PER_S },
	{ KEY_timeline_connections, KEY_timeline_connection_bytes_per_s, "rate", PLOT_BYTES_PER_S },
	{ KEY_timeline_connections, KEY_timeline_connection_rtt_s, "round trip", PLOT_SECONDS },
	{ KEY_timeline_connections, KEY_timeline_connection_cwnd_bytes, "congestion window",
	    PLOT_BYTES },
	{ KEY_timeline_connections, KEY_timeline_connection_retrans_per_s,
	    "segments sent again a second", PLOT_NUMBER },
	{ KEY_timeline_hosts, KEY_timeline_host_cpu_busy, "CPU busy", PLOT_SHARE },
	{ KEY_timeline_hosts, KEY_timeline_host_cpu_iowait, "CPU waiting for disk", PLOT_SHARE },
	{ KEY_timeline_hosts, KEY_timeline_host_disk_busy, "disk busy", PLOT_SHARE },
	{ KEY_timeline_hosts, KEY_timeline_host_disk_bytes_per_s, "disk rate", PLOT_BYTES_PER_S },
};

struct series {
	char name[240];
	enum plot_unit unit;
	size_t n; /* values in the stretch */
	double mean, low, median, high, rest_mean, p, q;
};

struct stretch {
	struct timeline t;
	size_t first, end; /* steps */
	struct series series[SERIES_MAX];
	size_t n;
	double *room; /* 2 x t.n */
};

/* --- statistics --- */

/* Two-sided, by Welch's test on as many values as neighbours that resemble each other are worth. */
static double
chance(const double *inside, const double *rest, size_t n)
{
	struct nw_autocorr a = nw_autocorr(inside, n), b = nw_autocorr(rest, n);
	struct nw_group x = nw_autocorr_group(&a), y = nw_autocorr_group(&b);
	struct nw_ttest t = nw_ttest_welch(&x, &y);

	return t.status == NW_STATUS_OK ? 2 * fmin(t.p, 1 - t.p) : 1;
}

/* Statistics of the values y[t.n]; the room is used up. */
static void
series_measure(struct stretch *s, struct series *out, double *y, double *room)
{
	size_t n = s->t.n, i;
	struct nw_summary inside, rest;

	for (i = 0; i < n; i++) {
		bool in = i >= s->first && i < s->end;

		room[i] = in ? NAN : y[i];
		y[i] = in ? y[i] : NAN;
	}
	inside = nw_summary_of(y, n);
	rest = nw_summary_of(room, n);
	out->n = inside.n;
	out->mean = inside.n > 0 ? inside.mean : NAN;
	out->low = inside.n > 0 ? inside.min : NAN;
	out->high = inside.n > 0 ? inside.max : NAN;
	out->rest_mean = rest.n > 0 ? rest.mean : NAN;
	out->p = chance(y, room, n);
	for (i = 0, n = 0; i < s->t.n; i++)
		if (isfinite(y[i]))
			room[n++] = y[i];
	out->median = n > 0 ? quantile(room, n, 0.5) : NAN;
}

static void
series_add(struct stretch *s, const struct kind *k, const json_t *entry)
{
	const json_t *list = result_list(entry, k->key);
	struct series *out = &s->series[s->n];
	char who[160];

	if (list == NULL || s->n == SERIES_MAX)
		return;
	timeline_name(k->list, entry, who, sizeof(who));
	*out = (struct series){ .unit = k->unit };
	snprintf(out->name, sizeof(out->name), "%s: %s", who, k->words);
	timeline_numbers(&s->t, list, s->room);
	series_measure(s, out, s->room, s->room + s->t.n);
	s->n += out->n > 0;
}

static void
series_find(struct stretch *s)
{
	size_t k, i;
	double p[SERIES_MAX], q[SERIES_MAX];

	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		const json_t *list = result_list(s->t.doc, kinds[k].list), *entry;

		json_array_foreach(list, i, entry)
		{
			if (kinds[k].list == KEY_timeline_connections && i >= CONNECTIONS_MAX)
				break;
			series_add(s, &kinds[k], entry);
		}
	}
	for (i = 0; i < s->n; i++)
		p[i] = s->series[i].p;
	if (nw_false_discoveries(p, s->n, q) == NW_OK)
		for (i = 0; i < s->n; i++)
			s->series[i].q = q[i];
	else
		for (i = 0; i < s->n; i++)
			s->series[i].q = 1;
}

/* --- the verdict --- */

static double
parameter(const json_t *doc, enum result_key key, double otherwise)
{
	double v =
	    result_number(result_get(result_get(doc, KEY_result_run), KEY_run_parameters), key);

	return v > 0 && v < 1 ? v : otherwise;
}

/* Judges the stretch by the shares of time that the stages left free. Returns false without such
 * shares, or without memory. */
static bool
stretch_judge(const struct stretch *s, const json_t *doc, struct limit *out)
{
	const json_t *list = result_list(s->t.doc, KEY_timeline_held);
	struct nw_path path = { .n_windows = s->t.n, .window_s = s->t.step_s };
	size_t n = json_array_size(list), i, k;
	double *room;
	bool ok;

	if (n == 0 || n > NW_STAGE_COUNT || (room = malloc(n * s->t.n * sizeof(*room))) == NULL)
		return false;
	for (path.n = n, i = 0; i < n; i++) {
		double *y = room + i * s->t.n;

		timeline_numbers(
		    &s->t, result_list(json_array_get(list, i), KEY_timeline_held_held), y);
		for (k = 0; k < s->t.n; k++)
			y[k] = 1 - y[k];
		path.stage[i].free_share = y;
	}
	ok = limit_find(&path, s->first, s->end, parameter(doc, KEY_run_parameters_alpha, ALPHA),
		 parameter(doc, KEY_run_parameters_margin, MARGIN), out) == NW_OK;
	free(room);
	return ok;
}

static void
held_write(struct html *h, const struct limit *l)
{
	html_raw(h, " held the bytes for ");
	html_text(h, fmt_share(limit_held(l)).s);
	html_raw(h, " of this time");
	if (isfinite(l->effect) && l->effect < 100) {
		html_raw(h, ", ");
		html_text(h, fmt_ratio(l->effect).s);
		html_raw(h, " times as long as the next");
	}
}

static void
verdict_write(struct html *h, const struct stretch *s, const json_t *doc)
{
	struct limit l;
	char who[160];

	html_raw(h, "<p><b>");
	if (!stretch_judge(s, doc, &l) || l.stage >= NW_STAGE_COUNT || l.n_windows == 0) {
		html_raw(h,
		    "The limit of this stretch is unknown: no stage was measured in the "
		    "stretch.</b></p>");
		return;
	}
	timeline_name(KEY_timeline_held,
	    json_array_get(result_list(s->t.doc, KEY_timeline_held), l.stage), who, sizeof(who));
	if (l.claim == LIMIT_NONE || !limit_is_held(&l)) {
		html_raw(h, "The limit of this stretch is unknown.</b> Most of all ");
		page_name(h, who);
		held_write(h, &l);
		if (l.n_windows < LIMIT_WINDOWS_MIN)
			html_raw(h, "; a verdict needs five steps with measurements");
		html_raw(h, ".</p>");
		return;
	}
	html_raw(h, "Stage ");
	page_name(h, who);
	html_raw(h, " limited this stretch.</b> This stage");
	held_write(h, &l);
	if (l.claim == LIMIT_INFERENCE) {
		html_raw(h, ", which is beyond chance (p ");
		html_text(h, fmt_p(l.p).s);
		html_raw(h, ").</p>");
	} else
		html_raw(h,
		    ". This is an account of the stretch alone: too few of its steps are "
		    "independent for more.</p>");
}

/* --- the section --- */

static int
surest_first(const void *a, const void *b)
{
	const struct series *const *x = a, *const *y = b;

	return ((*x)->p > (*y)->p) - ((*x)->p < (*y)->p);
}

/* "Beyond chance it differs from the rest in: ..." */
static void
differences_write(struct html *h, const struct stretch *s)
{
	const struct series *order[SERIES_MAX];
	size_t i, n = 0;

	for (i = 0; i < s->n; i++)
		if (s->series[i].q < DISCOVERY && isfinite(s->series[i].rest_mean))
			order[n++] = &s->series[i];
	html_raw(h, "<p>");
	if (n == 0)
		html_raw(h, "Nothing differs from the rest of the session beyond chance.");
	else {
		qsort(order, n, sizeof(order[0]), surest_first);
		html_raw(h, "Beyond chance the stretch differs from the rest of the session in: ");
	}
	for (i = 0; i < n && i < DIFFERENCES_SAID; i++) {
		if (i > 0)
			html_raw(h, "; ");
		page_name(h, order[i]->name);
		html_raw(h, " ");
		html_text(h, plot_value(order[i]->unit, order[i]->mean).s);
		html_raw(h, " instead of ");
		html_text(h, plot_value(order[i]->unit, order[i]->rest_mean).s);
	}
	if (n > 0)
		html_raw(h, ".");
	html_raw(h, "</p>");
}

enum { AT_SERIES, AT_MEAN, AT_LOW, AT_MEDIAN, AT_HIGH, AT_REST, AT_CHANCE };

static const struct table_column columns[] = {
	[AT_SERIES] = { .title = "Series" },
	[AT_MEAN] = { .title = "Mean", .num = true },
	[AT_LOW] = { .title = "Lowest", .num = true },
	[AT_MEDIAN] = { .title = "Median", .num = true },
	[AT_HIGH] = { .title = "Highest", .num = true },
	[AT_REST] = { .title = "Mean of the rest", .num = true },
	[AT_CHANCE] = { .title = "Beyond chance" },
};

static void
cell_write(struct html *h, int column, enum plot_unit unit, double v)
{
	table_cell_open(h, &columns[column]);
	html_text(h, isfinite(v) ? plot_value(unit, v).s : "\xe2\x80\x93");
	table_cell_close(h);
}

static void
row_write(struct html *h, const struct series *r)
{
	html_raw(h, "<tr role=\"row\">");
	table_cell_open(h, &columns[AT_SERIES]);
	page_name(h, r->name);
	table_cell_close(h);
	cell_write(h, AT_MEAN, r->unit, r->mean);
	cell_write(h, AT_LOW, r->unit, r->low);
	cell_write(h, AT_MEDIAN, r->unit, r->median);
	cell_write(h, AT_HIGH, r->unit, r->high);
	cell_write(h, AT_REST, r->unit, r->rest_mean);
	table_cell_open(h, &columns[AT_CHANCE]);
	html_text(h, r->q < DISCOVERY && isfinite(r->rest_mean) ? "yes" : "no");
	table_cell_close(h);
	html_raw(h, "</tr>");
}

static void
table_rows(struct html *h, const struct stretch *s)
{
	size_t i;

	table_open(h, columns, sizeof(columns) / sizeof(columns[0]));
	for (i = 0; i < s->n; i++)
		row_write(h, &s->series[i]);
	table_close(h);
}

static void
csv_write(FILE *f, const struct stretch *s)
{
	static const char *const units[] = { [PLOT_BYTES_PER_S] = "B/s",
		[PLOT_BYTES] = "B",
		[PLOT_SECONDS] = "s",
		[PLOT_SHARE] = "1",
		[PLOT_NUMBER] = "1" };
	size_t i;

	fputs("series,unit,steps,mean,lowest,median,highest,mean_of_the_rest,q\r\n", f);
	for (i = 0; i < s->n; i++) {
		const struct series *r = &s->series[i];

		csv_cell(f, r->name, CSV_SAFE);
		fprintf(f, ",%s,%zu,%s", units[r->unit], r->n, fmt_exact(r->mean).s);
		fprintf(f, ",%s,%s", fmt_exact(r->low).s, fmt_exact(r->median).s);
		fprintf(f, ",%s,%s", fmt_exact(r->high).s, fmt_exact(r->rest_mean).s);
		fprintf(f, ",%s\r\n", fmt_exact(r->q).s);
	}
}

static void
links_write(struct html *h)
{
	if (h->session_id == 0)
		return;
	html_raw(h, "<p class=\"links\"><a href=\"/session/");
	html_int(h, h->session_id);
	html_raw(h, "/stretch.csv?from=");
	html_text(h, fmt_exact(h->from_s).s);
	html_raw(h, "&amp;to=");
	html_text(h, fmt_exact(h->to_s).s);
	html_raw(h, "\">CSV<span class=\"out\"> of the stretch</span></a> <a href=\"/session/");
	html_int(h, h->session_id);
	html_raw(h, "#time\">The whole session</a></p>");
}

static void
section_write(struct html *h, const struct stretch *s, const json_t *doc)
{
	html_raw(h, "<section id=\"stretch\" aria-label=\"Chosen stretch\"><h2>From second ");
	html_text(h, fmt_exact(h->from_s).s);
	html_raw(h, " to second ");
	html_text(h, fmt_exact(h->to_s).s);
	html_raw(h, "</h2>");
	verdict_write(h, s, doc);
	differences_write(h, s);
	table_rows(h, s);
	html_raw(h, "<p class=\"note\">Of ");
	html_int(h, (int64_t)(s->end - s->first));
	html_raw(h, " steps of ");
	html_text(h, fmt_duration(s->t.step_s).s);
	html_raw(h,
	    ", by the test that judges whole sessions. Differences: Welch's test, less than "
	    "5\xc2\xa0% false discoveries; neighbours that resemble each other count for "
	    "less.</p>");
	links_write(h);
	html_raw(h, "</section>");
}

void
session_stretch(struct html *h, const json_t *doc)
{
	struct stretch s = { .n = 0 };

	if (!(h->to_s > h->from_s) || !timeline_read(&s.t, doc))
		return;
	s.first = (size_t)fmin(fmax(floor(h->from_s / s.t.step_s + 1e-6), 0), (double)s.t.n);
	s.end = (size_t)fmin(fmax(ceil(h->to_s / s.t.step_s - 1e-6), 0), (double)s.t.n);
	if ((s.room = malloc(2 * s.t.n * sizeof(*s.room))) == NULL) {
		h->failed = true;
		return;
	}
	series_find(&s);
	if (h->figure == NULL)
		section_write(h, &s, doc);
	else if (strcmp(h->figure, "stretch") == 0) {
		csv_write(h->figure_csv, &s);
		h->figure_found = true;
	}
	free(s.room);
}
