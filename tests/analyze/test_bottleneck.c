/* SPDX-License-Identifier: BSD-3-Clause */
/* The bottleneck verdict: worked examples, its undefined cases, false verdicts under noise, hidden
 * waits. */
#include "narrows/bottleneck.h"

#include "tests/check.h"
#include "tests/noise.h"
#include "narrows/err.h"
#include "narrows/special.h"

static void
test_groups(void)
{
	static const struct nw_group g[] = { { 60, 118e6, 9e6 }, { 60, 106e6, 4e6 },
		{ 60, 640e6, 90e6 }, { 0, 1, 1 } };
	struct nw_bottleneck_options o = nw_bottleneck_faithful;
	struct nw_component_result r[4];
	struct nw_bottleneck b;

	CHECK_INT(nw_bottleneck_groups(g, 4, &o, r, &b), 0);
	CHECK_INT(b.status, NW_STATUS_OK);
	CHECK_INT(b.lowest, 1);
	CHECK_INT(b.runner_up, 0);
	CHECK_INT(b.n_components, 3);
	CHECK(b.unique && b.n_candidates == 1 && r[1].candidate && !r[0].candidate &&
	    !r[3].candidate && !r[3].has_data);
	CHECK_NEAR(r[0].test.p, 5.165169670188199e-15, 1e-9, 0);
	CHECK_NEAR(r[0].p_holm, 5.165169670188199e-15, 1e-9, 0);
	CHECK_NEAR(r[2].p_holm, 5.227226231189721e-48, 1e-9, 0);
	CHECK(isnan(r[1].p_holm) && isnan(r[3].p_holm));
	CHECK_NEAR(b.effect, 118.0 / 106, 1e-15, 0);
	CHECK(b.effect_low > 1.08 && b.effect_low < b.effect && b.effect_high < 1.14 &&
	    b.effect_high > b.effect);
	o.student = true;
	CHECK_INT(nw_bottleneck_groups(g, 4, &o, r, &b), 0);
	CHECK_NEAR(r[0].test.p, 2.1499304155194796e-16, 1e-9, 0);
}

static void
test_undefined(void)
{
	struct nw_group g[3] = { { 0, 0, 0 }, { 0, 0, 0 }, { 1, 5, 0 } };
	struct nw_component_result r[3];
	struct nw_bottleneck b;

	CHECK_INT(nw_bottleneck_groups(g, 2, &nw_bottleneck_faithful, r, &b), 0);
	CHECK(b.status == NW_STATUS_INSUFFICIENT && !b.unique && b.lowest == 2 &&
	    b.n_candidates == 0);
	CHECK_INT(nw_bottleneck_groups(g, 0, &nw_bottleneck_faithful, r, &b), 0);
	CHECK(b.status == NW_STATUS_INSUFFICIENT);
	/* one value can neither win nor be excluded */
	CHECK_INT(nw_bottleneck_groups(g, 3, &nw_bottleneck_faithful, r, &b), 0);
	CHECK(b.lowest == 2 && b.n_candidates == 1 && !b.unique && isnan(b.effect));
	g[0] = (struct nw_group){ 60, 9, 0.1 };
	CHECK_INT(nw_bottleneck_groups(g, 3, &nw_bottleneck_faithful, r, &b), 0);
	CHECK(b.lowest == 2 && b.n_candidates == 2 && !b.unique &&
	    r[0].test.status == NW_STATUS_INSUFFICIENT);
	CHECK(b.effect == 1.8 && isnan(b.effect_low));
	/* no spread; a tie goes to the first; a mean of 0 has no ratio */
	g[0] = g[1] = (struct nw_group){ 10, 0, 0 };
	g[2] = (struct nw_group){ 10, 3, 0 };
	CHECK_INT(nw_bottleneck_groups(g, 3, &nw_bottleneck_faithful, r, &b), 0);
	CHECK(b.lowest == 0 && b.n_candidates == 2 && r[1].test.p == 1 && r[2].test.p == 0 &&
	    isnan(b.effect));
}

