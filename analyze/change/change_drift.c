/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps told from a mean that moves smoothly. See changepoint_in.h. */
#include <math.h>
#include <stdbool.h>

#include "analyze/change/changepoint_in.h"

#define SMOOTH_SHARE 0.8 /* of a segment's variance, explained by a polynomial: a drift */
#define R_MAX        0.95
#define MOVE_SHARE   0.1 /* the same, least around a start: below, a change is one of the spread */

enum {
	DEGREES = 4,       /* polynomials of degree 0 to 3, around a start */
	DEGREES_MAX = 14,  /* the same for a whole stretch: two and a half waves */
	DEGREE_VALUES = 6, /* fewest values per degree */
	STEP_DEGREES = 2   /* a step, two means and a place, counts as so many degrees */
};

/* Orthogonal polynomials of n equal distances, by the recurrence (Forsythe 1957), over times from
 * -1 to 1. */
struct polynomials {
	int n;         /* degrees 0 to n - 1 */
	size_t values; /* of the series */
	double middle, scale, c[DEGREES_MAX];
};

static struct polynomials
polynomials_of(size_t values, int n)
{
	double m = (double)values, middle = (m - 1) / 2;
	struct polynomials p = {
		.n = n, .values = values, .middle = middle, .scale = fmax(1, middle)
	};

	for (int k = 1; k < n; k++)
		p.c[k] = k * k * (m * m - k * k) / (4.0 * (4 * k * k - 1)) / p.scale / p.scale;
	return p;
}

static void
polynomials_at(const struct polynomials *p, size_t i, double out[DEGREES_MAX])
{
	double t = ((double)i - p->middle) / p->scale;

	out[0] = 1;
	out[1] = t;
	for (int k = 2; k < p->n; k++)
		out[k] = t * out[k - 1] - p->c[k - 1] * out[k - 2];
}

/* Squares left by polynomials of degree 0 to p->n - 1; sums: coefficients. */
static void
squares_left(const struct polynomials *p, const double *x, double *left, double sums[DEGREES_MAX])
{
	double at[DEGREES_MAX], norms[DEGREES_MAX] = { 0 }, all = 0;
	int k;

	for (k = 0; k < p->n; k++)
		sums[k] = 0;
	for (size_t i = 0; i < p->values; i++) {
		polynomials_at(p, i, at);
		for (k = 0; k < p->n; k++) {
			sums[k] += x[i] * at[k];
			norms[k] += at[k] * at[k];
		}
		all += x[i] * x[i];
	}
	for (k = 0; k < p->n; k++) {
		sums[k] = norms[k] > 0 ? sums[k] / norms[k] : 0;
		all -= sums[k] * sums[k] * norms[k];
		left[k] = fmax(0, all);
	}
}

/* Lag-1 autocorrelation of a polynomial's residuals. */
static double
residual_r(const struct polynomials *p, const double *x, const double *sums, int degree)
{
	double at[DEGREES_MAX], last = 0, rest, products = 0, squares = 0;

	for (size_t i = 0; i < p->values; i++) {
		polynomials_at(p, i, at);
		rest = x[i];
		for (int k = 0; k <= degree; k++)
			rest -= sums[k] * at[k];
		products += i > 0 ? rest * last : 0;
		squares += rest * rest;
		last = rest;
	}
	return squares > 0 ? fmin(R_MAX, fmax(0, products / squares)) : 0;
}

static double
squares_about_mean(const double *x, size_t n)
{
	const struct polynomials p = polynomials_of(n, 1);
	double left, sums[DEGREES_MAX];

	squares_left(&p, x, &left, sums);
	return left;
}

/* Schwarz 1978: a degree above a step's costs ln n. */
static bool
is_smooth(const double *x, size_t n_left, size_t n)
{
	const struct polynomials p = polynomials_of(n, DEGREES);
	double left[DEGREES], sums[DEGREES_MAX],
	    m = (double)n,
	    step = squares_about_mean(x, n_left) + squares_about_mean(x + n_left, n - n_left);

	squares_left(&p, x, left, sums);
	for (int degree = 1; degree < DEGREES; degree++)
		if (left[degree] < (1 - MOVE_SHARE) * left[0] &&
		    m * log(left[degree]) + (degree - STEP_DEGREES) * log(m) < m * log(step))
			return true;
	return false;
}

static int
degrees_of(size_t n)
{
	size_t most = n / DEGREE_VALUES;

	return most < DEGREES_MAX ? (int)most : DEGREES_MAX;
}

/* Whether a polynomial explains most of n values. */
static bool
is_mostly_smooth(const double *x, size_t n)
{
	const struct polynomials p = polynomials_of(n, degrees_of(n));
	double left[DEGREES_MAX], sums[DEGREES_MAX];

	if (p.n < 2)
		return false;
	squares_left(&p, x, left, sums);
	return left[p.n - 1] <= (1 - SMOOTH_SHARE) * left[0] && left[0] > 0;
}

/* Whether one polynomial explains the whole series better than all of the steps do. What the
 * polynomial leaves tells how many values are independent: a memory has smooth courses, too. */
static bool
course_is_smooth(const struct change_series *s)
{
	const struct polynomials p = polynomials_of(s->n, degrees_of(s->n));
	double left[DEGREES_MAX], sums[DEGREES_MAX], steps = 0, m = (double)s->n, r;
	int degree = 1;
	size_t k, end;

	if (p.n < 2 || s->n_starts < 2)
		return false;
	for (k = 0; k < s->n_starts; k++) {
		end = k + 1 < s->n_starts ? s->starts[k + 1] : s->n;
		steps += squares_about_mean(s->x + s->starts[k], end - s->starts[k]);
	}
	squares_left(&p, s->x, left, sums);
	if (steps > (1 - MOVE_SHARE) * left[0])
		return false; /* changes of the spread */
	for (int d = 2; d < p.n; d++)
		if (m * log(left[d]) + d * log(m) < m * log(left[degree]) + degree * log(m))
			degree = d;
	r = residual_r(&p, s->x, sums, degree);
	m *= (1 - r) / (1 + r);
	return m * log(left[degree]) +
	    (degree - STEP_DEGREES * (double)(s->n_starts - 1)) * log(fmax(m, 2)) <
	    m * log(steps);
}

void
change_drifts(struct change_series *s, bool *drifts)
{
	size_t kept = 0, from = 0, k, end;
	bool smooth;

	if (course_is_smooth(s)) {
		s->n_starts = 1;
		drifts[0] = true;
		return;
	}
	for (k = 0; k < s->n_starts; k++) {
		size_t at = s->starts[k];

		end = k + 1 < s->n_starts ? s->starts[k + 1] : s->n;
		smooth = k > 0 && is_smooth(s->x + from, at - from, end - from);
		from = at;
		if (smooth)
			drifts[kept - 1] = true;
		else {
			drifts[kept] = false;
			s->starts[kept++] = at;
		}
	}
	s->n_starts = kept;
	for (k = 0; k < kept; k++) {
		end = k + 1 < kept ? s->starts[k + 1] : s->n;
		drifts[k] |= is_mostly_smooth(s->x + s->starts[k], end - s->starts[k]);
	}
}
