/* SPDX-License-Identifier: BSD-3-Clause */
/* Peaks, splits and cutoff of a density curve, and the counts between them. See
 * narrows/density.h. */
#include <math.h>
#include <stdlib.h>

#include "analyze/density/density_value.h"
#include "narrows/density.h"
#include "narrows/err.h"

#define FLAT 1e-6 /* of the highest peak: the floor of a valley */

struct peak {
	size_t first, last; /* grid points of equal height */
};

/* Position of grid point `at`, in the data's unit. */
static double
position(const struct nw_density *d, double at)
{
	double x = d->from + at * (d->to - d->from) / (double)(d->m - 1);

	return d->log ? exp(x) : x;
}

/* The next grid point or plateau above both neighbours. Returns false if there is no more. */
static bool
next_peak(const struct nw_density *d, size_t start, struct peak *p)
{
	size_t i, j;

	for (i = start > 0 ? start : 1; i + 1 < d->m; i = j + 1) {
		for (j = i; j + 1 < d->m && d->y[j + 1] == d->y[i]; j++)
			;
		if (d->y[i] > d->y[i - 1] && j + 1 < d->m && d->y[j + 1] < d->y[i]) {
			*p = (struct peak){ i, j };
			return true;
		}
	}
	return false;
}

static double
highest(const struct nw_density *d)
{
	double y = 0;
	size_t i;

	for (i = 0; i < d->m; i++)
		y = fmax(y, d->y[i]);
	return y;
}

static double
split_between(const struct nw_density *d, const struct peak *a, const struct peak *b, double top,
    bool midpoint)
{
	size_t i, low = a->last, first, last;

	if (midpoint)
		return position(d, (double)(a->first + a->last + b->first + b->last) / 4);
	for (i = a->last; i <= b->first; i++)
		if (d->y[i] < d->y[low])
			low = i;
	for (first = low; first > a->last && d->y[first - 1] - d->y[low] <= FLAT * top; first--)
		;
	for (last = low; last < b->first && d->y[last + 1] - d->y[low] <= FLAT * top; last++)
		;
	return position(d, (double)(first + last) / 2);
}

static double
find_cutoff(const struct nw_density *d, const struct peak *p, double fraction)
{
	double level = fraction * d->y[p->first];
	size_t i;

	for (i = p->last + 1; i < d->m; i++)
		if (d->y[i] < level)
			return position(d, (double)i - (level - d->y[i]) / (d->y[i - 1] - d->y[i]));
	return INFINITY;
}

/* Equal values have a class at their value, not at the nearest grid point. */
static double
peak_position(const struct nw_density *d, const struct peak *p)
{
	if (d->status == NW_STATUS_DEGENERATE)
		return d->log ? exp(d->min) : d->min;
	return position(d, (double)(p->first + p->last) / 2);
}

int
nw_classes_find(const struct nw_density *d, double h_min, double cutoff_fraction, bool midpoint,
    struct nw_classes *out)
{
	struct peak p, before = { 0, 0 };
	double top, split;
	size_t at, n = 0;

	*out = (struct nw_classes){ .cutoff = INFINITY, .sure = NAN };
	if (d->status != NW_STATUS_OK && d->status != NW_STATUS_DEGENERATE)
		return NW_OK;
	top = highest(d);
	for (at = 0; next_peak(d, at, &p); at = p.last + 1)
		n += d->y[p.first] >= h_min * top;
	if (n == 0 || (out->class = calloc(n, sizeof(*out->class))) == NULL)
		return n == 0 ? NW_OK : NW_ENOMEM;
	for (at = 0; next_peak(d, at, &p); at = p.last + 1) {
		if (d->y[p.first] < h_min * top)
			continue;
		split = out->n > 0 ? split_between(d, &before, &p, top, midpoint)
		    : d->log       ? 0
				   : -INFINITY;
		if (out->n > 0)
			out->class[out->n - 1].high = split;
		out->class[out->n++] = (struct nw_class){
			.peak = peak_position(d, &p), .height = d->y[p.first], .low = split
		};
		before = p;
	}
	out->cutoff = out->class[n - 1].high = find_cutoff(d, &before, cutoff_fraction);
	return NW_OK;
}

size_t
nw_classes_of(const struct nw_classes *c, double x)
{
	size_t at = 0, left = c->n, half;

	if (x > c->cutoff)
		return c->n;
	while (left > 1) { /* without branches, which random data would mispredict */
		half = left / 2;
		at += c->class[at + half].low < x ? half : 0;
		left -= half;
	}
	return at;
}

static void
count_one(struct nw_classes *c, double x, double weight)
{
	size_t i = nw_classes_of(c, x);

	if (i < c->n) {
		c->class[i].count += weight;
		c->class[i].sum += x * weight;
	} else {
		c->n_outliers += weight;
		c->outlier_sum += x * weight;
	}
}

void
nw_classes_count(struct nw_classes *c, const struct nw_density *d, const double *x, size_t n)
{
	size_t i;

	for (i = 0; i < n && c->n > 0; i++)
		if (isfinite(x[i]) && (!d->log || x[i] > 0))
			count_one(c, x[i], 1);
}

void
nw_classes_count_buckets(struct nw_classes *c, const struct nw_density *d,
    const struct nw_density_bucket *buckets, size_t n, double step)
{
	double x;
	size_t i;

	for (i = 0; i < n && c->n > 0; i++) {
		if (!bucket_is_usable(&buckets[i]))
			continue;
		x = bucket_value(&buckets[i], step, d->log);
		if (!d->log || x > 0)
			count_one(c, x, buckets[i].count);
	}
}

void
nw_classes_clear(struct nw_classes *c)
{
	free(c->class);
	*c = (struct nw_classes){ 0 };
}
