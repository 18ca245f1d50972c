/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clocks whose lead changes while the lines are recorded. A lead that changes at a steady rate is
 * given by two numbers, the lead at the first and the lead at the last event of the host. Each
 * bound of a line is a half plane of these numbers. What is left of a large square after all cuts
 * are the leads that the lines allow: a convex polygon, whose corners have the extremes of lead and
 * rate.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/lifeline/lifeline_in.h"
#include "narrows/err.h"

enum { CORNERS_MAX = 128, LINES_PROVE = 3 };
#define TICK_MAX_NS INT64_C(1000000000)

struct corner {
	double x, y; /* lead at the first event, lead at the last event */
};

struct polygon {
	size_t n;
	struct corner c[CORNERS_MAX + 1];
};

/* --- cutting --- */

/* Leaves a corner out: what is left lies within, so no lead is allowed that the lines forbid. */
static void
corner_drop(struct polygon *p)
{
	double area, least = INFINITY;
	size_t i, at = 0;

	for (i = 0; i < p->n; i++) {
		const struct corner *a = &p->c[(i + p->n - 1) % p->n], *b = &p->c[i],
				    *c = &p->c[(i + 1) % p->n];

		area = fabs((b->x - a->x) * (c->y - a->y) - (c->x - a->x) * (b->y - a->y));
		if (area < least) {
			least = area;
			at = i;
		}
	}
	memmove(&p->c[at], &p->c[at + 1], (p->n - at - 1) * sizeof(p->c[0]));
	p->n--;
}

/* Keeps the leads that are at most `most` at a share of the way from first to last event; sign -1:
 * that are at least -most. */
static void
polygon_cut(struct polygon *p, double share, double most, double sign)
{
	struct polygon out;
	double over[CORNERS_MAX + 1], at;
	bool cuts = false;
	size_t i, k;

	for (i = 0; i < p->n; i++) {
		over[i] = sign * ((1 - share) * p->c[i].x + share * p->c[i].y) - most;
		cuts |= over[i] > 0;
	}
	if (!cuts)
		return;
	out.n = 0;
	for (i = 0; i < p->n; i++) {
		k = (i + 1) % p->n;
		if (over[i] <= 0)
			out.c[out.n++] = p->c[i];
		if ((over[i] > 0) == (over[k] > 0) || over[i] == 0 || over[k] == 0)
			continue;
		at = over[i] / (over[i] - over[k]);
		out.c[out.n++] = (struct corner){ p->c[i].x + at * (p->c[k].x - p->c[i].x),
			p->c[i].y + at * (p->c[k].y - p->c[i].y) };
	}
	if (out.n < 3)
		out.n = 0;
	else if (out.n > CORNERS_MAX)
		corner_drop(&out);
	*p = out;
}

/* --- hosts --- */

struct drift {
	int64_t from_ns, to_ns; /* first and last event with a bound of the lead */
	double most_s;          /* the largest bound, or the opposite */
	struct polygon polygon;
	/* the highest lower bounds, and the lowest upper bounds negated, each of another line */
	double low[LINES_PROVE], high[LINES_PROVE];
	size_t low_line[LINES_PROVE], high_line[LINES_PROVE];
};

struct drifts {
	const struct nw_lines *l;
	double tick_s;       /* times are no finer */
	struct drift *drift; /* by host; behind the hosts, all together as one host */
};

static void
span_put(struct drift *d, const struct line_bound *b)
{
	d->from_ns = b->t_ns < d->from_ns ? b->t_ns : d->from_ns;
	d->to_ns = b->t_ns > d->to_ns ? b->t_ns : d->to_ns;
	d->most_s = fmax(d->most_s, fabs(b->lead_s));
}

static void
on_span(void *arg, const struct line_bound *b)
{
	struct drifts *all = arg;

	span_put(&all->drift[b->host], b);
	span_put(&all->drift[all->l->n_hosts], b);
}

/* A line has a single place among the highest. */
static void
highest_put(double *v, size_t *of, double value, size_t line)
{
	size_t i, at = LINES_PROVE - 1;

	for (i = 0; i < LINES_PROVE; i++)
		if (of[i] == line)
			at = i;
	if (value <= v[at])
		return;
	for (; at > 0 && v[at - 1] < value; at--) {
		v[at] = v[at - 1];
		of[at] = of[at - 1];
	}
	v[at] = value;
	of[at] = line;
}

