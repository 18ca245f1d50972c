/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The standardised design matrix and its inverse QR factor: what lm, elimination and validation
 * share.
 *
 *   design   Z = columns of unit length (centred unless the model has no intercept), response last
 *   factor   W = R^-1 of the accepted columns, row by row, q = Q'y:
 *            beta = W q,  [(Z'Z)^-1]_ij = w_i . w_j,  rss = |y|^2 - |q|^2 (of |y| = 1)
 */
#ifndef ANALYZE_DESIGN_H
#define ANALYZE_DESIGN_H
#include <stdbool.h>
#include <stddef.h>

#include "analyze/standardise.h"
#include "narrows/linear.h"

struct design {
	size_t n, p;
	bool centred;
	bool response_varies;
	double *z;                 /* n x (p + 1), column after column */
	struct standard *column;   /* p + 1 */
	enum nw_term_state *state; /* p */
};

int design_init(struct design *d, const double *const *x, const struct nw_term *terms, size_t p,
    const double *y, size_t n, bool centred);
void design_clear(struct design *d);

struct factor {
	size_t k, ld;             /* accepted terms; row stride of w */
	size_t *term;             /* k: term of each row of w */
	double *w, *q, *beta, *c; /* c_i = w_i . w_i */
	double rss;
};

/* Marks aliased terms in d->state. O(n p^2). */
int factor_init(struct factor *f, struct design *d, double alias_tolerance);
void factor_clear(struct factor *f);

/* Share of SSyy that the terms explain; exactly 0 without terms, 1 for a perfect fit, small values
 * to all digits. */
double factor_r2(const struct factor *f);
/* Partial F of a term whose removal adds `delta` to rss; both are shares of SSyy. */
double partial_f(double delta, double rss, size_t df);

/* Fills *lm, whose coef has room for d->p + 1 coefficients. */
void lm_of_factor(const struct design *d, const struct factor *f, struct nw_lm *lm);

#endif
