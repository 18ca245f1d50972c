/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/prom_window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_BACK_NS INT64_C(300000000000) /* how old the newest sample of a selector may be */

struct ranked {
	double v;
	uint32_t sample;
};

struct prom_windows {
	const struct promql_selector *q;
	const struct prom_sample *s;
	size_t n, low, high, split;
	double *behind; /* of sum, min, max and falls; of quantiles the values, sorted */
	double front;
	uint32_t *rank, *count; /* of quantiles: place of each sample among the sorted; the tree */
	struct ranked *ranked;
	size_t top; /* the largest power of two that is at most n */
};

int64_t
prom_window_ns(const struct promql_selector *q)
{
	return q->function == PROMQL_INSTANT ? LOOK_BACK_NS : q->range_ns;
}

static double
seconds(int64_t ns)
{
	return (double)ns / 1e9;
}

static bool
is_counter(const struct promql_selector *q)
{
	return q->function == PROMQL_RATE || q->function == PROMQL_INCREASE;
}

/* --- sums, extremes, falls of counters --- */

static double
join(const struct prom_windows *w, double a, double b)
{
	return w->q->function == PROMQL_MIN ? fmin(a, b)
	    : w->q->function == PROMQL_MAX  ? fmax(a, b)
					    : a + b;
}

/* What sample i adds; of a counter, what the counter had before a restart from 0. */
static double
part(const struct prom_windows *w, size_t i)
{
	if (!is_counter(w->q))
		return w->s[i].v;
	return w->s[i].v < w->s[i - 1].v ? w->s[i - 1].v : 0;
}

/* The aggregate of samples first..high-1, of which there is one at least; `first` never falls. */
static double
aggregate(struct prom_windows *w, size_t first)
{
	size_t i;

	if (first >= w->split) {
		w->behind[w->high - 1] = part(w, w->high - 1);
		for (i = w->high - 1; i-- > first;)
			w->behind[i] = join(w, part(w, i), w->behind[i + 1]);
		w->split = w->high;
	}
	return w->high > w->split ? join(w, w->behind[first], w->front) : w->behind[first];
}

static void
front_add(struct prom_windows *w, size_t i)
{
	if (i >= w->split)
		w->front = i == w->split ? part(w, i) : join(w, w->front, part(w, i));
}

/*
 * The gain of a counter extrapolated to the ends of the window: to an end that is nearer than 1.1
 * mean distances of samples, else by half a distance, and not beyond the time at which the counter
 * was 0 (extrapolatedRate() of Prometheus).
 */
static double
increase(struct prom_windows *w, int64_t end_ns)
{
	const struct prom_sample *s = w->s + w->low;
	size_t n = w->high - w->low;
	double sampled = seconds(s[n - 1].t_wall_ns - s[0].t_wall_ns),
	       sum = s[n - 1].v - s[0].v + aggregate(w, w->low + 1);
	double before = seconds(s[0].t_wall_ns - (end_ns - w->q->range_ns)),
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

/* --- quantiles --- */

static int
by_value(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->v > y->v) - (x->v < y->v);
}

static void
ranks_make(struct prom_windows *w)
{
	struct ranked *all = w->ranked;
	size_t i;

	for (i = 0; i < w->n; i++)
		all[i] = (struct ranked){ w->s[i].v, (uint32_t)i };
	qsort(all, w->n, sizeof(*all), by_value);
	for (i = 0; i < w->n; i++) {
		w->behind[i] = all[i].v;
		w->rank[all[i].sample] = (uint32_t)i;
	}
	memset(w->count, 0, (w->n + 1) * sizeof(*w->count));
	for (w->top = 1; 2 * w->top <= w->n;)
		w->top *= 2;
}

/* Sample i enters (1) or leaves (-1). */
static void
rank_count(struct prom_windows *w, size_t i, int change)
{
	size_t at;

	for (at = w->rank[i] + 1; at <= w->n; at += at & -at)
		w->count[at] += (uint32_t)change;
}

/* The value with k smaller values of the window before it. */
static double
value_at(const struct prom_windows *w, size_t k)
{
	size_t at = 0, step;

	for (step = w->top; step > 0; step /= 2)
		if (at + step <= w->n && w->count[at + step] <= k)
			k -= w->count[at += step];
	return w->behind[at];
}

