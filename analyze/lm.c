/* SPDX-License-Identifier: BSD-3-Clause */
/* Least squares from the factor of the standardised design. See narrows/linear.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/design.h"
#include "narrows/linear.h"

static const struct nw_coefficient nothing = { NW_TERM_OK, NAN, NAN, NAN, 0, 0 };

/* The variance over s^2: 1/n + |sum w_i mean_i / norm_i|^2, a sum of squares, which an offset
 * cannot cancel. */
static double
intercept_variance(const struct design *d, const struct factor *f)
{
	double v = 1 / (double)d->n;

	for (size_t j = 0; j < f->k; j++) {
		double u = 0;

		for (size_t i = 0; i <= j; i++)
			u += f->w[i * f->ld + j] *
			    (d->column[f->term[i]].mean / d->column[f->term[i]].norm);
		v += u * u;
	}
	return v;
}

static double
intercept_value(const struct nw_lm *lm)
{
	long double b0 = (long double)lm->response_mean + lm->response_mean_rest;

	for (size_t j = 0; j < lm->n_terms; j++)
		if (lm->coef[j].state == NW_TERM_OK)
			b0 -= lm->coef[j].value *
			    ((long double)lm->coef[j].mean + lm->coef[j].mean_rest);
	return (double)b0;
}

/* `variance` is the coefficient's variance over s^2, both in units where |y - mean| is 1. */
static void
finish(struct nw_coefficient *c, double variance, double rss, size_t df, double unit)
{
	double value = c->value / unit;

	c->se = rss <= NW_PERFECT_FIT ? 0 : sqrt(rss / (double)df * variance) * unit;
	c->f = partial_f(value * value / variance, rss, df);
}

static void
quality(const struct design *d, const struct factor *f, struct nw_lm *lm)
{
	double norm = d->column[d->p].norm, total = (double)lm->n_rows - (d->centred ? 1 : 0), sse;

	sse = f->rss <= NW_PERFECT_FIT ? 0 : f->rss;
	lm->ssyy = norm * norm;
	lm->sse = sse * norm * norm;
	if (lm->status != NW_STATUS_OK)
		return;
	lm->residual_sd = sqrt(sse / (double)lm->df) * norm;
	lm->r2 = factor_r2(f);
	lm->adj_r2 = 1 - (1 - lm->r2) * total / (double)lm->df;
}

static enum nw_status
status_of(const struct design *d, const struct nw_lm *lm)
{
	if (lm->n_rows == 0)
		return NW_STATUS_INSUFFICIENT;
	if (!d->response_varies)
		return NW_STATUS_CONSTANT_RESPONSE;
	return lm->df < 1 ? NW_STATUS_UNDERDETERMINED : NW_STATUS_OK;
}

void
lm_of_factor(const struct design *d, const struct factor *f, struct nw_lm *lm)
{
	double unit = d->column[d->p].norm;

	lm->n_rows = d->n;
	lm->n_terms = d->p;
	lm->response_mean = d->column[d->p].mean;
	lm->response_mean_rest = d->column[d->p].mean_rest;
	lm->rank = f->k;
	lm->df = d->n - f->k - (d->centred && d->n > 0);
	lm->residual_sd = lm->r2 = lm->adj_r2 = NAN;
	lm->intercept = nothing;
	lm->status = status_of(d, lm);
	for (size_t j = 0; j < d->p; j++) {
		lm->coef[j] = nothing;
		lm->coef[j].state = d->state[j];
		lm->coef[j].mean = d->column[j].mean;
		lm->coef[j].mean_rest = d->column[j].mean_rest;
	}
	if (lm->status == NW_STATUS_INSUFFICIENT)
		return;
	quality(d, f, lm);
	for (size_t i = 0; i < f->k; i++) {
		double scale = unit / d->column[f->term[i]].norm;
		struct nw_coefficient *c = &lm->coef[f->term[i]];

		c->value = f->beta[i] * scale;
		if (lm->status == NW_STATUS_OK)
			finish(c, f->c[i], f->rss, lm->df, scale);
	}
	if (!d->centred)
		return;
	lm->intercept.value = intercept_value(lm);
	if (lm->status == NW_STATUS_OK)
		finish(&lm->intercept, intercept_variance(d, f), f->rss, lm->df, unit);
}

int
nw_lm_fit(const double *const *x, const struct nw_term *terms, size_t n_terms, const double *y,
    size_t n, const struct nw_lm_options *opts, struct nw_lm *out)
{
	struct design d;
	struct factor f = { 0 };
	int rc;

	memset(out, 0, sizeof(*out));
	rc = design_init(&d, x, terms, n_terms, y, n, !opts->no_intercept);
	if (rc == NW_OK)
		rc = factor_init(&f, &d, opts->alias_tolerance);
	if (rc != NW_OK)
		goto out;
	out->coef = calloc(n_terms + 1, sizeof(*out->coef));
	if (out->coef != NULL)
		lm_of_factor(&d, &f, out);
	else
		rc = NW_ENOMEM;
out:
	factor_clear(&f);
	design_clear(&d);
	return rc;
}

void
nw_lm_clear(struct nw_lm *lm)
{
	free(lm->coef);
	memset(lm, 0, sizeof(*lm));
}

double
nw_lm_residual(const struct nw_lm *lm, const struct nw_term *terms, const double *const *x,
    const double *y, size_t row)
{
	double rest = y[row] - lm->response_mean - lm->response_mean_rest;

	for (size_t j = 0; j < lm->n_terms; j++) {
		struct nw_term t = terms != NULL ? terms[j] : (struct nw_term){ j, false, 0 };
		double v = x[t.column][row];

		if (t.squared)
			v = (v - t.centre) * (v - t.centre);
		if (lm->coef[j].state == NW_TERM_OK)
			rest -= lm->coef[j].value * (v - lm->coef[j].mean - lm->coef[j].mean_rest);
	}
	return rest;
}
