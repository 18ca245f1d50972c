/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Running summaries: count, mean, spread, extremes and sum in constant memory, mergeable over
 * windows, threads, hosts.
 *
 *   add    delta = v - mean; mean += delta / n; m2 += delta (v - mean)     Welford 1962
 *   merge  d = mean2 - mean1; mean = mean1 + d n2/N; m2 = m2_1 + m2_2 + d^2 n1 n2/N
 *                                                             Chan, Golub, LeVeque 1983
 *
 * A sum of squares would lose every digit of the spread when the offset is large; these do not.
 */
#ifndef NARROWS_SUMMARY_H
#define NARROWS_SUMMARY_H
#include <stddef.h>
#include <stdint.h>

/* A struct of zeros is a summary without values: a valid window, neutral in a merge. */
struct nw_summary {
	uint64_t n;
	double mean;
	double m2; /* sum of (v - mean)^2, in units of 4^m2_exp */
	double min, max;
	double sum; /* +-Inf once the sum exceeds a double */
	int m2_exp; /* 0 unless |v| left 1e-120 .. 1e120, where squares no longer fit a double */
};

/* Adds a value, O(1). A NaN or infinite value is missing and changes nothing. */
void nw_summary_add(struct nw_summary *s, double v);
/* Adds all of `from` to `s`, O(1). The order of merges changes the last bits only. */
void nw_summary_merge(struct nw_summary *s, const struct nw_summary *from);
/* Summary of an array, missing values skipped: two passes with a compensated sum, closer than
 * repeated adding; O(n). */
struct nw_summary nw_summary_of(const double *v, size_t n);

/* m2 / (n - 1) and its root; 0 for n < 2. The variance may be +Inf or 0 where the root still is a
 * number. */
double nw_summary_variance(const struct nw_summary *s);
double nw_summary_sd(const struct nw_summary *s);

#endif
