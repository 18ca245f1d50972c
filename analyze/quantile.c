/* SPDX-License-Identifier: BSD-3-Clause */
/* Order statistics without sorting. See quantile.h. */
#include "analyze/quantile.h"

#include <math.h>

#define SAMPLE_MIN 600          /* Floyd & Rivest's: below it, picking a pivot from a sample costs more than it saves */

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
			sd = 0.5 * sqrt(z * s * ((double)m - s) / (double)m) * (2 * at < m ? -1 : 1);
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
		high = v[k + 1];        /* the smallest of those behind v[k] */
		for (i = k + 2; i < n; i++)
			if (v[i] < high)
				high = v[i];
	}
	return low + (at - (double)k) * (high - low);
}
