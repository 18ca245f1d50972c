/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ratio of two means that were measured in the same windows, with an interval that knows their
 * covariance and their memory.
 *
 * Stages of one thread share the window: more time in one stage is less time in the others. So the
 * variance of a ratio a / b is not that of two independent samples. Fieller (1954): r is in the
 * interval if the mean of u_t = a_t - r b_t does not differ from 0, |mean(u)| <= t se(u). The
 * series u_t carries the covariance by itself. se(u) counts n_eff(u) independent values
 * (autocorr.h; t has n_eff - 1 degrees of freedom) and takes out the bias of a variance of
 * dependent values: se^2 = s^2 (n - 1)/n / (n_eff - 1). The interval of b / a is the reciprocal of
 * that of a / b, so choosing the larger mean for a by looking at the data costs no coverage.
 *
 * Simulated coverage at 95 % with AR 0 to 0.95 and n_eff >= 8, independent, opposite and shared
 * series: 93 to 97 % (tests/calibrate).
 */
#ifndef NARROWS_RATIO_H
#define NARROWS_RATIO_H
#include <stddef.h>

#include "narrows/status.h"

/* OK; INSUFFICIENT: fewer than 3 windows with both values, or a mean <= 0: NaN but n_eff. */
struct nw_ratio {
	enum nw_status status;
	double ratio;
	double low, high; /* interval; 0 and +Inf where b or a cannot be told from 0 */
	/* independent windows of a - ratio b, by its autocorrelation and at most 2 c + 1 with c
	 * crossings of its mean (independent windows cross in half the places) */
	double n_eff;
	double p; /* two-sided p of the test that the ratio is 1 */
};

/* Windows with a missing value in a or b take no part. O(n) times about 100. NW_ENOMEM. */
int
nw_ratio_windows(const double *a, const double *b, size_t n, double alpha, struct nw_ratio *out);

#endif
