/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/change/history_in.h"
#include "analyze/quantile.h"
#include "narrows/err.h"
#include "narrows/special.h"
#include "narrows/splitmix.h"
#include "narrows/summary.h"

enum { RANK_ENOUGH = 19 /* earlier rates needed for a rare rank */, PERMUTATIONS = 999 };
static const double USUAL_ALPHA = 0.05;
/* Of Student's prediction where the rank is open to chance: hardly adds to USUAL_ALPHA. */
static const double USUAL_FAR = 0.005;
/* Share of NW_CHANGE_ALPHA for the ranks; the rest is for the levels. */
static const double RANK_PART = 0.5;
static const double CUT = 4; /* of the log likelihood; covers 95 % (test_history.c) */

/* --- a session against earlier sessions --- */

static size_t
rates_take(const double *from, size_t n, double *rates)
{
	size_t i, kept = 0;

	for (i = 0; i < n; i++)
		if (isfinite(from[i]) && from[i] > 0)
			rates[kept++] = from[i];
	return kept;
}

/* Chance of a rate as low, or as high, among n like rates. */
static double
rank_chance(const double *rates, size_t n, double rate, bool low)
{
	size_t i, beyond = 1;

	for (i = 0; i < n; i++)
		beyond += low ? rates[i] <= rate : rates[i] >= rate;
	return (double)beyond / (double)(n + 1);
}

/* The same by Student's prediction of the next log rate. */
static double
predicted_chance(const double *rates, size_t n, double rate, bool low)
{
	struct nw_summary s = { 0 };
	double t;
	size_t i;

	for (i = 0; i < n; i++)
		nw_summary_add(&s, log(rates[i]));
	t = (log(rate) - s.mean) / (nw_summary_sd(&s) * sqrt(1 + 1 / (double)n));
	return nw_t_cdf(low ? t : -t, (double)n - 1);
}

static void
usual_say(const double *rates, double rate, struct nw_usual *out)
{
	const size_t n = out->n;
	bool low = out->ratio >= 1;
	double rank = rank_chance(rates, n, rate, low);
	double predicted = predicted_chance(rates, n, rate, low);
	bool far = (low ? out->ratio : 1 / out->ratio) >= NW_USEFUL;

	out->p = n >= RANK_ENOUGH && predicted > USUAL_FAR ? rank : predicted;
	if (isnan(predicted)) /* earlier rates were all alike */
		out->p = rank;
	if (n < RANK_ENOUGH && rank > 1.5 / (double)(n + 1) && !(predicted <= USUAL_FAR))
		far = false;
	out->said = !far || out->p > USUAL_ALPHA ? NW_AGAINST_USUAL
	    : low                                ? NW_AGAINST_SLOWER
						 : NW_AGAINST_FASTER;
}

int
nw_usual(const double *earlier, size_t n, double rate, struct nw_usual *out)
{
	double *rates = malloc((n + 1) * sizeof(*rates));
	size_t i;

	*out = (struct nw_usual){ .best = NAN,
		.median = NAN,
		.worst = NAN,
		.low = NAN,
		.high = NAN,
		.ratio = NAN,
		.slower_than = NAN,
		.p = NAN };
	if (rates == NULL)
		return NW_ENOMEM;
	out->n = rates_take(earlier, n, rates);
	if (out->n > 0) {
		out->worst = quantile(rates, out->n, 0);
		out->low = quantile(rates, out->n, 0.1);
		out->median = quantile(rates, out->n, 0.5);
		out->high = quantile(rates, out->n, 0.9);
		out->best = quantile(rates, out->n, 1);
	}
	if (out->n > 0 && isfinite(rate) && rate > 0) {
		for (out->slower_than = 0, i = 0; i < out->n; i++)
			out->slower_than += rates[i] > rate;
		out->slower_than /= (double)out->n;
		out->ratio = out->median / rate;
		if (out->n >= NW_USUAL_MIN)
			usual_say(rates, rate, out);
	}
	free(rates);
	return NW_OK;
}

/* --- changes --- */

struct ranked {
	double value;
	size_t at;
};

static int
ranked_compare(const void *a, const void *b)
{
	double x = ((const struct ranked *)a)->value, y = ((const struct ranked *)b)->value;

	return x < y ? -1 : x > y;
}

