/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Centring twice removes the rounding of the first mean, so an offset 1e12 times the spread leaves
 * the spread intact; a scale by a power of two is exact and keeps squares between 1e-308 and 1e308
 * whatever the unit.
 */
#include "analyze/standardise.h"

#include <float.h>
#include <math.h>

#include <cblas.h>

void
blas_single_thread(void)
{
	if (openblas_get_num_threads() != 1)
		openblas_set_num_threads(1);
}

double
column_sum(const double *x, size_t n)
{
	double a = 0, b = 0, c = 0, d = 0;
	size_t i;

	for (i = 0; i + 4 <= n; i += 4) {
		a += x[i];
		b += x[i + 1];
		c += x[i + 2];
		d += x[i + 3];
	}
	for (; i < n; i++)
		a += x[i];
	return (a + b) + (c + d);
}

static void
range_of(const double *x, size_t n, double *min, double *max)
{
	double lo = n > 0 ? x[0] : 0, hi = lo;

	for (size_t i = 1; i < n; i++) {
		lo = x[i] < lo ? x[i] : lo;
		hi = x[i] > hi ? x[i] : hi;
	}
	*min = lo;
	*max = hi;
}

bool
column_is_constant(const double *x, size_t n)
{
	double min, max;

	range_of(x, n, &min, &max);
	return min == max;
}

/* Exponent e with max |x| 2^-e in [0.5, 1), within the range of ldexp(1, -e). */
static int
exponent_of(double min, double max)
{
	int e;

	(void)frexp(fmax(fabs(min), fabs(max)), &e);
	return e > 1022 ? 1022 : e < -1022 ? -1022 : e;
}

static double
subtract_mean(double *z, size_t n)
{
	double mean = column_sum(z, n) / (double)n;

	for (size_t i = 0; i < n; i++)
		z[i] -= mean;
	return mean;
}

double
column_mean(const double *x, size_t n)
{
	double min, max, scale, mean = 0, rest = 0;
	int e;

	range_of(x, n, &min, &max);
	e = exponent_of(min, max);
	scale = ldexp(1, -e);
	for (size_t i = 0; i < n; i++)
		mean += x[i] * scale;
	mean /= n > 0 ? (double)n : 1;
	for (size_t i = 0; i < n; i++)
		rest += x[i] * scale - mean;
	return ldexp(mean + rest / (n > 0 ? (double)n : 1), e);
}

/* Scales z to unit length; false, with z all zero, if z has no length. */
static bool
normalise(double *z, size_t n, double *norm)
{
	double length = cblas_dnrm2((int)n, z, 1), inverse = length > 0 ? 1 / length : 0;

	for (size_t i = 0; i < n; i++)
		z[i] *= inverse;
	*norm = length;
	return length > 0;
}

bool
column_standardise(const double *x, size_t n, bool centre, double *z, struct standard *s)
{
	double min, max, scale;
	int e;
	bool varies;

	range_of(x, n, &min, &max);
	e = exponent_of(min, max);
	scale = ldexp(1, -e);
	for (size_t i = 0; i < n; i++)
		z[i] = x[i] * scale;
	*s = (struct standard){ 0, 0, 0 };
	if (centre && min == max) {
		s->mean = min * scale;
		for (size_t i = 0; i < n; i++)
			z[i] = 0;
	} else if (centre && n > 0) {
		double first = subtract_mean(z, n), second = subtract_mean(z, n);

		s->mean = first + second;
		s->mean_rest = second - (s->mean - first);
	}
	varies = normalise(z, n, &s->norm);
	s->mean = ldexp(s->mean, e);
	s->mean_rest = ldexp(s->mean_rest, e);
	s->norm = ldexp(s->norm, e);
	return varies;
}

/*
 * With d = x - mean and g = mean - origin, (x - origin)^2 = d (d + 2 g) + g^2: no cancellation,
 * where squaring first loses (mean / sd)^2 eps. Whether the squares are constant (origin between
 * two equally frequent values) is decided on the rounded squares, with the error of a rounded
 * origin.
 */
bool
square_standardise(
    const double *x, size_t n, double origin, bool centre, double *z, struct standard *s)
{
	double min, max, scale, mean, g, o, lo = INFINITY, hi = 0, noise;
	int e;
	bool varies;

	range_of(x, n, &min, &max);
	e = exponent_of(min, max);
	scale = ldexp(1, -e);
	o = origin * scale;
	for (size_t i = 0; i < n; i++) {
		double u = x[i] * scale - o;

		z[i] = x[i] * scale;
		lo = fmin(lo, u * u);
		hi = fmax(hi, u * u);
	}
	noise = o != 0 ? 4 * DBL_EPSILON * sqrt(hi) * (fabs(o) + sqrt(hi)) : 0;
	*s = (struct standard){ 0, 0, 0 };
	if (centre && hi - lo <= noise) {
		s->mean = hi;
		for (size_t i = 0; i < n; i++)
			z[i] = 0;
	} else if (centre && n > 0) {
		mean = subtract_mean(z, n);
		g = subtract_mean(z, n);
		mean += g;
		g = mean - o;
		for (size_t i = 0; i < n; i++)
			z[i] *= z[i] + 2 * g;
		s->mean = subtract_mean(z, n);
		s->mean += subtract_mean(z, n) + g * g;
	} else
		for (size_t i = 0; i < n; i++)
			z[i] = (z[i] - o) * (z[i] - o);
	varies = normalise(z, n, &s->norm);
	s->mean = ldexp(s->mean, 2 * e);
	s->norm = ldexp(s->norm, 2 * e);
	return varies;
}
