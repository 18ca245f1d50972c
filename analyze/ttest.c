/* SPDX-License-Identifier: BSD-3-Clause */
/* One-sided t-tests from summaries and Holm's correction. See narrows/ttest.h. */
#include "narrows/ttest.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "narrows/err.h"
#include "narrows/special.h"

static const struct nw_ttest nothing = { NW_STATUS_INSUFFICIENT, NAN, NAN, NAN, NAN, NAN, NAN };

struct nw_group
nw_group_of(const struct nw_summary *s)
{
	return (struct nw_group){ (double)s->n, s->mean, nw_summary_sd(s) };
}

/* diff, se and df are known. */
static struct nw_ttest
decide(double diff, double se, double df)
{
	struct nw_ttest r = { NW_STATUS_OK, diff, se, diff / se, df, NAN, NAN };
	double log_p = nw_t_log_cdf(r.t, df);

	r.p = exp(log_p);
	r.log10_p = log_p / M_LN10;
	return r;
}

static struct nw_ttest
without_variance(double diff)
{
	double p = diff < 0 ? 0 : 1;

	return (struct nw_ttest){ NW_STATUS_DEGENERATE, diff, 0, NAN, NAN, p, log10(p) };
}

static struct nw_ttest
undefined(void)
{
	struct nw_ttest r = nothing;

	r.status = NW_STATUS_UNDEFINED;
	return r;
}

static struct nw_ttest
test_two(const struct nw_group *a, const struct nw_group *b, int pooled)
{
	double unit, va, vb, df, v;

	if (!(a->n >= 2) || !(b->n >= 2))
		return nothing;
	if (!isfinite(a->mean) || !isfinite(b->mean) || !isfinite(a->sd) || !isfinite(b->sd))
		return undefined();
	unit = fmax(a->sd, b->sd); /* unit against overflow of squares of ratios */
	if (!(unit > 0))
		return without_variance(a->mean - b->mean);
	va = a->sd / unit * (a->sd / unit);
	vb = b->sd / unit * (b->sd / unit);
	if (pooled) {
		df = a->n + b->n - 2;
		v = ((a->n - 1) * va + (b->n - 1) * vb) / df * (1 / a->n + 1 / b->n);
	} else {
		va /= a->n;
		vb /= b->n;
		v = va + vb;
		df = v * v / (va * va / (a->n - 1) + vb * vb / (b->n - 1));
	}
	return decide(a->mean - b->mean, unit * sqrt(v), df);
}

struct nw_ttest
nw_ttest_welch(const struct nw_group *a, const struct nw_group *b)
{
	return test_two(a, b, 0);
}

struct nw_ttest
nw_ttest_student(const struct nw_group *a, const struct nw_group *b)
{
	return test_two(a, b, 1);
}

struct nw_ttest
nw_ttest_single(const struct nw_group *d)
{
	if (!(d->n >= 2))
		return nothing;
	if (!isfinite(d->mean) || !isfinite(d->sd))
		return undefined();
	if (!(d->sd > 0))
		return without_variance(d->mean);
	return decide(d->mean, d->sd / sqrt(d->n), d->n - 1);
}

static int
compare_p(const void *a, const void *b, void *p)
{
	double pa = ((const double *)p)[*(const size_t *)a],
	       pb = ((const double *)p)[*(const size_t *)b];

	return pa < pb ? -1 : pa > pb;
}

int
nw_holm(const double *p, size_t n, double *adjusted)
{
	size_t *order, i, n_tests = 0;
	double highest = 0, q;

	if (n > SIZE_MAX / sizeof(*order) || (order = malloc((n + 1) * sizeof(*order))) == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++) {
		adjusted[i] = p[i];
		if (!isnan(p[i]))
			order[n_tests++] = i;
	}
	qsort_r(order, n_tests, sizeof(*order), compare_p, adjusted);
	for (i = 0; i < n_tests; i++) {
		q = fmin(1, (double)(n_tests - i) * adjusted[order[i]]);
		adjusted[order[i]] = highest = fmax(highest, q);
	}
	free(order);
	return NW_OK;
}
