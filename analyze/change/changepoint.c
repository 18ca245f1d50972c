/* SPDX-License-Identifier: BSD-3-Clause */
/* Optimal segmentation of a series. See narrows/changepoint.h. */
#include "analyze/change/changepoint_in.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/change/period_in.h"
#include "analyze/quantile.h"
#include "narrows/err.h"
#include "narrows/summary.h"

#define R_MAX            0.95
#define EXACT_MAX        8192 /* values; above, coarse to fine */
#define COARSE_POSITIONS 4096
#define REFINE_STRIDES   2
#define PRUNE_EVERY      16
#define CYCLE_USEFUL     0.1 /* least change beside a cycle, as a share of the cycle's height */
#define FIFTHS           5
#define LINE_LENGTH      32 /* values a candidate's lower bound reaches ahead */

const struct nw_change_options nw_change_faithful = { .min_segment = 5, .floor = 1e-8 };
const struct nw_change_options nw_change_better = { .min_segment = 5,
	.ar = true,
	.winsorise_mad = 5,
	.floor = 0.01,
	.verify = true,
	.useful = 0.02 };

/* The finite values, standardised, as prefix sums: sum[i] and square[i] over the first i values. */
struct series {
	size_t n;
	size_t *index; /* in the caller's array */
	double *x;
	double *sum, *square;
	double mean, scale; /* of the caller's values; x is in units of scale */
	double floor;       /* least variance of a segment, in units of scale^2 */
};

static void
series_free(struct series *s)
{
	free(s->index);
	free(s->x);
	free(s->sum);
	free(s->square);
}

static int
series_init(struct series *s, const double *y, size_t n)
{
	size_t i;

	*s = (struct series){ 0 };
	if (n >= SIZE_MAX / sizeof(double) - 1)
		return NW_ENOMEM;
	s->index = malloc((n + 1) * sizeof(*s->index));
	s->x = malloc((n + 1) * sizeof(*s->x));
	s->sum = malloc((n + 1) * sizeof(*s->sum));
	s->square = malloc((n + 1) * sizeof(*s->square));
	if (s->index == NULL || s->x == NULL || s->sum == NULL || s->square == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++)
		if (isfinite(y[i])) {
			s->index[s->n] = i;
			s->x[s->n++] = y[i];
		}
	return NW_OK;
}

static bool
is_out(const struct series *s, size_t i, double median, double reach)
{
	return i < s->n && fabs(s->x[i] - median) > reach;
}

/* Cuts to median +- mad_count median absolute deviations, with `lone` only where both neighbours
 * are within; `scratch` has room for n. */
static void
winsorise(struct series *s, double mad_count, bool lone, double *scratch)
{
	double median, reach;
	bool before = false, out;
	size_t i;

	memcpy(scratch, s->x, s->n * sizeof(*scratch));
	median = quantile(scratch, s->n, 0.5);
	for (i = 0; i < s->n; i++)
		scratch[i] = fabs(s->x[i] - median);
	reach = mad_count * quantile(scratch, s->n, 0.5);
	if (!(reach > 0)) /* more than half the values are equal: no scale to cut by */
		return;
	for (i = 0; i < s->n; i++, before = out) {
		out = is_out(s, i, median, reach);
		if (out && !(lone && (before || is_out(s, i + 1, median, reach))))
			s->x[i] = fmin(median + reach, fmax(median - reach, s->x[i]));
	}
}

/* Median of |x_{t+lag} - x_t|. */
static double
median_step(const struct series *s, size_t lag, double *scratch)
{
	size_t i;

	for (i = lag; i < s->n; i++)
		scratch[i - lag] = fabs(s->x[i] - s->x[i - lag]);
	return quantile(scratch, s->n - lag, 0.5);
}

static double
robust_r(const struct series *s, double *scratch)
{
	double one, ratio;

	if (s->n < 4)
		return 0;
	one = median_step(s, 1, scratch);
	if (!(one > 0)) /* mostly equal neighbours: a clock or a counter, not a memory */
		return 0;
	ratio = median_step(s, 2, scratch) / one;
	return fmin(R_MAX, fmax(0, ratio * ratio - 1));
}

