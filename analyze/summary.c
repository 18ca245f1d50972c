/* SPDX-License-Identifier: BSD-3-Clause */
/* Running summaries. See narrows/summary.h for the formulas. */
#include "narrows/summary.h"

#include <math.h>

/* Between these bounds, delta^2 n neither overflows nor loses digits, whatever n. */
#define ORDINARY_MIN 1e-120
#define ORDINARY_MAX 1e120
#define UNIT_EXP_MAX 1000 /* largest exponent: 2^+-1000 and the inverse are doubles */

/* Exponent of the unit in which deviations of values up to `largest` have squares. */
static int
unit_for(double largest)
{
	int exp = 0;

	if (largest != 0 && (largest < ORDINARY_MIN || largest > ORDINARY_MAX))
		frexp(largest, &exp);
	return exp > UNIT_EXP_MAX ? UNIT_EXP_MAX : exp < -UNIT_EXP_MAX ? -UNIT_EXP_MAX : exp;
}

static int
summary_unit(const struct nw_summary *s)
{
	return unit_for(-s->min > s->max ? -s->min : s->max);
}

static void
set_unit(struct nw_summary *s, int exp)
{
	if (s->m2_exp != exp)
		s->m2 = ldexp(s->m2, 2 * (s->m2_exp - exp));
	s->m2_exp = exp;
}

/* Moves the mean by `share` of the way to `to` and m2 by `weight` times the squared distance. Half
 * the distance is a double even between the largest and the smallest one. */
static void
shift(struct nw_summary *s, double to, double share, double weight)
{
	double half = ldexp(to, -s->m2_exp - 1) - ldexp(s->mean, -s->m2_exp - 1);

	s->mean += ldexp(2 * half * share, s->m2_exp);
	s->m2 += 4 * half * half * weight;
}

void
nw_summary_add(struct nw_summary *s, double v)
{
	double delta, n, size = fabs(v);

	if (!isfinite(v))
		return;
	if (s->n == 0) {
		*s = (struct nw_summary){
			.n = 1, .mean = v, .min = v, .max = v, .sum = v, .m2_exp = unit_for(size)
		};
		return;
	}
	n = (double)++s->n;
	if (v < s->min)
		s->min = v;
	if (v > s->max)
		s->max = v;
	s->sum += v;
	if (s->m2_exp == 0 && size <= ORDINARY_MAX && (size >= ORDINARY_MIN || v == 0)) {
		delta = v - s->mean;
		s->mean += delta / n;
		s->m2 += delta * (v - s->mean);
	} else {
		set_unit(s, summary_unit(s));
		shift(s, v, 1 / n, (n - 1) / n);
	}
}

void
nw_summary_merge(struct nw_summary *s, const struct nw_summary *from)
{
	struct nw_summary b = *from;
	double share;

	if (b.n == 0)
		return;
	if (s->n == 0) {
		*s = b;
		return;
	}
	if (b.min < s->min)
		s->min = b.min;
	if (b.max > s->max)
		s->max = b.max;
	s->sum += b.sum;
	set_unit(s, summary_unit(s));
	set_unit(&b, s->m2_exp);
	share = (double)b.n / ((double)s->n + (double)b.n);
	shift(s, b.mean, share, share * (double)s->n);
	s->m2 += b.m2;
	s->n += b.n;
}

/* Neumaier 1974: the sum of v * scale as if in twice the precision. A sum that overflows stays
 * infinite. */
static double
sum_compensated(const double *v, size_t n, double scale)
{
	double sum = 0, low = 0, t, x;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!isfinite(v[i]))
			continue;
		x = v[i] * scale;
		t = sum + x;
		low += fabs(sum) >= fabs(x) ? (sum - t) + x : (x - t) + sum;
		sum = t;
	}
	return isfinite(sum) ? sum + low : sum;
}

static void
find_range(struct nw_summary *s, const double *v, size_t n)
{
	size_t i;

	s->min = INFINITY;
	s->max = -INFINITY;
	for (i = 0; i < n; i++) {
		if (!isfinite(v[i]))
			continue;
		if (v[i] < s->min)
			s->min = v[i];
		if (v[i] > s->max)
			s->max = v[i];
		s->n++;
	}
}

struct nw_summary
nw_summary_of(const double *v, size_t n)
{
	struct nw_summary s = { 0 };
	double scale, mean, d, rest = 0;
	size_t i;

	find_range(&s, v, n);
	if (s.n == 0)
		return (struct nw_summary){ 0 };
	s.sum = sum_compensated(v, n, 1);
	s.m2_exp = summary_unit(&s);
	if (s.min == s.max) { /* sum / n may miss the constant by a bit */
		s.mean = s.min;
		return s;
	}
	scale = ldexp(1, -s.m2_exp);
	mean = sum_compensated(v, n, scale) / (double)s.n;
	for (i = 0; i < n; i++) {
		if (!isfinite(v[i]))
			continue;
		d = v[i] * scale - mean;
		s.m2 += d * d;
		rest += d;
	}
	s.m2 -= rest * rest / (double)s.n; /* correction for the rounding of the mean */
	s.mean = ldexp(mean, s.m2_exp);
	return s;
}

double
nw_summary_variance(const struct nw_summary *s)
{
	return s->n < 2 ? 0 : ldexp(s->m2 / (double)(s->n - 1), 2 * s->m2_exp);
}

double
nw_summary_sd(const struct nw_summary *s)
{
	return s->n < 2 ? 0 : ldexp(sqrt(s->m2 / (double)(s->n - 1)), s->m2_exp);
}
