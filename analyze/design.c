/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dgeqrf factors all columns at once, blocked and fast, but does not notice an aliased column. A
 * pass over R in column order notices: the part of the column below the accepted rows is its
 * residual. An aliased column leaves R a row too high for all later columns; the next accepted
 * column is then reduced by one more reflection.
 */
#include "analyze/design.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "analyze/lapack.h"

static bool
standardise_term(const struct design *d, const double *const *x, const struct nw_term *t, double *z,
    struct standard *s)
{
	if (t->squared)
		return square_standardise(x[t->column], d->n, t->centre, d->centred, z, s);
	return column_standardise(x[t->column], d->n, d->centred, z, s);
}

int
design_init(struct design *d, const double *const *x, const struct nw_term *terms, size_t p,
    const double *y, size_t n, bool centred)
{
	memset(d, 0, sizeof(*d));
	if (p >= INT_MAX / 64 || n >= INT_MAX)
		return NW_ETOOBIG;
	d->n = n;
	d->p = p;
	d->centred = centred;
	d->z = calloc(p + 1, (n + 1) * sizeof(*d->z));
	d->column = calloc(p + 1, sizeof(*d->column));
	d->state = calloc(p + 1, sizeof(*d->state));
	if (d->z == NULL || d->column == NULL || d->state == NULL)
		return NW_ENOMEM;
	for (size_t j = 0; j < p; j++) {
		struct nw_term plain = { j, false, 0 };

		if (!standardise_term(
			d, x, terms != NULL ? &terms[j] : &plain, d->z + j * n, &d->column[j]))
			d->state[j] = NW_TERM_CONSTANT;
	}
	d->response_varies = column_standardise(y, n, centred, d->z + p * n, &d->column[p]);
	return NW_OK;
}

void
design_clear(struct design *d)
{
	free(d->z);
	free(d->column);
	free(d->state);
	memset(d, 0, sizeof(*d));
}

/* --- factor --- */
struct qr {
	size_t n, m, rows; /* m columns and the response; R has `rows` rows */
	double *a;         /* n x (m + 1) */
	double *work;
	size_t *term; /* m: of the design */
};

static double *
at(struct qr *qr, size_t row, size_t column)
{
	return qr->a + column * qr->n + row;
}

static int
qr_init(struct qr *qr, const struct design *d)
{
	double *tau;
	int rc;

	memset(qr, 0, sizeof(*qr));
	qr->n = d->n;
	qr->a = calloc(d->p + 1, (d->n + 1) * sizeof(*qr->a));
	qr->work = calloc(d->p + 1, 65 * sizeof(*qr->work));
	qr->term = calloc(d->p + 1, sizeof(*qr->term));
	if (qr->a == NULL || qr->work == NULL || qr->term == NULL)
		return NW_ENOMEM;
	for (size_t j = 0; j < d->p; j++)
		if (d->state[j] == NW_TERM_OK) {
			memcpy(at(qr, 0, qr->m), d->z + j * d->n, d->n * sizeof(*qr->a));
			qr->term[qr->m++] = j;
		}
	memcpy(at(qr, 0, qr->m), d->z + d->p * d->n, d->n * sizeof(*qr->a));
	qr->rows = qr->n < qr->m + 1 ? qr->n : qr->m + 1;
	if (qr->n == 0)
		return NW_OK;
	tau = qr->work + 64 * (d->p + 1);
	dgeqrf_(&(int){ (int)qr->n }, &(int){ (int)qr->m + 1 }, qr->a, &(int){ (int)qr->n }, tau,
	    qr->work, &(int){ 64 * ((int)d->p + 1) }, &rc);
	return rc == 0 ? NW_OK : NW_EINVAL;
}

static void
qr_clear(struct qr *qr)
{
	free(qr->a);
	free(qr->work);
	free(qr->term);
}

/* Zeroes column j below row k, and reflects all later columns. The entries of the column end in row
 * `last`. */
static void
reduce_column(struct qr *qr, size_t j, size_t k, size_t last)
{
	int length = (int)(last - k) + 1, later = (int)(qr->m - j);
	double *v = at(qr, k, j), diagonal, tau;

	dlarfg_(&length, v, v + 1, &(int){ 1 }, &tau);
	diagonal = *v;
	*v = 1;
	dlarfx_("L", &length, &later, v, &tau, at(qr, k, j + 1), &(int){ (int)qr->n }, qr->work, 1);
	*v = diagonal;
}

