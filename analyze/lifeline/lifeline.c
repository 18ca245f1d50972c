/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments of lifelines: durations, crossings, orders. */
#include "narrows/lifeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/lifeline/lifeline_in.h"
#include "analyze/quantile.h"
#include "narrows/err.h"

const double nw_line_quantile_at[NW_LINE_QUANTILES] = { 0, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1 };

static size_t
path_wins(const uint32_t *before, size_t n, size_t a)
{
	size_t b, wins = 0;

	for (b = 0; b < n; b++)
		wins += before[a * n + b] > before[b * n + a];
	return wins;
}

void
nw_lines_path(const uint32_t *before, size_t n, uint32_t *rank)
{
	size_t a, b, own, other;

	for (a = 0; a < n; a++) {
		own = path_wins(before, n, a);
		for (rank[a] = 0, b = 0; b < n; b++) {
			other = path_wins(before, n, b);
			rank[a] += other > own || (other == own && b < a);
		}
	}
}

unsigned
nw_line_before(const struct nw_lines *l, size_t line, unsigned to)
{
	const int64_t *t = line_times(l, line);
	unsigned p = to;

	while (p > 0)
		if (t[--p] != NW_LINE_NEVER)
			return p;
	return (unsigned)l->n_points;
}

double
nw_line_total(const struct nw_lines *l, size_t line)
{
	const int64_t *t = line_times(l, line);
	size_t first = 0, last = l->n_points - 1;

	while (first < last && t[first] == NW_LINE_NEVER)
		first++;
	return first == last || t[last] == NW_LINE_NEVER ? NAN : line_seconds(t[first], t[last]);
}

static bool
is_segment(const struct nw_lines *l, size_t line, unsigned from, unsigned to)
{
	const int64_t *t = line_times(l, line);

	return t[from] != NW_LINE_NEVER && t[to] != NW_LINE_NEVER &&
	    nw_line_before(l, line, to) == from;
}

size_t
nw_lines_durations(const struct nw_lines *l, unsigned from, unsigned to, double *s, uint32_t *line)
{
	size_t i, n = 0;

	for (i = 0; i < l->n; i++) {
		if (!is_segment(l, i, from, to))
			continue;
		s[n] = line_seconds(line_times(l, i)[from], line_times(l, i)[to]);
		if (line != NULL)
			line[n] = (uint32_t)i;
		n++;
	}
	return n;
}

enum nw_line_order
nw_line_order_of(const struct nw_lines *l, size_t line, unsigned from, unsigned to)
{
	const uint32_t *host = l->host + (size_t)l->lane[line] * l->n_points;
	double s = line_seconds(line_times(l, line)[from], line_times(l, line)[to]), bound = 0;

	if (host[from] == host[to])
		return s < 0 ? NW_LINE_REVERSED : NW_LINE_SURE;
	bound += isfinite(l->bound_s[host[from]]) ? l->bound_s[host[from]] : 0;
	bound += isfinite(l->bound_s[host[to]]) ? l->bound_s[host[to]] : 0;
	return s < -bound ? NW_LINE_IMPOSSIBLE : s < bound ? NW_LINE_UNCERTAIN : NW_LINE_SURE;
}

/* --- crossings --- */

struct passage {
	int64_t from, to;
	uint32_t lane;
};