/* Mean 0, variance 1 (divisor n), then the sums. Returns false if the series is constant. */
static bool
standardise(struct series *s)
{
	struct nw_summary all = nw_summary_of(s->x, s->n);
	double sd = ldexp(sqrt(all.m2 / (double)all.n), all.m2_exp);
	size_t i;

	if (!(sd > 0) || !isfinite(sd))
		return false;
	s->mean = all.mean;
	s->scale = sd;
	s->sum[0] = s->square[0] = 0;
	for (i = 0; i < s->n; i++) {
		s->x[i] = (s->x[i] - all.mean) / sd;
		s->sum[i + 1] = s->sum[i] + s->x[i];
		s->square[i + 1] = s->square[i] + s->x[i] * s->x[i];
	}
	return true;
}

/* ln max(var, vmin) of m values; m times the logarithm is the cost, without the part that is equal
 * in all segmentations. */
static inline double
log_variance(double sum, double square, double m, double floor)
{
	double mean = sum / m, var = square / m - mean * mean;

	return log(var > floor ? var : floor);
}

/*
 * A start of the last segment that may still win. The candidate copies its sums, so that the inner
 * loop reads one array.
 *
 * Most candidates are far from the best cost, and cannot catch up at once: the squared deviations
 * of a segment only grow, so k more values change the cost m ln v by at
 * least (m+k) ln (mv/(m+k)) - m ln v >= k (ln v - 1 - k/m). Until that line falls to the best cost,
 * the loop skips the logarithm; one candidate in ten needs the logarithm.
 */
struct candidate {
	double line, slope; /* the cost at end t is at least line + slope t .. */
	double line_end;    /* last t of the bound */
	double sum, square, at;
	double cost; /* cost of all values before the segment */
	uint32_t i;  /* index of the candidate's position */
	/* index of the first position with a better candidate; UINT32_MAX: none so far */
	uint32_t last;
};

struct pelt {
	const struct series *s;
	/* 0 = pos[0] < .. < pos[n_pos] = s->n: where segments may start and end */
	const size_t *pos;
	size_t n_pos;
	size_t min_segment;
	double penalty;
	/* n_pos + 1: lowest cost of the values before pos[i]; Inf if none is possible */
	double *best;
	uint32_t *from; /* n_pos + 1 starts of the last segment */
	struct candidate *candidate;
	size_t n_candidates;
	size_t leader; /* winner of the last step, SIZE_MAX before the first */
};

static double
candidate_cost(const struct pelt *p, struct candidate *c, size_t end)
{
	double m = (double)end - c->at, cost;
	double log_v =
	    log_variance(p->s->sum[end] - c->sum, p->s->square[end] - c->square, m, p->s->floor);

	cost = c->cost + m * log_v;
	c->slope = log_v - 1 - LINE_LENGTH / m;
	c->line = cost - c->slope * (double)end;
	c->line_end = (double)end + LINE_LENGTH;
	return cost;
}

/* Index of the first position at least min_segment behind pos[j]. */
static uint32_t
first_after(const struct pelt *p, size_t j)
{
	size_t i = j;

	while (i < p->n_pos && p->pos[i] < p->pos[j] + p->min_segment)
		i++;
	return (uint32_t)i;
}

/* Lowest cost of the values before pos[j], over all candidates; the last winner goes first, to set
 * a low bar. A candidate above the bar by a penalty loses to a change at pos[j] for any end that
 * leaves room for a segment there; until then the candidate stays. */
