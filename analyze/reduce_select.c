/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A selection: clusters at a threshold, their representatives as candidates, elimination, and
 * blocked cross-validation. Screening is part of the validation: every fold screens on its own
 * rows, or the screening would have seen the predicted rows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/quantile.h"
#include "analyze/reduce_in.h"
#include "narrows/autocorr.h"

#define DRIFT_MAX 0.9 /* least |r| with the row number of a metric that tells the time */

int
selection_cluster(struct selection *s, const struct nw_correlations *c,
    const struct nw_reduce_options *opts, double threshold)
{
	struct nw_cluster_options cluster = opts->cluster;

	memset(s, 0, sizeof(*s));
	s->out_of_sample_r2 = NAN;
	cluster.rho0 = threshold;
	return nw_cluster(c, &cluster, &s->clusters);
}

void
selection_clear(struct selection *s)
{
	nw_clusters_clear(&s->clusters);
	nw_prepared_clear(&s->complete);
	nw_elimination_clear(&s->elimination);
	free((void *)s->x);
	free((void *)s->in.x);
	free(s->in.index);
	memset(s, 0, sizeof(*s));
}

/* Columns and rows of the representatives. */
static int
take_representatives(struct selection *s, const struct nw_prepared *prep, enum nw_missing missing)
{
	static const struct nw_prepare_options listwise = { 1, NW_MISSING_LISTWISE, false };
	size_t k = s->clusters.n_clusters;
	int rc;

	if ((s->x = calloc(k + 1, sizeof(*s->x))) == NULL)
		return NW_ENOMEM;
	for (size_t i = 0; i < k; i++)
		s->x[i] = prep->x[s->clusters.rep[i]];
	s->y = prep->y;
	s->n_rows = prep->n_rows;
	if (missing == NW_MISSING_LISTWISE)
		return NW_OK;
	if ((rc = nw_prepare(s->x, k, prep->y, prep->n_rows, &listwise, false, &s->complete)) !=
	    NW_OK)
		return rc;
	memcpy((void *)s->x, (const void *)s->complete.x, k * sizeof(*s->x));
	s->y = s->complete.y;
	s->n_rows = s->complete.n_rows;
	return NW_OK;
}

/* --- screening --- */
/* The `limit` columns of largest strength in input order; of equals the first. `scratch` has room
 * for p. */
static void
strongest(const double *strength, double *scratch, size_t p, size_t limit, struct candidates *in)
{
	size_t ties = limit;
	double least;

	memcpy(scratch, strength, p * sizeof(*scratch));
	least = quantile_nth(scratch, p, p - limit);
	for (size_t i = 0; i < p; i++)
		ties -= strength[i] > least;
	for (size_t i = 0; i < p; i++)
		if (strength[i] > least || (strength[i] == least && ties > 0)) {
			ties -= strength[i] == least;
			in->index[in->n++] = i;
		}
}

/* The representatives on the rows outside [from, to). A column is copied when somebody asks for the
 * column: screening knows most columns by the strengths, and keeps few. */
struct rows {
	const struct selection *s;
	size_t from, to, n;
	double *store; /* room for the representatives and the response; NULL: no row is left out */
	const double **x; /* NULL: not copied yet */
	double *known;    /* strengths on these rows; NULL: not kept */
};

static void
rows_clear(struct rows *w)
{
	free(w->store);
	free((void *)w->x);
}

static int
rows_init(struct rows *w, const struct selection *s, size_t from, size_t to, double *known)
{
	size_t p = s->clusters.n_clusters;

	*w = (struct rows){
		.s = s, .from = from, .to = to, .n = s->n_rows - (to - from), .known = known
	};
	if (from == to)
		return NW_OK;
	w->x = calloc(p + 1, sizeof(*w->x));
	w->store = calloc(p + 1, (w->n + 1) * sizeof(*w->store));
	return w->x != NULL && w->store != NULL ? NW_OK : NW_ENOMEM;
}