static double
quantile(const struct prom_windows *w)
{
	double at = w->q->quantile, last = (double)(w->high - w->low - 1), rank = at * last,
	       low = floor(rank);

	if (isnan(at))
		return NAN;
	if (at < 0 || at > 1)
		return at < 0 ? -INFINITY : INFINITY;
	return value_at(w, (size_t)low) * (1 - (rank - low)) +
	    value_at(w, (size_t)fmin(low + 1, last)) * (rank - low);
}

/* --- windows --- */

struct prom_windows *
prom_windows_new(const struct promql_selector *q, size_t samples_max)
{
	struct prom_windows *w = calloc(1, sizeof(*w));
	bool ranks = q->function == PROMQL_QUANTILE;

	if (w == NULL)
		return NULL;
	w->q = q;
	w->behind = calloc(samples_max, sizeof(*w->behind));
	if (ranks) {
		w->rank = calloc(samples_max, sizeof(*w->rank));
		w->count = calloc(samples_max + 1, sizeof(*w->count));
		w->ranked = calloc(samples_max, sizeof(*w->ranked));
	}
	if (w->behind == NULL ||
	    (ranks && (w->rank == NULL || w->count == NULL || w->ranked == NULL))) {
		prom_windows_free(w);
		return NULL;
	}
	return w;
}

void
prom_windows_free(struct prom_windows *w)
{
	if (w == NULL)
		return;
	free(w->behind);
	free(w->rank);
	free(w->count);
	free(w->ranked);
	free(w);
}

void
prom_windows_begin(struct prom_windows *w, const struct prom_sample *s, size_t n)
{
	w->s = s;
	w->n = n;
	w->low = w->high = w->split = 0;
	if (w->q->function == PROMQL_QUANTILE)
		ranks_make(w);
}

static void
move(struct prom_windows *w, int64_t end_ns)
{
	int64_t begin_ns = end_ns - prom_window_ns(w->q);
	bool ranks = w->q->function == PROMQL_QUANTILE;

	for (; w->high < w->n && w->s[w->high].t_wall_ns <= end_ns; w->high++)
		if (ranks)
			rank_count(w, w->high, 1);
		else if (w->high >= w->split && (w->high > 0 || !is_counter(w->q)))
			front_add(w, w->high);
	for (; w->low < w->high && w->s[w->low].t_wall_ns < begin_ns; w->low++)
		if (ranks)
			rank_count(w, w->low, -1);
}

/* The rate between the last two samples; a counter that falls has begun again at 0. */
static double
last_rate(const struct prom_windows *w)
{
	const struct prom_sample *b = &w->s[w->high - 1], *a = b - 1;

	return (b->v < a->v ? b->v : b->v - a->v) / seconds(b->t_wall_ns - a->t_wall_ns);
}

static double
over_time(struct prom_windows *w)
{
	switch (w->q->function) {
	case PROMQL_AVG: return aggregate(w, w->low) / (double)(w->high - w->low);
	case PROMQL_MIN:
	case PROMQL_MAX:
	case PROMQL_SUM: return aggregate(w, w->low);
	case PROMQL_COUNT: return (double)(w->high - w->low);
	case PROMQL_QUANTILE: return quantile(w);
	case PROMQL_IRATE: return last_rate(w);
	default: return w->s[w->high - 1].v;
	}
}

double
prom_windows_at(struct prom_windows *w, int64_t end_ns, bool *has)
{
	move(w, end_ns);
	*has = w->high > w->low;
	if (w->q->function == PROMQL_IRATE)
		*has = w->high - w->low > 1 &&
		    w->s[w->high - 1].t_wall_ns > w->s[w->high - 2].t_wall_ns;
	if (!is_counter(w->q))
		return *has ? over_time(w) : NAN;
	*has = w->high - w->low > 1 && w->s[w->high - 1].t_wall_ns > w->s[w->low].t_wall_ns;
	if (!*has)
		return NAN;
	return increase(w, end_ns) / (w->q->function == PROMQL_RATE ? seconds(w->q->range_ns) : 1);
}
