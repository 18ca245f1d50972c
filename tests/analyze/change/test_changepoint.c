/* SPDX-License-Identifier: BSD-3-Clause */
/* Change points against exhaustive search, the Nile, noise without change, and what must not move
 * them. */
#include "narrows/changepoint.h"

#include "tests/check.h"
#include "tests/noise.h"
#include "narrows/err.h"

/* Annual flow at Aswan 1871-1970 (Cobb 1978; R datasets::Nile): it fell when the dam was begun in
 * 1899. */
static const double nile[100] = { 1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995,
	935, 1110, 994, 1020, 960, 1180, 799, 958, 1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030,
	1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969, 831, 726, 456, 824, 702,
	1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759, 781, 865, 845,
	944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890, 744,
	749, 838, 1050, 918, 986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714,
	740 };

static void
test_nile(void)
{
	struct nw_changes c;
	double y[100];
	int i;

	CHECK_INT(nw_changes(nile, 100, &nw_change_faithful, &c), 0);
	CHECK_INT(c.status, NW_STATUS_OK);
	CHECK_INT(c.n_segments, 2);
	CHECK_INT(c.segment[1].start, 28);
	CHECK_NEAR(c.penalty, 3 * log(100), 1e-15, 0);
	CHECK_NEAR(c.cost, 1265.2911017632662, 1e-12, 0);
	CHECK_NEAR(c.segment[0].mean, 1097.75, 1e-14, 0);
	CHECK_NEAR(c.segment[1].sd, 123.90688396962345, 1e-13, 0);
	CHECK(c.r == 0 && c.segment[0].n == 28 && c.segment[1].end == 100);
	nw_changes_clear(&c);
	/* unit, offset and direction of time change nothing */
	for (i = 0; i < 100; i++)
		y[i] = 1e9 - 1e-3 * nile[99 - i];
	CHECK_INT(nw_changes(y, 100, &nw_change_faithful, &c), 0);
	CHECK_INT(c.n_segments, 2);
	CHECK_INT(c.segment[1].start, 72);
	nw_changes_clear(&c);
	for (i = 0; i < 100; i++)
		y[i] = 1e300 * nile[i];
	CHECK_INT(nw_changes(y, 100, &nw_change_faithful, &c), 0);
	CHECK_INT(c.n_segments, 2);
	CHECK(isfinite(c.cost));
	nw_changes_clear(&c);
}

/* Cost of the best segmentation by trying every last segment, in the caller's units. */
static double
exhaustive(const double *y, size_t n, size_t min_segment, double penalty)
{
	double best[201], mean = 0, var_all = 0, var, m;
	size_t s, t, i;

	for (i = 0; i < n; i++)
		mean += y[i] / (double)n;
	for (i = 0; i < n; i++)
		var_all += (y[i] - mean) * (y[i] - mean) / (double)n;
	best[0] = -penalty;
	for (t = 1; t <= n; t++)
		for (s = 0, best[t] = INFINITY; s + min_segment <= t; s++) {
			m = (double)(t - s);
			for (i = s, mean = 0; i < t; i++)
				mean += y[i] / m;
			for (i = s, var = 0; i < t; i++)
				var += (y[i] - mean) * (y[i] - mean) / m;
			var = fmax(var, 1e-8 * var_all);
			best[t] =
			    fmin(best[t], best[s] + penalty + m * (log(2 * M_PI) + log(var) + 1));
		}
	return best[n];
}

