/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lasso path. See narrows/linear.h.
 *
 * In units of the response's population sd and with G = U'U, g = U'u_y (u: centred columns of unit
 * length) the problem is min b'Gb/2 - b'g + lambda |b|_1; gradient r = g - Gb is kept up to date,
 * one axpy per coefficient that moves.
 */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "analyze/design.h"
#include "analyze/lapack.h"
#include "narrows/linear.h"

struct descent {
	size_t p;
	const enum nw_term_state *state;
	double *gram;      /* p x p */
	double *g, *r, *b; /* p */
	double *trial, *a; /* p, p x p: the exact solution's right side and matrix */
	size_t *active;    /* p */
	double *store;
};

static int
descent_init(struct descent *s, const struct design *d)
{
	size_t p = d->p;

	memset(s, 0, sizeof(*s));
	s->p = p;
	s->state = d->state;
	s->store = calloc(p + 1, (2 * p + 4) * sizeof(*s->store));
	s->active = calloc(p + 1, sizeof(*s->active));
	if (s->store == NULL || s->active == NULL)
		return NW_ENOMEM;
	s->gram = s->store;
	s->a = s->gram + p * p;
	s->g = s->a + p * p;
	s->r = s->g + p;
	s->b = s->r + p;
	s->trial = s->b + p;
	if (p == 0 || d->n == 0)
		return NW_OK;
	blas_single_thread();
	/* both triangles: a whole column is a single axpy */
	cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)p, (int)p, (int)d->n, 1, d->z,
	    (int)d->n, d->z, (int)d->n, 0, s->gram, (int)p);
	cblas_dgemv(CblasColMajor, CblasTrans, (int)d->n, (int)p, 1, d->z, (int)d->n,
	    d->z + p * d->n, 1, 0, s->g, 1);
	memcpy(s->r, s->g, p * sizeof(*s->r));
	return NW_OK;
}

static void
descent_clear(struct descent *s)
{
	free(s->store);
	free(s->active);
}

static double
soft(double v, double lambda)
{
	return v > lambda ? v - lambda : v < -lambda ? v + lambda : 0;
}

/* A round over all coefficients, or over the nonzero coefficients only. Returns the largest
 * move. */
static double
sweep(struct descent *s, double lambda, bool all)
{
	double largest = 0;

	for (size_t j = 0; j < s->p; j++) {
		double before = s->b[j], after, move;

		if (s->state[j] != NW_TERM_OK || (!all && before == 0))
			continue;
		after = soft(s->r[j] + before, lambda);
		move = after - before;
		if (move == 0)
			continue;
		s->b[j] = after;
		cblas_daxpy((int)s->p, -move, s->gram + j * s->p, 1, s->r, 1);
		largest = fmax(largest, fabs(move));
	}
	return largest;
}

/* r = g - G b, afresh. */
static void
gradient(struct descent *s)
{
	memcpy(s->r, s->g, s->p * sizeof(*s->r));
	for (size_t j = 0; j < s->p; j++)
		if (s->b[j] != 0)
			cblas_daxpy((int)s->p, -s->b[j], s->gram + j * s->p, 1, s->r, 1);
}

/* |r_j| <= lambda wherever b_j = 0. */
static bool
is_optimal(const struct descent *s, double lambda)
{
	for (size_t j = 0; j < s->p; j++)
		if (s->b[j] == 0 && s->state[j] == NW_TERM_OK && fabs(s->r[j]) > lambda + 1e-12)
			return false;
	return true;
}

/* The active coefficients become the trial coefficients, and the other way round. */
static void
swap_active(struct descent *s, size_t k)
{
	for (size_t j = 0; j < k; j++) {
		double v = s->b[s->active[j]];

		s->b[s->active[j]] = s->trial[j];
		s->trial[j] = v;
	}
	gradient(s);
}

/* Given the nonzero b and their signs, the solution is linear: G_AA b_A = g_A - lambda sign. True
 * if b is an exact solution now; false leaves b and r unchanged. */
static bool
solve_active(struct descent *s, double lambda)
{
	size_t k = 0;
	int info = 0;
	bool good;

	for (size_t j = 0; j < s->p; j++)
		if (s->b[j] != 0)
			s->active[k++] = j;
	for (size_t j = 0; j < k; j++) {
		for (size_t i = 0; i < k; i++)
			s->a[j * k + i] = s->gram[s->active[j] * s->p + s->active[i]];
		s->trial[j] = s->g[s->active[j]] - copysign(lambda, s->b[s->active[j]]);
	}
	if (k > 0)
		dposv_("U", &(int){ (int)k }, &(int){ 1 }, s->a, &(int){ (int)k }, s->trial,
		    &(int){ (int)k }, &info, 1);
	if (info != 0)
		return false;
	for (size_t j = 0; j < k; j++)
		if (!(s->trial[j] * s->b[s->active[j]] > 0))
			return false;
	swap_active(s, k);
	good = is_optimal(s, lambda);
	if (!good)
		swap_active(s, k);
	return good;
}

