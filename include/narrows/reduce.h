/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metric reduction: of hundreds of metrics, the few that explain a response.
 *
 *   training rows --prepare--> metrics --cluster(rho0)--> one candidate per cluster
 *                 --eliminate--> selected metrics
 *
 * and the answers to "is that any good": the same at every threshold of a scan, refits of the
 * selected metrics on other chunks of time, the training coefficients applied there unchanged, and
 * the baselines every selection must beat: metrics drawn at random (RAND) and the ones an expert
 * would look at (MAIN).
 *
 * R^2 of p noise terms is p/(n-1) on average; a selection by in-sample R^2 mostly finds noise. So
 * adjusted and out-of-sample R^2 stand beside every R^2.
 */
#ifndef NARROWS_REDUCE_H
#define NARROWS_REDUCE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/correlate.h"
#include "narrows/linear.h"

struct nw_metric_set {
	size_t n;
	const size_t *metric; /* columns of x */
};

enum nw_chunk_role { NW_CHUNK_TRAIN, NW_CHUNK_VERIFY, NW_CHUNK_IGNORE };

struct nw_chunk {
	size_t first_row, end_row; /* [first_row, end_row) */
	enum nw_chunk_role role;
};

struct nw_reduce_options {
	struct nw_prepare_options prepare;
	struct nw_cluster_options cluster;
	struct nw_eliminate_options eliminate;
	size_t n_thresholds;
	const double *threshold; /* scanned besides cluster.rho0 */
	size_t folds;            /* >= 2: blocked out-of-sample R^2 of every scan point */
	/* true: of more candidates than half the rows, try the n / ln n candidates that follow y
	 * best */
	bool screen;
	/* true: select at the scan point with the best out-of-sample R^2 instead of at
	 * cluster.rho0 */
	bool choose_threshold;
	/* true: F = (ln n_eff + 2 ln p) n / n_eff for p candidates of n rows, since metrics were
	 * chosen among p and rows resemble each other; and metrics that follow the row number
	 * (|r| >= 0.9) are no candidates */
	bool strict;
	/* courses in time that were taken from response and metrics before (narrows/timerival.h),
	 * n_courses columns of the table's rows; nw_reduce_worth takes them from a response moved
	 * in time, too */
	size_t n_courses;
	const double *course;
	const double *response; /* with its courses, for the same test; NULL: that of the table */
	struct nw_metric_set main;          /* n 0: none */
	size_t n_random;                    /* sets to draw, as large as the selection */
	uint64_t seed;                      /* for drawing: splitmix64, Fisher-Yates */
	const struct nw_metric_set *random; /* n_random sets drawn elsewhere; NULL asks to draw */
};

/* What the papers say: rho0 0.95, alpha 0.05, F 2, alias tolerance 1e-7, at most 20 % missing. */
struct nw_reduce_options nw_reduce_faithful(void);
/* What holds on data not yet seen: alias tolerance 0.01 (variance inflation up to 1e4), F = ln n,
 * metrics that hardly move filtered, effective sample sizes, screening where rows are few,
 * threshold by blocked out-of-sample R^2 over 5 folds. */
struct nw_reduce_options nw_reduce_better(void);

struct nw_scan_point {
	double threshold;
	size_t n_clusters, n_edges, n_candidates;
	enum nw_status status; /* of the elimination; r2 and the like are NaN unless OK */
	size_t n_selected, n_terms;
	double r2, adj_r2, full_r2, reduction_degree;
	double out_of_sample_r2; /* NaN without folds */
};

/* A set of metrics fitted to one chunk: x, and x^2 in the quadratic modes. */
struct nw_refit {
	enum nw_status status;
	size_t n_rows, rank;
	double r2, adj_r2;
};

struct nw_chunk_check {
	size_t chunk;
	struct nw_refit selected, main;
	double *random_r2; /* n_random */
	double random_mean_r2;
	double out_of_sample_r2; /* training coefficients, against the chunk's own mean */
};

