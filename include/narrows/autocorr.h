/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The number of independent values in a series. Values sampled every second remember the previous
 * value; a test that counts all values finds differences that do not exist (equal means, n = 60, AR
 * 0.9: 72 % false verdicts instead of 5 %).
 */
#ifndef NARROWS_AUTOCORR_H
#define NARROWS_AUTOCORR_H
#include <stddef.h>

#include "narrows/status.h"
#include "narrows/summary.h"
#include "narrows/ttest.h"

/*
 * r1 = sum (x_t - m)(x_{t+1} - m) / sum (x_t - m)^2; a pair with a missing value is left out.
 * n_eff = n (1 - r) / (1 + r), at least 2 (Bartlett 1935), with
 *   plain       r = max(0, r1)
 *   corrected   r = r1 + (1 + 4 r1)/n clipped to 0..0.98: r1 is biased low (Kendall, Marriott &
 *               Pope 1954)
 * DEGENERATE: constant; INSUFFICIENT: fewer than 3 values. Then r1 is NaN and both sizes are n.
 */
struct nw_autocorr {
	enum nw_status status;
	struct nw_summary sum; /* number of finite values */
	double r1;
	double r; /* corrected */
	double n_eff_plain;
	double n_eff; /* corrected size, the usual choice */
};

/* O(n). NaN and infinite values are missing. */
struct nw_autocorr nw_autocorr(const double *x, size_t n);
/* Mean and sd of the series with the corrected n_eff as size: the input of a t-test. */
struct nw_group nw_autocorr_group(const struct nw_autocorr *a);

/* Lag floor(4 (n/100)^(2/9)) of Newey & West 1987. */
size_t nw_hac_lag(size_t n);
/* Variance of the mean, Bartlett weights: (g_0 + 2 sum_{l=1..lag} (1 - l/(lag+1)) g_l) / n, g_l
 * with divisor n. O(n lag). For comparison: under strong autocorrelation it corrects too little.
 * NaN if n < 2 or a value is missing. */
double nw_hac_variance(const double *x, size_t n, size_t lag);

/* d_t = a_t - b_t where both are there, NaN elsewhere: stages of one pipeline stall together, their
 * difference does not. Returns how many are there. */
size_t nw_paired_difference(const double *a, const double *b, size_t n, double *d);

#endif
