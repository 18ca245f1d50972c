/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Polynomial regression that survives x^10. See narrows/linear.h.
 *
 * P_0 = 1, P_{k+1}(t) = (t - a_k) P_k - b_k P_{k-1} with a_k = <t P_k, P_k>/<P_k, P_k>, b_k = <P_k,
 * P_k>/<P_{k-1}, P_{k-1}> are orthogonal on the data (Forsythe 1957), so every coefficient is a
 * projection of what is left of y. The same recurrence on coefficients turns them into powers of x:
 * b = sum c_k L_k, var b_j = s^2 sum L_kj^2 / <P_k, P_k>. t is x moved and scaled to [-1, 1]. Going
 * back to powers of x cancels up to 1e10 (Filip) and more; hence 113 bits.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/standardise.h"
#include "narrows/linear.h"

#if LDBL_MANT_DIG >= 113
typedef long double wide;
#else
typedef __float128 wide;
#endif

enum { N_POWERS = NW_POLY_MAX_DEGREE + 1 };

struct basis {
	size_t n;
	wide middle, half; /* x 2^-exponent = middle + half t */
	int exponent;
	wide *t, *rest;         /* n positions; y less the fitted part */
	wide *now, *before;     /* n: P_k, P_{k-1} at the points */
	wide poly[2][N_POWERS]; /* their coefficients, powers of x 2^-exponent */
	wide coef[N_POWERS], variance[N_POWERS];
};

static int
basis_init(struct basis *b, const double *x, const double *y, size_t n)
{
	double min = n > 0 ? x[0] : 0, max = min;

	memset(b, 0, sizeof(*b));
	b->n = n;
	b->t = calloc(n + 1, 4 * sizeof(*b->t));
	if (b->t == NULL)
		return NW_ENOMEM;
	b->rest = b->t + n;
	b->now = b->rest + n;
	b->before = b->now + n;
	for (size_t i = 0; i < n; i++) {
		min = fmin(min, x[i]);
		max = fmax(max, x[i]);
		b->rest[i] = y[i];
	}
	(void)frexp(fmax(fabs(min), fabs(max)), &b->exponent);
	min = ldexp(min, -b->exponent);
	max = ldexp(max, -b->exponent);
	b->middle = ((wide)min + max) / 2;
	b->half = max > min ? ((wide)max - min) / 2 : 1;
	for (size_t i = 0; i < n; i++)
		b->t[i] = (ldexp(x[i], -b->exponent) - b->middle) / b->half;
	return NW_OK;
}

