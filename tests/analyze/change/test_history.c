/* SPDX-License-Identifier: BSD-3-Clause */
/* What histories say where there is something, and how often where there is nothing. */
#include "narrows/history.h"

#include "tests/check.h"
#include "tests/noise.h"

enum { TRIALS = 400, LONGEST = 200 };

/* Log rates: normal, with heavy tails, of two kinds, with memory, rounded. */
static double
noise_of(int shape, double *before)
{
	double z = noise_normal();

	switch (shape) {
	case 1: return 0.2 * z / fabs(noise_normal() + (noise_normal() > 0 ? 0.4 : -0.4));
	case 2: return (noise_uniform() < 0.3 ? -0.7 : 0) + 0.05 * z;
	case 3: return *before = 0.4 * *before + 0.2 * z;
	case 4: return floor(3 * z) / 10;
	default: return 0.2 * z;
	}
}

static void
rates_make(int shape, size_t n, size_t at, double step, double *rate)
{
	double before = 0;
	size_t i;

	for (i = 0; i < n; i++)
		rate[i] = 1e8 * exp(noise_of(shape, &before) - (i >= at ? step : 0));
}

static void
few_say_nothing(void)
{
	static const double same[8] = { 5, 5, 5, 5, 5, 5, 5, 5 };
	const double odd[3] = { NAN, -1, 0 };
	struct nw_usual u;

	CHECK_INT(nw_usual(same, 7, 1, &u), 0);
	CHECK_INT(u.said, NW_AGAINST_TOO_FEW);
	CHECK_NEAR(u.ratio, 5, 1e-12, 0);
	CHECK_INT(nw_usual(odd, 3, 1, &u), 0);
	CHECK_INT(u.n, 0);
	CHECK(isnan(u.median) && isnan(u.ratio));
	CHECK_INT(nw_usual(same, 8, 5, &u), 0);
	CHECK_INT(u.said, NW_AGAINST_USUAL);
	CHECK_INT(nw_usual(same, 8, NAN, &u), 0);
	CHECK_INT(u.said, NW_AGAINST_TOO_FEW);
}

static void
slow_is_named(void)
{
	double rate[214];
	struct nw_usual u;

	rates_make(0, 214, 214, 0, rate);
	CHECK_INT(nw_usual(rate, 214, 1e8 / 2.1, &u), 0);
	CHECK_INT(u.said, NW_AGAINST_SLOWER);
	CHECK_NEAR(u.ratio, 2.1, 0.1, 0);
	CHECK(u.slower_than > 0.97 && u.p < 0.02 && u.low < u.median && u.median < u.high);
	CHECK_INT(nw_usual(rate, 10, 2.5e8, &u), 0);
	CHECK_INT(u.said, NW_AGAINST_FASTER);
	CHECK(u.slower_than == 0);
}

/* The share of sessions like the others that are called slower. */
static void
usual_null(int shape, size_t n)
{
	double rate[LONGEST];
	struct nw_usual u;
	int t, slower = 0, trials = 4 * TRIALS;

	for (t = 0; t < trials; t++) {
		rates_make(shape, n + 1, n + 1, 0, rate);
		CHECK_INT(nw_usual(rate, n, rate[n], &u), 0);
		slower += u.said == NW_AGAINST_SLOWER;
	}
	printf("usual: shape %d, %zu earlier: slower in %.3f\n", shape, n, (double)slower / trials);
	CHECK((double)slower / trials < (shape == 3 ? 0.075 : 0.065));
}

static void
changes_null(int shape, size_t n)
{
	double rate[LONGEST];
	struct nw_route_changes c;
	int t, any = 0;

	for (t = 0; t < TRIALS; t++) {
		rates_make(shape, n, n, 0, rate);
		CHECK_INT(nw_route_changes(rate, n, &c), 0);
		any += c.n > 0;
	}
	printf("changes: shape %d, %zu sessions: one in %.3f\n", shape, n, (double)any / TRIALS);
	CHECK((double)any / TRIALS < (shape == 3 ? 0.13 : 0.05));
}

static void
change_found(size_t n, size_t at, double step)
{
	double rate[LONGEST];
	struct nw_route_changes c;
	int t, found = 0, covered = 0, width = 0;

	for (t = 0; t < TRIALS; t++) {
		rates_make(0, n, at, step, rate);
		CHECK_INT(nw_route_changes(rate, n, &c), 0);
		if (c.n == 0)
			continue;
		found++;
		covered += c.change[0].low <= at && at <= c.change[0].high;
		width += (int)(c.change[0].high - c.change[0].low);
	}
	printf("change of %.2f at %zu of %zu: found %.3f, covered %.3f, width %.1f\n", step, at, n,
	    (double)found / TRIALS, (double)covered / found, (double)width / found);
	CHECK((double)found / TRIALS > 0.95);
	CHECK((double)covered / found > 0.93);
}

