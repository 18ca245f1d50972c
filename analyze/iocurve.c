/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantiles of operation durations over the size. See narrows/iocurve.h. */
#include "narrows/iocurve.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/monotone.h"
#include "narrows/err.h"

static const double shares[NW_IO_QUANTILES] = { .01, .05, .1, .25, .5, .75, .9, .95, .99 };
enum { Q50 = 4, Q90 = 6, LAST = NW_IO_QUANTILES - 1 };

/* Half width of the neighbourhood of a duration, of ln duration. */
static const double NEAR_LN = 0.223;
/* How much likelier than every other the class of a named operation is. */
static const double RATIO = 4;
/* Powers of the duration with which the outer hundredths fall. Nothing makes an operation faster
 * than its way; a busy processor makes any operation slower. */
static const double FALL_BELOW = 4, FALL_ABOVE = 1;

static double
limit_ln(const struct nw_io_point *p)
{
	return p->ln_s[Q90] + (p->ln_s[Q90] - p->ln_s[Q50]);
}

double
nw_io_point_limit(const struct nw_io_point *p)
{
	return fmin(p->slowest_s, exp(limit_ln(p)));
}

/* --- points --- */

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void
nw_io_point_of_values(double size_bytes, double *s, size_t n, struct nw_io_point *out)
{
	double sum = 0, limit;
	size_t i;
	int k;

	qsort(s, n, sizeof(*s), compare_doubles);
	*out =
	    (struct nw_io_point){ .size_bytes = size_bytes, .n = (double)n, .slowest_s = s[n - 1] };
	for (k = 0; k < NW_IO_QUANTILES; k++)
		out->ln_s[k] = log(s[(size_t)(shares[k] * (double)(n - 1) + 0.5)]);
	limit = nw_io_point_limit(out) * (1 + 1e-9);
	for (i = 0; i < n && s[i] <= limit; i++)
		sum += s[i];
	out->mean_s = sum / (double)i;
	out->n_tail = (double)(n - i);
}

static double
bucket_s(const struct nw_density_bucket *b, double unit_s)
{
	return (b->low + b->high) / 2 * unit_s;
}

void
nw_io_point_of_buckets(double size_bytes, const struct nw_density_bucket *buckets, size_t n,
    double unit_s, struct nw_io_point *out)
{
	double below = 0, sum = 0, ordinary = 0, limit;
	size_t i;
	int k = 0;

	*out = (struct nw_io_point){ .size_bytes = size_bytes,
		.slowest_s = bucket_s(&buckets[n - 1], unit_s) };
	for (i = 0; i < n; i++)
		out->n += buckets[i].count;
	for (i = 0; i < n; i++) {
		below += buckets[i].count;
		for (; k < NW_IO_QUANTILES && shares[k] * out->n <= below; k++)
			out->ln_s[k] = log(bucket_s(&buckets[i], unit_s));
	}
	limit = nw_io_point_limit(out) * (1 + 1e-9);
	for (i = 0; i < n && bucket_s(&buckets[i], unit_s) <= limit; i++) {
		ordinary += buckets[i].count;
		sum += buckets[i].count * bucket_s(&buckets[i], unit_s);
	}
	out->mean_s = sum / ordinary;
	out->n_tail = out->n - ordinary;
}

/* Share of operations up to a duration. */
static double
share_below(const struct nw_io_point *p, double ln_s)
{
	double width;
	int k;

	if (ln_s < p->ln_s[0])
		return shares[0] * exp((ln_s - p->ln_s[0]) * FALL_BELOW);
	if (ln_s >= p->ln_s[LAST])
		return 1 - (1 - shares[LAST]) * exp((p->ln_s[LAST] - ln_s) * FALL_ABOVE);
	for (k = 0; ln_s >= p->ln_s[k + 1]; k++)
		;
	width = p->ln_s[k + 1] - p->ln_s[k];
	return shares[k] + (shares[k + 1] - shares[k]) * (ln_s - p->ln_s[k]) / width;
}

double
nw_io_point_likeness(const struct nw_io_point *p, double duration_s)
{
	double ln_s = log(duration_s);

	return share_below(p, ln_s + NEAR_LN) - share_below(p, ln_s - NEAR_LN);
}

