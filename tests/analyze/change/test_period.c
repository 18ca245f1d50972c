/* SPDX-License-Identifier: BSD-3-Clause */
/* Work that comes again is one state with a period; a smooth move of the mean is no step. */
#include "narrows/changepoint.h"

#include "tests/check.h"
#include "tests/noise.h"

enum { N = 300 };

/* Writes in turns: half of each cycle at 400, half at 100, the length of a cycle varies by `jitter`
 * of its mean. */
static void
turns(double *y, size_t n, double period, double jitter)
{
	double from = -period * noise_uniform(), length = period;

	for (size_t i = 0; i < n; i++) {
		for (; (double)i - from >= length; length = period * (1 + jitter * noise_normal()))
			from += length;
		y[i] = ((double)i - from < length / 2 ? 400 : 100) * (1 + 0.05 * noise_normal());
	}
}

static void
test_cycles(void)
{
	static const struct {
		double period, jitter;
	} cases[] = { { 30, 0 }, { 31.4, 0.05 }, { 60, 0 }, { 12, 0.05 }, { 8, 0 } };
	struct nw_changes c;
	double y[N];

	for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++)
		for (int round = 0, found = 0; round < 20; round++) {
			turns(y, N, cases[k].period, cases[k].jitter);
			CHECK_INT(nw_changes(y, N, &nw_change_better, &c), 0);
			found += c.n_segments == 1 &&
			    fabs(c.cycle.period / cases[k].period - 1) < 0.1 && c.cycle.low < 130 &&
			    c.cycle.high > 370;
			nw_changes_clear(&c);
			CHECK(round < 19 || found >= 17);
		}
}

/* Slow cycles of loose length are one state: no level within a cycle is a change. */
static void
test_slow_cycles(void)
{
	enum { LONG = 3000, PERIOD = 500 };
	static double y[LONG];
	struct nw_changes c;
	int whole = 0;

	for (int round = 0; round < 10; round++) {
		turns(y, LONG, PERIOD, 0.1);
		CHECK_INT(nw_changes(y, LONG, &nw_change_better, &c), 0);
		whole += c.cycle.period > 0 && c.n_segments == 1;
		nw_changes_clear(&c);
	}
	CHECK(whole >= 9);
}

/* A rise and a fall by six sd of the noise in each cycle, whose length varies by a tenth. */
static void
slope(double *y, size_t n, double period)
{
	double from = -period * noise_uniform(), length = period;

	for (size_t i = 0; i < n; i++) {
		for (; (double)i - from >= length; length = period * (1 + 0.1 * noise_normal()))
			from += length;
		y[i] = 12 * (0.5 - fabs(((double)i - from) / length - 0.5)) + noise_normal();
	}
}

/* A slow wave in a noise with memory, and a slow rise and fall through noise. */
static void
test_hidden_cycles(void)
{
	struct nw_changes c;
	double y[N], phase;
	int waves = 0, slopes = 0;

	for (int round = 0; round < 20; round++) {
		noise_ar(y, N, 0.5);
		phase = noise_uniform();
		for (size_t i = 0; i < N; i++)
			y[i] += M_SQRT2 * sin(2 * M_PI * ((double)i / 50 + phase));
		CHECK_INT(nw_changes(y, N, &nw_change_better, &c), 0);
		waves += fabs(c.cycle.period / 50 - 1) < 0.1;
		nw_changes_clear(&c);
		slope(y, N, 30);
		CHECK_INT(nw_changes(y, N, &nw_change_better, &c), 0);
		slopes += fabs(c.cycle.period / 30 - 1) < 0.1;
		nw_changes_clear(&c);
	}
	CHECK(waves >= 17);
	CHECK(slopes >= 17);
}

/* A step within cyclic work is still a change, and the cycle is told beside. */
static void
test_step_in_cycles(void)
{
	struct nw_changes c;
	double y[N];
	int found = 0;

	for (int round = 0; round < 20; round++) {
		turns(y, N, 20, 0);
		for (size_t i = N / 2; i < N; i++)
			y[i] += 300;
		CHECK_INT(nw_changes(y, N, &nw_change_better, &c), 0);
		for (size_t k = 1; k < c.n_segments; k++)
			found += c.cycle.period > 0 && c.segment[k].start >= N / 2 - 3 &&
			    c.segment[k].start <= N / 2 + 3;
		nw_changes_clear(&c);
	}
	CHECK(found >= 18);
}

static void
test_no_period(void)
{
	struct nw_changes c;
	double y[N];
	int found = 0;
	bool high = true;

	for (int round = 0; round < 100; round++) {
		if (round % 2 == 0)
			noise_ar(y, N, 0.9);
		for (size_t i = 0; round % 2 == 1 && i < N; i++) {
			high ^= noise_uniform() < 0.1;
			y[i] = (high ? 100 : 30) + noise_normal();
		}
		CHECK_INT(nw_changes(y, N, &nw_change_better, &c), 0);
		found += c.cycle.period > 0;
		nw_changes_clear(&c);
	}
	CHECK(found <= 5);
	/* the published rule knows no cycles */
	turns(y, N, 30, 0);
	CHECK_INT(nw_changes(y, N, &nw_change_faithful, &c), 0);
	CHECK(c.cycle.period == 0 && c.n_segments > 5);
	nw_changes_clear(&c);
}

/* A ramp, a slow wave: no step; a segment says between which means it moves. */
static void
test_drift(void)
{
	struct nw_changes c;
	double y[N], ramp = 0, wave = 0, told = 0;

	for (int round = 0; round < 30; round++) {
		for (size_t i = 0; i < N; i++)
			y[i] = 100 + 0.1 * (double)i + 10 * noise_normal();
		CHECK_INT(nw_changes(y, N, &nw_change_better, &c), 0);
		ramp += (double)(c.n_segments - 1);
		nw_changes_clear(&c);
		for (size_t i = 0; i < N; i++)
			y[i] = 100 + 30 * sin(6.28 * (double)i / N) + 5 * noise_normal();
		CHECK_INT(nw_changes(y, N, &nw_change_better, &c), 0);
		wave += (double)(c.n_segments - 1);
		told += c.n_segments == 1 && c.segment[0].drifts && c.segment[0].low < 80 &&
		    c.segment[0].high > 120;
		nw_changes_clear(&c);
	}
	CHECK(ramp <= 10);
	CHECK(wave <= 2);
	CHECK(told >= 28);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 28);
	test_cycles();
	test_slow_cycles();
	test_hidden_cycles();
	test_step_in_cycles();
	test_no_period();
	test_drift();
	return check_done("period");
}
