/* SPDX-License-Identifier: BSD-3-Clause */
/* Order statistics without sorting. */
#ifndef ANALYZE_QUANTILE_H
#define ANALYZE_QUANTILE_H
#include <stddef.h>

/* Partially orders v so that v[k] is its k-th smallest, no larger one before it and no smaller one
 * behind; no NaN. Floyd & Rivest 1975: about n + min(k, n - k) comparisons. Returns v[k]. */
double quantile_nth(double *v, size_t n, size_t k);
/* R's type 7 quantile, 0 <= q <= 1: linear between the order statistics around (n - 1) q. n > 0;
 * reorders v. */
double quantile(double *v, size_t n, double q);
/* The same for n_q quantiles, q rising, of an array that stays as it is and whose range min..max is
 * known. One pass of counting, one of gathering the few bins that hold the ranks, then selection
 * there: a third of the time for 1e6 values. NW_ENOMEM. */
int quantiles(
    const double *v, size_t n, double min, double max, const double *q, size_t n_q, double *out);

#endif
