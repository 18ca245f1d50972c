/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Durations of very many lifelines over time, as SVG: the beginning of a line across, its duration
 * up on a scale of powers of ten. Each cell of a grid is darker the more lines fall into it; slow
 * lines have cells of their own on top, however few they are. Slow are the lines of the finding, or
 * else the slowest of a hundred.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/quantile.h"
#include "narrows/format.h"
#include "web/draw/lines_draw.h"

enum {
	LEFT = 190,
	RIGHT = 1180,
	TOP = 8,
	CELL = 3,
	COLUMNS = (RIGHT - LEFT) / CELL,
	ROWS = 60,
	BOTTOM = TOP + ROWS * CELL,
	LEVELS = 3, /* of darkness */
	STRETCHES = 20,
	TICKS_MAX = 12
};
static const uint32_t level_from[LEVELS] = { 1, 4, 16 }; /* lines of a cell */
static const char *const plain_opacity[LEVELS] = { ".3", ".6", "1" };
static const char *const slow_opacity[LEVELS] = { "1", "1", "1" };

struct times {
	const struct lines_view *v;
	double *total;
	size_t n; /* lines with a duration */
	double slow_s;
	int64_t from, to;
	double low, high;       /* log10 of seconds */
	uint32_t *plain, *slow; /* COLUMNS times ROWS */
};

/* --- which lines --- */

static int64_t
begin_of(const struct nw_lines *l, size_t i)
{
	const int64_t *t = l->t_ns + i * l->n_points;
	size_t p = 0;

	while (p + 1 < l->n_points && t[p] == NW_LINE_NEVER)
		p++;
	return t[p];
}

static bool
is_slow(const struct times *w, size_t i)
{
	const struct nw_line_finding *f = &w->v->p->found.finding[0];
	const struct nw_lines *l = &w->v->k->lines;
	const int64_t *t = l->t_ns + i * l->n_points;

	if (w->v->p->found.n == 0 || f->kind != NW_LINE_CLASS)
		return nw_line_total(l, i) >= w->slow_s;
	return t[f->from] != NW_LINE_NEVER && t[f->to] != NW_LINE_NEVER &&
	    nw_line_before(l, i, f->to) == f->from &&
	    (f->lane == NW_LINE_ANY || l->lane[i] == f->lane) &&
	    ((double)t[f->to] - (double)t[f->from]) * 1e-9 >= f->split_s;
}

static void
spans_find(struct times *w)
{
	const struct nw_lines *l = &w->v->k->lines;
	double total;
	int64_t t;
	size_t i;

	w->from = INT64_MAX;
	w->to = INT64_MIN;
	for (i = 0; i < l->n; i++) {
		if (!(isfinite(total = nw_line_total(l, i)) && total > 0))
			continue;
		t = begin_of(l, i);
		w->from = t < w->from ? t : w->from;
		w->to = t > w->to ? t : w->to;
		w->total[w->n++] = total;
	}
	if (w->n == 0)
		return;
	w->slow_s = quantile(w->total, w->n, 0.99);
	w->low = log10(quantile(w->total, w->n, 0));
	w->high = fmax(log10(quantile(w->total, w->n, 1)), w->low + 0.1);
}

static void
cells_count(struct times *w)
{
	const struct nw_lines *l = &w->v->k->lines;
	double span = fmax((double)w->to - (double)w->from, 1), total;
	size_t i, column, row;

	for (i = 0; i < l->n; i++) {
		if (!(isfinite(total = nw_line_total(l, i)) && total > 0))
			continue;
		column =
		    (size_t)(((double)begin_of(l, i) - (double)w->from) / span * (COLUMNS - 1e-6));
		row = (size_t)((log10(total) - w->low) / (w->high - w->low) * (ROWS - 1e-6));
		if (column < COLUMNS && row < ROWS)
			(is_slow(w, i) ? w->slow : w->plain)[row * COLUMNS + column]++;
	}
}

/* --- the drawing --- */

/* The cells with `least` to `most` lines; neighbours in a row are one stroke. */
static void
cells_path(struct html *h, const uint32_t *cell, uint32_t least, uint32_t most)
{
	char text[64];
	size_t row, from, to;

	html_raw(h, "<path d=\"");
	for (row = 0; row < ROWS; row++)
		for (from = 0; from < COLUMNS; from = to + 1) {
			for (to = from; to < COLUMNS && cell[row * COLUMNS + to] >= least &&
			     cell[row * COLUMNS + to] <= most;
			     to++)
				;
			if (to == from)
				continue;
			snprintf(text, sizeof(text), "M%zu %.1fh%zu", LEFT + from * CELL,
			    BOTTOM - ((double)row + 0.5) * CELL, (to - from) * CELL);
			html_text(h, text);
		}
	html_raw(h, "\"");
}