/* Column j of the representatives, or the response behind them. */
static const double *
rows_column(struct rows *w, size_t j)
{
	const double *whole = j < w->s->clusters.n_clusters ? w->s->x[j] : w->s->y;
	double *copy;

	if (w->store == NULL)
		return whole;
	if (w->x[j] == NULL) {
		copy = w->store + j * w->n;
		memcpy(copy, whole, w->from * sizeof(*copy));
		memcpy(copy + w->from, whole + w->to, (w->s->n_rows - w->to) * sizeof(*copy));
		w->x[j] = copy;
	}
	return w->x[j];
}

static const double *
rows_response(struct rows *w)
{
	return rows_column(w, w->s->clusters.n_clusters);
}

/* |r| of each column with the response, or -1. */
static int
strengths_find(struct rows *w, double *strength)
{
	size_t p = w->s->clusters.n_clusters, n = 0, i;
	const double **x = calloc(p + 1, sizeof(*x));
	double *r = calloc(p + 1, sizeof(*r));
	int rc = x != NULL && r != NULL ? NW_OK : NW_ENOMEM;

	for (i = 0; rc == NW_OK && i < p; i++) {
		strength[i] = w->known != NULL ? w->known[w->s->clusters.rep[i]] : STRENGTH_UNKNOWN;
		if (strength[i] == STRENGTH_UNKNOWN)
			x[n++] = rows_column(w, i);
	}
	if (rc == NW_OK)
		rc = nw_correlate_with(x, n, rows_response(w), w->n, r);
	for (i = n = 0; rc == NW_OK && i < p; i++) {
		if (strength[i] == STRENGTH_UNKNOWN)
			strength[i] = r[n++];
		if (w->known != NULL)
			w->known[w->s->clusters.rep[i]] = strength[i];
		strength[i] = isnan(strength[i]) ? -1 : fabs(strength[i]);
	}
	free((void *)x);
	free(r);
	return rc;
}

/* n / ln n columns of largest |r| with the response if there are more than half as many as rows
 * (Fan & Lv 2008: sure independence screening), else all. */
static int
screen(struct rows *w, bool on, struct candidates *in)
{
	size_t p = w->s->clusters.n_clusters, n = w->n;
	size_t limit = n > 2 ? (size_t)((double)n / log((double)n)) : 1;
	double *strength = NULL;
	int rc = NW_OK;

	memset(in, 0, sizeof(*in));
	in->index = calloc(p + 1, sizeof(*in->index));
	in->x = calloc(p + 1, sizeof(*in->x));
	if (in->index == NULL || in->x == NULL)
		return NW_ENOMEM;
	if (on && 2 * p > n && p > limit) {
		if ((strength = calloc(p, 2 * sizeof(*strength))) == NULL)
			return NW_ENOMEM;
		if ((rc = strengths_find(w, strength)) == NW_OK)
			strongest(strength, strength + p, p, limit, in);
		free(strength);
	} else
		while (in->n < p) {
			in->index[in->n] = in->n;
			in->n++;
		}
	for (size_t i = 0; i < in->n; i++)
		in->x[i] = rows_column(w, in->index[i]);
	return rc;
}

/* --- strict selection --- */
/* Drops candidates correlated with the row number. */
static int
drop_drifting(struct candidates *in, size_t n)
{
	double *row = calloc(n + 1, sizeof(*row)), *drift = calloc(in->n + 1, sizeof(*drift));
	size_t kept = 0;
	int rc = row != NULL && drift != NULL ? NW_OK : NW_ENOMEM;

	for (size_t i = 0; rc == NW_OK && i < n; i++)
		row[i] = (double)i;
	if (rc == NW_OK)
		rc = nw_correlate_with(in->x, in->n, row, n, drift);
	for (size_t i = 0; rc == NW_OK && i < in->n; i++)
		if (!(fabs(drift[i]) >= DRIFT_MAX)) {
			in->x[kept] = in->x[i];
			in->index[kept++] = in->index[i];
		}
	if (rc == NW_OK)
		in->n = kept;
	free(row);
	free(drift);
	return rc;
}

double
reduce_strict_f(double r, double n, size_t p)
{
	double share = (1 - r * r) / (1 + r * r);

	return (log(fmax(2, share * n)) + 2 * log(fmax(1, (double)p))) / share;
}

