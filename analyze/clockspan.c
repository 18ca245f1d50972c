/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/clockspan.h"

#include <math.h>
#include <stdlib.h>

#include "narrows/array.h"
#include "narrows/err.h"

#define AROUND_NS   (15 * INT64_C(1000000000)) /* the box compares clocks every 10 s */
#define DRIFT_PPM   500                       /* the largest rate by which a kernel slews a clock */
#define NEARLY      2                         /* bounds up to so many times the best */
#define RATE_MIN_NS (5 * INT64_C(1000000000)) /* comparisons too near for a rate */
#define TIME_LIMIT  (INT64_MAX / 2)

int
nw_clock_rows_add(struct nw_clock_rows *rows, int64_t t_wall_ns, double offset_s, double bound_s)
{
	if (!isfinite(offset_s) || !isfinite(bound_s) || bound_s < 0)
		return NW_OK;
	if (!array_room(&rows->row, &rows->cap, rows->n + 1, sizeof(*rows->row)))
		return NW_ENOMEM;
	rows->row[rows->n++] = (struct nw_clock_row){ t_wall_ns, offset_s, bound_s };
	return NW_OK;
}

void
nw_clock_rows_clear(struct nw_clock_rows *rows)
{
	free(rows->row);
	*rows = (struct nw_clock_rows){ 0 };
}

static int64_t
time_within(int64_t t_wall_ns)
{
	return t_wall_ns < 0 ? 0 : t_wall_ns > TIME_LIMIT ? TIME_LIMIT : t_wall_ns;
}

/* How far a time lies outside a span. */
static int64_t
distance(int64_t t_wall_ns, int64_t from_wall_ns, int64_t to_wall_ns)
{
	t_wall_ns = time_within(t_wall_ns);
	return t_wall_ns < from_wall_ns ? from_wall_ns - t_wall_ns
	    : t_wall_ns > to_wall_ns    ? t_wall_ns - to_wall_ns
					: 0;
}

/* Comparisons of a span nearly as good as its best. */
struct good {
	const struct nw_clock_row *first, *last;
	double least_s, most_s, bound_s; /* offsets; the bound around the best that covers all */
};

static void
good_add(struct good *g, const struct nw_clock_row *r, const struct nw_clock_row *best)
{
	if (g->first == NULL || r->t_wall_ns < g->first->t_wall_ns)
		g->first = r;
	if (g->last == NULL || r->t_wall_ns > g->last->t_wall_ns)
		g->last = r;
	g->least_s = fmin(g->least_s, r->offset_s);
	g->most_s = fmax(g->most_s, r->offset_s);
	g->bound_s = fmax(g->bound_s, fabs(r->offset_s - best->offset_s) + r->bound_s);
}

/* How far the clock may have drifted before the first comparison and after the last, at the rate
 * between the two. The next comparison is never far. */
static double
edges_s(const struct good *g, int64_t from_wall_ns, int64_t to_wall_ns)
{
	const int64_t first = time_within(g->first->t_wall_ns),
		      last = time_within(g->last->t_wall_ns);
	int64_t open = 0;

	if (last - first < RATE_MIN_NS)
		return 0;
	if (from_wall_ns < first)
		open = first - from_wall_ns;
	if (to_wall_ns > last && to_wall_ns - last > open)
		open = to_wall_ns - last;
	if (open > AROUND_NS)
		open = AROUND_NS;
	return (g->most_s - g->least_s) * (double)open / (double)(last - first);
}

/* The best comparison within a span, else the nearest one; NULL without any. */
static const struct nw_clock_row *
anchor_of(const struct nw_clock_rows *rows, int64_t from_wall_ns, int64_t to_wall_ns)
{
	const struct nw_clock_row *anchor = NULL, *r;
	int64_t away, least = INT64_MAX;
	size_t i;

	for (i = 0; i < rows->n; i++) {
		r = &rows->row[i];
		away = distance(r->t_wall_ns, from_wall_ns, to_wall_ns);
		if (anchor == NULL || away < least ||
		    (away == least && r->bound_s < anchor->bound_s)) {
			anchor = r;
			least = away;
		}
	}
	return anchor;
}

/* Whether a clock was set between two comparisons, or two clocks were compared: no slewing leads
 * from one offset to the other. */
static bool
is_of_another_clock(const struct nw_clock_row *r, const struct nw_clock_row *anchor)
{
	const double apart_s = fabs((double)r->t_wall_ns - (double)anchor->t_wall_ns) * 1e-9;

	return fabs(r->offset_s - anchor->offset_s) >
	    r->bound_s + anchor->bound_s + 2 * DRIFT_PPM * 1e-6 * apart_s;
}

bool
nw_clock_span(const struct nw_clock_rows *rows, int64_t from_wall_ns, int64_t to_wall_ns,
    double *offset_s, double *bound_s)
{
	const int64_t from = time_within(from_wall_ns), to = time_within(to_wall_ns);
	const struct nw_clock_row *const anchor = anchor_of(rows, from, to), *best = NULL, *r;
	struct good good = { .least_s = INFINITY, .most_s = -INFINITY };
	int64_t away, least = INT64_MAX;
	size_t i;

	for (i = 0; i < rows->n; i++) {
		r = &rows->row[i];
		away = distance(r->t_wall_ns, from, to);
		if (away > 0 && is_of_another_clock(r, anchor))
			continue;
		away = away > AROUND_NS ? away - AROUND_NS : 0;
		if (away < least || (away == least && r->bound_s < best->bound_s)) {
			best = r;
			least = away;
		}
	}
	if (best == NULL)
		return false;
	*offset_s = best->offset_s;
	*bound_s = best->bound_s + DRIFT_PPM * 1e-6 * (double)least * 1e-9;
	if (least > 0)
		return true;
	for (i = 0; i < rows->n; i++) {
		r = &rows->row[i];
		away = distance(r->t_wall_ns, from, to);
		if (away <= AROUND_NS && r->bound_s <= NEARLY * best->bound_s &&
		    (away == 0 || !is_of_another_clock(r, anchor)))
			good_add(&good, r, best);
	}
	*bound_s = good.bound_s + edges_s(&good, from, to);
	return true;
}
