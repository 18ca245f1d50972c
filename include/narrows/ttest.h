/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-sided t-tests of "the mean of a is lower than the mean of b", from summaries, and Holm's
 * correction. O(1) each.
 *
 *   Welch 1947   v = sd^2/n; t = (m_a - m_b) / sqrt(v_a + v_b);
 *                df = (v_a + v_b)^2 / (v_a^2/(n_a-1) + v_b^2/(n_b-1))
 *   Student      s^2 = ((n_a-1) sd_a^2 + (n_b-1) sd_b^2) / (n_a+n_b-2);
 *                t = (m_a - m_b) / (s sqrt(1/n_a + 1/n_b))
 *   p = P(T_df <= t)
 */
#ifndef NARROWS_TTEST_H
#define NARROWS_TTEST_H
#include <stddef.h>

#include "narrows/status.h"
#include "narrows/summary.h"

/* A group by its summary; n may be an effective sample size (see autocorr.h), not only whole. */
struct nw_group {
	double n, mean, sd;
};

/*
 * INSUFFICIENT  fewer than 2 values in a group: the status is set, the numbers are NaN
 * DEGENERATE    no variance in either group: diff, se = 0 and p (0 if a is strictly lower, else 1)
 *               are set; t, df are NaN
 * UNDEFINED     a mean or sd is not finite: NaN
 */
struct nw_ttest {
	enum nw_status status;
	double diff; /* m_a - m_b */
	double se;
	double t, df;
	double p;
	double log10_p; /* right where p underflows to 0; -Inf for a degenerate p of 0 */
};

struct nw_group nw_group_of(const struct nw_summary *s);
struct nw_ttest nw_ttest_welch(const struct nw_group *a, const struct nw_group *b);
struct nw_ttest nw_ttest_student(const struct nw_group *a, const struct nw_group *b);
/* Tests whether the mean is below 0, for paired differences. t = mean sqrt(n) / sd, df = n - 1. */
struct nw_ttest nw_ttest_single(const struct nw_group *d);

/* Holm 1979 step-down: the i-th smallest p becomes max over j <= i of min(1, (n - j + 1) p_j). NaN
 * among p stands for no test: n leaves it out, and its place in `adjusted` is NaN. `adjusted` may
 * be `p`. O(n log n). NW_ENOMEM. */
int nw_holm(const double *p, size_t n, double *adjusted);

#endif