static void
test_exact(void)
{
	static const size_t mins[] = { 2, 5, 11 };
	struct nw_change_options o = nw_change_faithful;
	struct nw_changes c;
	double y[200], level = 0, sd = 1;
	size_t round, i, n;

	for (round = 0; round < 60; round++) {
		n = 20 + (size_t)(180 * noise_uniform());
		for (i = 0; i < n; i++) {
			if (noise_uniform() < 0.05) {
				level = 5 * noise_normal();
				sd = exp(noise_normal());
			}
			y[i] = 100 + level + sd * noise_normal();
		}
		o.min_segment = mins[round % 3];
		o.penalty = 2 + 12 * noise_uniform();
		CHECK_INT(nw_changes(y, n, &o, &c), 0);
		CHECK_NEAR(c.cost, exhaustive(y, n, o.min_segment, o.penalty), 1e-11, 0);
		for (i = 0; i < c.n_segments; i++)
			CHECK(c.segment[i].end - c.segment[i].start >= o.min_segment);
		nw_changes_clear(&c);
	}
}

static void
test_edges(void)
{
	static const double gaps[] = { NAN, 1, 2, 1, NAN, 2, 1, 9, INFINITY, 8, 9, 8, 9, NAN };
	struct nw_change_options o = nw_change_faithful;
	struct nw_changes c;
	double y[60] = { 0 };
	int i;

	CHECK_INT(nw_changes(y, 0, &o, &c), 0);
	CHECK(c.status == NW_STATUS_INSUFFICIENT && c.n_segments == 0);
	nw_changes_clear(&c);
	CHECK_INT(nw_changes(y, 60, &o, &c), 0);
	CHECK(c.status == NW_STATUS_DEGENERATE && c.n_segments == 1 && c.segment[0].end == 60 &&
	    c.segment[0].sd == 0);
	nw_changes_clear(&c);
	CHECK_INT(nw_changes(nile, 9, &o, &c), 0); /* too short for two segments */
	CHECK_INT(c.n_segments, 1);
	CHECK(isfinite(c.cost));
	nw_changes_clear(&c);
	o.penalty = 5;
	CHECK_INT(nw_changes(gaps, 14, &o, &c), 0);
	CHECK_INT(c.n_segments, 2);
	CHECK(c.segment[1].start == 7 && c.segment[1].n == 5 && c.segment[0].n == 5 &&
	    c.segment[1].end == 14);
	nw_changes_clear(&c);
	/* silence, then noise: the floor keeps the silent part's cost finite */
	for (i = 0; i < 60; i++)
		y[i] = i < 30 ? 0 : 100 + noise_normal();
	o.penalty = 0;
	CHECK_INT(nw_changes(y, 60, &o, &c), 0);
	CHECK(c.n_segments >= 2 && c.segment[1].start == 30 && isfinite(c.cost) &&
	    c.segment[0].sd == 0);
	nw_changes_clear(&c);
	o.min_segment = 1;
	CHECK_INT(nw_changes(y, 60, &o, &c), NW_EINVAL);
	o = nw_change_faithful;
	o.penalty = NAN;
	CHECK_INT(nw_changes(y, 60, &o, &c), NW_EINVAL);
	o.penalty = -1;
	CHECK_INT(nw_changes(y, 60, &o, &c), NW_EINVAL);
}

/* Without a change: the published search finds few changes in white noise and many in
 * autocorrelated noise; the better options find next to none, and still find the step. A lone
 * outlier is cut. */
static void
test_noise(void)
{
	enum { ROUNDS = 100, N = 200 };
	struct nw_changes c;
	double y[N];
	size_t round, i, white = 0, plain = 0, ar = 0, found = 0, lone = 0;

	for (round = 0; round < ROUNDS; round++) {
		noise_fill(y, N);
		nw_changes(y, N, &nw_change_faithful, &c);
		white += c.n_segments > 1;
		nw_changes_clear(&c);
		y[90] = 50;
		nw_changes(y, N, &nw_change_better, &c);
		lone += c.n_segments > 1;
		nw_changes_clear(&c);
		noise_ar(y, N, 0.8);
		nw_changes(y, N, &nw_change_faithful, &c);
		plain += c.n_segments > 1;
		nw_changes_clear(&c);
		nw_changes(y, N, &nw_change_better, &c);
		ar += c.n_segments > 1;
		nw_changes_clear(&c);
		for (i = 120; i < N; i++)
			y[i] += 8;
		nw_changes(y, N, &nw_change_better, &c);
		for (i = 1; i < c.n_segments; i++)
			found += c.segment[i].start >= 118 && c.segment[i].start <= 122;
		nw_changes_clear(&c);
	}
	CHECK(white <= 10);
	CHECK(lone <= 10);
	CHECK(plain >= 90);
	CHECK(ar <= 3);
	CHECK(found >= 60);
}

