/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which metrics say the same: preparation of rows and columns, correlation, the Z test, clusters.
 *
 * Throughout: `x` is `p` columns of `n` doubles each, on loan; NaN and infinite values are missing.
 * Nothing is written through them, nothing is global, one thread per call. 0 or NW_ENOMEM,
 * NW_ETOOBIG (past LAPACK's int), NW_EINVAL. Results do not depend on the order of rows or columns
 * beyond rounding (ties go to the first column), nor on units.
 */
#ifndef NARROWS_CORRELATE_H
#define NARROWS_CORRELATE_H
#include <stdbool.h>
#include <stddef.h>

#include "narrows/err.h"
#include "narrows/status.h"

/* --- rows and columns worth looking at --- */
enum nw_metric_class {
	NW_METRIC_USED = 0,
	NW_METRIC_MISSING, /* class of a metric with more than max_missing of its values missing */
	/* max == min on the rows that remain, exactly: sd < eps would lie for 0.1 and for 1e9 +
	 * 1e-3 */
	NW_METRIC_CONSTANT,
	/* class of a metric unlike its mode in too few rows: such a metric is a row in disguise */
	NW_METRIC_RARE
};

enum nw_missing {
	NW_MISSING_LISTWISE, /* a row with any missing value goes */
	NW_MISSING_PAIRWISE  /* every pair uses the rows where both are there */
};

struct nw_prepare_options {
	double max_missing; /* share of the rows with a response; 0.2 */
	enum nw_missing missing;
	/* drops a metric unlike its mode in fewer than 5 rows or in less than 2 % of the rows */
	bool near_zero_filter;
};

/* Input order is kept everywhere. Pairwise: rows without response go, the columns keep their
 * gaps. */
struct nw_prepared {
	size_t n_rows, n_metrics, n_used;
	size_t *row;                 /* n_rows: input row */
	enum nw_metric_class *class; /* n_metrics */
	size_t *used;                /* n_used: input column of x[i] */
	const double **x;            /* n_used columns of n_rows */
	double *y;                   /* the response; all zero if there was none */
	double *store;
};

/*
 * In this order: rows without response go; metrics with too many gaps go; listwise, incomplete rows
 * go; metrics without variation go (if drop_constant), or with too little. `y` NULL: every row has
 * a response. O(n p), the filter O(n p log n). Free with nw_prepared_clear, also after an error.
 */
int nw_prepare(const double *const *x, size_t p, const double *y, size_t n,
    const struct nw_prepare_options *opts, bool drop_constant, struct nw_prepared *out);
void nw_prepared_clear(struct nw_prepared *prep);

/* --- correlation --- */
/*
 * Pearson's r of all pairs as a symmetric p x p matrix; NaN where a column does not vary. Complete
 * data. Columns are centred twice and scaled to unit length, R = S'S by dsyrk: an offset of 1e9
 * costs no digits, n p^2 flops, n p + p^2 doubles. r is clamped to [-1, 1].
 */
int nw_correlate(const double *const *x, size_t p, size_t n, double *r);
/* The same on the rows where both are there (R's pairwise.complete.obs: means per pair too); how
 * many goes to n_pairs (p x p). Pairs without gaps take the fast way, the others O(n) each; NaN for
 * fewer than 2 rows or no variation. */
int nw_correlate_pairwise(const double *const *x, size_t p, size_t n, double *r, size_t *n_pairs);
/* Spearman's rho: r of the ranks, ties get their mean rank. Gaps pairwise, ranks taken within the
 * pair. O(p^2 n log n) with gaps, O(p n log n + n p^2) without. For heavy tails, where one spike of
 * 100 sd makes any r near 1. */
int nw_correlate_ranks(const double *const *x, size_t p, size_t n, double *rho);
/* r of each column with y on the rows where both are there; O(n p). */
int nw_correlate_with(const double *const *x, size_t p, const double *y, size_t n, double *r);

/*
 * H0: |rho| <= rho0 against |rho| > rho0 (Fisher): Z = (atanh |r| - atanh rho0) sqrt(n - 3),
 * significant if Z > z_alpha, that is |r| > tanh(atanh rho0 + z_alpha / sqrt(n - 3)) = r_critical.
 * n may be an effective size. n <= 3 or rho0 >= 1: never, all values NaN. r undefined: never, z and
 * p NaN. |r| = 1: Z = Inf, p = 0, always.
 * |r| makes the error rate 2 alpha at rho0 = 0.
 */
struct nw_correlation_test {
	double z, p, r_critical;
	bool significant;
};
struct nw_correlation_test nw_correlation_test(double r, double n, double rho0, double alpha);
/* The test's Z alone, of a defined r and n > 3; z_rho0 = atanh(rho0), for many pairs. */
double nw_correlation_z(double r, double n, double z_rho0);
double nw_correlation_critical(double n, double rho0, double alpha); /* NaN where no r is enough */

/* --- clusters --- */
struct nw_cluster_options {
	double rho0;  /* 0.95 */
	double alpha; /* 0.05 */
	/* n (1 - a b) / (1 + a b) per pair, a, b the lag-1 autocorrelations (Bartlett 1935) */
	bool n_eff;
};

/*
 * Connected components of the significant pairs (single linkage), in order of their first member.
 * Chains are inherent: min_abs_r says how far apart the ends are. The representative has the
 * highest |r| with the response; within 1e-12 of the highest the first column wins (exact images of
 * each other tie); undefined counts as -1.
 */
struct nw_clusters {
	size_t n_metrics; /* row numbers as in prep->n_used */
	size_t n_clusters, n_edges;
	size_t *label;     /* n_metrics: cluster of each metric */
	size_t *rep;       /* n_clusters: metric */
	size_t *size;      /* n_clusters: members */
	double *min_abs_r; /* n_clusters; NaN for a single member */
};

/* What clusters at any threshold need, computed once: all r, the r with the response, pair sizes,
 * autocorrelations. */
struct nw_correlations {
	size_t p;
	double n_rows;
	double *r;          /* p x p */
	double *r_response; /* p */
	size_t *n_pairs;    /* p x p; NULL: n_rows everywhere */
	double *lag1;       /* p; NULL: not asked for */
};
int nw_correlations_of(const struct nw_prepared *prep, enum nw_missing missing, bool n_eff,
    struct nw_correlations *out);
void nw_correlations_clear(struct nw_correlations *c);

/* O(p^2): one comparison per pair, union-find. Free with nw_clusters_clear, also after an error. */
int nw_cluster(const struct nw_correlations *c, const struct nw_cluster_options *opts,
    struct nw_clusters *out);
void nw_clusters_clear(struct nw_clusters *cl);

#endif