/* The duration up to which a share of the mixture's operations lies, by bisection. */
static double
mixed_quantile(const struct nw_io_point *a, const struct nw_io_point *b, int k)
{
	double low = fmin(a->ln_s[k], b->ln_s[k]), high = fmax(a->ln_s[k], b->ln_s[k]), middle;
	int i;

	for (i = 0; i < 50; i++) {
		middle = (low + high) / 2;
		if (share_below(a, middle) + share_below(b, middle) < 2 * shares[k])
			low = middle;
		else
			high = middle;
	}
	return high;
}

void
nw_io_point_mix(const struct nw_io_point *a, const struct nw_io_point *b, struct nw_io_point *out)
{
	struct nw_io_point mix = { .size_bytes = a->size_bytes,
		.n = a->n + b->n,
		.mean_s = (a->mean_s + b->mean_s) / 2,
		.n_tail = a->n_tail + b->n_tail,
		.slowest_s = fmax(a->slowest_s, b->slowest_s) };
	int k;

	for (k = 0; k < NW_IO_QUANTILES; k++)
		mix.ln_s[k] = mixed_quantile(a, b, k);
	*out = mix;
}

/* --- curves --- */

static int
compare_points(const void *a, const void *b)
{
	double x = ((const struct nw_io_point *)a)->size_bytes,
	       y = ((const struct nw_io_point *)b)->size_bytes;

	return (x > y) - (x < y);
}

/* Weight of a size in the regression: a size with few operations yields to its neighbours. */
static double
point_weight(const struct nw_io_point *p)
{
	static const double ENOUGH = 200;

	return fmin(p->n, ENOUGH);
}

/* Makes a member of the points monotone, as its logarithm. */
static int
member_make_monotone(struct nw_io_point *points, size_t n, size_t offset, bool is_ln,
    double *values, const double *weights)
{
	size_t i;
	int rc;

	for (i = 0; i < n; i++) {
		values[i] = *(double *)(void *)((char *)&points[i] + offset);
		values[i] = is_ln ? values[i] : log(values[i]);
	}
	rc = monotone_fit(values, weights, sizeof(*values), n);
	for (i = 0; i < n; i++)
		*(double *)(void *)((char *)&points[i] + offset) =
		    is_ln ? values[i] : exp(values[i]);
	return rc;
}

static int
points_make_monotone(struct nw_io_point *points, size_t n)
{
	double *values = malloc(2 * (n + 1) * sizeof(*values)), *weights = values + n;
	size_t i;
	int k, rc = NW_OK;

	if (values == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++)
		weights[i] = point_weight(&points[i]);
	for (k = 0; k < NW_IO_QUANTILES && rc == NW_OK; k++)
		rc = member_make_monotone(points, n,
		    offsetof(struct nw_io_point, ln_s) + (size_t)k * sizeof(double), true, values,
		    weights);
	if (rc == NW_OK)
		rc = member_make_monotone(
		    points, n, offsetof(struct nw_io_point, mean_s), false, values, weights);
	if (rc == NW_OK)
		rc = member_make_monotone(
		    points, n, offsetof(struct nw_io_point, slowest_s), false, values, weights);
	free(values);
	return rc;
}

/* Mean relative error of the monotone medians against the measured ones. */
static double
medians_error(const struct nw_io_point *monotone, const double *measured_ln, size_t n)
{
	double sum = 0, weight = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		sum += point_weight(&monotone[i]) *
		    fabs(exp(monotone[i].ln_s[Q50] - measured_ln[i]) - 1);
		weight += point_weight(&monotone[i]);
	}
	return sum / weight;
}

int
nw_io_curve_make(const struct nw_io_point *points, size_t n, struct nw_io_curve *out)
{
	double *medians_ln = malloc((n + 1) * sizeof(*medians_ln));
	size_t i;
	int rc = NW_ENOMEM;

	*out = (struct nw_io_curve){ NW_STATUS_INSUFFICIENT, NAN, 0,
		malloc((n + 1) * sizeof(*points)) };
	if (medians_ln == NULL || out->points == NULL)
		goto out;
	if (n == 0) {
		rc = NW_OK;
		goto out;
	}
	memcpy(out->points, points, n * sizeof(*points));
	qsort(out->points, n, sizeof(*points), compare_points);
	for (i = 0; i < n; i++)
		medians_ln[i] = out->points[i].ln_s[Q50];
	if ((rc = points_make_monotone(out->points, n)) != NW_OK)
		goto out;
	out->n = n;
	out->rel_err = medians_error(out->points, medians_ln, n);
	out->status = out->rel_err <= NW_IO_REL_ERR_MAX ? NW_STATUS_OK : NW_STATUS_REFUSED;
out:
	free(medians_ln);
	return rc;
}

