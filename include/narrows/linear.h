/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Linear models: least squares, backward elimination, lasso, validation.
 *
 * Throughout: `x` is an array of columns of `n` finite doubles each, as nw_prepare leaves columns,
 * on loan; `y` the response. Nothing is global, one thread per call. 0, or NW_ENOMEM, NW_ETOOBIG
 * (past LAPACK's int), NW_EINVAL; an undefined result has a status and NaN in its numbers. Every
 * _clear also takes the rest of a failed call. Results do not depend on the order of
 * rows, nor on units; on the order of columns only where columns are exact combinations of each
 * other (the later one goes).
 */
#ifndef NARROWS_LINEAR_H
#define NARROWS_LINEAR_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/err.h"
#include "narrows/status.h"

/* Columns and a response, on loan. */
struct nw_table {
	const double *const *x; /* columns, each of n_rows values */
	size_t n_columns;
	const double *y; /* response */
	size_t n_rows;
};

#define NW_ALIAS_TOLERANCE 1e-7  /* as R's lm */
#define NW_PERFECT_FIT     1e-24 /* SSE / SSyy below which the residuals are rounding */

/* --- terms --- */
/* A predictor: the column, or (column - centre)^2, where centre 0 makes the plain square. */
struct nw_term {
	size_t column;
	bool squared;
	double centre;
};

enum nw_term_state {
	NW_TERM_OK = 0,
	NW_TERM_CONSTANT, /* nothing varies */
	NW_TERM_ALIASED,  /* a combination of earlier terms, within the tolerance */
	NW_TERM_REMOVED   /* eliminated */
};

/* --- least squares --- */
struct nw_lm_options {
	bool no_intercept; /* then SSyy is the raw sum of squares, and nothing is centred */
	/* share of a term's length that must be new, or the term aliases; 0 means
	 * NW_ALIAS_TOLERANCE */
	double alias_tolerance;
};

struct nw_coefficient {
	enum nw_term_state state;
	double value, se, f;    /* f = (value / se)^2, the partial F; all NaN unless state is OK */
	double mean, mean_rest; /* of the term over the rows is their sum; 0 without an intercept */
};

/*
 * OK; CONSTANT_RESPONSE (SSyy = 0: coefficients 0, r2 NaN); UNDERDETERMINED (df < 1: coefficients
 * of one of the exact fits, no errors, r2 NaN: it would be 1 and mean nothing); INSUFFICIENT (no
 * rows). A perfect fit (SSE <= 1e-24 SSyy) has sse = 0, se = 0, and F = 0 for terms whose removal
 * adds no more than that, else Inf.
 */
struct nw_lm {
	enum nw_status status;
	size_t n_rows, n_terms, rank, df; /* df = n - rank - (1 for the intercept) */
	double response_mean, response_mean_rest, ssyy, sse, residual_sd, r2, adj_r2;
	struct nw_coefficient intercept; /* intercept; NaN without one */
	struct nw_coefficient *coef;     /* n_terms */
};

/*
 * Centred columns of unit length, Householder QR (dgeqrf), beta = R^-1 Q'y, SE_j = s sqrt
 * [(R'R)^-1]_jj; aliased terms dropped in order (narrows' own pass over R, since dgeqrf does not
 * look). `terms` NULL: the first n_terms columns.
 * 2 n p^2 + O(p^3) flops, 2 n p + p^2 doubles. Relative error about 1e-16 times the condition of
 * the scaled columns (Longley: 13 digits).
 */
int nw_lm_fit(const double *const *x, const struct nw_term *terms, size_t n_terms, const double *y,
    size_t n, const struct nw_lm_options *opts, struct nw_lm *out);
void nw_lm_clear(struct nw_lm *lm);

/* y less the model's value for the row: y - mean(y) - sum b_j (x_j - mean_j), where offsets cancel
 * before the multiplication. Aliased and constant terms add nothing. Not for polynomials. */
double nw_lm_residual(const struct nw_lm *lm, const struct nw_term *terms, const double *const *x,
    const double *y, size_t row);

/*
 * Polynomial y = b0 + b1 x + .. + bd x^d; coef[k] is that of x^(k+1). Polynomials orthogonal on the
 * data by Forsythe's recurrence (1957), coefficients and variances gathered from theirs, in 113-bit
 * arithmetic: powers of x are nearly collinear (NIST Filip, condition 1e15), and this is right to
 * 14 digits where QR of the powers has none. No alias tolerance: a power aliases only if there are
 * too few different x. O(n d) slow operations, about 1 us each.
 */
#define NW_POLY_MAX_DEGREE 20
int nw_lm_fit_polynomial(const double *x, const double *y, size_t n, unsigned degree,
    bool no_intercept, struct nw_lm *out);

/* --- backward elimination --- */
enum nw_quadratic {
	NW_QUADRATIC_NONE,
	NW_QUADRATIC_RAW,     /* all x, then all x^2 */
	NW_QUADRATIC_CENTERED /* all x, then all (x - mean)^2 */
};

struct nw_eliminate_options {
	double f_remove; /* 2 (about AIC); NaN: ln n (BIC) */
	enum nw_quadratic quadratic;
	bool hierarchical;      /* x stays while x^2 is in the model */
	double alias_tolerance; /* 0: NW_ALIAS_TOLERANCE */
};

/*
 * Each step removes the term of smallest F_j = (SSE without j - SSE) / (SSE / df) = t_j^2 while
 * that is below f_remove; ties: smallest increase of SSE, then input order. A term never comes
 * back. Metrics are the columns of x: one is kept if any of its terms is. UNDERDETERMINED if df < 1
 * after aliasing: refused, rank and state are filled in.
 */
struct nw_elimination {
	enum nw_status status;
	size_t n_rows, n_metrics;
	size_t n_terms; /* candidates */
	struct nw_term *terms;
	enum nw_term_state *state;
	size_t rank, full_df; /* before elimination */
	double full_r2;
	size_t n_removed;
	size_t *removed; /* terms in the order of removal */
	double *removed_f;
	size_t n_kept;
	size_t *kept;               /* terms, input order */
	struct nw_term *kept_terms; /* the same as terms, for nw_lm_residual */
	struct nw_lm lm;            /* of the kept terms, fitted afresh */
	size_t n_metrics_kept;
	bool *metric_kept;       /* n_metrics */
	double reduction_degree; /* 1 - kept metrics / metrics */
	double f_remove;         /* as used */
	bool refitted; /* the updates did not survive their check, every step was a refit */
};

/*
 * One QR, then a rank-one update of R^-1 per step: a Householder reflection turns the leaving row
 * of R^-1 into a multiple of the last unit vector; dropping that row and column leaves the inverse
 * factor of the smaller model. Orthogonal, so a nearly aliased partner keeps half its digits where
 * updating the inverse of R'R would lose all. 4 k^2 flops a step with k terms left (Golub & Van
 * Loan, Matrix Computations, 6.5). The end is checked against a fresh fit; if F differ, everything
 * is done again with refits. Memory n p + 2 p^2 doubles.
 */
int nw_eliminate(const double *const *x, size_t p, const double *y, size_t n,
    const struct nw_eliminate_options *opts, struct nw_elimination *out);
void nw_elimination_clear(struct nw_elimination *e);

/* --- lasso --- */
/* A point of the path: coefficients of the columns scaled to population sd 1, and of the plain
 * columns. */
struct nw_lasso_fit {
	double lambda;
	double intercept, r2;
	size_t n_nonzero;
	bool converged;
	double *standardized; /* p */
	double *coef;         /* p */
};

struct nw_lasso {
	enum nw_status status; /* OK, CONSTANT_RESPONSE, INSUFFICIENT */
	size_t n_rows, n_columns, n_fits;
	double lambda_max; /* from here on all coefficients are 0 */
	struct nw_lasso_fit *fit;
	double *store;
};

/*
 * min 1/(2n) |y - b0 - X b|^2 + lambda |b|_1, columns scaled to population sd 1 (Tibshirani 1996;
 * cyclic coordinate descent with covariance updates, Friedman, Hastie & Tibshirani 2010). Warm
 * starts from the largest lambda down; each point is then solved exactly on its active set and kept
 * if the signs and the optimality conditions hold. Fits are in the order of `lambda`, which need
 * not be sorted. Constant columns have coefficient 0. p^2 n + (steps) p^2 flops.
 */
int nw_lasso_fit(const double *const *x, size_t p, const double *y, size_t n, const double *lambda,
    size_t n_lambda, struct nw_lasso *out);
void nw_lasso_clear(struct nw_lasso *l);

/* --- validation --- */
struct nw_validation {
	enum nw_status status; /* status of the fit */
	size_t n_rows, n_terms, rank, df, folds;
	double r2, adj_r2;
	double press, predicted_r2; /* NaN if a row has leverage 1 */
	double blocked_cv_r2;       /* NaN with fewer than 2 folds of at least one row */
};

/*
 * PRESS = sum (e_i / (1 - h_i))^2 with leverages h from the one factor; predicted R^2 = 1 - PRESS /
 * SSyy. Blocked cross-validation: fold i is rows [n i/k, n (i+1)/k), predicted by the fit of all
 * others; R^2 against the mean of all rows. Neighbouring rows resemble each other, so random folds
 * would be too kind (Bergmeir & Benitez 2012).
 */
int nw_validate(const struct nw_table *t, const struct nw_term *terms, size_t n_terms, size_t folds,
    const struct nw_lm_options *opts, struct nw_validation *out);

#endif