/* Mid-ranks about their mean. */
int
history_ranks(const double *y, size_t n, double *rank)
{
	struct ranked *r = malloc((n + 1) * sizeof(*r));
	size_t i, j, k;

	if (r == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++)
		r[i] = (struct ranked){ y[i], i };
	qsort(r, n, sizeof(*r), ranked_compare);
	for (i = 0; i < n; i = j) {
		for (j = i + 1; j < n && r[j].value == r[i].value; j++)
			;
		for (k = i; k < j; k++)
			rank[r[k].at] = (double)(i + j - 1) / 2 - (double)(n - 1) / 2;
	}
	free(r);
	return NW_OK;
}

void
history_shuffle(double *v, size_t n, uint64_t *seed)
{
	size_t i, j;
	double kept;

	for (i = n; i > 1; i--) {
		j = (size_t)(nw_splitmix(seed) % i);
		kept = v[i - 1];
		v[i - 1] = v[j];
		v[j] = kept;
	}
}

/* The largest standardised sum over all cuts, without the constant spread of the ranks. */
static double
cut_best(const double *rank, size_t n, size_t *at)
{
	double sum = 0, best = -1, m;
	size_t k;

	for (k = 1; k + NW_CHANGE_SIDE_MIN <= n; k++) {
		sum += rank[k - 1];
		if (k < NW_CHANGE_SIDE_MIN)
			continue;
		m = sum * sum / ((double)k * (double)(n - k));
		if (m > best) {
			best = m;
			*at = k;
		}
	}
	return sqrt(best);
}

/* Lag-1 correlation of the residues of both sides' means; 0 unless the correlation stands out. */
static double
memory_left(const double *y, size_t n, size_t at)
{
	double a = 0, b = 0, own = 0, next = 0, here, there, r;
	size_t i;

	for (i = 0; i < n; i++)
		*(i < at ? &a : &b) += y[i];
	a /= (double)at;
	b /= (double)(n - at);
	for (i = 0; i < n; i++) {
		here = y[i] - (i < at ? a : b);
		own += here * here;
		if (i + 1 < n) {
			there = y[i + 1] - (i + 1 < at ? a : b);
			next += here * there;
		}
	}
	r = own > 0 ? next / own : 0;
	return r * sqrt((double)n) > 1.64 ? fmin(0.9, r + (1 + 3 * r) / (double)n) : 0;
}

/* The lag-1 correlation by differences, robust against a few changes of level: the median of
 * squared differences over two steps is (1 + r) times the median over a single step. */
static double
memory_of_differences(const double *y, size_t n, double *room)
{
	double one, two;
	size_t i;

	for (i = 0; i + 1 < n; i++)
		room[i] = fabs(y[i + 1] - y[i]);
	one = quantile(room, n - 1, 0.5);
	for (i = 0; i + 2 < n; i++)
		room[i] = fabs(y[i + 2] - y[i]);
	two = quantile(room, n - 2, 0.5);
	return one > 0 ? fmin(0.9, fmax(0, two * two / (one * one) - 1 + 3 / sqrt((double)n)))
		       : 0.9;
}

struct search {
	double *y, *centred, *mixed; /* centred: ranks or levels of a stretch about their mean */
	struct nw_route_changes *out;
};

/* The chance of a cut as good; permuting ends early once the chance is certain to be too large. */
static double
cut_chance(struct search *s, size_t n, double observed)
{
	uint64_t seed = 0x6e617272 + n;
	size_t i, above = 0, at = 0;

	memcpy(s->mixed, s->centred, n * sizeof(*s->mixed));
	for (i = 0; i < PERMUTATIONS && (double)above <= NW_CHANGE_ALPHA * PERMUTATIONS; i++) {
		history_shuffle(s->mixed, n, &seed);
		above += cut_best(s->mixed, n, &at) >= observed * (1 - 1e-12);
	}
	return (double)(above + 1) / (double)(i + 1);
}

/* What memory leaves of a t or of a sum of ranks, squared. */
static double
memory_share(const struct search *s, const double *y, size_t n, size_t at)
{
	double r = fmin(memory_left(y, n, at), memory_of_differences(y, n, s->mixed));

	return (1 - r) / (1 + r);
}

/*
 * The best cut by levels, and its chance. Memory takes away from Student's t of the two means. The
 * largest t of a permutation is where its sum is largest, for the sum of squares stays the same.
 */
