/* SPDX-License-Identifier: BSD-3-Clause */
/* Effective sample sizes. See narrows/autocorr.h. */
#include "narrows/autocorr.h"

#include <math.h>

#define R_MAX     0.98 /* largest r: beyond, 60 values would count as less than a single value */
#define N_EFF_MIN 2    /* below, no test has a degree of freedom */

static double
effective(double n, double r)
{
	return fmin(n, fmax(N_EFF_MIN, n * (1 - r) / (1 + r)));
}

struct nw_autocorr
nw_autocorr(const double *x, size_t n)
{
	struct nw_autocorr a = {
		.status = NW_STATUS_OK, .sum = nw_summary_of(x, n), .r1 = NAN, .r = 0
	};
	double scale = ldexp(1, -a.sum.m2_exp), mean = a.sum.mean * scale, products = 0,
	       size = (double)a.sum.n;
	size_t i;

	a.n_eff = a.n_eff_plain = size;
	if (a.sum.n < 3)
		a.status = NW_STATUS_INSUFFICIENT;
	else if (!(a.sum.m2 > 0))
		a.status = NW_STATUS_DEGENERATE;
	if (a.status != NW_STATUS_OK)
		return a;
	for (i = 1; i < n; i++)
		if (isfinite(x[i - 1]) && isfinite(x[i]))
			products += (x[i - 1] * scale - mean) * (x[i] * scale - mean);
	a.r1 = products / a.sum.m2;
	a.r = fmin(R_MAX, fmax(0, a.r1 + (1 + 4 * a.r1) / size));
	a.n_eff_plain = effective(size, fmax(0, a.r1));
	a.n_eff = effective(size, a.r);
	return a;
}

struct nw_group
nw_autocorr_group(const struct nw_autocorr *a)
{
	return (struct nw_group){ a->n_eff, a->sum.mean, nw_summary_sd(&a->sum) };
}

size_t
nw_hac_lag(size_t n)
{
	return (size_t)(4 * pow((double)n / 100, 2.0 / 9));
}

double
nw_hac_variance(const double *x, size_t n, size_t lag)
{
	struct nw_summary s = nw_summary_of(x, n);
	double g, total = 0;
	size_t i, l;

	if (s.n != n || n < 2)
		return NAN;
	for (l = 0; l <= lag && l < n; l++) {
		g = 0;
		for (i = l; i < n; i++)
			g += (x[i] - s.mean) * (x[i - l] - s.mean);
		total += (l == 0 ? 1 : 2 * (1 - (double)l / (double)(lag + 1))) * g / (double)n;
	}
	return total / (double)n;
}

size_t
nw_paired_difference(const double *a, const double *b, size_t n, double *d)
{
	size_t i, n_pairs = 0;

	for (i = 0; i < n; i++) {
		d[i] = isfinite(a[i]) && isfinite(b[i]) ? a[i] - b[i] : NAN;
		n_pairs += isfinite(d[i]);
	}
	return n_pairs;
}
