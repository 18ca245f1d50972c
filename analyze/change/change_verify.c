/* SPDX-License-Identifier: BSD-3-Clause */
/* The significant and useful changes of a segmentation. See narrows/changepoint.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/change/changepoint_in.h"
#include "analyze/quantile.h"

#define TRIM          0.95 /* counted share of the squared differences: the smaller part */
#define LAG_SHARE     8    /* lags reach up to an eighth of the series */
#define R_MAX         0.95
#define RESIDUAL_MAX  0.98
#define R_NOISE       5.0 /* noise of change_memory(), times sqrt n */
#define RHO_NOISE     3.0 /* least autocorrelation told from noise, times sqrt n */
#define SHRINK_N      60  /* shorter series correct the residuals' autocorrelation by less */
#define SPREAD_USEFUL 1.5 /* least useful ratio of two standard deviations */
#define BINS          64
#define NEWTON_STEPS  40

enum { LAGS_MAX = 24 };

/* --- memory: how much more the mean of a stretch varies than that of independent values --- */

struct memory {
	size_t n_lags;
	size_t lag[LAGS_MAX + 1]; /* the last entry is the lag where the correlation is 0 */
	double rho[LAGS_MAX + 1];
};

/* Mean of the smaller squared differences at a lag, the share `trim` of all, inside segments; NaN
 * with too few pairs. */
static double
variogram(const struct change_series *s, size_t lag, double trim)
{
	size_t m = 0, i, k, end;
	double sum = 0;

	for (k = 0; k < s->n_starts; k++) {
		end = k + 1 < s->n_starts ? s->starts[k + 1] : s->n;
		for (i = s->starts[k] + lag; i < end; i++)
			s->scratch[m++] = pow(s->x[i] - s->x[i - lag], 2);
	}
	if (m < 2 || m < s->n / 2)
		return NAN;
	k = (size_t)ceil(trim * (double)m);
	(void)quantile_nth(s->scratch, m, k - 1);
	for (i = 0; i < k; i++)
		sum += s->scratch[i];
	return sum / (double)k;
}

double
change_memory(const double *x, size_t n, double *scratch)
{
	size_t start = 0;
	struct change_series s = {
		.x = x, .n = n, .scratch = scratch, .starts = &start, .n_starts = 1
	};
	double one, two, far, r;

	if (n < LAG_SHARE)
		return 0;
	one = variogram(&s, 1, 1);
	two = variogram(&s, 2, 1);
	far = variogram(&s, n / LAG_SHARE, 1);
	r = fmin(two / one - 1, 1 - one / far);
	return one > 0 ? fmin(R_MAX, fmax(0, r - R_NOISE / sqrt((double)n))) : 0;
}

static size_t
next_lag(size_t lag)
{
	return lag + 1 + lag / 3;
}

/* Autocorrelations up to the first that noise could make; the far lags tell the variance. */
static void
memory_find(const struct change_series *s, struct memory *out)
{
	double v[LAGS_MAX], far = 0;
	size_t lag, i, n = 0;

	for (lag = 1; lag <= s->n / LAG_SHARE && n < LAGS_MAX; lag = next_lag(lag)) {
		v[n] = variogram(s, lag, TRIM);
		if (isnan(v[n]))
			break;
		out->lag[n++] = lag;
	}
	for (i = 2 * n / 3; i < n; i++)
		far += v[i] / (double)(n - 2 * n / 3);
	for (i = 0; i < n && far > 0; i++) {
		out->rho[i] = 1 - v[i] / far;
		if (out->rho[i] < RHO_NOISE / sqrt((double)s->n))
			break;
	}
	out->n_lags = far > 0 ? i : 0;
	out->lag[out->n_lags] = out->n_lags > 0 ? next_lag(out->lag[out->n_lags - 1]) : 1;
	out->rho[out->n_lags] = 0;
}

/* 1 + 2 sum (1 - lag/m) rho(lag), with rho linear between the lags of the table. */
static double
memory_factor(const struct memory *mem, double m)
{
	double sum = 0, share;
	size_t i, lag;

	for (i = 0; i < mem->n_lags; i++)
		for (lag = mem->lag[i]; lag < mem->lag[i + 1] && (double)lag < m; lag++) {
			share =
			    (double)(lag - mem->lag[i]) / (double)(mem->lag[i + 1] - mem->lag[i]);
			sum += (1 - (double)lag / m) *
			    (mem->rho[i] + share * (mem->rho[i + 1] - mem->rho[i]));
		}
	return 1 + 2 * sum;
}

/* The same for an AR(1), in closed form. */
static double
ar_factor(double r, double m)
{
	return 1 + 2 * (r / (1 - r) - r * (1 - pow(r, m)) / (m * (1 - r) * (1 - r)));
}

/* --- the test of one change --- */