/* Column order, rows of R in place. Returns how many columns were accepted; *accepted: their places
 * in qr. */
static size_t
accept_columns(struct qr *qr, struct design *d, double tolerance, size_t *accepted)
{
	size_t k = 0;

	for (size_t j = 0; j < qr->m; j++) {
		size_t last = j < qr->rows - 1 ? j : qr->rows - 1;
		double residual = k <= last ? cblas_dnrm2((int)(last - k) + 1, at(qr, k, j), 1) : 0;

		if (!(residual >= tolerance)) {
			d->state[qr->term[j]] = NW_TERM_ALIASED;
			continue;
		}
		if (last > k)
			reduce_column(qr, j, k, last);
		accepted[k++] = j;
	}
	return k;
}

/* R' below the diagonal, inverted in place, is W = R^-1 row by row. */
static int
invert(struct qr *qr, const size_t *accepted, struct factor *f)
{
	int info;

	for (size_t j = 0; j < f->k; j++)
		for (size_t i = 0; i <= j; i++)
			f->w[i * f->ld + j] = *at(qr, i, accepted[j]);
	if (f->k == 0)
		return NW_OK;
	dtrtri_("L", "N", &(int){ (int)f->k }, f->w, &(int){ (int)f->ld }, &info, 1, 1);
	return info == 0 ? NW_OK : NW_EINVAL;
}

int
factor_init(struct factor *f, struct design *d, double alias_tolerance)
{
	struct qr qr;
	size_t *accepted = calloc(d->p + 1, sizeof(*accepted));
	int rc;

	memset(f, 0, sizeof(*f));
	blas_single_thread();
	rc = qr_init(&qr, d);
	if (rc == NW_OK && accepted == NULL)
		rc = NW_ENOMEM;
	if (rc != NW_OK)
		goto out;
	f->k = accept_columns(
	    &qr, d, alias_tolerance > 0 ? alias_tolerance : NW_ALIAS_TOLERANCE, accepted);
	f->ld = f->k + 1;
	f->term = calloc(f->k + 1, sizeof(*f->term));
	f->w = calloc(f->ld, f->ld * sizeof(*f->w));
	f->q = calloc(f->k + 1, 3 * sizeof(*f->q));
	if (f->term == NULL || f->w == NULL || f->q == NULL) {
		rc = NW_ENOMEM;
		goto out;
	}
	f->beta = f->q + f->k + 1;
	f->c = f->beta + f->k + 1;
	rc = invert(&qr, accepted, f);
	for (size_t i = 0; i < f->k; i++) {
		f->term[i] = qr.term[accepted[i]];
		f->q[i] = *at(&qr, i, qr.m);
	}
	for (size_t i = f->k; i < qr.rows; i++)
		f->rss += *at(&qr, i, qr.m) * *at(&qr, i, qr.m);
	for (size_t i = 0; i < f->k; i++) {
		const double *w = f->w + i * f->ld + i;
		int length = (int)(f->k - i);

		f->beta[i] = cblas_ddot(length, w, 1, f->q + i, 1);
		f->c[i] = cblas_ddot(length, w, 1, w, 1);
	}
out:
	qr_clear(&qr);
	free(accepted);
	return rc;
}

void
factor_clear(struct factor *f)
{
	free(f->term);
	free(f->w);
	free(f->q);
	memset(f, 0, sizeof(*f));
}

double
factor_r2(const struct factor *f)
{
	double explained = 0;

	for (size_t i = 0; i < f->k; i++)
		explained += f->q[i] * f->q[i];
	if (f->rss <= NW_PERFECT_FIT)
		return 1;
	return explained < f->rss ? explained / (explained + f->rss)
				  : 1 - f->rss / (explained + f->rss);
}

double
partial_f(double delta, double rss, size_t df)
{
	if (rss <= NW_PERFECT_FIT)
		return delta <= NW_PERFECT_FIT ? 0 : INFINITY;
	return delta / (rss / (double)df);
}
