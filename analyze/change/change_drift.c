/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps told from a mean that moves smoothly. See changepoint_in.h. */
#include <math.h>
#include <stdbool.h>

#include "analyze/change/changepoint_in.h"

#define SMOOTH_SHARE 0.8 /* of a segment's variance, explained by a polynomial: a drift */
#define MOVE_SHARE   0.1 /* the same, least around a start: below, a change is one of the spread */

enum { DEGREES = 4 }; /* polynomials of degree 0 to 3 */

/* Squares left by polynomials of degree 0 to 3. Orthogonal polynomials of equal distances, by their
 * recurrence (Forsythe 1957). */
static void
squares_left(const double *x, size_t n, double left[DEGREES])
{
	double middle = (double)(n - 1) / 2, p[DEGREES], c[DEGREES] = { 0 };
	double sums[DEGREES] = { 0 }, norms[DEGREES] = { 0 }, all = 0, m = (double)n;
	int degree;

	/* the recurrence's coefficients for times -middle .. middle */
	for (degree = 1; degree < DEGREES; degree++)
		c[degree] =
		    degree * degree * (m * m - degree * degree) / (4.0 * (4 * degree * degree - 1));
	for (size_t i = 0; i < n; i++) {
		double t = (double)i - middle;

		p[0] = 1;
		p[1] = t;
		for (degree = 2; degree < DEGREES; degree++)
			p[degree] = t * p[degree - 1] - c[degree - 1] * p[degree - 2];
		for (degree = 0; degree < DEGREES; degree++) {
			sums[degree] += x[i] * p[degree];
			norms[degree] += p[degree] * p[degree];
		}
		all += x[i] * x[i];
	}
	for (degree = 0; degree < DEGREES; degree++) {
		all -= norms[degree] > 0 ? sums[degree] * sums[degree] / norms[degree] : 0;
		left[degree] = fmax(0, all);
	}
}

/* Schwarz 1978: a degree above 2 costs ln n; a step, two means and a place, counts as degree 2. */
static bool
is_smooth(const double *x, size_t n_left, size_t n)
{
	double left[DEGREES], part[DEGREES], step, m = (double)n;

	squares_left(x, n_left, part);
	step = part[0];
	squares_left(x + n_left, n - n_left, part);
	step += part[0];
	squares_left(x, n, left);
	for (int degree = 1; degree < DEGREES; degree++)
		if (left[degree] < (1 - MOVE_SHARE) * left[0] &&
		    m * log(left[degree]) + (degree - 2) * log(m) < m * log(step))
			return true;
	return false;
}

/* Whether a polynomial explains most of n values. */
static bool
is_mostly_smooth(const double *x, size_t n)
{
	double left[DEGREES];

	squares_left(x, n, left);
	return n > 2 * DEGREES && left[DEGREES - 1] <= (1 - SMOOTH_SHARE) * left[0] && left[0] > 0;
}

void
change_drifts(struct change_series *s, bool *drifts)
{
	size_t kept = 0, from = 0, k, end;
	bool smooth;

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
