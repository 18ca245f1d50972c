/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A selection: clusters at a threshold, their representatives as candidates, elimination, and
 * blocked cross-validation. Screening is part of the validation: every fold screens on its own
 * rows, or the screening would have seen the predicted rows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
static int
by_falling_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

/* The `limit` columns of largest strength in input order; of equals the first. `sorted` is
 * scratch. */
static void
strongest(const double *strength, double *sorted, size_t p, size_t limit, struct candidates *in)
{
	size_t ties = limit;

	memcpy(sorted, strength, p * sizeof(*sorted));
	qsort(sorted, p, sizeof(*sorted), by_falling_value);
	for (size_t i = 0; i < p; i++)
		ties -= strength[i] > sorted[limit - 1];
	for (size_t i = 0; i < p; i++)
		if (strength[i] > sorted[limit - 1] ||
		    (strength[i] == sorted[limit - 1] && ties > 0)) {
			ties -= strength[i] == sorted[limit - 1];
			in->index[in->n++] = i;
		}
}

/* n / ln n columns of largest |r| with the response if there are more than half as many as rows
 * (Fan & Lv 2008: sure independence screening), else all. Columns are `x`, rows all n of them. */
static int
screen(const double *const *x, size_t p, const double *y, size_t n, bool on, struct candidates *in)
{
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
		rc = nw_correlate_with(x, p, y, n, strength);
		for (size_t i = 0; rc == NW_OK && i < p; i++)
			strength[i] = isnan(strength[i]) ? -1 : fabs(strength[i]);
		if (rc == NW_OK)
			strongest(strength, strength + p, p, limit, in);
		free(strength);
	} else
		while (in->n < p) {
			in->index[in->n] = in->n;
			in->n++;
		}
	for (size_t i = 0; i < in->n; i++)
		in->x[i] = x[in->index[i]];
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
/* The rows outside [from, to) of the representatives, response last. */
static double *
leave_out(const struct selection *s, size_t from, size_t to, const double **x)
{
	size_t p = s->clusters.n_clusters, rest = s->n_rows - (to - from);
	double *store = calloc(p + 1, (rest + 1) * sizeof(*store));

	for (size_t j = 0; store != NULL && j <= p; j++) {
		const double *whole = j < p ? s->x[j] : s->y;

		x[j] = store + j * rest;
		memcpy(store + j * rest, whole, from * sizeof(*store));
		memcpy(store + j * rest + from, whole + to, (s->n_rows - to) * sizeof(*store));
	}
	return store;
}

/* Adds the squared errors on rows [from, to) of a selection made without these rows; NaN if no
 * selection is possible. */
static int
fold_error(const struct selection *s, const struct nw_reduce_options *opts, size_t from, size_t to,
    double *sse)
{
	size_t p = s->clusters.n_clusters, rest = s->n_rows - (to - from);
	const double **x = calloc(p + 1, sizeof(*x));
	double *store = x != NULL ? leave_out(s, from, to, x) : NULL;
	struct candidates in = { 0 };
	struct nw_elimination e = { 0 };
	int rc = store != NULL ? screen(x, p, x[p], rest, opts->screen, &in) : NW_ENOMEM;

	if (rc == NW_OK)
		rc = select_terms(&in, p, x[p], rest, opts, &e);
	if (rc == NW_OK && e.status != NW_STATUS_OK)
		*sse = NAN;
	for (size_t i = 0; i < in.n; i++)
		in.x[i] = s->x[in.index[i]];
	for (size_t row = from; rc == NW_OK && e.status == NW_STATUS_OK && row < to; row++) {
		double error = nw_lm_residual(&e.lm, e.kept_terms, in.x, s->y, row);

		*sse += error * error;
	}
	nw_elimination_clear(&e);
	free((void *)in.x);
	free(in.index);
	free(store);
	free((void *)x);
	return rc;
}

static int
cross_validate(struct selection *s, const struct nw_reduce_options *opts)
{
	size_t n = s->n_rows, folds = opts->folds;
	double sse = 0;
	int rc = NW_OK;

	if (folds < 2 || n < folds)
		return NW_OK;
	for (size_t i = 0; rc == NW_OK && i < folds && !isnan(sse); i++)
		rc = fold_error(s, opts, n * i / folds, n * (i + 1) / folds, &sse);
	s->out_of_sample_r2 = 1 - sse / s->elimination.lm.ssyy;
	return rc;
}

int
selection_eliminate(struct selection *s, const struct nw_prepared *prep,
    const struct nw_reduce_options *opts, double known_r2)
{
	int rc = take_representatives(s, prep, opts->prepare.missing);

	if (rc == NW_OK)
		rc = screen(s->x, s->clusters.n_clusters, s->y, s->n_rows, opts->screen, &s->in);
	if (rc == NW_OK)
		rc = select_terms(
		    &s->in, s->clusters.n_clusters, s->y, s->n_rows, opts, &s->elimination);
	if (rc != NW_OK || s->elimination.status != NW_STATUS_OK)
		return rc;
	s->out_of_sample_r2 = known_r2;
	return isnan(known_r2) ? cross_validate(s, opts) : NW_OK;
}