static void
levels_draw(struct html *h, const uint32_t *cell, const char *const *opacity, const char *title)
{
	size_t k;

	for (k = 0; k < LEVELS; k++) {
		cells_path(
		    h, cell, level_from[k], k + 1 < LEVELS ? level_from[k + 1] - 1 : UINT32_MAX);
		html_attr(h, "stroke-opacity", opacity[k]);
		html_raw(h, "><title>");
		html_text(h, title);
		html_raw(h, "</title></path>");
	}
}

/* Marks at 1, 2 and 5 of each power of ten, or at the powers alone if there are many. */
static void
scale_draw(struct html *h, const struct times *w)
{
	static const double steps[] = { 1, 2, 5 };
	bool all = (w->high - w->low) * 3 <= TICKS_MAX;
	double y, v;
	size_t k;
	int e;

	html_raw(h, "<g class=\"ticks\" fill=\"#5b626b\">");
	for (e = (int)floor(w->low); e <= (int)ceil(w->high); e++)
		for (k = 0; k < (all ? 3 : 1); k++) {
			v = log10(steps[k]) + e;
			if (v < w->low || v > w->high)
				continue;
			y = BOTTOM - (v - w->low) / (w->high - w->low) * ROWS * CELL;
			html_raw(h, "<text text-anchor=\"end\" x=\"182\" y=\"");
			html_coord(h, y + 4);
			html_raw(h, "\">");
			html_text(h, fmt_duration(pow(10, v)).s);
			html_raw(h, "</text>");
		}
	html_raw(h, "<text x=\"190\" y=\"206\">");
	html_text(h, fmt_si(((double)w->from - (double)w->v->s->first_wall_ns) * 1e-9, "s").s);
	html_raw(h, "</text><text text-anchor=\"end\" x=\"1180\" y=\"206\">");
	html_text(h, fmt_si(((double)w->to - (double)w->v->s->first_wall_ns) * 1e-9, "s").s);
	html_raw(h, "</text></g>");
}

/* Each twentieth of the time is a link to the lines of that time: a choice for fingers, keys and
 * browsers without scripts. */
static void
stretches_draw(struct html *h, const struct times *w)
{
	double length = fmax((double)w->to - (double)w->from, 1) * 1e-9 / STRETCHES,
	       begin = ((double)w->from - (double)w->v->s->first_wall_ns) * 1e-9,
	       unit = pow(10, floor(log10(length)) - 2); /* of the seconds in the address */
	double width = (double)(RIGHT - LEFT) / STRETCHES;
	struct choice c = *w->v->c;
	char href[CHOICE_HREF_BYTES];
	size_t k;

	for (k = 0; k < STRETCHES; k++) {
		double to = ceil((begin + (double)(k + 1) * length) / unit) * unit;

		c.from_s = floor((begin + (double)k * length) / unit) * unit;
		choice_href(href, &c, "to", fmt_exact(to).s);
		html_raw(h, "<a");
		html_attr(h, "href", href);
		html_raw(h, "><rect class=\"pick\" fill-opacity=\"0\" y=\"0\" height=\"212\" x=\"");
		html_coord(h, LEFT + (double)k * width);
		html_raw(h, "\" width=\"");
		html_coord(h, width);
		html_raw(h, "\"><title>lines from ");
		html_text(h, fmt_si(c.from_s, "s").s);
		html_raw(h, " to ");
		html_text(h, fmt_si(to, "s").s);
		html_raw(h, "</title></rect></a>");
	}
}

void
lines_times_draw(struct html *h, const struct lines_view *v)
{
	struct times w = { .v = v,
		.total = calloc(v->k->lines.n + 1, sizeof(*w.total)),
		.plain = calloc((size_t)COLUMNS * ROWS, sizeof(*w.plain)),
		.slow = calloc((size_t)COLUMNS * ROWS, sizeof(*w.slow)) };

	if (w.total == NULL || w.plain == NULL || w.slow == NULL)
		h->failed = true;
	else
		spans_find(&w);
	if (w.n > 0) {
		cells_count(&w);
		html_raw(h,
		    "<svg class=\"lifelines\" xmlns=\"http://www.w3.org/2000/svg\" "
		    "font-family=\"sans-serif\" font-size=\"12\" role=\"img\" "
		    "aria-describedby=\"lifetimes-words\" viewBox=\"0 0 1200 212\">"
		    "<desc id=\"lifetimes-words\">Durations of the lifelines over the time of "
		    "their beginning, slow ones apart</desc>"
		    "<g class=\"times\" stroke=\"#5b626b\" stroke-width=\"3\" fill=\"none\">");
		levels_draw(h, w.plain, plain_opacity, "lines");
		html_raw(h,
		    "</g><g class=\"slow\" stroke=\"#b34700\" stroke-width=\"3\" fill=\"none\">");
		levels_draw(h, w.slow, slow_opacity, "slow lines");
		html_raw(h, "</g>");
		scale_draw(h, &w);
		stretches_draw(h, &w);
		html_raw(h, "</svg>");
	}
	free(w.total);
	free(w.plain);
	free(w.slow);
}