/* The values of two neighbouring segments, in bins. */
struct pool {
	double n;
	double low, step; /* the first bin's least value, and the width of a bin */
	double count[BINS], value[BINS];
};

static int
pool_bin(const struct pool *p, double x)
{
	int k = p->step > 0 ? (int)((x - p->low) / p->step) : 0;

	return k < BINS ? k : BINS - 1;
}

static void
pool_fill(struct pool *p, const double *x, size_t n)
{
	double high = x[0];
	size_t i;
	int k;

	*p = (struct pool){ .n = (double)n, .low = x[0] };
	for (i = 0; i < n; i++) {
		p->low = fmin(p->low, x[i]);
		high = fmax(high, x[i]);
	}
	p->step = (high - p->low) / BINS;
	for (i = 0; i < n; i++) {
		k = pool_bin(p, x[i]);
		p->count[k]++;
		p->value[k] += x[i];
	}
	for (k = 0; k < BINS; k++)
		p->value[k] = p->count[k] > 0 ? p->value[k] / p->count[k] : 0;
}

/* The mean of values of the pool, each from its bin: never beyond the values of the pool, where
 * a rate would have no bound. */
static double
pool_mean(const struct pool *p, const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += p->value[pool_bin(p, x[i])];
	return sum / (double)n;
}

/* -ln mean(exp(t (x - a))) with its first two derivatives, scaled against overflow. */
static double
tilt(const struct pool *p, double a, double t, double *first, double *second)
{
	double m[3] = { 0 }, most = -INFINITY, d, w;

	for (int k = 0; k < BINS; k++)
		if (p->count[k] > 0)
			most = fmax(most, t * (p->value[k] - a));
	for (int k = 0; k < BINS; k++) {
		if (!(p->count[k] > 0))
			continue;
		d = p->value[k] - a;
		w = p->count[k] * exp(t * d - most);
		m[0] += w;
		m[1] += w * d;
		m[2] += w * d * d;
	}
	*first = m[1] / m[0];
	*second = m[2] / m[0] - *first * *first;
	return -(log(m[0] / p->n) + most);
}

/*
 * Cramer 1938: the chance that the mean of m values of the pool is as far out as `a` is about
 * exp(-m rate); rate = sup over t of t a - ln mean(exp(t x)), a concave function. Newton's method
 * finds the top, held between a t before the top and a t behind: left alone, a step leaps far
 * beyond where few values lie far out.
 */
static double
rate_of(const struct pool *p, double a)
{
	double t = 0, before = 0, behind = INFINITY, rate = 0, first, second, next, way;

	(void)tilt(p, a, 0, &first, &second);
	way = first < 0 ? 1 : -1;
	for (int step = 0; step < NEWTON_STEPS; step++) {
		rate = fmax(rate, tilt(p, a, way * t, &first, &second));
		if (way * first < 0)
			before = t;
		else
			behind = t;
		if (!(second > 1e-12) && before == t) /* `a` is the farthest value of the pool */
			break;
		next = t - way * first / second;
		if (fabs(next - t) < 1e-6 * (1 + t))
			break;
		if (!(next > before && next < behind))
			next = (before + behind) / 2;
		t = isinf(behind) && t > 0 ? fmin(next, 2 * t) : next;
	}
	return rate;
}

/* Two neighbouring segments. */
struct pair {
	const double *x;
	size_t n_left, n;
	double mean[2], sd[2];
	double r;         /* autocorrelation of the residuals, of both segments together */
	double plateau;   /* values per stretch of equal values */
	double r_plateau; /* the same with every stretch of equal values as a single value */
};

/* Residuals of a pair, whole or with stretches of equal values as one. */
struct residuals {
	double squares[2], products;
	size_t n;
};

static struct residuals
residuals_of(const struct pair *p, bool stretches)
{
	struct residuals s = { .n = 0 };
	double d, last = 0;

	for (size_t i = 0; i < p->n; i++) {
		bool right = i >= p->n_left;

		if (stretches && i > 0 && p->x[i] == p->x[i - 1])
			continue;
		d = p->x[i] - p->mean[right];
		s.squares[right] += d * d;
		s.products += i > 0 && i != p->n_left ? d * last : 0;
		last = d;
		s.n++;
	}
	return s;
}

/* Lag-1 autocorrelation without its bias (Kendall 1954); in short series the correction is itself
 * noise. */
static double
residual_r(const struct residuals *s)
{
	double all = s->squares[0] + s->squares[1], n = (double)s->n;
	double r = all > 0 ? s->products / all : 0;

	return fmin(RESIDUAL_MAX, fmax(0, r + (1 + 4 * r) / (n / 2) * fmin(1, n / SHRINK_N)));
}