/* Equal means: the share of unique verdicts must stay at 5 %, and does not without the corrections.
 * A true difference must be found, and the interval must cover the true ratio as often as it
 * says. */
static void
test_noise(void)
{
	enum { ROUNDS = 2000, N = 60 };
	static const double ars[] = { 0, 0.8 };
	double x[2][N];
	struct nw_component c[2] = { { "a", x[0], N }, { "b", x[1], N } };
	struct nw_component_result r[2];
	struct nw_bottleneck b;
	int k, i, t, s, plain, better, found, covered;

	for (k = 0; k < 2; k++) {
		plain = better = found = covered = 0;
		for (i = 0; i < ROUNDS; i++) {
			for (s = 0; s < 2; s++)
				for (t = 0, noise_ar(x[s], N, ars[k]); t < N; t++)
					x[s][t] = 100 + 5 * x[s][t];
			nw_bottleneck(c, 2, &nw_bottleneck_faithful, r, &b);
			plain += b.unique;
			nw_bottleneck(c, 2, &nw_bottleneck_better, r, &b);
			better += b.unique;
			for (t = 0; t < N; t++)
				x[1][t] += 20;
			nw_bottleneck(c, 2, &nw_bottleneck_better, r, &b);
			found += b.unique && b.lowest == 0;
			covered += b.effect_low < 1.2 && b.effect_high > 1.2;
		}
		CHECK(better < 0.07 * ROUNDS);
		CHECK(plain > (k == 0 ? 0.07 : 0.4) * ROUNDS);
		CHECK(found > (k == 0 ? 0.999 : 0.8) * ROUNDS);
		CHECK(covered > 0.94 * ROUNDS);
	}
}

/* Stages of one pipeline share their stalls: paired, the difference shows; the gaps are left
 * out. */
static void
test_paired(void)
{
	struct nw_bottleneck_options o = nw_bottleneck_better;
	struct nw_component_result r[2];
	struct nw_bottleneck b;
	double x[2][60], shared;
	struct nw_component c[2] = { { "a", x[0], 60 }, { "b", x[1], 60 } };
	int t;

	for (t = 0; t < 60; t++) {
		shared = 100 + 30 * noise_normal();
		x[0][t] = shared + noise_normal();
		x[1][t] = shared + 2 + noise_normal();
	}
	x[0][10] = NAN;
	CHECK_INT(nw_bottleneck(c, 2, &o, r, &b), 0);
	CHECK(!b.unique && r[0].n_values == 59);
	o.paired = true;
	CHECK_INT(nw_bottleneck(c, 2, &o, r, &b), 0);
	CHECK(b.unique && b.lowest == 0 && b.alpha == 0.025 && r[1].test.diff < -1);
	c[1].n = 59;
	CHECK_INT(nw_bottleneck(c, 2, &o, r, &b), NW_EINVAL);
}

static unsigned
hidden(const struct nw_stage_segment *before, const struct nw_stage_segment *after)
{
	unsigned found = 99;

	CHECK_INT(nw_hidden_wait(before, after, &found), 0);
	return found;
}