/* Five equal values have no variance: the published search cuts a series of whole blocks to pieces.
 * A change of spread at equal means is found; a step nobody would act on is not. */
static void
test_verified(void)
{
	enum { ROUNDS = 50, N = 300 };
	struct nw_changes c;
	double y[N];
	size_t k, i, plain = 0, blocks = 0, spread = 0, small = 0;

	for (k = 0; k < ROUNDS; k++) {
		for (i = 0; i < N; i++)
			y[i] = round(10 + 0.5 * noise_normal());
		nw_changes(y, N, &nw_change_faithful, &c);
		plain += c.n_segments > 1;
		nw_changes_clear(&c);
		nw_changes(y, N, &nw_change_better, &c);
		blocks += c.n_segments > 1;
		nw_changes_clear(&c);
		for (i = 0; i < N; i++)
			y[i] = 50 + (i < 150 ? 1 : 4) * noise_normal();
		nw_changes(y, N, &nw_change_better, &c);
		spread += c.n_segments == 2 && c.segment[1].start > 140 && c.segment[1].start < 160;
		nw_changes_clear(&c);
		for (i = 0; i < N; i++)
			y[i] = (i < 150 ? 1000 : 1010) + noise_normal();
		nw_changes(y, N, &nw_change_better, &c);
		small += c.n_segments > 1;
		nw_changes_clear(&c);
	}
	CHECK(plain == ROUNDS);
	CHECK(blocks <= 1);
	CHECK(spread >= 48);
	CHECK(small == 0);
}

/* A stretch that lies at the cap throughout is not impossible where most values do. Five values far
 * out at the start are a step, though few. */
static void
test_far_means(void)
{
	enum { ROUNDS = 50, N = 300 };
	struct nw_changes c;
	double y[N];
	size_t k, i, capped = 0, early = 0;

	for (k = 0; k < ROUNDS; k++) {
		for (i = 0; i < N; i++)
			y[i] = fmin(1, 1.05 + 0.1 * noise_normal());
		nw_changes(y, N, &nw_change_better, &c);
		capped += c.n_segments > 1;
		nw_changes_clear(&c);
		for (i = 0; i < N; i++)
			y[i] = (i < 5 ? 25 : 20) + noise_normal();
		nw_changes(y, N, &nw_change_better, &c);
		early += c.n_segments == 2 && c.segment[1].start == 5;
		nw_changes_clear(&c);
	}
	CHECK(capped <= 1);
	CHECK(early >= 40);
}

/* Coarse to fine finds what is there, to the sample, a burst shorter than a stride included. */
static void
test_long(void)
{
	enum { N = 86400 };
	static double y[N];
	static const size_t at[] = { 0, 10007, 30001, 30008, 52345, 86000 };
	static const double level[] = { 100, 90, 40, 91, 120, 100 };
	struct nw_changes c;
	size_t i, k;

	for (i = 0, k = 0; i < N; i++) {
		if (k + 1 < 6 && i == at[k + 1])
			k++;
		y[i] = level[k] + noise_normal();
	}
	CHECK_INT(nw_changes(y, N, &nw_change_faithful, &c), 0);
	CHECK_INT(c.n_segments, 6);
	for (k = 0; k < 6 && k < c.n_segments; k++)
		CHECK_INT(c.segment[k].start, at[k]);
	nw_changes_clear(&c);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 5);
	test_nile();
	test_exact();
	test_edges();
	test_noise();
	test_verified();
	test_far_means();
	test_long();
	return check_done("changepoint");
}