static wide
dot(const wide *a, const wide *b, size_t n)
{
	wide sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

static wide
moment(const struct basis *b)
{
	wide sum = 0;

	for (size_t i = 0; i < b->n; i++)
		sum += b->t[i] * b->now[i] * b->now[i];
	return sum;
}

/* P_0: 1, or x where the curve must pass through the origin. */
static void
first(struct basis *b, bool no_intercept)
{
	for (size_t i = 0; i < b->n; i++)
		b->now[i] = no_intercept ? b->middle + b->half * b->t[i] : 1;
	b->poly[0][no_intercept ? 1 : 0] = 1;
}

static void
next(struct basis *b, wide alpha, wide beta)
{
	wide shift = b->middle / b->half + alpha, *spare = b->before;

	for (size_t i = 0; i < b->n; i++)
		spare[i] = (b->t[i] - alpha) * b->now[i] - beta * b->before[i];
	b->before = b->now;
	b->now = spare;
	for (size_t j = N_POWERS; j-- > 0;) {
		wide p = b->poly[0][j];

		b->poly[1][j] =
		    (j > 0 ? b->poly[0][j - 1] / b->half : 0) - shift * p - beta * b->poly[1][j];
	}
	for (size_t j = 0; j < N_POWERS; j++) {
		wide p = b->poly[1][j];

		b->poly[1][j] = b->poly[0][j];
		b->poly[0][j] = p;
	}
}

static void
project(struct basis *b, wide square)
{
	wide c = dot(b->rest, b->now, b->n) / square;

	for (size_t i = 0; i < b->n; i++)
		b->rest[i] -= c * b->now[i];
	for (size_t j = 0; j < N_POWERS; j++) {
		b->coef[j] += c * b->poly[0][j];
		b->variance[j] += b->poly[0][j] * b->poly[0][j] / square;
	}
}

/* Returns the number of polynomials that the points can tell apart, at most `count`. Below 1e-45 of
 * the square of the first polynomial only rounding is left: two doubles apart by one unit still
 * make 1e-32. */
static size_t
fit(struct basis *b, size_t count, bool no_intercept)
{
	wide square_first, square_before = 1;

	first(b, no_intercept);
	square_first = dot(b->now, b->now, b->n);
	for (size_t k = 0; k < count; k++) {
		wide square = dot(b->now, b->now, b->n);

		if (!(square > 0) || square <= square_first * (wide)1e-45)
			return k;
		project(b, square);
		if (k + 1 < count)
			next(b, moment(b) / square, k > 0 ? square / square_before : 0);
		square_before = square;
	}
	return count;
}

static struct nw_coefficient
coefficient(
    const struct basis *b, size_t power, wide s2, enum nw_status status, bool perfect, double ssyy)
{
	struct nw_coefficient c = { NW_TERM_OK, NAN, NAN, NAN, 0, 0 };
	int scale = -b->exponent * (int)power;
	double delta;

	c.value = ldexp((double)b->coef[power], scale);
	if (status != NW_STATUS_OK)
		return c;
	delta = (double)(b->coef[power] * b->coef[power] / b->variance[power]);
	if (perfect) {
		c.se = 0;
		c.f = delta <= NW_PERFECT_FIT * ssyy ? 0 : INFINITY;
	} else {
		c.se = ldexp(sqrt((double)(s2 * b->variance[power])), scale);
		c.f = (double)(delta / s2);
	}
	return c;
}

/* Sum of squares about the mean, or about 0. */
static wide
total_squares(const double *y, size_t n, bool no_intercept)
{
	wide mean = 0, sum = 0;

	for (size_t i = 0; i < n; i++)
		mean += y[i];
	mean = no_intercept || n == 0 ? 0 : mean / n;
	for (size_t i = 0; i < n; i++)
		sum += (y[i] - mean) * (y[i] - mean);
	return sum;
}

static enum nw_status
status_of(const struct nw_lm *lm, const double *y, bool no_intercept)
{
	if (lm->n_rows == 0)
		return NW_STATUS_INSUFFICIENT;
	if (column_is_constant(y, lm->n_rows) && (!no_intercept || y[0] == 0))
		return NW_STATUS_CONSTANT_RESPONSE;
	return lm->df < 1 ? NW_STATUS_UNDERDETERMINED : NW_STATUS_OK;
}

static void
report(const struct basis *b, const double *y, size_t rank, bool no_intercept, struct nw_lm *out)
{
	size_t constant = no_intercept ? 0 : 1;
	wide ssyy = total_squares(y, b->n, no_intercept), sse = dot(b->rest, b->rest, b->n);
	bool perfect = sse <= ssyy * (wide)NW_PERFECT_FIT;

	out->n_rows = b->n;
	out->rank = rank > constant ? rank - constant : 0;
	out->df = b->n - rank;
	out->ssyy = (double)ssyy;
	out->sse = perfect ? 0 : (double)sse;
	out->response_mean = out->residual_sd = out->r2 = out->adj_r2 = NAN;
	out->intercept = (struct nw_coefficient){ NW_TERM_OK, NAN, NAN, NAN, 0, 0 };
	out->status = status_of(out, y, no_intercept);
	if (out->status == NW_STATUS_OK) {
		wide share = perfect ? 0 : sse / ssyy;

		out->residual_sd = sqrt(out->sse / (double)out->df);
		out->r2 = out->rank == 0 ? 0 : (double)(1 - share);
		out->adj_r2 = 1 - (1 - out->r2) * (double)(b->n - constant) / (double)out->df;
	}
	if (constant == 1 && rank > 0)
		out->intercept = coefficient(
		    b, 0, sse / (wide)(out->df > 0 ? out->df : 1), out->status, perfect, out->ssyy);
	for (size_t j = 0; j < out->n_terms; j++) {
		out->coef[j] = (struct nw_coefficient){ NW_TERM_ALIASED, NAN, NAN, NAN, 0, 0 };
		if (j < out->rank)
			out->coef[j] =
			    coefficient(b, j + 1, sse / (wide)(out->df > 0 ? out->df : 1),
				out->status, perfect, out->ssyy);
	}
}

int
nw_lm_fit_polynomial(const double *x, const double *y, size_t n, unsigned degree, bool no_intercept,
    struct nw_lm *out)
{
	struct basis *b = NULL;
	size_t count;
	int rc = NW_ENOMEM;

	memset(out, 0, sizeof(*out));
	if (degree > NW_POLY_MAX_DEGREE)
		return NW_EINVAL;
	if ((b = calloc(1, sizeof(*b))) == NULL ||
	    (out->coef = calloc(degree + 1, sizeof(*out->coef))) == NULL)
		goto out;
	if ((rc = basis_init(b, x, y, n)) != NW_OK)
		goto out;
	out->n_terms = degree;
	count = no_intercept ? degree : (size_t)degree + 1;
	report(b, y, fit(b, count, no_intercept), no_intercept, out);
out:
	if (b != NULL)
		free(b->t);
	free(b);
	return rc;
}
