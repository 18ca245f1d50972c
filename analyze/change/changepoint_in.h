/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the search for a segmentation (changepoint.c) and the test of its changes
 * (change_verify.c). */
#ifndef ANALYZE_CHANGEPOINT_H
#define ANALYZE_CHANGEPOINT_H
#include <stdbool.h>
#include <stddef.h>

#include "narrows/changepoint.h"

/* A series cut into segments. */
struct change_series {
	const double *x; /* standardised values */
	size_t n;
	double level;     /* mean of the caller's values, in units of x */
	double *scratch;  /* room for n values */
	double *evidence; /* room for n_starts values */
	size_t *starts;   /* n_starts positions; the first is 0 */
	size_t n_starts;
	double useful; /* least change of the mean that counts, as a share of the mean */
	double least;  /* the same in units of x */
};

/* The lag-1 autocorrelation, read off differences, less the noise of the estimate: the smaller of
 * an AR(1)'s for the growth from lag 1 to lag 2 (a shift of the mean hardly moves the growth) and
 * for the size of lag 1 beside far lags (plateaus do not move the size). 0 to 0.95. O(n). */
double change_memory(const double *x, size_t n, double *scratch);

/* Drops starts, the weakest first, until every change is significant and useful. See
 * narrows/changepoint.h. O(n_starts^2 + n n_starts). */
void change_verify(struct change_series *s);

/* Drops all starts if a polynomial explains the whole series better than the segments' means,
 * else every start around which a degree of 1 to 3 explains both segments better than their two
 * means. Sets drifts[k] where segment k is joined so, or where a polynomial explains most of its
 * variance. O(n). */
void change_drifts(struct change_series *s, bool *drifts);

#endif
