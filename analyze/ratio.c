/* SPDX-License-Identifier: BSD-3-Clause */
/* The ratio of two means of the same windows. See narrows/ratio.h. */
#include "narrows/ratio.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "narrows/autocorr.h"
#include "narrows/err.h"
#include "narrows/special.h"

#define RATIO_SPAN 1e6 /* farthest limit of an interval, as a multiple of the ratio */
#define STEPS      50  /* halvings of an interval on the logarithm */

struct windows {
	const double *a, *b;
	size_t n;
	double alpha;
	double *u; /* a - r b */
};

/* Independent values in u = a - r b, the mean of u, and its standard error. */
struct contrast {
	double n_eff, mean, se;
};

static struct contrast
contrast_at(const struct windows *w, double r)
{
	struct contrast c;
	struct nw_autocorr a;
	double n, variance;
	size_t i;

	for (i = 0; i < w->n; i++)
		w->u[i] = w->a[i] - r * w->b[i];
	a = nw_autocorr(w->u, w->n);
	n = (double)a.sum.n;
	variance = pow(nw_summary_sd(&a.sum), 2) * (n - 1) / n;
	c = (struct contrast){ a.n_eff, a.sum.mean, sqrt(variance / (a.n_eff - 1)) };
	return c;
}

static bool
is_inside(const struct windows *w, double r)
{
	struct contrast c = contrast_at(w, r);

	return fabs(c.mean) <= nw_t_quantile(1 - w->alpha / 2, c.n_eff - 1) * c.se;
}

/* The limit of the interval between `ratio` and ratio * span; `none` if all of that is inside. */
static double
limit_find(const struct windows *w, double ratio, double span, double none)
{
	double in = 0, out = log(span), step = out > 0 ? 0.05 : -0.05, middle;

	for (out = step; fabs(out) < fabs(log(span)) && is_inside(w, ratio * exp(out)); out *= 1.5)
		in = out;
	if (fabs(out) >= fabs(log(span)))
		return none;
	for (int i = 0; i < STEPS && fabs(out - in) > 1e-9; i++) {
		middle = (in + out) / 2;
		if (is_inside(w, ratio * exp(middle)))
			in = middle;
		else
			out = middle;
	}
	return ratio * exp(out);
}

/* How often u = a - r b crosses its mean. Two states that last, a cache warm or
 * cold, cross once or twice whatever their autocorrelation looks like. */
static double
crossings(const struct windows *w, double r, double mean)
{
	double last = 0, count = 0, d;

	for (size_t i = 0; i < w->n; i++) {
		d = w->a[i] - r * w->b[i] - mean;
		count += d * last < 0;
		last = d != 0 ? d : last;
	}
	return count;
}

static void
ratio_fill(const struct windows *w, double ratio, struct nw_ratio *out)
{
	struct contrast c = contrast_at(w, ratio), equal = contrast_at(w, 1);

	out->status = NW_STATUS_OK;
	out->ratio = ratio;
	out->n_eff = fmin(c.n_eff, 2 * crossings(w, ratio, c.mean) + 1);
	out->low = limit_find(w, ratio, 1 / RATIO_SPAN, 0);
	out->high = limit_find(w, ratio, RATIO_SPAN, INFINITY);
	out->p = equal.se > 0 ? 2 * nw_t_cdf(-fabs(equal.mean / equal.se), equal.n_eff - 1)
			      : (equal.mean == 0 ? 1 : 0);
}

int
nw_ratio_windows(const double *a, const double *b, size_t n, double alpha, struct nw_ratio *out)
{
	struct windows w = { .alpha = alpha };
	double *pairs = malloc((3 * n + 1) * sizeof(*pairs)), sum_a = 0, sum_b = 0;
	size_t i;

	*out = (struct nw_ratio){ NW_STATUS_INSUFFICIENT, NAN, NAN, NAN, 0, NAN };
	if (pairs == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++)
		if (isfinite(a[i]) && isfinite(b[i])) {
			pairs[w.n] = a[i];
			pairs[n + w.n++] = b[i];
			sum_a += a[i];
			sum_b += b[i];
		}
	w.a = pairs;
	w.b = pairs + n;
	w.u = pairs + 2 * n;
	out->n_eff = (double)w.n;
	if (w.n >= 3 && sum_a > 0 && sum_b > 0)
		ratio_fill(&w, sum_a / sum_b, out);
	free(pairs);
	return NW_OK;
}