static void
pelt_step(struct pelt *p, size_t j)
{
	size_t end = p->pos[j], i, winner = p->leader;
	double at = (double)end, best = INFINITY, cost;
	uint32_t beyond = 0;

	if (winner < p->n_candidates)
		best = candidate_cost(p, &p->candidate[winner], end);
	for (i = 0; i < p->n_candidates; i++) {
		struct candidate *c = &p->candidate[i];

		if (c->line + c->slope * at > best && at <= c->line_end)
			continue;
		cost = candidate_cost(p, c, end);
		if (cost < best || (cost == best && i < winner)) {
			best = cost;
			winner = i;
		} else if (cost > best + p->penalty && c->last == UINT32_MAX) {
			beyond = beyond != 0 ? beyond : first_after(p, j);
			c->last = beyond;
		}
	}
	p->best[j] = best + p->penalty;
	p->leader = winner;
	p->from[j] = winner < p->n_candidates ? p->candidate[winner].i : 0;
}

/* Forgets candidates beaten for good. */
static void
pelt_prune(struct pelt *p, size_t j)
{
	size_t i, kept = 0, leader = SIZE_MAX;

	for (i = 0; i < p->n_candidates; i++) {
		if (j + 1 >= p->candidate[i].last)
			continue;
		if (i == p->leader)
			leader = kept;
		if (kept != i)
			p->candidate[kept] = p->candidate[i];
		kept++;
	}
	p->n_candidates = kept;
	p->leader = leader;
}

static void
pelt_run(struct pelt *p)
{
	size_t j, next = 0;

	p->best[0] = -p->penalty; /* the first segment is not a change */
	p->from[0] = 0;
	p->leader = SIZE_MAX;
	for (j = 1; j <= p->n_pos; j++) {
		for (; next < j && p->pos[next] + p->min_segment <= p->pos[j]; next++)
			if (p->best[next] < INFINITY)
				p->candidate[p->n_candidates++] =
				    (struct candidate){ .line_end = -1,
					    .i = (uint32_t)next,
					    .sum = p->s->sum[p->pos[next]],
					    .square = p->s->square[p->pos[next]],
					    .at = (double)p->pos[next],
					    .cost = p->best[next],
					    .last = UINT32_MAX };
		pelt_step(p, j);
		if (j % PRUNE_EVERY == 0)
			pelt_prune(p, j);
	}
}

/* Segments over the given positions: their starts, ascending, to `starts` (room for n_pos), how
 * many to *n_starts. */
static int
segment_over(const struct series *s, const size_t *pos, size_t n_pos, size_t min_segment,
    double penalty, size_t *starts, size_t *n_starts)
{
	struct pelt p = {
		.s = s, .pos = pos, .n_pos = n_pos, .min_segment = min_segment, .penalty = penalty
	};
	size_t i, k;
	int rc = NW_ENOMEM;

	p.best = malloc((n_pos + 1) * sizeof(*p.best));
	p.from = malloc((n_pos + 1) * sizeof(*p.from));
	p.candidate = malloc((n_pos + 1) * sizeof(*p.candidate));
	if (p.best == NULL || p.from == NULL || p.candidate == NULL || n_pos >= UINT32_MAX)
		goto out;
	pelt_run(&p);
	rc = NW_OK;
	for (i = n_pos, *n_starts = 0; i > 0; i = p.from[i])
		starts[(*n_starts)++] = pos[p.from[i]];
	for (i = 0, k = *n_starts; i + 1 < k; i++) {
		size_t t = starts[i];

		starts[i] = starts[--k];
		starts[k] = t;
	}
out:
	free(p.best);
	free(p.from);
	free(p.candidate);
	return rc;
}

/* Every stride-th position and the end. */
static size_t
positions_coarse(size_t n, size_t stride, size_t *pos)
{
	size_t i, n_pos = 0;

	for (i = 0; i < n; i += stride)
		pos[n_pos++] = i;
	pos[n_pos] = n;
	return n_pos;
}

/* All positions within `reach` of the starts, the first and the end. */
static size_t
positions_near(const size_t *starts, size_t n_starts, size_t n, size_t reach, size_t *pos)
{
	size_t i, k, n_pos = 1;

	pos[0] = 0;
	for (k = 1; k < n_starts; k++) {
		i = starts[k] > reach ? starts[k] - reach : 1;
		if (i <= pos[n_pos - 1])
			i = pos[n_pos - 1] + 1;
		for (; i <= starts[k] + reach && i < n; i++)
			pos[n_pos++] = i;
	}
	pos[n_pos] = n;
	return n_pos;
}

