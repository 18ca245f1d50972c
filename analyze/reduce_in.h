/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the scan (reduce.c), a selection (reduce_select.c) and the verification
 * (reduce_verify.c). */
#ifndef ANALYZE_REDUCE_H
#define ANALYZE_REDUCE_H
#include "narrows/reduce.h"

struct reduce_input {
	const struct nw_table *t;
	const struct nw_chunk *chunk;
	size_t n_chunks;
	const struct nw_reduce_options *opts;
};

/* Input of an elimination; `index` numbers the clusters. */
struct candidates {
	size_t n, *index;
	const double **x;
};

struct selection {
	struct nw_clusters clusters;
	/* of the representatives, when pairwise correlation let rows with gaps through */
	struct nw_prepared complete;
	const double **x; /* representatives of all clusters */
	const double *y;
	size_t n_rows;
	struct candidates in;
	struct nw_elimination elimination;
	double out_of_sample_r2;
};

/* r of the prepared metrics with the response, of each fold without the fold's rows and last of all
 * rows: selections of one table differ in metrics alone. */
struct strengths {
	size_t n_metrics;
	double *r; /* n_metrics of each fold; STRENGTH_UNKNOWN: not asked yet */
};
#define STRENGTH_UNKNOWN 2.0

/* NW_ENOMEM. Freed by free(s->r). */
int strengths_init(struct strengths *s, size_t n_metrics, size_t folds);

int selection_cluster(struct selection *s, const struct nw_correlations *c,
    const struct nw_reduce_options *opts, double threshold);
/* `known_r2`: out-of-sample R^2 of a selection with the same clusters; NaN asks to compute it.
 * `known`: of the same rows and options, and filled further. */
int selection_eliminate(struct selection *s, const struct nw_prepared *prep,
    const struct nw_reduce_options *opts, double known_r2, struct strengths *known);
void selection_clear(struct selection *s);
/* F of the extended BIC (Chen & Chen 2008) for a choice out of p terms on n rows whose
 * autocorrelation is r, at the effective size. Products of two series that remember alike have the
 * square of their autocorrelation (Bartlett 1935). */
double reduce_strict_f(double r, double n, size_t p);

/*
 * Chance that metrics unrelated to the response explain as much as the closest three: the share of
 * shifts of the response in time, around the end, explained as well, the shift by 0
 * among them. Series are tried without the courses in time of `opts`, and without their slow
 * trends, too, which go along by chance; the larger share counts. Shifts are `memory_rows` apart
 * at least, and 100 at most; with fewer than 20 the chance is 1. O(shifts n p). NW_ENOMEM.
 */
int reduce_shift_chance(const struct nw_table *t, const struct nw_reduce_options *opts,
    size_t memory_rows, double *chance);

/* Fills random, check and mean; the selection is there. */
int reduce_verify(const struct reduce_input *in, struct nw_reduction *out);
void reduce_verify_clear(struct nw_reduction *out);

#endif
