/* SPDX-License-Identifier: BSD-3-Clause */
/* One column, ready for linear algebra: centred, of unit length, whatever its offset and unit
 * were. */
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
/* The same for (x - origin)^2, without the digits that squaring a large offset would cost. */
bool square_standardise(
    const double *x, size_t n, double origin, bool centre, double *z, struct standard *s);
/* Mean with the rounding of a first mean removed; no overflow. */
double column_mean(const double *x, size_t n);
/* Sum in four chains: independent enough to be fast, and a smaller error than one. */
double column_sum(const double *x, size_t n);
/* One thread in BLAS: results must not depend on how many cores there are. */
void blas_single_thread(void);

#endif
