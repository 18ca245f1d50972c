/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/differ.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/change/history_in.h"
#include "analyze/quantile.h"
#include "narrows/err.h"
#include "narrows/special.h"
#include "narrows/summary.h"

/* --- levels --- */

struct level {
	double *y; /* finite values in time order */
	size_t n, split;
};

static int
level_take(const double *v, size_t n, size_t split, struct level *l)
{
	bool positive = true;
	size_t i;

	*l = (struct level){ .y = malloc((n + 1) * sizeof(*l->y)) };
	if (l->y == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++) {
		if (!isfinite(v[i]))
			continue;
		positive &= v[i] > 0;
		l->split += i < split;
		l->y[l->n++] = v[i];
	}
	for (i = 0; i < l->n && positive; i++)
		l->y[i] = log(l->y[i]);
	return NW_OK;
}

static double
median_of(const double *v, size_t from, size_t end)
{
	double *room = malloc((end - from + 1) * sizeof(*room)), m = NAN;
	size_t i, n = 0;

	for (i = from; i < end && room != NULL; i++)
		if (isfinite(v[i]))
			room[n++] = v[i];
	if (n > 0)
		m = quantile(room, n, 0.5);
	free(room);
	return m;
}

/* Factor by which memory of neighbours inflates a variance. */
static double
inflation(const struct level *l)
{
	struct nw_summary a = nw_summary_of(l->y, l->split),
			  b = nw_summary_of(l->y + l->split, l->n - l->split);
	double own = 0, next = 0, here, there = 0, r;
	size_t i;

	for (i = 0; i < l->n; i++) {
		here = l->y[i] - (i < l->split ? a.mean : b.mean);
		own += here * here;
		next += i > 0 ? here * there : 0;
		there = here;
	}
	r = own > 0 ? next / own : 0;
	r = r * sqrt((double)l->n) > 1.3 ? fmin(0.9, r + (1 + 3 * r) / (double)l->n) : 0;
	return (1 + r) / (1 - r);
}

static double
ranks_chance(const struct level *l)
{
	double *rank = malloc((l->n + 1) * sizeof(*rank)), sum = 0, square = 0, z;
	double after = (double)(l->n - l->split), before = (double)l->split;
	size_t i;

	if (rank == NULL || history_ranks(l->y, l->n, rank) < 0) {
		free(rank);
		return 1;
	}
	for (i = 0; i < l->n; i++) {
		square += rank[i] * rank[i];
		sum += i >= l->split ? rank[i] : 0;
	}
	free(rank);
	if (!(square > 0))
		return 1;
	/* variance of a sum of ranks drawn without replacement, ties included */
	z = fabs(sum) /
	    sqrt(square / ((double)l->n - 1) * after * before / (double)l->n * inflation(l));
	return 2 * nw_norm_upper(z);
}

static double
predicted_chance(const struct level *l)
{
	struct nw_summary a = nw_summary_of(l->y, l->split),
			  b = nw_summary_of(l->y + l->split, l->n - l->split);
	double sd = nw_summary_sd(&a), t;

	if (!(sd > 0))
		return b.mean == a.mean ? 1 : 1 / (double)(l->split + 1);
	t = (b.mean - a.mean) / (sd * sqrt(1 / (double)a.n + 1 / (double)b.n));
	return 2 * nw_t_cdf(-fabs(t), (double)a.n - 1);
}

double
nw_level_chance(const double *v, size_t n, size_t split, double *before, double *after)
{
	struct level l;
	double p = 1;

	*before = median_of(v, 0, split);
	*after = median_of(v, split, n);
	if (level_take(v, n, split, &l) < 0)
		return NAN;
	if (l.split >= NW_DIFFER_BEFORE_MIN && l.n > l.split)
		p = l.n - l.split >= NW_DIFFER_AFTER_MIN ? ranks_chance(&l) : predicted_chance(&l);
	free(l.y);
	return p;
}

/* --- many chances --- */

struct chance {
	double p;
	size_t at;
};

static int
chance_compare(const void *a, const void *b)
{
	const struct chance *x = a, *y = b;

	return x->p < y->p ? -1 : x->p > y->p;
}

int
nw_false_discoveries(const double *p, size_t n, double *q)
{
	struct chance *c = malloc((n + 1) * sizeof(*c));
	double least = 1;
	size_t i;

	if (c == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++)
		c[i] = (struct chance){ p[i], i };
	qsort(c, n, sizeof(*c), chance_compare);
	for (i = n; i-- > 0;) {
		least = fmin(least, c[i].p * (double)n / (double)(i + 1));
		q[c[i].at] = least;
	}
	free(c);
	return NW_OK;
}
