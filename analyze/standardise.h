/* SPDX-License-Identifier: BSD-3-Clause */
/* A column ready for linear algebra: centred, of unit length, whatever the column's offset and
 * unit. */
#ifndef ANALYZE_STANDARDISE_H
#define ANALYZE_STANDARDISE_H
#include <stdbool.h>
#include <stddef.h>

/* The column was mean + mean_rest + norm * z; mean_rest is what a double cannot hold beside a large
 * mean. */
struct standard {
	double mean, mean_rest, norm;
};

/* max == min, exactly. */
bool column_is_constant(const double *x, size_t n);
/* z = (x - mean) / norm, |z| = 1; without `centre` mean is 0. False, and z = 0, if nothing varies
 * (is not 0). O(n). */
bool column_standardise(const double *x, size_t n, bool centre, double *z, struct standard *s);
/* The same for (x - origin)^2, without the loss of digits from squaring a large offset. */
bool square_standardise(
    const double *x, size_t n, double origin, bool centre, double *z, struct standard *s);
/* Mean with the rounding of a first mean removed; no overflow. */
double column_mean(const double *x, size_t n);
/* Sums in four chains: independent enough to be fast, and with a smaller error than a single
 * chain. */
double column_sum(const double *x, size_t n);
/* Keeps BLAS to a single thread: results must not depend on the number of cores. */
void blas_single_thread(void);

#endif