static void
test_hidden_wait(void)
{
	static const struct {
		struct nw_stage_segment before, after;
		unsigned want;
	} cases[] = { /* UDT under loss: the reader waits unseen; the disk writer next to it is
		 * innocent; without windows nobody knows of the spread */
		{ { .tput_mean = 318e6, 61e6, 5196, 312e6, 0.986 },
		    { .tput_mean = 949e6, 191e6, 2615, 144e6, 0.153 },
		    NW_HIDDEN_FASTER_YET_LESS | NW_HIDDEN_UNACCOUNTED },
		{ { .tput_mean = 553e6, 50e6, 1189, 312e6, 0.565 },
		    { .tput_mean = 549e6, 50e6, 548, 144e6, 0.263 }, 0 },
		/* the stage itself got slower: nothing is hidden */
		{ { .tput_mean = 318e6, 61e6, 5196, 312e6, 0.986 },
		    { .tput_mean = 150e6, 30e6, 2500, 150e6, 0.99 }, 0 },
		{ { .tput_mean = NAN, NAN, NAN, NAN, NAN }, { .tput_mean = 1, 1, 1, 1, 1 }, 0 }
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK(hidden(&cases[i].before, &cases[i].after) == cases[i].want);
}

enum { WINDOWS = 40 };

/* A segment of windows whose operations deviate by sd within, and by between from each other. */
static struct nw_stage_segment
segment_of(double ops, double within, double between, double ar, double store[2][WINDOWS])
{
	noise_ar(store[0], WINDOWS, ar);
	for (int i = 0; i < WINDOWS; i++) {
		store[0][i] = 100 + between * store[0][i];
		store[1][i] = within * (1 + 0.1 * noise_normal());
	}
	return (struct nw_stage_segment){ .tput_mean = 100,
		.tput_sd = within,
		.ops_per_window = ops,
		.delivered_bytes_per_s = 100,
		.busy_fraction = 0.9,
		.window_mean = store[0],
		.window_sd = store[1],
		.n_windows = WINDOWS };
}

/* Share of runs in which the second segment is found wilder. */
static double
wilder(double ops, double within, double between, double ar)
{
	enum { RUNS = 200 };
	double a[2][WINDOWS], b[2][WINDOWS];
	int n = 0;

	for (int i = 0; i < RUNS; i++) {
		struct nw_stage_segment before = segment_of(100, 5, 5, ar, a),
					after = segment_of(ops, within, between, ar, b);

		n += hidden(&before, &after) == NW_HIDDEN_FEWER_AND_WILDER;
	}
	return (double)n / RUNS;
}

/* The test of Brown & Forsythe decides, not a ratio: equal spread is hardly ever found wilder, also
 * where windows resemble each other; a spread 1.8 times as large is found, within windows or
 * between windows; and only with fewer operations. */
static void
test_spread(void)
{
	CHECK(wilder(50, 5, 5, 0) < 0.06);
	CHECK(wilder(50, 5, 5, 0.8) < 0.06);
	CHECK(wilder(50, 9, 9, 0) > 0.95);
	CHECK(wilder(50, 12, 5, 0) > 0.95);
	CHECK(wilder(50, 5, 16, 0.5) > 0.8);
	CHECK(wilder(90, 9, 9, 0) == 0);
	CHECK(wilder(50, 5.5, 5.5, 0) < 0.05); /* a tenth more: nobody would call it wild */
}

/* By hand, {1..5} and {2, 4, .. 10}: means of |x - median| 1.2 and 2.4, grand mean 1.8, between 10
 * (0.6^2) = 3.6, within 2.8 + 11.2 = 14, F = 3.6 / (14/8) with 1 and 8 degrees of freedom, which is
 * t = sqrt F with 8. */
static void
test_variance(void)
{
	static const double a[] = { 1, 2, NAN, 3, 4, 5 }, b[] = { 10, 2, 8, 4, 6 },
			    flat[] = { 3, 3, 3 };
	struct nw_component g[3] = { { "a", a, 6 }, { "b", b, 5 }, { "none", flat, 0 } };
	struct nw_variance_test v;

	CHECK_INT(nw_brown_forsythe(g, 3, &v), 0);
	CHECK(v.status == NW_STATUS_OK && v.df1 == 1 && v.df2 == 8);
	CHECK_NEAR(v.f, 3.6 * 8 / 14, 1e-14, 0);
	CHECK_NEAR(v.p, 2 * nw_t_cdf(-sqrt(v.f), 8), 1e-12, 0);
	g[0] = g[1] = (struct nw_component){ "flat", flat, 3 };
	CHECK_INT(nw_brown_forsythe(g, 2, &v), 0);
	CHECK(v.status == NW_STATUS_DEGENERATE && isnan(v.p));
	CHECK_INT(nw_brown_forsythe(g, 1, &v), 0);
	CHECK_INT(v.status, NW_STATUS_INSUFFICIENT);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 42);
	test_groups();
	test_undefined();
	test_noise();
	test_paired();
	test_hidden_wait();
	test_spread();
	test_variance();
	return check_done("bottleneck");
}
