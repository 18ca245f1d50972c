/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of PromQL against values worked out by hand after Prometheus' definition. Times are
 * seconds, windows end at 100 s and are 60 s long. */
#include "web/query/prom_window.h"

#include "tests/check.h"

enum { SAMPLES = 8, END_S = 100, RANGE_S = 60 };
#define S INT64_C(1000000000)

struct window {
	size_t n;
	double t_s[SAMPLES], v[SAMPLES];
};

static double
run(enum promql_function function, double quantile, const struct window *w, bool *has)
{
	static struct promql_selector q;
	struct prom_sample s[SAMPLES];
	struct prom_windows *windows;
	double v;
	size_t i;

	for (i = 0; i < w->n; i++)
		s[i] = (struct prom_sample){ (int64_t)(w->t_s[i] * 1e9), w->v[i] };
	q.function = function;
	q.range_ns = RANGE_S * S;
	q.quantile = quantile;
	windows = prom_windows_new(&q, SAMPLES);
	prom_windows_begin(windows, s, w->n);
	v = prom_windows_at(windows, END_S * S, has);
	prom_windows_free(windows);
	return v;
}

static void
test_increase(void)
{
	static const struct {
		const char *what;
		struct window w;
		double increase;
	} cases[] = {
		{ "samples fill the window", { 4, { 40, 60, 80, 100 }, { 0, 20, 40, 60 } }, 60 },
		/* 10 s to each end, mean distance 20 s: to both ends */
		{ "near both ends", { 3, { 50, 70, 90 }, { 100, 120, 140 } }, 60 },
		/* 5 and 45 s to the ends, mean distance 5 s: half a distance behind */
		{ "far from the end", { 3, { 45, 50, 55 }, { 100, 110, 120 } }, 20 * 17.5 / 10 },
		/* 35 s before, mean distance 10 s: half a distance before */
		{ "far from the begin", { 3, { 75, 85, 95 }, { 100, 110, 120 } }, 20 * 30.0 / 20 },
		/* the counter was 0 two seconds before its first sample */
		{ "not before 0", { 3, { 50, 70, 90 }, { 2, 22, 42 } }, 40 * 52.0 / 40 },
		{ "a restart", { 4, { 40, 60, 80, 100 }, { 50, 90, 10, 30 } }, 70 },
		{ "two restarts", { 4, { 40, 60, 80, 100 }, { 5, 1, 3, 2 } }, 5 },
		{ "nothing happens", { 4, { 40, 60, 80, 100 }, { 7, 7, 7, 7 } }, 0 },
	};
	double v;
	size_t i;
	bool has;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		v = run(PROMQL_INCREASE, 0, &cases[i].w, &has);
		CHECK(has);
		if (!(fabs(v - cases[i].increase) < 1e-9))
			fprintf(stderr, "%s:\n", cases[i].what);
		CHECK_NEAR(v, cases[i].increase, 1e-12, 1e-12);
		CHECK_NEAR(run(PROMQL_RATE, 0, &cases[i].w, &has), cases[i].increase / RANGE_S,
		    1e-12, 1e-12);
	}
}

/* Only the last two samples count; a restart counts from 0. */
static void
test_irate(void)
{
	static const struct window rises = { 4, { 50, 60, 80, 90 }, { 1, 900, 20, 50 } },
				   restart = { 3, { 50, 80, 90 }, { 0, 500, 20 } },
				   two_at_once = { 3, { 50, 90, 90 }, { 0, 500, 20 } },
				   one_left = { 2, { 39, 90 }, { 0, 20 } };
	bool has;

	CHECK_NEAR(run(PROMQL_IRATE, 0, &rises, &has), 3, 1e-12, 0);
	CHECK(has);
	CHECK_NEAR(run(PROMQL_IRATE, 0, &restart, &has), 2, 1e-12, 0);
	run(PROMQL_IRATE, 0, &two_at_once, &has);
	CHECK(!has);
	run(PROMQL_IRATE, 0, &one_left, &has);
	CHECK(!has);
}