static int
segment_all(
    const struct series *s, size_t min_segment, double penalty, size_t *starts, size_t *n_starts)
{
	size_t *pos, stride = 1, n_pos;
	int rc;

	if ((pos = malloc((s->n + 1) * sizeof(*pos))) == NULL)
		return NW_ENOMEM;
	if (s->n > EXACT_MAX)
		stride = s->n / COARSE_POSITIONS;
	n_pos = positions_coarse(s->n, stride, pos);
	rc = segment_over(s, pos, n_pos, min_segment, penalty, starts, n_starts);
	if (rc == NW_OK && stride > 1) {
		n_pos = positions_near(starts, *n_starts, s->n, REFINE_STRIDES * stride, pos);
		rc = segment_over(s, pos, n_pos, min_segment, penalty, starts, n_starts);
	}
	free(pos);
	return rc;
}

/* Cost of the found segmentation, in the caller's unit. Two passes: the search's prefix sums have
 * lost the last digits of a variance near the floor. */
static double
total_cost(const struct series *s, const size_t *starts, size_t n_starts, double penalty)
{
	double cost = penalty * (double)(n_starts - 1), m, var;
	size_t k, end;

	for (k = 0; k < n_starts; k++) {
		struct nw_summary sum;

		end = k + 1 < n_starts ? starts[k + 1] : s->n;
		m = (double)(end - starts[k]);
		sum = nw_summary_of(s->x + starts[k], end - starts[k]);
		var = fmax(s->floor, ldexp(sum.m2, 2 * sum.m2_exp) / m);
		cost += m * (log(2 * M_PI) + log(var) + 2 * log(s->scale) + 1);
	}
	return cost;
}

/* Lowest and highest mean of a fifth of n values. */
static void
drift_range(const double *y, size_t n, struct nw_segment *g)
{
	g->low = INFINITY;
	g->high = -INFINITY;
	for (size_t k = 0; k < FIFTHS; k++) {
		size_t from = k * n / FIFTHS, end = (k + 1) * n / FIFTHS;
		struct nw_summary sum = nw_summary_of(y + from, end - from);

		if (sum.n > 0) {
			g->low = fmin(g->low, sum.mean);
			g->high = fmax(g->high, sum.mean);
		}
	}
}

/* A segmentation: n starts, and per segment whether its mean drifts. */
struct cut {
	size_t n;
	size_t *starts;
	bool *drifts;
};

/* Segments report the caller's values, not the standardised or winsorised values. */
static int
report(const struct series *s, const double *y, size_t n, const struct cut *cut,
    struct nw_changes *out)
{
	const size_t n_starts = cut->n, *starts = cut->starts;
	size_t k;

	if ((out->segment = calloc(n_starts, sizeof(*out->segment))) == NULL)
		return NW_ENOMEM;
	out->n_segments = n_starts;
	for (k = 0; k < n_starts; k++) {
		struct nw_segment *g = &out->segment[k];
		struct nw_summary sum;

		g->start = k == 0 ? 0 : s->index[starts[k]];
		g->end = k + 1 < n_starts ? s->index[starts[k + 1]] : n;
		sum = nw_summary_of(y + g->start, g->end - g->start);
		g->n = (size_t)sum.n;
		g->mean = sum.mean;
		g->sd = sum.n == 0 ? 0 : ldexp(sqrt(sum.m2 / (double)sum.n), sum.m2_exp);
		g->drifts = cut->drifts[k];
		g->low = g->high = NAN;
		if (g->drifts)
			drift_range(y + g->start, g->end - g->start, g);
	}
	return NW_OK;
}

static bool
options_are_valid(const struct nw_change_options *o)
{
	return o->min_segment >= 2 && o->penalty >= 0 && isfinite(o->penalty) && o->floor > 0;
}

/* Prepares the values; the penalty and the floor follow from the values. Returns false if the
 * series is constant. */
