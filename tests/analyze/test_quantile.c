/* SPDX-License-Identifier: BSD-3-Clause */
/* Selection against sorting: every rank, ties, orders that hurt bad pivots. */
#include "analyze/quantile.h"

#include <stdint.h>

#include "tests/check.h"

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double
value_at(int shape, size_t i, size_t n)
{
	static uint64_t seed = 1;

	seed = seed * 6364136223846793005u + 1442695040888963407u;
	switch (shape) {
	case 0: return (double)(seed >> 11);
	case 1: return (double)i;
	case 2: return (double)(n - i);
	case 3: return (double)(seed >> 62); /* four distinct values */
	case 4: return 5;
	default: return i < n / 2 ? (double)i : (double)(n - i); /* organ pipe */
	}
}

int
main(void)
{
	static const size_t sizes[] = { 1, 2, 3, 10, 601, 5000, 20000 };
	static double v[20000], sorted[20000], w[20000];
	size_t s, i, k, q;
	int shape;

	for (shape = 0; shape < 6; shape++)
		for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			size_t n = sizes[s], bad = 0;

			for (i = 0; i < n; i++)
				sorted[i] = v[i] = value_at(shape, i, n);
			qsort(sorted, n, sizeof(*sorted), compare);
			for (q = 0; q <= 10; q++) {
				memcpy(w, v, sizeof(w));
				k = (n - 1) * q / 10;
				bad += quantile_nth(w, n, k) != sorted[k];
				for (i = 0; i < n; i++)
					bad += i < k ? w[i] > w[k] : w[i] < w[k];
			}
			CHECK_INT(bad, 0);
		}
	for (shape = 0; shape < 6; shape++)
		for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			static const double qs[] = { 0.1, 0.25, 0.75, 1 };
			double got[4], min = INFINITY, max = -INFINITY;

			for (i = 0; i < sizes[s]; i++) {
				v[i] = value_at(shape, i, sizes[s]);
				min = fmin(min, v[i]);
				max = fmax(max, v[i]);
			}
			CHECK_INT(quantiles(v, sizes[s], min, max, qs, 4, got), 0);
			for (q = 0; q < 4; q++) {
				memcpy(w, v, sizeof(w));
				CHECK_NEAR(got[q], quantile(w, sizes[s], qs[q]), 0, 0);
			}
		}
	/* R: quantile(c(1, 2, 4, 8), c(0, .25, .5, .9, 1)) */
	CHECK_NEAR(quantile((double[]){ 8, 2, 1, 4 }, 4, 0), 1, 0, 0);
	CHECK_NEAR(quantile((double[]){ 8, 2, 1, 4 }, 4, 0.25), 1.75, 1e-15, 0);
	CHECK_NEAR(quantile((double[]){ 8, 2, 1, 4 }, 4, 0.5), 3, 1e-15, 0);
	CHECK_NEAR(quantile((double[]){ 8, 2, 1, 4 }, 4, 0.9), 6.8, 1e-15, 0);
	CHECK_NEAR(quantile((double[]){ 8, 2, 1, 4 }, 4, 1), 8, 0, 0);
	CHECK_NEAR(quantile((double[]){ 3 }, 1, 0.7), 3, 0, 0);
	return check_done("quantile");
}