static void
test_too_few(void)
{
	static const struct window none = { 0 }, one = { 1, { 90 }, { 5 } },
				   same = { 2, { 90, 90 }, { 5, 6 } };
	bool has;

	CHECK(isnan(run(PROMQL_RATE, 0, &none, &has)) && !has);
	CHECK(isnan(run(PROMQL_RATE, 0, &one, &has)) && !has);
	CHECK(isnan(run(PROMQL_INCREASE, 0, &same, &has)) && !has);
	CHECK(isnan(run(PROMQL_AVG, 0, &none, &has)) && !has);
	CHECK(run(PROMQL_AVG, 0, &one, &has) == 5 && has);
}

static void
test_over_time(void)
{
	static const struct window w = { 5, { 60, 70, 80, 90, 95 }, { 4, -1, 9, 2, 3 } };
	static const struct {
		enum promql_function function;
		double quantile, v;
	} cases[] = {
		{ PROMQL_INSTANT, 0, 3 },
		{ PROMQL_LAST, 0, 3 },
		{ PROMQL_AVG, 0, 3.4 },
		{ PROMQL_MIN, 0, -1 },
		{ PROMQL_MAX, 0, 9 },
		{ PROMQL_SUM, 0, 17 },
		{ PROMQL_COUNT, 0, 5 },
		{ PROMQL_QUANTILE, 0, -1 },
		{ PROMQL_QUANTILE, 0.5, 3 },
		{ PROMQL_QUANTILE, 0.6, 3.4 },
		{ PROMQL_QUANTILE, 1, 9 },
	};
	size_t i;
	bool has;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_NEAR(
		    run(cases[i].function, cases[i].quantile, &w, &has), cases[i].v, 1e-12, 0);
		CHECK(has);
	}
	CHECK(run(PROMQL_QUANTILE, -0.1, &w, &has) == -INFINITY && has);
	CHECK(run(PROMQL_QUANTILE, 1.1, &w, &has) == INFINITY && has);
	CHECK(isnan(run(PROMQL_QUANTILE, NAN, &w, &has)) && has);
}

/* --- windows that move, against each window computed by itself --- */

enum { MANY = 5000, STEPS = 800, ROUNDS = 40 };

/* Noise with gaps, falls, equal values, and now and then infinities: NaN never reaches a window. */
static void
samples_make(struct prom_sample *s, size_t n, unsigned round)
{
	int64_t t = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		t += rand() % 100 == 0 ? 90 * S : rand() % (2 * S);
		s[i].t_wall_ns = t;
		s[i].v = round % 4 == 0 ? rand() % 5
		    : round % 4 == 1    ? 1e15 + rand() % 1000
					: rand() / 1e3;
		if (round % 4 == 3 && rand() % 300 == 0)
			s[i].v = rand() % 2 ? INFINITY : -INFINITY;
	}
}

/* As near as the order of additions allows: `scale` is the sum of all sizes of what is added. */
static bool
same(double a, double b, double scale)
{
	return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= 1e-12 * fmax(fabs(b), scale);
}

