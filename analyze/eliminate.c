/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Backward elimination by updating R^-1. See narrows/linear.h.
 *
 * The factor's rows w_i (one per term) and q give everything a step needs: beta_i = w_i . q, c_i =
 * |w_i|^2, F_i = (beta_i^2 / c_i) / (rss / df). To drop term j, reflect all rows and q so that w_j
 * becomes a multiple of the last unit vector; the leading part of the others is then the factor of
 * the model without j, and beta_i -= w_i,last q_last, c_i -= w_i,last^2, rss += q_last^2 follow. W
 * is square, not triangular, from then on.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "analyze/design.h"
#include "narrows/linear.h"

/* --- candidates --- */
static void
make_terms(
    const double *const *x, const struct nw_eliminate_options *opts, struct nw_elimination *e)
{
	size_t p = e->n_metrics;

	for (size_t j = 0; j < p; j++) {
		e->terms[j] = (struct nw_term){ j, false, 0 };
		if (opts->quadratic != NW_QUADRATIC_NONE)
			e->terms[p + j] = (struct nw_term){ j, true, 0 };
		if (opts->quadratic == NW_QUADRATIC_CENTERED)
			e->terms[p + j].centre = column_mean(x[j], e->n_rows);
	}
}

/* --- a step --- */
/* Terms to keep: x while its square is in the model. */
static void
protect(const struct nw_elimination *e, const struct factor *f, bool *locked)
{
	memset(locked, 0, e->n_terms * sizeof(*locked));
	for (size_t i = 0; i < f->k; i++)
		if (e->terms[f->term[i]].squared)
			locked[e->terms[f->term[i]].column] = true;
}

/* Row of the term to go, SIZE_MAX if none may. Order: F, increase of SSE, input. */
static size_t
weakest(const struct nw_elimination *e, const struct factor *f, const bool *locked, double *f_out)
{
	size_t df = e->n_rows - 1 - f->k, best = SIZE_MAX;
	double best_f = INFINITY, best_delta = INFINITY;

	for (size_t i = 0; i < f->k; i++) {
		double delta = f->beta[i] * f->beta[i] / f->c[i],
		       f_i = partial_f(delta, f->rss, df);

		if (locked[f->term[i]] && !e->terms[f->term[i]].squared)
			continue;
		if (best != SIZE_MAX &&
		    (f_i > best_f ||
			(f_i == best_f &&
			    (delta > best_delta ||
				(delta == best_delta && f->term[i] > f->term[best])))))
			continue;
		best = i;
		best_f = f_i;
		best_delta = delta;
	}
	*f_out = best_f;
	return best;
}

/* c_i and beta_i afresh where the subtraction ate more than three bits. */
static void
subtract(struct factor *f, size_t i, double last, double q_last)
{
	double c = f->c[i] - last * last;

	if (c >= f->c[i] / 8) {
		f->c[i] = c;
		f->beta[i] -= last * q_last;
		return;
	}
	f->c[i] = cblas_ddot((int)f->k - 1, f->w + i * f->ld, 1, f->w + i * f->ld, 1);
	f->beta[i] = cblas_ddot((int)f->k - 1, f->w + i * f->ld, 1, f->q, 1);
}

/* The last row takes the place of row j. */
static void
move_last(struct factor *f, size_t j)
{
	size_t last = f->k - 1;

	if (j != last)
		memcpy(f->w + j * f->ld, f->w + last * f->ld, f->k * sizeof(*f->w));
	f->term[j] = f->term[last];
	f->beta[j] = f->beta[last];
	f->c[j] = f->c[last];
}