static int
select_terms(struct candidates *in, size_t p, const double *y, size_t n,
    const struct nw_reduce_options *opts, struct nw_elimination *out)
{
	struct nw_eliminate_options e = opts->eliminate;
	int rc;

	if (opts->strict) {
		if ((rc = drop_drifting(in, n)) != NW_OK)
			return rc;
		if (isnan(e.f_remove))
			e.f_remove = reduce_strict_f(nw_autocorr(y, n).r, (double)n, p);
	}
	return nw_eliminate(in->x, in->n, y, n, &e, out);
}

/* --- folds --- */
int
strengths_init(struct strengths *s, size_t n_metrics, size_t folds)
{
	size_t n = (folds + 1) * n_metrics;

	s->n_metrics = n_metrics;
	if ((s->r = calloc(n + 1, sizeof(*s->r))) == NULL)
		return NW_ENOMEM;
	for (size_t i = 0; i < n; i++)
		s->r[i] = STRENGTH_UNKNOWN;
	return NW_OK;
}

/* Those of a fold; NULL where rows with gaps are other rows for each selection. */
static double *
strengths_of(const struct strengths *known, const struct nw_reduce_options *opts, size_t fold)
{
	return opts->prepare.missing == NW_MISSING_LISTWISE ? known->r + fold * known->n_metrics
							    : NULL;
}

/* Adds the squared errors on the rows that a selection is made without; NaN if no selection is
 * possible. */
static int
fold_error(struct rows *w, const struct nw_reduce_options *opts, double *sse)
{
	const struct selection *s = w->s;
	struct candidates in = { 0 };
	struct nw_elimination e = { 0 };
	int rc = screen(w, opts->screen, &in);

	if (rc == NW_OK)
		rc = select_terms(&in, s->clusters.n_clusters, rows_response(w), w->n, opts, &e);
	if (rc == NW_OK && e.status != NW_STATUS_OK)
		*sse = NAN;
	for (size_t i = 0; i < in.n; i++)
		in.x[i] = s->x[in.index[i]];
	for (size_t row = w->from; rc == NW_OK && e.status == NW_STATUS_OK && row < w->to; row++) {
		double error = nw_lm_residual(&e.lm, e.kept_terms, in.x, s->y, row);

		*sse += error * error;
	}
	nw_elimination_clear(&e);
	free((void *)in.x);
	free(in.index);
	return rc;
}

static int
cross_validate(
    struct selection *s, const struct nw_reduce_options *opts, const struct strengths *known)
{
	size_t n = s->n_rows, folds = opts->folds;
	double sse = 0;
	int rc = NW_OK;

	if (folds < 2 || n < folds)
		return NW_OK;
	for (size_t i = 0; rc == NW_OK && i < folds && !isnan(sse); i++) {
		struct rows w;

		rc = rows_init(
		    &w, s, n * i / folds, n * (i + 1) / folds, strengths_of(known, opts, i));
		if (rc == NW_OK)
			rc = fold_error(&w, opts, &sse);
		rows_clear(&w);
	}
	s->out_of_sample_r2 = 1 - sse / s->elimination.lm.ssyy;
	return rc;
}

int
selection_eliminate(struct selection *s, const struct nw_prepared *prep,
    const struct nw_reduce_options *opts, double known_r2, struct strengths *known)
{
	int rc = take_representatives(s, prep, opts->prepare.missing);
	struct rows all;

	if (rc == NW_OK)
		rc = rows_init(&all, s, 0, 0, strengths_of(known, opts, opts->folds));
	if (rc == NW_OK)
		rc = screen(&all, opts->screen, &s->in);
	if (rc == NW_OK)
		rc = select_terms(
		    &s->in, s->clusters.n_clusters, s->y, s->n_rows, opts, &s->elimination);
	if (rc != NW_OK || s->elimination.status != NW_STATUS_OK)
		return rc;
	s->out_of_sample_r2 = known_r2;
	return isnan(known_r2) ? cross_validate(s, opts, known) : NW_OK;
}
