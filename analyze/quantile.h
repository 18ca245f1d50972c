/* SPDX-License-Identifier: BSD-3-Clause */
/* Order statistics without sorting. */
#ifndef ANALYZE_QUANTILE_H
#define ANALYZE_QUANTILE_H
#include <stddef.h>

/* Partially orders v so that v[k] is its k-th smallest, with no larger value before and no smaller
 * value behind; no NaN. Floyd & Rivest 1975: about n + min(k, n - k) comparisons. Returns v[k]. */
double quantile_nth(double *v, size_t n, size_t k);
/* R's type 7 quantile, 0 <= q <= 1: linear between the order statistics around (n - 1) q. n > 0;
 * reorders v. */
double quantile(double *v, size_t n, double q);
/* The same for n_q quantiles, q rising, of a constant array whose range min..max is known. A pass
 * counts, a second pass gathers the few bins with the ranks, and selection runs there: a third of
 * the time for 1e6 values. NW_ENOMEM. */
int quantiles(
    const double *v, size_t n, double min, double max, const double *q, size_t n_q, double *out);

/* The step of quantised values: the smallest gap between values, if at most half of the values are
 * different; 0 for values on no grid. Sorts v. */
double quantum(double *v, size_t n);

#endif