static void
check_moving(enum promql_function function, const struct prom_sample *s, size_t n, int64_t range,
    double quantile)
{
	static struct promql_selector q;
	struct prom_windows *moving, *alone;
	int64_t step = s[n - 1].t_wall_ns / STEPS, end;
	size_t k, low = 0, high = 0, i;
	bool has_a, has_b;
	double a, b, scale;

	q.function = function;
	q.range_ns = range;
	q.quantile = quantile;
	moving = prom_windows_new(&q, n);
	alone = prom_windows_new(&q, n);
	prom_windows_begin(moving, s, n);
	for (k = 0; k < STEPS; k++) {
		end = (int64_t)k * step;
		while (high < n && s[high].t_wall_ns <= end)
			high++;
		while (low < high && s[low].t_wall_ns < end - prom_window_ns(&q))
			low++;
		prom_windows_begin(alone, s + low, high - low);
		a = prom_windows_at(moving, end, &has_a);
		b = prom_windows_at(alone, end, &has_b);
		CHECK(has_a == has_b);
		for (i = low, scale = 0; i < high; i++)
			scale += isfinite(s[i].v) ? fabs(s[i].v) : 0;
		if (function == PROMQL_AVG && high > low)
			scale /= (double)(high - low);
		if (!same(a, b, function == PROMQL_QUANTILE ? 0 : scale))
			fprintf(stderr, "function %d step %zu: %.17g, alone %.17g\n", function, k,
			    a, b);
		CHECK(same(a, b, function == PROMQL_QUANTILE ? 0 : scale));
	}
	prom_windows_free(moving);
	prom_windows_free(alone);
}

static int
by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A window by itself, computed from its values in their order. */
static void
check_plain(const struct prom_sample *s, size_t n)
{
	static const double at[] = { 0, 0.1, 0.5, 0.99, 1 };
	static struct promql_selector q;
	struct prom_windows *w;
	double *v = calloc(n, sizeof(*v)), sum = 0, min = s[0].v, max = s[0].v, size = 0, rank;
	const enum promql_function functions[] = { PROMQL_SUM, PROMQL_AVG, PROMQL_MIN, PROMQL_MAX,
		PROMQL_COUNT, PROMQL_LAST };
	size_t i, low;
	bool has;

	for (i = 0; i < n; i++) {
		v[i] = s[i].v;
		sum += v[i];
		size += isfinite(v[i]) ? fabs(v[i]) : 0;
		min = fmin(min, v[i]);
		max = fmax(max, v[i]);
	}
	const double want[] = { sum, sum / (double)n, min, max, (double)n, v[n - 1] };

	qsort(v, n, sizeof(*v), by_number);
	q.range_ns = s[n - 1].t_wall_ns + S;
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		q.function = functions[i];
		w = prom_windows_new(&q, n);
		prom_windows_begin(w, s, n);
		CHECK(same(prom_windows_at(w, s[n - 1].t_wall_ns, &has), want[i],
			  functions[i] == PROMQL_SUM       ? size
			      : functions[i] == PROMQL_AVG ? size / (double)n
							   : 0) &&
		    has);
		prom_windows_free(w);
	}
	q.function = PROMQL_QUANTILE;
	w = prom_windows_new(&q, n);
	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		q.quantile = at[i];
		rank = at[i] * (double)(n - 1);
		low = (size_t)rank;
		prom_windows_begin(w, s, n);
		CHECK(same(prom_windows_at(w, s[n - 1].t_wall_ns, &has),
		    v[low] * (1 - (rank - (double)low)) +
			v[low + 1 < n ? low + 1 : n - 1] * (rank - (double)low),
		    0));
	}
	prom_windows_free(w);
	free(v);
}

static void
test_moving(void)
{
	static struct prom_sample s[MANY];
	static const enum promql_function all[] = { PROMQL_INSTANT, PROMQL_RATE, PROMQL_INCREASE,
		PROMQL_AVG, PROMQL_MIN, PROMQL_MAX, PROMQL_SUM, PROMQL_LAST, PROMQL_COUNT,
		PROMQL_QUANTILE };
	unsigned round;
	size_t i;

	srand(7);
	for (round = 0; round < ROUNDS; round++) {
		size_t n = round < 4 ? round + 1 : 1 + (size_t)rand() % MANY;

		samples_make(s, n, round);
		check_plain(s, n);
		for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
			check_moving(all[i], s, n, (1 + rand() % 600) * S, rand() % 11 / 10.0);
	}
}

int
main(void)
{
	test_moving();
	test_increase();
	test_irate();
	test_too_few();
	test_over_time();
	return check_done("test_prom_window");
}