static bool
measure(struct series *s, const struct nw_change_options *options, struct nw_changes *out)
{
	double step = 0;

	if (options->winsorise_mad > 0)
		winsorise(s, options->winsorise_mad, options->verify, s->sum);
	out->r = options->verify ? change_memory(s->x, s->n, s->sum) : robust_r(s, s->sum);
	if (options->verify) {
		memcpy(s->sum, s->x, s->n * sizeof(*s->sum));
		step = quantum(s->sum, s->n);
	}
	out->penalty = options->penalty > 0 ? options->penalty : 3 * log((double)s->n);
	if (options->ar)
		out->penalty *= (1 + out->r) / (1 - out->r);
	if (!standardise(s))
		return false;
	s->floor = fmax(options->floor, pow(step / s->scale, 2) / 12);
	return true;
}

/* Takes the part that comes again out of the values. */
static int
cycle_remove(struct series *s, struct nw_changes *out)
{
	int rc = period_find(s->x, s->n, &out->cycle, s->sum);

	for (size_t i = 0; rc == NW_OK && out->cycle.period > 0 && i < s->n; i++)
		s->x[i] -= s->sum[i];
	return rc;
}

static int
segments_find(struct series *s, const struct nw_change_options *options,
    const struct nw_changes *found, struct cut *cut)
{
	struct change_series verified;
	size_t least = options->min_segment, period = (size_t)ceil(found->cycle.period);
	int rc = NW_OK;

	/* a level that is left before its cycle ends is a part of the cycle */
	least = period > least ? period : least;
	if (s->n >= 2 * least)
		rc = segment_all(s, least, found->penalty, cut->starts, &cut->n);
	if (rc != NW_OK || !options->verify)
		return rc;
	verified = (struct change_series){ .x = s->x,
		.n = s->n,
		.level = s->mean / s->scale,
		.scratch = s->sum, /* the search is over */
		.evidence = s->square,
		.starts = cut->starts,
		.n_starts = cut->n,
		.useful = options->useful,
		.least = CYCLE_USEFUL * (found->cycle.high - found->cycle.low) / s->scale };
	change_verify(&verified);
	change_drifts(&verified, cut->drifts);
	cut->n = verified.n_starts;
	return rc;
}

static int
series_cut(struct series *s, const struct nw_change_options *options, struct cut *cut,
    struct nw_changes *out)
{
	int rc = NW_OK;

	cut->starts = calloc(s->n + 1, sizeof(*cut->starts));
	cut->drifts = calloc(s->n + 1, sizeof(*cut->drifts));
	if (cut->starts == NULL || cut->drifts == NULL)
		return NW_ENOMEM;
	if (options->verify && (rc = cycle_remove(s, out)) != NW_OK)
		return rc;
	if (!measure(s, options, out)) {
		out->status = NW_STATUS_DEGENERATE;
		return NW_OK;
	}
	rc = segments_find(s, options, out, cut);
	out->cost = total_cost(s, cut->starts, cut->n, out->penalty);
	return rc;
}

int
nw_changes(
    const double *y, size_t n, const struct nw_change_options *options, struct nw_changes *out)
{
	struct series s;
	struct cut cut = { .n = 1 };
	int rc;

	*out = (struct nw_changes){ .status = NW_STATUS_OK, .cost = NAN };
	if ((rc = series_init(&s, y, n)) != NW_OK)
		goto out;
	if (!options_are_valid(options)) {
		rc = NW_EINVAL;
		goto out;
	}
	if (s.n == 0) {
		out->status = NW_STATUS_INSUFFICIENT;
		goto out;
	}
	rc = series_cut(&s, options, &cut, out);
	if (rc == NW_OK)
		rc = report(&s, y, n, &cut, out);
out:
	series_free(&s);
	free(cut.starts);
	free(cut.drifts);
	return rc;
}

void
nw_changes_clear(struct nw_changes *c)
{
	free(c->segment);
	*c = (struct nw_changes){ 0 };
}