static void
pair_init(struct pair *p, const struct change_series *s, size_t k)
{
	size_t from = s->starts[k - 1], end = k + 1 < s->n_starts ? s->starts[k + 1] : s->n, i;
	struct residuals all, stretches;
	double n[2];

	*p = (struct pair){ .x = s->x + from, .n_left = s->starts[k] - from, .n = end - from };
	n[0] = (double)p->n_left;
	n[1] = (double)(p->n - p->n_left);
	for (i = 0; i < p->n; i++)
		p->mean[i >= p->n_left] += p->x[i] / n[i >= p->n_left];
	all = residuals_of(p, false);
	stretches = residuals_of(p, true);
	p->sd[0] = sqrt(all.squares[0] / fmax(1, n[0] - 1));
	p->sd[1] = sqrt(all.squares[1] / fmax(1, n[1] - 1));
	p->r = residual_r(&all);
	p->r_plateau = residual_r(&stretches);
	p->plateau = (double)p->n / (double)stretches.n;
}

/* By how much dependence inflates the variance of the mean of m values. A report spread over
 * several windows makes plateaus: these, not the windows, are the values then. */
static double
pair_factor(const struct pair *p, const struct memory *mem, double m)
{
	double windows = ar_factor(p->r, m),
	       plateaus = p->plateau * ar_factor(p->r_plateau, fmax(1, m / p->plateau));

	return fmax(fmin(windows, plateaus), memory_factor(mem, m));
}

/* Exponent of the chance that the means of both segments part so far without a change. */
static double
means_part(const struct pair *p, const double *x, const struct memory *mem)
{
	size_t n[2] = { p->n_left, p->n - p->n_left };
	double evidence = 0, mean, m;
	struct pool pool;

	pool_fill(&pool, x, p->n);
	for (int side = 0; side < 2; side++) {
		const double *own = side == 0 ? x : x + n[0];

		m = (double)n[side];
		mean = pool_mean(&pool, own, n[side]);
		m /= pair_factor(p, mem, m);
		evidence += m * rate_of(&pool, mean);
	}
	return evidence;
}

/* |x - median of both segments|: a map of each value alone, so that without a change the deviations
 * are as exchangeable as the values. */
static void
deviations(const struct pair *p, double *out)
{
	double median;

	memcpy(out, p->x, p->n * sizeof(*out));
	median = quantile(out, p->n, 0.5);
	for (size_t i = 0; i < p->n; i++)
		out[i] = fabs(p->x[i] - median);
}

static double
useful_least(const struct change_series *s, const struct pair *p)
{
	double level = fmax(fabs(p->mean[0] + s->level), fabs(p->mean[1] + s->level));

	return fmax(s->least, s->useful * level);
}

static bool
mean_is_useful(const struct change_series *s, const struct pair *p)
{
	return fabs(p->mean[1] - p->mean[0]) >= useful_least(s, p);
}

static bool
spread_is_useful(const struct change_series *s, const struct pair *p)
{
	double low = fmin(p->sd[0], p->sd[1]), high = fmax(p->sd[0], p->sd[1]);

	return high >= SPREAD_USEFUL * low && high >= useful_least(s, p);
}

/* Evidence for the change at starts[k]; 0 for a change of no use. */
static double
change_evidence(const struct change_series *s, const struct memory *mem, size_t k)
{
	struct pair p;
	double evidence = 0;

	pair_init(&p, s, k);
	if (mean_is_useful(s, &p))
		evidence = means_part(&p, p.x, mem);
	if (spread_is_useful(s, &p)) {
		deviations(&p, s->scratch);
		evidence = fmax(evidence, means_part(&p, s->scratch, mem) - log(2));
	}
	return evidence;
}

/* The least evidence that counts, found by simulation (tests/calibrate). It grows with the number
 * of places to look at. In a minute of values the autocorrelation is known badly, hence the 10;
 * shorter series are the exception, as clear steps cannot give as much there. */
static double
evidence_needed(double n)
{
	return fmin(1.5 + 0.14 * n, fmax(10, 2.5 * log(n) - 2));
}

void
change_verify(struct change_series *s)
{
	const double needed = evidence_needed((double)s->n);
	struct memory mem;
	double *evidence = s->evidence;
	size_t k, weakest;

	memory_find(s, &mem);
	for (k = 1; k < s->n_starts; k++)
		evidence[k] = change_evidence(s, &mem, k);
	while (s->n_starts > 1) {
		for (k = 2, weakest = 1; k < s->n_starts; k++)
			if (evidence[k] < evidence[weakest])
				weakest = k;
		if (evidence[weakest] >= needed)
			break;
		s->n_starts--;
		memmove(s->starts + weakest, s->starts + weakest + 1,
		    (s->n_starts - weakest) * sizeof(*s->starts));
		memmove(evidence + weakest, evidence + weakest + 1,
		    (s->n_starts - weakest) * sizeof(*evidence));
		for (k = weakest > 1 ? weakest - 1 : 1; k <= weakest && k < s->n_starts; k++)
			evidence[k] = change_evidence(s, &mem, k);
	}
}