static double
levels_cut(struct search *s, const double *y, size_t n, size_t *at)
{
	struct nw_summary all = nw_summary_of(y, n);
	double squares = nw_summary_variance(&all) * (double)(n - 1), apart, explained, t2;
	size_t i;

	if (!(squares > 0))
		return 1;
	for (i = 0; i < n; i++)
		s->centred[i] = y[i] - all.mean;
	apart = cut_best(s->centred, n, at);
	explained = fmin(apart * apart * (double)n / squares, 1 - 1e-12);
	t2 = (double)(n - 2) * explained / (1 - explained) * memory_share(s, y, n, *at);
	return cut_chance(s, n, sqrt(t2 / ((double)(n - 2) + t2) * squares / (double)n));
}

/* The same by ranks, robust against far-off rates. */
static int
ranks_cut(struct search *s, const double *y, size_t n, size_t *at, double *p)
{
	double apart;
	int rc = history_ranks(y, n, s->centred);

	if (rc < 0)
		return rc;
	apart = cut_best(s->centred, n, at);
	*p = cut_chance(s, n, apart * sqrt(memory_share(s, y, n, *at)));
	return NW_OK;
}

static double
cost_of(const double *y, size_t n)
{
	struct nw_summary s = nw_summary_of(y, n);

	return s.n > 0 ? nw_summary_variance(&s) * (double)(n - 1) : 0;
}

/* All cuts with a likelihood close to the best. */
static void
change_bound(const double *y, size_t n, size_t first, struct nw_route_change *c)
{
	double best = INFINITY, *cost = malloc((n + 1) * sizeof(*cost)), sigma2;
	size_t k;

	c->low = c->high = c->at;
	if (cost == NULL)
		return;
	for (k = 1; k < n; k++) {
		cost[k] = cost_of(y, k) + cost_of(y + k, n - k);
		best = fmin(best, cost[k]);
	}
	sigma2 = best / (double)(n - 2);
	for (k = 1; k < n; k++)
		if (cost[k] - best <= CUT * sigma2) {
			if (first + k < c->low)
				c->low = first + k;
			if (first + k > c->high)
				c->high = first + k;
		}
	free(cost);
}

static double
median_of(const struct search *s, const double *y, size_t n)
{
	memcpy(s->mixed, y, n * sizeof(*y));
	return exp(quantile(s->mixed, n, 0.5));
}

static void
change_put(struct nw_route_changes *out, const struct nw_route_change *c)
{
	size_t i;

	for (i = out->n; i > 0 && out->change[i - 1].at > c->at; i--)
		out->change[i] = out->change[i - 1];
	out->change[i] = *c;
	out->n++;
}

static int
changes_search(struct search *s, size_t first, size_t n)
{
	const double *y = s->y + first;
	struct nw_route_change c = { 0 };
	double ratio;
	size_t at = 0;
	int rc;

	if (n < 2 * NW_CHANGE_SIDE_MIN || s->out->n == NW_HISTORY_CHANGES_MAX)
		return NW_OK;
	c.p = levels_cut(s, y, n, &at) / (1 - RANK_PART);
	if (c.p > NW_CHANGE_ALPHA) {
		if ((rc = ranks_cut(s, y, n, &at, &c.p)) < 0)
			return rc;
		c.p /= RANK_PART;
	}
	if (c.p > NW_CHANGE_ALPHA)
		return NW_OK;
	ratio = median_of(s, y, at) / median_of(s, y + at, n - at);
	if (fmax(ratio, 1 / ratio) < NW_USEFUL)
		return NW_OK;
	c.at = first + at;
	change_bound(y, n, first, &c);
	change_put(s->out, &c);
	if ((rc = changes_search(s, first, at)) < 0)
		return rc;
	return changes_search(s, first + at, n - at);
}

int
nw_route_changes(const double *rate, size_t n, struct nw_route_changes *out)
{
	double *room = malloc((3 * n + 1) * sizeof(*room));
	struct search s = { room, room + n, room + 2 * n, out };
	size_t i, end;
	int rc;

	*out = (struct nw_route_changes){ 0 };
	if (room == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++)
		s.y[i] = log(rate[i]);
	rc = changes_search(&s, 0, n);
	for (i = 0; i < out->n; i++) {
		struct nw_route_change *c = &out->change[i];
		size_t begin = i > 0 ? c[-1].at : 0;

		end = i + 1 < out->n ? c[1].at : n;
		c->before = median_of(&s, s.y + begin, c->at - begin);
		c->after = median_of(&s, s.y + c->at, end - c->at);
	}
	free(room);
	return rc;
}