static int
by_from(const void *a, const void *b)
{
	const struct passage *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static int
by_lane(const void *a, const void *b)
{
	const struct passage *x = a, *y = b;

	return x->lane != y->lane ? (x->lane < y->lane ? -1 : 1) : by_from(a, b);
}

/* Counts pairs whose earlier member has the later `to`; merges v by `to` into rising order. */
static size_t
inversions(struct passage *v, size_t n, struct passage *spare)
{
	size_t half = n / 2, i = 0, j = half, k = 0, count;

	if (n < 2)
		return 0;
	count = inversions(v, half, spare) + inversions(v + half, n - half, spare);
	while (i < half || j < n)
		if (j == n || (i < half && v[i].to <= v[j].to)) {
			spare[k++] = v[i++];
		} else {
			spare[k++] = v[j++];
			count += half - i;
		}
	memcpy(v, spare, n * sizeof(*v));
	return count;
}

static void
crossings(struct nw_line_segment *s, struct passage *v, size_t n, struct passage *spare)
{
	size_t begin, end;

	qsort(v, n, sizeof(*v), by_lane);
	for (begin = 0; begin < n; begin = end) {
		for (end = begin; end < n && v[end].lane == v[begin].lane; end++)
			;
		s->lane_crossings += inversions(v + begin, end - begin, spare);
	}
	qsort(v, n, sizeof(*v), by_from);
	s->crossings = inversions(v, n, spare);
}

/* --- segments --- */

static void
segments_discover(const struct nw_lines *l, struct nw_line_segments *out)
{
	bool seen[NW_LINE_POINTS_MAX][NW_LINE_POINTS_MAX] = { { false } };
	unsigned from, to, last;
	size_t i;

	for (i = 0; i < l->n; i++)
		for (last = (unsigned)l->n_points, to = 0; to < l->n_points; to++)
			if (line_times(l, i)[to] != NW_LINE_NEVER) {
				if (last < l->n_points)
					seen[last][to] = true;
				last = to;
			}
	for (from = 0; from < l->n_points; from++)
		for (to = from + 1; to < l->n_points; to++)
			if (seen[from][to] && out->n < NW_LINE_SEGMENTS_MAX) {
				out->segment[out->n].from = from;
				out->segment[out->n++].to = to;
			}
}

/* Reorders v. */
static void
spread(double *v, size_t n, double *q)
{
	size_t i;

	for (i = 0; i < NW_LINE_QUANTILES; i++)
		q[i] = n > 0 ? quantile(v, n, nw_line_quantile_at[i]) : NAN;
}

struct room {
	double *s;
	uint32_t *line;
	struct passage *v, *spare;
};

static void
segment_fill(const struct nw_lines *l, struct nw_line_segment *s, struct room *r)
{
	enum nw_line_order order;
	double sum = 0;
	size_t i;

	s->n = nw_lines_durations(l, s->from, s->to, r->s, r->line);
	for (i = 0; i < s->n; i++) {
		const int64_t *t = line_times(l, r->line[i]);

		r->v[i] = (struct passage){ t[s->from], t[s->to], l->lane[r->line[i]] };
		order = nw_line_order_of(l, r->line[i], s->from, s->to);
		s->backwards += order == NW_LINE_IMPOSSIBLE;
		s->uncertain += order == NW_LINE_UNCERTAIN;
		s->reversed += order == NW_LINE_REVERSED;
		sum += r->s[i];
	}
	s->mean_s = sum / (double)s->n;
	s->excess_share = s->excess_low = s->excess_high = NAN;
	crossings(s, r->v, s->n, r->spare);
	spread(r->s, s->n, s->q_s);
}

static void
totals_fill(const struct nw_lines *l, struct nw_line_segments *out, double *s)
{
	double total;
	size_t i;

	for (i = 0; i < l->n; i++)
		if (isfinite(total = nw_line_total(l, i)))
			s[out->n_finished++] = total;
	spread(s, out->n_finished, out->total_s);
}

int
nw_lines_segments(const struct nw_lines *l, struct nw_line_segments *out)
{
	struct room r = { .s = calloc(l->n + 1, sizeof(*r.s)),
		.line = calloc(l->n + 1, sizeof(*r.line)),
		.v = calloc(l->n + 1, sizeof(*r.v)),
		.spare = calloc(l->n + 1, sizeof(*r.spare)) };
	int rc =
	    r.s != NULL && r.line != NULL && r.v != NULL && r.spare != NULL ? NW_OK : NW_ENOMEM;
	size_t i;

	*out = (struct nw_line_segments){ .slow_s = NAN };
	if (rc == NW_OK) {
		segments_discover(l, out);
		totals_fill(l, out, r.s);
	}
	for (i = 0; rc == NW_OK && i < out->n; i++)
		segment_fill(l, &out->segment[i], &r);
	if (rc == NW_OK)
		rc = line_excess(l, out);
	free(r.s);
	free(r.line);
	free(r.v);
	free(r.spare);
	return rc;
}
