/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a reduction is worth telling: nested folds and the baselines. See narrows/reduce.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/reduce_in.h"
#include "narrows/autocorr.h"
#include "narrows/err.h"
#include "narrows/splitmix.h"

enum { FOLDS = 5, RANDOM_SETS = 10 };

#define GAP_SHARE  20   /* a gap is at most so large a part of the rows */
#define R2_MIN     0.05 /* least R^2 of many rows */
#define CHANCE_MAX 0.03 /* of unrelated metrics as strong as the best */
#define R2_FEW     5    /* further need of few rows, times their number */

/* Squared errors on the rows of all folds, of each way to predict. */
struct errors {
	double mean, model, random, minute;
	size_t n;
};

struct worth {
	const struct nw_table *t;
	struct nw_reduce_options opts;
	size_t minute_rows, gap;
	uint64_t seed;
	struct errors sum;
};

/* Rows until the response has forgotten: n / n_eff. */
static size_t
gap_of(const struct nw_table *t)
{
	struct nw_autocorr a = nw_autocorr(t->y, t->n_rows);
	double rows = a.n_eff > 0 ? ceil((double)a.sum.n / a.n_eff) : 1;

	return (size_t)fmin(rows, (double)(t->n_rows / GAP_SHARE));
}

/* Mean of the response over the minute before a row; the mean of the training rows without one. */
static double
minute_before(const struct worth *w, size_t row, double mean)
{
	double sum = 0;
	size_t n = 0, i;

	for (i = row > w->minute_rows ? row - w->minute_rows : 0; i < row; i++)
		if (isfinite(w->t->y[i])) {
			sum += w->t->y[i];
			n++;
		}
	return n > 0 ? sum / (double)n : mean;
}

static bool
is_whole(const double *const *x, size_t p, size_t row)
{
	for (size_t j = 0; j < p; j++)
		if (!isfinite(x[j][row]))
			return false;
	return true;
}

/* A model with the columns its terms number. */
struct fitted {
	const struct nw_lm *lm;
	const struct nw_term *terms;
	const double **x;
	size_t p;
};

/* The squared error of a row; that of the mean where the model cannot predict. */
static double
error_of(const struct worth *w, const struct fitted *f, size_t row, double mean)
{
	double e = w->t->y[row] - mean;

	if (f->lm->status == NW_STATUS_OK && is_whole(f->x, f->p, row))
		e = nw_lm_residual(f->lm, f->terms, f->x, w->t->y, row);
	return e * e;
}

/* Adds the errors of models of as many metrics, drawn at random, over the rows [from, to). */
static int
random_errors(struct worth *w, const struct nw_reduction *r, size_t from, size_t to, double mean)
{
	size_t k = r->elimination.n_metrics_kept, p = r->prepared.n_used, j, row;
	const double **train = calloc(2 * k + 1, sizeof(*train)), **all = train + k;
	struct nw_lm_options o = { false, w->opts.eliminate.alias_tolerance };
	int rc = train != NULL ? NW_OK : NW_ENOMEM;

	for (int i = 0; rc == NW_OK && i < RANDOM_SETS; i++) {
		struct nw_lm lm;
		struct fitted f = { &lm, NULL, all, k };

		for (j = 0; j < k; j++) {
			size_t pick = (size_t)(nw_splitmix(&w->seed) % p);

			train[j] = r->prepared.x[pick];
			all[j] = w->t->x[r->prepared.used[pick]];
		}
		rc = nw_lm_fit(train, NULL, k, r->prepared.y, r->prepared.n_rows, &o, &lm);
		for (row = from; rc == NW_OK && row < to; row++)
			if (isfinite(w->t->y[row]))
				w->sum.random += error_of(w, &f, row, mean) / RANDOM_SETS;
		nw_lm_clear(&lm);
	}
	free((void *)train);
	return rc;
}

static double
training_mean(const struct nw_reduction *r)
{
	double sum = 0;

	for (size_t i = 0; i < r->prepared.n_rows; i++)
		sum += r->prepared.y[i];
	return r->prepared.n_rows > 0 ? sum / (double)r->prepared.n_rows : NAN;
}

/* Errors of a selection made without the rows [from, to) and the gaps beside them. */
static int
fold_errors(struct worth *w, const struct nw_reduction *r, size_t from, size_t to)
{
	const struct nw_elimination *e = &r->elimination;
	const double **x = calloc(e->n_metrics + 1, sizeof(*x));
	struct fitted f = { &e->lm, e->kept_terms, x, e->n_metrics };
	double mean = training_mean(r);
	bool kept = e->status == NW_STATUS_OK && e->n_metrics_kept > 0;
	int rc = NW_OK;

	if (x == NULL)
		return NW_ENOMEM;
	for (size_t j = 0; j < e->n_metrics; j++)
		x[j] = w->t->x[r->candidate[j]];
	for (size_t row = from; row < to; row++) {
		double y = w->t->y[row];

		if (!isfinite(y))
			continue;
		w->sum.n++;
		w->sum.mean += (y - mean) * (y - mean);
		w->sum.minute += pow(y - minute_before(w, row, mean), 2);
		w->sum.model += kept ? error_of(w, &f, row, mean) : (y - mean) * (y - mean);
		w->sum.random += kept ? 0 : (y - mean) * (y - mean);
	}
	if (kept)
		rc = random_errors(w, r, from, to, mean);
	free((void *)x);
	return rc;
}

static int
fold(struct worth *w, size_t from, size_t to)
{
	size_t n = w->t->n_rows;
	struct nw_chunk chunk[2] = { { 0, from > w->gap ? from - w->gap : 0, NW_CHUNK_TRAIN },
		{ to + w->gap < n ? to + w->gap : n, n, NW_CHUNK_TRAIN } };
	struct nw_reduction r;
	int rc = nw_reduce(w->t, chunk, 2, &w->opts, &r);

	if (rc == NW_OK)
		rc = fold_errors(w, &r, from, to);
	nw_reduction_clear(&r);
	return rc;
}

int
nw_reduce_worth(const struct nw_table *t, const struct nw_reduce_options *opts, size_t minute_rows,
    struct nw_worth *out)
{
	struct worth w = {
		.t = t, .opts = *opts, .minute_rows = minute_rows, .gap = gap_of(t), .seed = 1
	};
	int rc = NW_OK;

	*out = (struct nw_worth){
		.folds = FOLDS, .gap_rows = w.gap, .r2 = NAN, .random_r2 = NAN, .minute_r2 = NAN
	};
	rc = reduce_shift_chance(t, opts, (w.gap + 1) / 2, &out->shift_chance);
	w.opts.n_random = 0;
	w.opts.main.n = 0;
	if (!w.opts.choose_threshold) {
		w.opts.n_thresholds = 0;
		w.opts.folds = 0;
	}
	for (size_t i = 0; rc == NW_OK && i < FOLDS; i++)
		rc = fold(&w, t->n_rows * i / FOLDS, t->n_rows * (i + 1) / FOLDS);
	if (rc != NW_OK || !(w.sum.mean > 0))
		return rc;
	out->r2 = 1 - w.sum.model / w.sum.mean;
	out->random_r2 = 1 - w.sum.random / w.sum.mean;
	out->minute_r2 = 1 - w.sum.minute / w.sum.mean;
	out->holds = out->r2 > R2_MIN + R2_FEW / (double)w.sum.n && out->r2 > out->random_r2 &&
	    out->r2 > out->minute_r2 && out->shift_chance <= CHANCE_MAX;
	return NW_OK;
}