/* `v`, `s`: scratch of k. Columns before the first entry of w_j keep still. */
static void
drop_row(struct factor *f, size_t j, double *v, double *s)
{
	size_t k = f->k, from = 0;
	double *w = f->w, length, tau, q_last;
	int m;

	while (from < k - 1 && w[j * f->ld + from] == 0)
		from++;
	m = (int)(k - from);
	memcpy(v, w + j * f->ld + from, (size_t)m * sizeof(*v));
	length = cblas_dnrm2(m, v, 1);
	v[m - 1] += v[m - 1] < 0 ? -length : length;
	tau = 2 / cblas_ddot(m, v, 1, v, 1);
	move_last(f, j);
	cblas_dgemv(
	    CblasRowMajor, CblasNoTrans, (int)k - 1, m, tau, w + from, (int)f->ld, v, 1, 0, s, 1);
	cblas_dger(CblasRowMajor, (int)k - 1, m, -1, s, 1, v, 1, w + from, (int)f->ld);
	cblas_daxpy(m, -tau * cblas_ddot(m, v, 1, f->q + from, 1), v, 1, f->q + from, 1);
	q_last = f->q[k - 1];
	f->rss += q_last * q_last;
	for (size_t i = 0; i < k - 1; i++)
		subtract(f, i, w[i * f->ld + k - 1], q_last);
	f->k = k - 1;
}

/* --- the whole path --- */
struct path {
	struct design d;
	struct factor f;
	bool *locked;
	double *scratch; /* 2 (k + 1) */
};

static int
path_init(struct path *path, size_t n_terms)
{
	path->locked = calloc(n_terms + 1, sizeof(*path->locked));
	path->scratch = calloc(n_terms + 1, 2 * sizeof(*path->scratch));
	return path->locked != NULL && path->scratch != NULL ? NW_OK : NW_ENOMEM;
}

static void
path_clear(struct path *path)
{
	factor_clear(&path->f);
	design_clear(&path->d);
	free(path->locked);
	free(path->scratch);
}

/* Factors the remaining terms afresh, as the measure for the updates. */
static int
refactor(struct path *path, const struct nw_elimination *e, double tolerance)
{
	factor_clear(&path->f);
	memcpy(path->d.state, e->state, e->n_terms * sizeof(*e->state));
	return factor_init(&path->f, &path->d, tolerance);
}

static int
eliminate(struct path *path, const struct nw_eliminate_options *opts, struct nw_elimination *e)
{
	double *v = path->scratch, *s = v + e->n_terms + 1, f_min;
	int rc = NW_OK;

	while (rc == NW_OK && path->f.k > 0) {
		size_t row, term;

		if (opts->hierarchical)
			protect(e, &path->f, path->locked);
		row = weakest(e, &path->f, path->locked, &f_min);
		if (row == SIZE_MAX || !(f_min < e->f_remove))
			break;
		term = path->f.term[row];
		e->removed_f[e->n_removed] = f_min;
		e->removed[e->n_removed++] = term;
		e->state[term] = NW_TERM_REMOVED;
		if (e->refitted)
			rc = refactor(path, e, opts->alias_tolerance);
		else
			drop_row(&path->f, row, v, s);
	}
	return rc;
}

/* True if the fresh fit agrees with the updated fit: F of the kept terms to 1e-6, or both
 * perfect. */
static bool
verify(const struct nw_elimination *e, const struct factor *f)
{
	for (size_t i = 0; i < f->k; i++) {
		double delta = f->beta[i] * f->beta[i] / f->c[i], fresh = NAN;
		double updated = partial_f(delta, f->rss, e->n_rows - 1 - f->k);

		for (size_t j = 0; j < e->n_kept; j++)
			if (e->kept[j] == f->term[i])
				fresh = e->lm.coef[j].f;
		if (!(updated == fresh || fabs(updated - fresh) <= 1e-6 * (1 + fabs(fresh))))
			return false;
	}
	return true;
}

static int
collect(const double *const *x, const double *y, const struct nw_eliminate_options *opts,
    struct nw_elimination *e)
{
	struct nw_lm_options lm_opts = { false, opts->alias_tolerance };

	nw_lm_clear(&e->lm);
	e->n_kept = e->n_metrics_kept = 0;
	memset(e->metric_kept, 0, e->n_metrics * sizeof(*e->metric_kept));
	for (size_t j = 0; j < e->n_terms; j++)
		if (e->state[j] == NW_TERM_OK) {
			e->kept[e->n_kept] = j;
			e->kept_terms[e->n_kept++] = e->terms[j];
			e->n_metrics_kept += !e->metric_kept[e->terms[j].column];
			e->metric_kept[e->terms[j].column] = true;
		}
	e->reduction_degree =
	    e->n_metrics > 0 ? 1 - (double)e->n_metrics_kept / (double)e->n_metrics : NAN;
	return nw_lm_fit(x, e->kept_terms, e->n_kept, y, e->n_rows, &lm_opts, &e->lm);
}

