/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/prom_window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double
seconds(int64_t ns)
{
	return (double)ns / 1e9;
}

/* What a counter gained: a fall is a restart from 0. */
static double
gain(const struct prom_sample *s, size_t n)
{
	double sum = s[n - 1].v - s[0].v;
	size_t i;

	for (i = 1; i < n; i++)
		if (s[i].v < s[i - 1].v)
			sum += s[i - 1].v;
	return sum;
}

/*
 * The gain extrapolated to the ends of the window: to an end that is nearer than 1.1 mean distances
 * of samples, else by half a distance, and not beyond the time at which the counter was 0
 * (extrapolatedRate() of Prometheus).
 */
static double
increase(const struct promql *q, const struct prom_sample *s, size_t n, int64_t end_ns)
{
	double sampled = seconds(s[n - 1].t_wall_ns - s[0].t_wall_ns), sum = gain(s, n);
	double before = seconds(s[0].t_wall_ns - (end_ns - q->range_ns)),
	       after = seconds(end_ns - s[n - 1].t_wall_ns);
	double mean = sampled / (double)(n - 1), whole = sampled, zero;

	if (sum > 0 && s[0].v >= 0) {
		zero = sampled * (s[0].v / sum);
		before = fmin(before, zero);
	}
	whole += before < mean * 1.1 ? before : mean / 2;
	whole += after < mean * 1.1 ? after : mean / 2;
	return sum * (whole / sampled);
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
quantile(double at, double *v, size_t n)
{
	double rank, low;

	if (isnan(at))
		return NAN;
	if (at < 0 || at > 1)
		return at < 0 ? -INFINITY : INFINITY;
	qsort(v, n, sizeof(*v), by_value);
	rank = at * (double)(n - 1);
	low = floor(rank);
	return v[(size_t)low] * (1 - (rank - low)) +
	    v[(size_t)fmin(low + 1, (double)(n - 1))] * (rank - low);
}

static double
over_time(const struct promql *q, const struct prom_sample *s, size_t n, double *scratch)
{
	double sum = 0, min = s[0].v, max = s[0].v;
	size_t i;

	for (i = 0; i < n; i++) {
		scratch[i] = s[i].v;
		sum += s[i].v;
		min = fmin(min, s[i].v);
		max = fmax(max, s[i].v);
	}
	switch (q->function) {
	case PROMQL_AVG: return sum / (double)n;
	case PROMQL_MIN: return min;
	case PROMQL_MAX: return max;
	case PROMQL_SUM: return sum;
	case PROMQL_COUNT: return (double)n;
	case PROMQL_QUANTILE: return quantile(q->quantile, scratch, n);
	default: return s[n - 1].v;
	}
}

double
prom_window(const struct promql *q, const struct prom_sample *s, size_t n, int64_t end_ns,
    double *scratch, bool *has)
{
	*has = n > 0;
	if (q->function == PROMQL_RATE || q->function == PROMQL_INCREASE) {
		*has = n > 1 && s[n - 1].t_wall_ns > s[0].t_wall_ns;
		if (!*has)
			return NAN;
		return increase(q, s, n, end_ns) /
		    (q->function == PROMQL_RATE ? seconds(q->range_ns) : 1);
	}
	return *has ? over_time(q, s, n, scratch) : NAN;
}
