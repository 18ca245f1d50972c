/* SPDX-License-Identifier: BSD-3-Clause */
/* Order statistics without sorting. See quantile.h. */
#include "analyze/quantile.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "narrows/err.h"

/* Floyd & Rivest's limit: below, a pivot from a sample costs more than the sample saves. */
#define SAMPLE_MIN 600

static void
swap(double *a, double *b)
{
	double t = *a;

	*a = *b;
	*b = t;
}

/* Orders v[left..right] around k; recursion (on a sample of about m^(2/3)) is a handful deep. */
static void
select_range(double *v, long left, long right, long k)
{
	long i, j, m, at;
	double z, s, sd, t;

	while (right > left) {
		if (right - left > SAMPLE_MIN) {
			m = right - left + 1;
			at = k - left + 1;
			z = log((double)m);
			s = 0.5 * exp(2 * z / 3);
			sd =
			    0.5 * sqrt(z * s * ((double)m - s) / (double)m) * (2 * at < m ? -1 : 1);
			i = (long)((double)k - (double)at * s / (double)m + sd);
			j = (long)((double)k + (double)(m - at) * s / (double)m + sd);
			select_range(v, i > left ? i : left, j < right ? j : right, k);
		}
		t = v[k];
		i = left;
		j = right;
		swap(&v[left], &v[k]);
		if (v[right] > t)
			swap(&v[right], &v[left]);
		while (i < j) {
			swap(&v[i], &v[j]);
			i++;
			j--;
			while (v[i] < t)
				i++;
			while (v[j] > t)
				j--;
		}
		if (v[left] == t)
			swap(&v[left], &v[j]);
		else
			swap(&v[++j], &v[right]);
		if (j <= k)
			left = j + 1;
		if (k <= j)
			right = j - 1;
	}
}

double
quantile_nth(double *v, size_t n, size_t k)
{
	select_range(v, 0, (long)n - 1, (long)k);
	return v[k];
}

double
quantile(double *v, size_t n, double q)
{
	double at = (double)(n - 1) * q, low, high;
	size_t k = (size_t)at, i;

	if (k >= n - 1)
		k = n - 1;
	low = high = quantile_nth(v, n, k);
	if (at > (double)k && k + 1 < n) {
		high = v[k + 1]; /* the smallest value behind v[k] */
		for (i = k + 2; i < n; i++)
			if (v[i] < high)
				high = v[i];
	}
	return low + (at - (double)k) * (high - low);
}

#define BIN_COUNT  4096 /* counters fit the first level cache */
#define Q_MAX      4
#define NEEDED_MAX (2 * Q_MAX) /* two ranks each */

/* The values of a rank's bin. */
struct gathered {
	double *v;
	size_t n, n_below; /* values of the bin, and of the bins before */
	double min, max;
};

struct bins {
	double min, per_unit;
	size_t n;
	uint32_t needed[BIN_COUNT];  /* 1 + index of the gathered bin; 0 = no rank here */
	size_t below[BIN_COUNT + 1]; /* values in the bins before */
	struct gathered gathered[NEEDED_MAX];
	size_t n_needed;
};

static inline size_t
bin_of(const struct bins *b, double v)
{
	/* at most BIN_COUNT, and an int converts faster */
	int i = (int)((v - b->min) * b->per_unit);

	return i < BIN_COUNT ? (size_t)i : BIN_COUNT - 1;
}

static void
count_bins(struct bins *b, const double *v)
{
	size_t i, sum = 0, count;

	for (i = 0; i < b->n; i++)
		b->below[bin_of(b, v[i])]++;
	for (i = 0; i <= BIN_COUNT; i++) {
		count = b->below[i];
		b->below[i] = sum;
		sum += count;
	}
}

/* The bin of the k-th smallest value; the last bin for k >= n. */
static size_t
bin_of_rank(const struct bins *b, size_t k)
{
	size_t low = 0, high = BIN_COUNT, mid;

	k = k < b->n ? k : b->n - 1;
	while (high - low > 1) {
		mid = (low + high) / 2;
		if (b->below[mid] <= k)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static void
need_rank(struct bins *b, size_t k)
{
	size_t bin = bin_of_rank(b, k);

	if (b->needed[bin] != 0)
		return;
	b->gathered[b->n_needed] =
	    (struct gathered){ .n = b->below[bin + 1] - b->below[bin], .n_below = b->below[bin] };
	b->needed[bin] = (uint32_t)++b->n_needed;
}

/* Copies the values of the needed bins to `room`, bin after bin. */
static void
gather(struct bins *b, const double *v, double *room)
{
	size_t i, slot;
	struct gathered *g;

	for (i = 0; i < b->n_needed; i++) {
		g = &b->gathered[i];
		g->v = room;
		g->min = INFINITY;
		g->max = -INFINITY;
		room += g->n;
		g->n = 0;
	}
	for (i = 0; i < b->n; i++) {
		if ((slot = b->needed[bin_of(b, v[i])]) == 0)
			continue;
		g = &b->gathered[slot - 1];
		g->v[g->n++] = v[i];
		g->min = v[i] < g->min ? v[i] : g->min;
		g->max = v[i] > g->max ? v[i] : g->max;
	}
}

static double
value_of_rank(struct bins *b, size_t k)
{
	struct gathered *g = &b->gathered[b->needed[bin_of_rank(b, k)] - 1];

	if (g->min == g->max) /* a clock's tick: most operations took the same time */
		return g->min;
	return quantile_nth(g->v, g->n, (k < b->n ? k : b->n - 1) - g->n_below);
}

int
quantiles(
    const double *v, size_t n, double min, double max, const double *q, size_t n_q, double *out)
{
	struct bins *b = calloc(1, sizeof(*b));
	double *room = NULL, at, low, high;
	size_t i, k, n_room = 0;
	int rc = NW_OK;

	if (b == NULL || n == 0 || n_q > Q_MAX) {
		rc = b == NULL ? NW_ENOMEM : NW_EINVAL;
		goto out;
	}
	b->n = n;
	b->min = min;
	b->per_unit = max > min ? BIN_COUNT / (max - min) : 0;
	if (!isfinite(b->per_unit))
		b->per_unit = 0; /* a range with an overflowing inverse has a single bin */
	count_bins(b, v);
	for (i = 0; i < n_q; i++) {
		k = (size_t)((double)(n - 1) * q[i]);
		need_rank(b, k);
		need_rank(b, k + 1);
	}
	for (i = 0; i < b->n_needed; i++)
		n_room += b->gathered[i].n;
	if ((room = malloc(n_room * sizeof(*room))) == NULL) {
		rc = NW_ENOMEM;
		goto out;
	}
	gather(b, v, room);
	for (i = 0; i < n_q; i++) {
		at = (double)(n - 1) * q[i];
		k = (size_t)at;
		low = value_of_rank(b, k);
		high = value_of_rank(b, k + 1);
		out[i] = low + (at - (double)k) * (high - low);
	}
out:
	free(room);
	free(b);
	return rc;
}

static int
double_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double
quantum(double *v, size_t n)
{
	double least = INFINITY;
	size_t different = 1, i;

	qsort(v, n, sizeof(*v), double_order);
	for (i = 1; i < n; i++)
		if (v[i] > v[i - 1]) {
			least = fmin(least, v[i] - v[i - 1]);
			different++;
		}
	return different > 1 && different <= n / 2 ? least : 0;
}