void
nw_io_curve_clear(struct nw_io_curve *c)
{
	free(c->points);
	*c = (struct nw_io_curve){ 0 };
}

static double
between_ln(double a, double b, double share)
{
	return log(exp(a) + share * (exp(b) - exp(a)));
}

static void
point_between(
    const struct nw_io_point *a, const struct nw_io_point *b, double share, struct nw_io_point *out)
{
	int k;

	*out = *a;
	for (k = 0; k < NW_IO_QUANTILES; k++)
		out->ln_s[k] = between_ln(a->ln_s[k], b->ln_s[k], share);
	out->mean_s += share * (b->mean_s - a->mean_s);
	out->slowest_s += share * (b->slowest_s - a->slowest_s);
}

static void
point_scale(struct nw_io_point *p, double factor)
{
	int k;

	for (k = 0; k < NW_IO_QUANTILES; k++)
		p->ln_s[k] += log(factor);
	p->mean_s *= factor;
	p->slowest_s *= factor;
}

bool
nw_io_curve_at(const struct nw_io_curve *c, double size_bytes, struct nw_io_point *out)
{
	const struct nw_io_point *p = c->points;
	size_t low = 0, high = c->n, middle;

	if (c->n == 0)
		return false;
	while (low < high) { /* the first point of at least the size */
		middle = (low + high) / 2;
		if (p[middle].size_bytes < size_bytes)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == c->n) {
		*out = p[c->n - 1];
		if (out->size_bytes > 0)
			point_scale(out, size_bytes / out->size_bytes);
	} else if (low == 0) {
		*out = p[0];
	} else {
		point_between(&p[low - 1], &p[low],
		    (size_bytes - p[low - 1].size_bytes) /
			(p[low].size_bytes - p[low - 1].size_bytes),
		    out);
	}
	out->size_bytes = size_bytes;
	return true;
}

/* --- names --- */

size_t
nw_io_curves_name(const struct nw_io_curve *const *curves, size_t n, double size_bytes,
    double duration_s, bool *near, size_t *n_near)
{
	double likeness, best = 0, top_s = 0;
	struct nw_io_point p;
	size_t i, found = n, usable = 0;
	int pass;

	*n_near = 0;
	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < n; i++) {
			near[i] = false;
			if (curves[i] == NULL || curves[i]->status != NW_STATUS_OK ||
			    !nw_io_curve_at(curves[i], size_bytes, &p))
				continue;
			likeness = nw_io_point_likeness(&p, duration_s);
			if (pass == 0) {
				usable++;
				top_s = fmax(top_s, nw_io_point_limit(&p));
				if (found == n || likeness > best) {
					best = likeness;
					found = i;
				}
			} else if (likeness * RATIO >= best && best > 0) {
				near[i] = true;
				(*n_near)++;
			}
		}
	if (!(duration_s <= 2 * top_s)) {
		memset(near, 0, n * sizeof(*near));
		*n_near = 0;
		return n;
	}
	if (*n_near == 0) { /* beyond all tails */
		near[found] = true;
		*n_near = 1;
	}
	if (usable == 1 && duration_s > top_s)
		*n_near = 2;
	return found;
}

/* Share of the operations of a point of class `own` that would be named rightly. */
static double
named_rightly(const struct nw_io_curve *const pair[2], size_t own, const struct nw_io_point *p)
{
	/* the middles of the pieces between the quantiles, and their shares */
	double share, right = 0, all = 0;
	bool near[2];
	size_t n_near, found;
	int k;

	for (k = 0; k < LAST; k++) {
		share = shares[k + 1] - shares[k];
		found = nw_io_curves_name(
		    pair, 2, p->size_bytes, exp((p->ln_s[k] + p->ln_s[k + 1]) / 2), near, &n_near);
		all += share;
		if (found == own && n_near == 1)
			right += share;
	}
	return right / all;
}

double
nw_io_curves_apart(const struct nw_io_curve *a, const struct nw_io_curve *b)
{
	const struct nw_io_curve *const pair[2] = { a, b };
	struct nw_io_point p;
	double sum = 0;
	size_t i;

	for (i = 0; i < a->n; i++) {
		sum += named_rightly(pair, 0, &a->points[i]);
		if (nw_io_curve_at(b, a->points[i].size_bytes, &p))
			sum += named_rightly(pair, 1, &p);
	}
	return a->n > 0 && b->n > 0 ? sum / (2 * (double)a->n) : NAN;
}