struct nw_reduction {
	/* number of the table's columns, the base of the reduction degree */
	size_t n_metrics;
	struct nw_prepared prepared; /* training rows */
	size_t n_scan;
	struct nw_scan_point *scan;
	double threshold;            /* threshold of the selection and of everything below */
	struct nw_clusters clusters; /* of prepared.used */
	double *r_response;          /* per prepared metric */
	size_t n_screened_out;       /* clusters with an untried representative */
	/* column of the table for each metric of the elimination */
	size_t *candidate;
	struct nw_elimination elimination;
	/* r of each candidate with the row number; near 1 the candidate is a clock, not a cause */
	double *drift;
	double out_of_sample_r2; /* blocked, on the training rows; NaN without folds */
	double reduction_degree; /* 1 - kept / n_metrics */
	bool too_many_terms;     /* more than a fifth of the rows */
	size_t n_random;
	struct nw_metric_set *random; /* sets of the baseline, drawn or given */
	size_t n_checks;
	struct nw_chunk_check *check; /* checks, one per chunk to verify */
	struct {                      /* means over the checks with a value */
		double r2, adj_r2, main_r2, random_r2, out_of_sample_r2;
	} mean;
	void *store;
};

/*
 * The columns may have gaps. No chunks: all rows train. One correlation matrix serves all
 * thresholds; a scan point with as many edges as an earlier one has the same clusters (edges only
 * come with falling rho0) and is copied. n p^2 + (different scan points) (1 + folds) eliminations +
 * (checks) (2 + n_random) fits. Free with nw_reduction_clear, also after an error. NW_EINVAL:
 * chunks or sets out of range.
 */
int nw_reduce(const struct nw_table *t, const struct nw_chunk *chunk, size_t n_chunks,
    const struct nw_reduce_options *opts, struct nw_reduction *out);
void nw_reduction_clear(struct nw_reduction *r);

/*
 * Is a reduction worth telling? Five folds of rows in time. For each fold everything is done anew
 * on the rows outside and beyond a gap: which metrics vary, the clusters, screening, elimination,
 * coefficients (and the choice of the threshold, if opts says so). The gap is as long as the
 * response remembers, n / n_eff rows. Then the fold is predicted, and R^2 is against the mean of
 * the training rows. Baselines: as many metrics drawn at random (10 draws), and the mean of the
 * response in the minute before each row. And the closest three metrics must explain more of the
 * response than the closest three do when the response is shifted in time: two slow or periodic
 * series go along for hours without any relation, inside and outside of the folds.
 */
struct nw_worth {
	/* r2 is above 0.05 + 5 / rows and above both baselines, and shift_chance at most 0.03 */
	bool holds;
	size_t folds, gap_rows;
	double r2, random_r2, minute_r2; /* NaN without rows or variation */
	/* share of shifts in time, 0 among them, at which three metrics explain as much as at 0 */
	double shift_chance;
};
/* Six reductions' time, or less. `minute_rows`: rows in a minute. Errors as nw_reduce's. */
int nw_reduce_worth(const struct nw_table *t, const struct nw_reduce_options *opts,
    size_t minute_rows, struct nw_worth *out);

/* Called as long work goes on; false ends the work with NW_ECLOSED. */
struct nw_progress_hook {
	bool (*go_on)(void *arg, size_t done, size_t all);
	void *arg;
};

/*
 * Stability selection (Meinshausen & Buehlmann 2010) by complementary pairs of half-samples (Shah &
 * Samworth 2013): the rows are cut into 20 blocks of time, half of the blocks are drawn at random,
 * the reduction chooses metrics from these rows and then from the others. `share` gets, for each
 * column, the share of the 2 * pairs half-samples in which the metric was kept or stood in the
 * cluster of a kept metric. The threshold is opts->cluster.rho0; a selection of all rows has chosen
 * the threshold before. 2 * pairs reductions' time.
 */
int nw_reduce_stability(const struct nw_table *t, const struct nw_reduce_options *opts,
    size_t pairs, const struct nw_progress_hook *hook, double *share);

#endif
