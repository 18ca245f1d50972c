/* SPDX-License-Identifier: BSD-3-Clause */
/* How well a model predicts unseen rows. See narrows/linear.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "analyze/design.h"
#include "narrows/linear.h"

/* PRESS for SSyy = 1. NaN if a row has leverage 1: no model exists without the row. */
static int
press(const struct design *d, const struct factor *f, double *out)
{
	size_t n = d->n, k = f->k;
	const double *y = d->z + d->p * n;
	double *t = calloc(k + 1, (n + 1) * sizeof(*t)), *rest = calloc(n + 1, sizeof(*rest)),
	       sum = 0;
	int rc = t != NULL && rest != NULL ? NW_OK : NW_ENOMEM;

	if (rc != NW_OK)
		goto out;
	memcpy(rest, y, n * sizeof(*rest));
	for (size_t j = 0; j < k; j++) {
		memcpy(t + j * n, d->z + f->term[j] * n, n * sizeof(*t));
		cblas_daxpy((int)n, -f->beta[j], t + j * n, 1, rest, 1);
	}
	/* T = Z W has the orthonormal columns of Q. W lies row by row: W' column by column */
	if (k > 0)
		cblas_dtrmm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)n,
		    (int)k, 1, f->w, (int)f->ld, t, (int)n);
	for (size_t i = 0; i < n; i++) {
		double free_share = 1 - (d->centred ? 1 / (double)n : 0), e;

		for (size_t j = 0; j < k; j++)
			free_share -= t[j * n + i] * t[j * n + i];
		e = free_share > 1e-10 ? rest[i] / free_share : NAN;
		sum += e * e;
	}
	*out = sum;
out:
	free(t);
	free(rest);
	return rc;
}

/* Copies the rows of a column outside [from, to). */
static void
leave_out(const double *x, size_t n, size_t from, size_t to, double *out)
{
	memcpy(out, x, from * sizeof(*out));
	memcpy(out + from, x + to, (n - to) * sizeof(*out));
}

struct fold {
	double *store; /* p + 1 columns */
	const double **x;
	double *y;
};

static int
fold_init(struct fold *f, size_t p, size_t n)
{
	memset(f, 0, sizeof(*f));
	f->store = calloc(p + 1, (n + 1) * sizeof(*f->store));
	f->x = calloc(p + 1, sizeof(*f->x));
	if (f->store == NULL || f->x == NULL)
		return NW_ENOMEM;
	for (size_t j = 0; j < p; j++)
		f->x[j] = f->store + j * n;
	f->y = f->store + p * n;
	return NW_OK;
}

static void
fold_clear(struct fold *f)
{
	free(f->store);
	free((void *)f->x);
}

static size_t
columns_used(const struct nw_term *terms, size_t n_terms)
{
	size_t p = terms == NULL ? n_terms : 0;

	for (size_t j = 0; terms != NULL && j < n_terms; j++)
		p = terms[j].column + 1 > p ? terms[j].column + 1 : p;
	return p;
}

/* A model for the cross-validation. */
struct model {
	const struct nw_table *table;
	const struct nw_term *terms;
	size_t n_terms;
	const struct nw_lm_options *opts;
};

/* Squared errors of all folds, in units of `unit`^2. */
static int
blocked(const struct model *m, size_t folds, double unit, double *sse)
{
	const struct nw_table *t = m->table;
	size_t p = columns_used(m->terms, m->n_terms), n = t->n_rows;
	struct fold f;
	int rc = fold_init(&f, p, n);

	*sse = 0;
	for (size_t i = 0; rc == NW_OK && i < folds; i++) {
		size_t from = n * i / folds, to = n * (i + 1) / folds;
		struct nw_lm lm;

		for (size_t j = 0; j < p; j++)
			leave_out(t->x[j], n, from, to, f.store + j * n);
		leave_out(t->y, n, from, to, f.y);
		rc = nw_lm_fit(f.x, m->terms, m->n_terms, f.y, n - (to - from), m->opts, &lm);
		for (size_t row = from; rc == NW_OK && row < to; row++) {
			double e = nw_lm_residual(&lm, m->terms, t->x, t->y, row) / unit;

			*sse += e * e;
		}
		nw_lm_clear(&lm);
	}
	fold_clear(&f);
	return rc;
}

int
nw_validate(const struct nw_table *t, const struct nw_term *terms, size_t n_terms, size_t folds,
    const struct nw_lm_options *opts, struct nw_validation *out)
{
	const struct model m = { t, terms, n_terms, opts };
	size_t n = t->n_rows;
	struct design d;
	struct factor f = { 0 };
	struct nw_lm lm = { 0 };
	double share;
	int rc = design_init(&d, t->x, terms, n_terms, t->y, n, !opts->no_intercept);

	*out = (struct nw_validation){ .press = NAN, .predicted_r2 = NAN, .blocked_cv_r2 = NAN };
	if (rc == NW_OK)
		rc = factor_init(&f, &d, opts->alias_tolerance);
	if (rc == NW_OK && (lm.coef = calloc(n_terms + 1, sizeof(*lm.coef))) == NULL)
		rc = NW_ENOMEM;
	if (rc != NW_OK)
		goto out;
	lm_of_factor(&d, &f, &lm);
	*out = (struct nw_validation){ lm.status, n, n_terms, lm.rank, lm.df, folds, lm.r2,
		lm.adj_r2, NAN, NAN, NAN };
	if (lm.status != NW_STATUS_OK)
		goto out;
	if ((rc = press(&d, &f, &share)) != NW_OK)
		goto out;
	out->press = share * lm.ssyy;
	out->predicted_r2 = 1 - share;
	if (folds >= 2 && n >= 2) {
		rc = blocked(&m, folds, d.column[d.p].norm, &share);
		out->blocked_cv_r2 = 1 - share;
	}
out:
	nw_lm_clear(&lm);
	factor_clear(&f);
	design_clear(&d);
	return rc;
}