/* A fall to a tenth stays a change when the rates behind it drift. */
static void
fall_with_drift(size_t n_behind)
{
	double rate[22 + 30];
	struct nw_route_changes c;
	size_t i;
	int t, found = 0;

	for (t = 0; t < TRIALS; t++) {
		for (i = 0; i < 22; i++)
			rate[i] = 18.5e6 * exp(0.06 * noise_normal());
		for (; i < 22 + n_behind; i++)
			rate[i] = 2.2e6 * exp(0.02 * noise_normal() - 0.025 * (double)(i - 22));
		CHECK_INT(nw_route_changes(rate, i, &c), 0);
		found += c.n > 0 && c.change[0].at == 22;
	}
	printf("fall with drift, %zu behind: found %.3f\n", n_behind, (double)found / TRIALS);
	CHECK((double)found / TRIALS > 0.97);
}

/* Of many alike and one or two slow ones: the next slow session is slow, too. */
static void
slow_again(size_t n_alike, size_t n_slow)
{
	double rate[24];
	struct nw_usual u;
	size_t i;
	int t, slower = 0;

	for (t = 0; t < TRIALS; t++) {
		for (i = 0; i < n_alike + n_slow; i++)
			rate[i] = (i < n_alike ? 18.5e6 : 2.1e6) * exp(0.06 * noise_normal());
		CHECK_INT(nw_usual(rate, i, 2.1e6 * exp(0.06 * noise_normal()), &u), 0);
		slower += u.said == NW_AGAINST_SLOWER;
	}
	printf("slow again, %zu alike and %zu slow: slower in %.3f\n", n_alike, n_slow,
	    (double)slower / TRIALS);
	CHECK((double)slower / TRIALS > 0.9);
}

/* A fall that ends again. */
static void
two_changes(void)
{
	double rate[90];
	struct nw_route_changes c;
	size_t i;
	int t, found = 0, covered = 0;

	for (t = 0; t < TRIALS; t++) {
		rates_make(0, 90, 90, 0, rate);
		for (i = 30; i < 60; i++)
			rate[i] /= 3;
		CHECK_INT(nw_route_changes(rate, 90, &c), 0);
		if (c.n != 2)
			continue;
		found++;
		covered += c.change[0].low <= 30 && 30 <= c.change[0].high &&
		    c.change[1].low <= 60 && 60 <= c.change[1].high;
		CHECK_NEAR(c.change[0].before / c.change[0].after, 3, 0.25, 0);
		CHECK_NEAR(c.change[1].after / c.change[1].before, 3, 0.25, 0);
	}
	printf("a fall that ends again: found %.3f, covered %.3f\n", (double)found / TRIALS,
	    (double)covered / found);
	CHECK((double)found / TRIALS > 0.3);
	CHECK((double)covered / found > 0.9);
}

/* n sessions a day at the hours of `group`, on `days` days. */
static bool
pattern_seen(int shape, size_t days, double evening, bool one_day, struct nw_pattern *p)
{
	static const struct nw_route_changes none;
	double rate[LONGEST];
	int64_t unit[LONGEST];
	unsigned group[LONGEST];
	size_t i, n = 4 * days;

	rates_make(shape, n, n, 0, rate);
	for (i = 0; i < n; i++) {
		unit[i] = (int64_t)(i / 4);
		group[i] = (unsigned)(i % 4);
		if (group[i] == 3 && (!one_day || i / 4 == 2))
			rate[i] /= evening;
	}
	CHECK_INT(nw_pattern(rate, unit, group, n, 6, &none, p), 0);
	return p->real;
}

static void
patterns(void)
{
	struct nw_pattern p;
	int t, real = 0, found = 0, once = 0;

	for (t = 0; t < TRIALS; t++) {
		real += pattern_seen(t % 5, 20, 1, false, &p);
		once += pattern_seen(0, 20, 5, true, &p);
		found += pattern_seen(0, 20, 1.5, false, &p) && p.slow == 3 && p.slow_ratio < 0.8;
	}
	printf("patterns: %.3f without, %.3f after one bad evening, %.3f with\n",
	    (double)real / TRIALS, (double)once / TRIALS, (double)found / TRIALS);
	CHECK((double)real / TRIALS < 0.03);
	CHECK((double)once / TRIALS < 0.03);
	CHECK((double)found / TRIALS > 0.9);
	CHECK(!pattern_seen(0, 2, 3, false, &p) && isnan(p.p));
}

int
main(int argc, char **argv)
{
	static const size_t sizes[] = { 8, 12, 18, 19, 40, 150 }, lengths[] = { 8, 30, 100 };
	size_t i;
	int shape;

	noise_seed(argc, argv, 17);
	few_say_nothing();
	slow_is_named();
	for (shape = 0; shape < 5; shape++) {
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			usual_null(shape, sizes[i]);
		for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
			changes_null(shape, lengths[i]);
	}
	change_found(30, 15, 0.6);
	change_found(30, 22, 0.8);
	change_found(100, 94, 0.8);
	for (i = 4; i <= 24; i += 5)
		fall_with_drift(i);
	slow_again(22, 1);
	slow_again(22, 2);
	slow_again(14, 1);
	two_changes();
	patterns();
	return check_done("history");
}