static int
elimination_init(
    struct nw_elimination *e, size_t p, size_t n, const struct nw_eliminate_options *opts)
{
	size_t n_terms = opts->quadratic == NW_QUADRATIC_NONE ? p : 2 * p;

	memset(e, 0, sizeof(*e));
	e->n_rows = n;
	e->n_metrics = p;
	e->n_terms = n_terms;
	e->full_r2 = e->reduction_degree = NAN;
	e->f_remove = isnan(opts->f_remove) ? log((double)n) : opts->f_remove;
	e->terms = calloc(n_terms + 1, sizeof(*e->terms));
	e->kept_terms = calloc(n_terms + 1, sizeof(*e->kept_terms));
	e->state = calloc(n_terms + 1, sizeof(*e->state));
	e->removed = calloc(n_terms + 1, sizeof(*e->removed));
	e->removed_f = calloc(n_terms + 1, sizeof(*e->removed_f));
	e->kept = calloc(n_terms + 1, sizeof(*e->kept));
	e->metric_kept = calloc(p + 1, sizeof(*e->metric_kept));
	if (e->terms == NULL || e->kept_terms == NULL || e->state == NULL || e->removed == NULL ||
	    e->removed_f == NULL || e->kept == NULL || e->metric_kept == NULL)
		return NW_ENOMEM;
	return NW_OK;
}

/* Is there anything to eliminate from? Fills status, rank and the like from the full model. */
static bool
full_model(struct path *path, struct nw_elimination *e)
{
	memcpy(e->state, path->d.state, e->n_terms * sizeof(*e->state));
	e->rank = path->f.k;
	e->full_df = e->n_rows > 0 ? e->n_rows - 1 - e->rank : 0;
	if (e->n_rows == 0)
		e->status = NW_STATUS_INSUFFICIENT;
	else if (!path->d.response_varies)
		e->status = NW_STATUS_CONSTANT_RESPONSE;
	else if (e->full_df < 1)
		e->status = NW_STATUS_UNDERDETERMINED;
	else
		e->full_r2 = factor_r2(&path->f);
	return e->status == NW_STATUS_OK;
}

int
nw_eliminate(const double *const *x, size_t p, const double *y, size_t n,
    const struct nw_eliminate_options *opts, struct nw_elimination *out)
{
	struct path path = { 0 };
	int rc = elimination_init(out, p, n, opts);

	if (rc == NW_OK) {
		make_terms(x, opts, out);
		rc = path_init(&path, out->n_terms);
	}
	if (rc == NW_OK)
		rc = design_init(&path.d, x, out->terms, out->n_terms, y, n, true);
	if (rc == NW_OK)
		rc = factor_init(&path.f, &path.d, opts->alias_tolerance);
	if (rc != NW_OK || !full_model(&path, out))
		goto out;
	rc = eliminate(&path, opts, out);
	if (rc == NW_OK)
		rc = collect(x, y, opts, out);
	if (rc == NW_OK && !verify(out, &path.f)) {
		for (size_t i = 0; i < out->n_removed; i++)
			out->state[out->removed[i]] = NW_TERM_OK;
		out->n_removed = 0;
		out->refitted = true;
		rc = refactor(&path, out, opts->alias_tolerance);
		if (rc == NW_OK)
			rc = eliminate(&path, opts, out);
		if (rc == NW_OK)
			rc = collect(x, y, opts, out);
	}
out:
	path_clear(&path);
	return rc;
}

void
nw_elimination_clear(struct nw_elimination *e)
{
	free(e->terms);
	free(e->kept_terms);
	free(e->state);
	free(e->removed);
	free(e->removed_f);
	free(e->kept);
	free(e->metric_kept);
	nw_lm_clear(&e->lm);
	memset(e, 0, sizeof(*e));
}
