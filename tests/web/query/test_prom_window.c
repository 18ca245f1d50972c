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
	static struct promql q;
	struct prom_sample s[SAMPLES];
	double scratch[SAMPLES];
	size_t i;

	for (i = 0; i < w->n; i++)
		s[i] = (struct prom_sample){ (int64_t)(w->t_s[i] * 1e9), w->v[i] };
	q.function = function;
	q.range_ns = RANGE_S * S;
	q.quantile = quantile;
	return prom_window(&q, s, w->n, END_S * S, scratch, has);
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

int
main(void)
{
	test_increase();
	test_too_few();
	test_over_time();
	return check_done("test_prom_window");
}