static void
bound_put(struct drift *d, const struct line_bound *b, double tick_s)
{
	double sign = b->is_upper ? 1 : -1, most = sign * b->lead_s + tick_s;

	if (d->from_ns >= d->to_ns)
		return;
	polygon_cut(&d->polygon,
	    line_seconds(d->from_ns, b->t_ns) / line_seconds(d->from_ns, d->to_ns), most, sign);
	highest_put(b->is_upper ? d->high : d->low, b->is_upper ? d->high_line : d->low_line, -most,
	    b->line);
}

static void
on_bound(void *arg, const struct line_bound *b)
{
	struct drifts *all = arg;

	bound_put(&all->drift[b->host], b, all->tick_s);
	bound_put(&all->drift[all->l->n_hosts], b, all->tick_s);
}

/* The largest power of ten in all times: a log of microseconds has no finer times. */
static double
tick_of(const struct nw_lines *l)
{
	int64_t tick = TICK_MAX_NS;
	size_t i;

	for (i = 0; i < l->n * l->n_points && tick > 1; i++)
		while (l->t_ns[i] != NW_LINE_NEVER && l->t_ns[i] % tick != 0)
			tick /= 10;
	return tick > 1 ? (double)tick * 1e-9 : 0;
}

static void
drift_begin(struct drift *d)
{
	double most = 8 * d->most_s + 1; /* no allowed lead is so large */
	size_t i;

	d->polygon = (struct polygon){ 4,
		{ { -most, -most }, { most, -most }, { most, most }, { -most, most } } };
	for (i = 0; i < LINES_PROVE; i++) {
		d->low[i] = d->high[i] = -INFINITY;
		d->low_line[i] = d->high_line[i] = SIZE_MAX;
	}
}

static void
extremes_find(const struct polygon *p, double span_s, struct nw_line_wrong *w)
{
	double x = 0, y = 0, rate;
	size_t i;

	w->low_s = w->end_low_s = w->rate_low = INFINITY;
	w->high_s = w->end_high_s = w->rate_high = -INFINITY;
	for (i = 0; i < p->n; i++) {
		rate = (p->c[i].y - p->c[i].x) / span_s;
		w->low_s = fmin(w->low_s, p->c[i].x);
		w->high_s = fmax(w->high_s, p->c[i].x);
		w->end_low_s = fmin(w->end_low_s, p->c[i].y);
		w->end_high_s = fmax(w->end_high_s, p->c[i].y);
		w->rate_low = fmin(w->rate_low, rate);
		w->rate_high = fmax(w->rate_high, rate);
		x += p->c[i].x / (double)p->n;
		y += p->c[i].y / (double)p->n;
	}
	/* the middle of the corners is allowed, too, with the largest error at the ends */
	w->lead_s = x;
	w->rate = (y - x) / span_s;
	w->error_s =
	    fmax(fmax(x - w->low_s, w->high_s - x), fmax(y - w->end_low_s, w->end_high_s - y));
}

static void
drift_tell(const struct drift *d, uint32_t host, uint32_t home, struct nw_line_wrong *w)
{
	double apart = d->low[LINES_PROVE - 1] + d->high[LINES_PROVE - 1];

	*w = (struct nw_line_wrong){ .host = host, .against = home };
	if (!(apart > 0))
		return; /* a few odd lines prove nothing */
	w->from_ns = d->from_ns;
	w->to_ns = d->to_ns;
	if (d->polygon.n > 0)
		extremes_find(&d->polygon, line_seconds(d->from_ns, d->to_ns), w);
	else
		w->moved_s = apart;
}

int
line_drifts(const struct nw_lines *l, uint32_t home, struct nw_line_wrong *out)
{
	struct drifts all = { .l = l, .tick_s = tick_of(l) };
	size_t i;

	all.drift = calloc(l->n_hosts + 1, sizeof(*all.drift));
	if (all.drift == NULL)
		return NW_ENOMEM;
	for (i = 0; i <= l->n_hosts; i++) {
		all.drift[i].from_ns = INT64_MAX;
		all.drift[i].to_ns = INT64_MIN;
	}
	line_bounds_each(l, on_span, &all);
	for (i = 0; i <= l->n_hosts; i++)
		drift_begin(&all.drift[i]);
	line_bounds_each(l, on_bound, &all);
	for (i = 0; i <= l->n_hosts; i++)
		drift_tell(
		    &all.drift[i], i < l->n_hosts ? (uint32_t)i : NW_LINE_ANY, home, &out[i]);
	free(all.drift);
	return NW_OK;
}