/* Sweeps until the active set gives the exact answer, or nothing moves. Strongly correlated columns
 * need many. */
static bool
descend(struct descent *s, double lambda)
{
	enum { ROUNDS = 14, FIRST = 8 };

	for (int round = 0; round < ROUNDS; round++) {
		double moved = sweep(s, lambda, true);

		for (long i = 0; i < (long)FIRST << round && moved > DBL_EPSILON; i++)
			moved = sweep(s, lambda, i % 8 == 7);
		if (solve_active(s, lambda))
			return true;
		if (sweep(s, lambda, true) <= 4 * DBL_EPSILON)
			return is_optimal(s, lambda);
	}
	return false;
}

static void
report(const struct descent *s, const struct design *d, bool converged, struct nw_lasso_fit *fit)
{
	double unit = d->column[d->p].norm, explained = 0;
	long double intercept = d->column[d->p].mean;

	fit->converged = converged;
	fit->n_nonzero = 0;
	for (size_t j = 0; j < s->p; j++) {
		bool in = s->b[j] != 0;

		fit->n_nonzero += in;
		fit->standardized[j] = in ? s->b[j] * unit / sqrt((double)d->n) : 0;
		fit->coef[j] = in ? s->b[j] * unit / d->column[j].norm : 0;
		intercept -= (long double)fit->coef[j] * d->column[j].mean;
		explained += s->b[j] * (s->g[j] + s->r[j]);
	}
	fit->intercept = (double)intercept;
	fit->r2 = d->response_varies ? explained : NAN;
}

static int
lasso_init(struct nw_lasso *l, size_t p, size_t n, const double *lambda, size_t n_lambda)
{
	memset(l, 0, sizeof(*l));
	l->n_rows = n;
	l->n_columns = p;
	l->n_fits = n_lambda;
	l->fit = calloc(n_lambda + 1, sizeof(*l->fit));
	l->store = calloc(n_lambda + 1, 2 * (p + 1) * sizeof(*l->store));
	if (l->fit == NULL || l->store == NULL)
		return NW_ENOMEM;
	for (size_t i = 0; i < n_lambda; i++) {
		if (!(lambda[i] >= 0))
			return NW_EINVAL;
		l->fit[i].lambda = lambda[i];
		l->fit[i].standardized = l->store + 2 * i * (p + 1);
		l->fit[i].coef = l->fit[i].standardized + p + 1;
	}
	return NW_OK;
}

/* The fit after `last` in falling order of lambda (equal lambdas in input order); n_fits before the
 * first and after the last. Quadratic, but small beside a fit. */
static size_t
next_lambda(const struct nw_lasso *l, size_t last)
{
	size_t best = l->n_fits;

	for (size_t i = 0; i < l->n_fits; i++) {
		double v = l->fit[i].lambda;

		if (last < l->n_fits &&
		    (v > l->fit[last].lambda || (v == l->fit[last].lambda && i <= last)))
			continue;
		if (best == l->n_fits || v > l->fit[best].lambda)
			best = i;
	}
	return best;
}

static void
follow_path(struct descent *s, const struct design *d, struct nw_lasso *l)
{
	double sd = d->column[d->p].norm / sqrt((double)d->n);

	for (size_t j = 0; j < s->p; j++)
		l->lambda_max = fmax(l->lambda_max, fabs(s->g[j]) * sd);
	for (size_t i = next_lambda(l, l->n_fits); i < l->n_fits; i = next_lambda(l, i))
		report(s, d, !d->response_varies || descend(s, l->fit[i].lambda / sd), &l->fit[i]);
}

int
nw_lasso_fit(const double *const *x, size_t p, const double *y, size_t n, const double *lambda,
    size_t n_lambda, struct nw_lasso *out)
{
	struct design d = { 0 };
	struct descent s = { 0 };
	int rc = lasso_init(out, p, n, lambda, n_lambda);

	if (rc == NW_OK)
		rc = design_init(&d, x, NULL, p, y, n, true);
	if (rc == NW_OK)
		rc = descent_init(&s, &d);
	if (rc != NW_OK)
		goto out;
	out->status = n == 0    ? NW_STATUS_INSUFFICIENT
	    : d.response_varies ? NW_STATUS_OK
				: NW_STATUS_CONSTANT_RESPONSE;
	if (n > 0)
		follow_path(&s, &d, out);
out:
	descent_clear(&s);
	design_clear(&d);
	return rc;
}

void
nw_lasso_clear(struct nw_lasso *l)
{
	free(l->fit);
	free(l->store);
	memset(l, 0, sizeof(*l));
}
