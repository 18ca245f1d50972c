/* SPDX-License-Identifier: BSD-3-Clause */
/* Change points: false changes in stationary series of ordinary shapes, and steps that are
 * there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "narrows/changepoint.h"
#include "tests/calibrate/calibrate.h"

enum { HOUR = 3600, SERIES_COST = 50, STEP_COST = 4, JITTER = 3, SEGMENT_MIN = 5 };

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* --- stationary shapes, one value per second --- */

static void
shape_normal(double *x, size_t n, double ar)
{
	noise_ar(x, n, ar);
}

static void
shape_student(double *x, size_t n, double ar)
{
	double v = 0;

	for (size_t i = 0; i < n; i++)
		x[i] = v = ar * v + noise_student(3);
}

static void
shape_lognormal(double *x, size_t n, double ar)
{
	noise_ar(x, n, ar);
	for (size_t i = 0; i < n; i++)
		x[i] = exp(0.5 * x[i]);
}

/* A share of a window: never above 1. */
static void
shape_clipped(double *x, size_t n, double ar)
{
	noise_ar(x, n, ar);
	for (size_t i = 0; i < n; i++)
		x[i] = fmin(1, 0.9 + 0.1 * x[i]);
}

/* The same from below as well, as with a share that is often all or nothing. */
static void
shape_clipped_twice(double *x, size_t n, double ar)
{
	noise_ar(x, n, ar);
	for (size_t i = 0; i < n; i++)
		x[i] = fmax(0, fmin(1, 0.5 + 0.4 * x[i]));
}

/* Exponential shocks. */
static void
shape_skewed(double *x, size_t n, double ar)
{
	double v = 1 / (1 - ar);

	for (size_t i = 0; i < n; i++)
		x[i] = v = ar * v - log(1 - noise_uniform());
}

static void
shape_two_memories(double *x, size_t n, double ar)
{
	double *slow = calloc(n, sizeof(*slow));

	noise_ar(x, n, ar);
	noise_ar(slow, n, 0.99);
	for (size_t i = 0; i < n; i++)
		x[i] += slow[i];
	free(slow);
}

/* Whole blocks per window: mean 10, sd `spread`. */
static void
shape_blocks(double *x, size_t n, double spread)
{
	for (size_t i = 0; i < n; i++)
		x[i] = round(10 + spread * noise_normal());
}

static void
shape_poisson(double *x, size_t n, double mean)
{
	for (size_t i = 0; i < n; i++)
		x[i] = noise_poisson(mean);
}

static void
shape_bursts(double *x, size_t n, double share)
{
	for (size_t i = 0; i < n; i++)
		x[i] = noise_uniform() < share ? 5 : 0;
}

/* A token bucket: a rate with an sd of a tenth is capped at 1; without the cap it had the given
 * mean. */
static void
shape_bucket(double *x, size_t n, double mean)
{
	for (size_t i = 0; i < n; i++)
		x[i] = fmin(1, mean + 0.1 * noise_normal());
}

static void
shape_steady(double *x, size_t n, double share)
{
	for (size_t i = 0; i < n; i++)
		x[i] = noise_uniform() < share ? 117.4 * noise_uniform() : 117.4;
}

/* A report every few windows, spread over them. */
static void
shape_stairs(double *x, size_t n, double windows)
{
	double level = 100;

	for (size_t i = 0; i < n; i++) {
		if (i % (size_t)windows == 0)
			level = 100 + 20 * noise_normal();
		x[i] = level;
	}
}

/* The sum of the last shocks: a spectrum with zeros, between which noise looks like lines. */
static void
shape_sums(double *x, size_t n, double shocks)
{
	double *e = calloc(n + (size_t)shocks, sizeof(*e)), sum = 0;

	for (size_t i = 0; i < n + (size_t)shocks; i++) {
		sum += e[i] = noise_normal();
		if (i >= (size_t)shocks) {
			sum -= e[i - (size_t)shocks];
			x[i - (size_t)shocks] = sum;
		}
	}
	free(e);
}

/* Two rates in turn, as with a cache that is hit or missed. */
static void
shape_two_rates(double *x, size_t n, double share)
{
	for (size_t i = 0; i < n; i++)
		x[i] = (noise_uniform() < share ? 30 : 100) * (1 + 0.02 * noise_normal());
}

static const struct shape {
	const char *name;
	void (*fill)(double *x, size_t n, double parameter);
	double parameter;
} shapes[] = {
	{ "normal, AR 0", shape_normal, 0 },
	{ "normal, AR 0.5", shape_normal, 0.5 },
	{ "normal, AR 0.8", shape_normal, 0.8 },
	{ "normal, AR 0.9", shape_normal, 0.9 },
	{ "normal, AR 0.95", shape_normal, 0.95 },
	{ "normal, AR 0.98", shape_normal, 0.98 },
	{ "Student t3 shocks, AR 0", shape_student, 0 },
	{ "Student t3 shocks, AR 0.9", shape_student, 0.9 },
	{ "Student t3 shocks, AR 0.98", shape_student, 0.98 },
	{ "lognormal, AR 0", shape_lognormal, 0 },
	{ "lognormal, AR 0.9", shape_lognormal, 0.9 },
	{ "lognormal, AR 0.95", shape_lognormal, 0.95 },
	{ "lognormal, AR 0.98", shape_lognormal, 0.98 },
	{ "share clipped at 1, AR 0", shape_clipped, 0 },
	{ "share clipped at 1, AR 0.8", shape_clipped, 0.8 },
	{ "share clipped at 1, AR 0.95", shape_clipped, 0.95 },
	{ "share clipped at 1, AR 0.98", shape_clipped, 0.98 },
	{ "share clipped at 0 and 1, AR 0", shape_clipped_twice, 0 },
	{ "share clipped at 0 and 1, AR 0.8", shape_clipped_twice, 0.8 },
	{ "exponential shocks, AR 0", shape_skewed, 0 },
	{ "exponential shocks, AR 0.8", shape_skewed, 0.8 },
	{ "exponential shocks, AR 0.95", shape_skewed, 0.95 },
	{ "AR 0.5 plus AR 0.99", shape_two_memories, 0.5 },
	{ "whole blocks, sd 0.3", shape_blocks, 0.3 },
	{ "whole blocks, sd 0.5", shape_blocks, 0.5 },
	{ "whole blocks, sd 1", shape_blocks, 1 },
	{ "whole blocks, sd 3", shape_blocks, 3 },
	{ "Poisson, mean 0.2", shape_poisson, 0.2 },
	{ "Poisson, mean 1", shape_poisson, 1 },
	{ "Poisson, mean 5", shape_poisson, 5 },
	{ "bursts in 2 % of windows", shape_bursts, 0.02 },
	{ "bursts in 20 % of windows", shape_bursts, 0.2 },
	{ "bursts in 60 % of windows", shape_bursts, 0.6 },
	{ "token bucket, at the cap half the time", shape_bucket, 1 },
	{ "token bucket, at the cap 7 times in 10", shape_bucket, 1.05 },
	{ "token bucket, seldom at the cap", shape_bucket, 0.9 },
	{ "steady, 1 window in 20 short", shape_steady, 0.05 },
	{ "steady, 1 window in 4 short", shape_steady, 0.25 },
	{ "reports every 5 windows", shape_stairs, 5 },
	{ "reports every 10 windows", shape_stairs, 10 },
	{ "two rates, 10 % slow", shape_two_rates, 0.1 },
	{ "two rates, half slow", shape_two_rates, 0.5 },
	{ "sums of 5 shocks", shape_sums, 5 },
	{ "sums of 20 shocks", shape_sums, 20 },
};

static size_t
changes_of(const double *x, size_t n, size_t *first)
{
	struct nw_changes c;
	size_t found = 0;

	if (nw_changes(x, n, &nw_change_better, &c) == 0 && c.n_segments > 0)
		found = c.n_segments - 1;
	*first = found > 0 ? c.segment[1].start : n;
	nw_changes_clear(&c);
	return found;
}

/* False changes per hour. The counted event is a change above one per hour of the cell: with a true
 * rate of one per hour the count is about Poisson, and a binomial over the minutes bounds that. */
static void
false_changes(struct calibration *c, size_t n, const char *title)
{
	double *x = calloc(n, sizeof(*x));
	size_t hours = calibrate_runs(c, SERIES_COST), series = hours * HOUR / n, first;

	calibrate_title(c, title);
	for (size_t i = 0; i < COUNT(shapes); i++) {
		size_t found = 0;

		for (size_t k = 0; k < series; k++) {
			shapes[i].fill(x, n, shapes[i].parameter);
			found += changes_of(x, n, &first);
		}
		cell_at_most(c, shapes[i].name, found < 60 * hours ? found : 60 * hours, 60 * hours,
		    1.0 / 60);
	}
	free(x);
}

/* Noise with sd 1 around a step. */
static const struct {
	const char *name;
	void (*fill)(double *x, size_t n, double ar);
	double sd;
} noises[] = {
	{ "", shape_normal, 1 },
	{ ", exponential", shape_skewed, 1 },
	{ ", Student t3", shape_student, 1.7320508075688772 },
};

struct step {
	size_t n;
	double at; /* share of the n windows before the step; at least SEGMENT_MIN on either side */
	double height; /* in sd; negative for a step down */
	double ar;
	size_t noise; /* index of the noise */
};

/* Found, alone, and within JITTER. */
static void
steps(struct calibration *c, const struct step *s, double bound)
{
	size_t n = s->n, runs = calibrate_runs(c, STEP_COST), hits = 0, first,
	       where =
		   (size_t)fmin((double)(n - SEGMENT_MIN), fmax(SEGMENT_MIN, s->at * (double)n));
	double *x = calloc(n, sizeof(*x));
	char what[80];

	for (size_t k = 0; k < runs; k++) {
		noises[s->noise].fill(x, n, s->ar);
		for (size_t i = 0; i < n; i++)
			x[i] = 20 + x[i] / noises[s->noise].sd + (i >= where ? s->height : 0);
		hits += changes_of(x, n, &first) == 1 && first + JITTER >= where &&
		    first <= where + JITTER;
	}
	(void)snprintf(what, sizeof(what), "%+g sd after %zu of %zu windows, AR %g%s", s->height,
	    where, n, s->ar, noises[s->noise].name);
	cell_at_least(c, what, hits, runs, bound);
	free(x);
}

/* A rate that doubles, reported every `windows` windows. */
static void
stair_steps(struct calibration *c, size_t n, size_t windows)
{
	double *x = calloc(n, sizeof(*x));
	size_t runs = calibrate_runs(c, STEP_COST), hits = 0, first;
	char what[64];

	for (size_t k = 0; k < runs; k++) {
		shape_stairs(x, n, (double)windows);
		for (size_t i = 0; i < n; i++)
			x[i] *= i >= n / 2 ? 2.5 : 1;
		(void)changes_of(x, n, &first);
		hits += first + windows >= n / 2 && first <= n / 2 + windows;
	}
	(void)snprintf(
	    what, sizeof(what), "2.5 times the rate, %zu windows, reports every %zu", n, windows);
	cell_at_least(c, what, hits, runs, 0.9);
	free(x);
}

/* --- cycles and waves --- */

/* Half of each cycle at 400, half at 100; the length of a cycle varies by a twentieth. */
static void
shape_turns(double *x, size_t n, double period)
{
	double from = -period * noise_uniform(), length = period;

	for (size_t i = 0; i < n; i++) {
		for (; (double)i - from >= length; length = period * (1 + 0.05 * noise_normal()))
			from += length;
		x[i] = ((double)i - from < length / 2 ? 400 : 100) * (1 + 0.05 * noise_normal());
	}
}

static void
shape_teeth(double *x, size_t n, double period)
{
	double phase = noise_uniform() * period;

	for (size_t i = 0; i < n; i++)
		x[i] = 100 + 300 * fmod((double)i + phase, period) / period + 15 * noise_normal();
}

static void
shape_wave(double *x, size_t n, double period)
{
	double phase = noise_uniform() * period;

	for (size_t i = 0; i < n; i++)
		x[i] = 100 + 30 * sin(2 * M_PI * ((double)i + phase) / period) + 5 * noise_normal();
}

/* The same with lengths that vary by a tenth. */
static void
shape_loose_turns(double *x, size_t n, double period)
{
	double from = -period * noise_uniform(), length = period;

	for (size_t i = 0; i < n; i++) {
		for (; (double)i - from >= length;
		     length = period * fmax(0.5, 1 + 0.1 * noise_normal()))
			from += length;
		x[i] = ((double)i - from < length / 2 ? 400 : 100) * (1 + 0.05 * noise_normal());
	}
}

/* A wave whose amplitude is the sd of the noise. */
static void
shape_faint_wave(double *x, size_t n, double period)
{
	double phase = noise_uniform() * period;

	for (size_t i = 0; i < n; i++)
		x[i] = 100 + 5 * sin(2 * M_PI * ((double)i + phase) / period) + 5 * noise_normal();
}

/* Turns between two levels that are two sd of the noise apart. */
static void
shape_faint_turns(double *x, size_t n, double period)
{
	double phase = noise_uniform() * period;

	for (size_t i = 0; i < n; i++)
		x[i] = 100 + (fmod((double)i + phase, period) < period / 2 ? 10 : 0) +
		    5 * noise_normal();
}

/* A pulse of a share of the period, at least a window, in cycles whose length varies by jitter. */
static void
pulses(double *x, size_t n, double period, double share, double jitter)
{
	double from = -period * noise_uniform(), length = period;

	for (size_t i = 0; i < n; i++) {
		for (; (double)i - from >= length; length = period * (1 + jitter * noise_normal()))
			from += length;
		x[i] = ((double)i - from < fmax(1, share * period) ? 100 : 400) *
		    (1 + 0.05 * noise_normal());
	}
}

static void
shape_pulses(double *x, size_t n, double period)
{
	pulses(x, n, period, 0.1, 0);
}

static void
shape_short_pulses(double *x, size_t n, double period)
{
	pulses(x, n, period, 0.05, 0);
}

static void
shape_loose_pulses(double *x, size_t n, double period)
{
	pulses(x, n, period, 0.1, 0.05);
}

/* A wave whose amplitude is 1.4 times the sd of a noise with memory. */
static void
shape_wave_in_memory(double *x, size_t n, double period)
{
	double phase = noise_uniform() * period;

	noise_ar(x, n, 0.5);
	for (size_t i = 0; i < n; i++)
		x[i] = 100 + x[i] + M_SQRT2 * sin(2 * M_PI * ((double)i + phase) / period);
}

/* A checkpoint at the begin of each cycle, from which the rate recovers; cycles of loose length. */
static void
shape_checkpoints(double *x, size_t n, double period)
{
	double from = -period * noise_uniform(), length = period;

	for (size_t i = 0; i < n; i++) {
		for (; (double)i - from >= length; length = period * (1 + 0.05 * noise_normal()))
			from += length;
		x[i] = 100 - 40 * exp(-6 * ((double)i - from) / length) + 5 * noise_normal();
	}
}

/* Found: the period within a tenth, and at most a change beside. */
static void
cycles_found(struct calibration *c)
{
	static const struct shape cyclic[] = {
		{ "turns", shape_turns, 0 },
		{ "loose turns", shape_loose_turns, 0 },
		{ "faint turns", shape_faint_turns, 0 },
		{ "saw teeth", shape_teeth, 0 },
		{ "waves", shape_wave, 0 },
		{ "faint waves", shape_faint_wave, 0 },
		{ "pulses of a tenth", shape_pulses, 0 },
		{ "pulses of a twentieth", shape_short_pulses, 0 },
		{ "loose pulses of a tenth", shape_loose_pulses, 0 },
		{ "checkpoints", shape_checkpoints, 0 },
		{ "waves in a memory", shape_wave_in_memory, 0 },
	};
	static const double counts[] = { 5, 6, 10, 20 };
	enum { N = 300 };
	double x[N];

	calibrate_title(c, "Cycles found, their period within a tenth");
	for (size_t s = 0; s < COUNT(cyclic); s++)
		for (size_t k = 0; k < COUNT(counts); k++) {
			size_t runs = calibrate_runs(c, STEP_COST), hits = 0;
			double period = N / counts[k];
			char what[64];

			for (size_t r = 0; r < runs; r++) {
				struct nw_changes found;

				cyclic[s].fill(x, N, period);
				if (nw_changes(x, N, &nw_change_better, &found) == 0)
					hits += fabs(found.cycle.period / period - 1) < 0.1;
				nw_changes_clear(&found);
			}
			(void)snprintf(what, sizeof(what), "%s of %g windows, %d windows",
			    cyclic[s].name, period, N);
			/* the best that is reached of few waves in a memory of this length */
			cell_at_least(c, what, hits, runs,
			    cyclic[s].fill == shape_wave_in_memory && counts[k] < 10 ? 0.85 : 0.95);
		}
}

static void
cycles_invented(struct calibration *c, size_t n)
{
	double *x = calloc(n, sizeof(*x));
	char what[80];

	calibrate_title(c, "Called cyclic without a period");
	for (size_t i = 0; i < COUNT(shapes); i++) {
		size_t runs = calibrate_runs(c, STEP_COST), hits = 0;

		for (size_t r = 0; r < runs; r++) {
			struct nw_changes found;

			shapes[i].fill(x, n, shapes[i].parameter);
			if (nw_changes(x, n, &nw_change_better, &found) == 0)
				hits += found.cycle.period > 0;
			nw_changes_clear(&found);
		}
		(void)snprintf(what, sizeof(what), "%s, %zu windows", shapes[i].name, n);
		cell_at_most(c, what, hits, runs, 0.05);
	}
	free(x);
}

/* Slow cycles of loose length within an hour are no changes. */
static void
slow_cycles_cut(struct calibration *c)
{
	static const struct shape slow[] = {
		{ "loose turns of 720 windows", shape_loose_turns, 720 },
		{ "loose turns of 300 windows", shape_loose_turns, 300 },
		{ "loose pulses of 600 windows", shape_loose_pulses, 600 },
		{ "checkpoints of 600 windows", shape_checkpoints, 600 },
	};
	double *x = calloc(HOUR, sizeof(*x));
	size_t hours = calibrate_runs(c, SERIES_COST), first;

	for (size_t i = 0; i < COUNT(slow); i++) {
		size_t found = 0;

		for (size_t k = 0; k < hours; k++) {
			slow[i].fill(x, HOUR, slow[i].parameter);
			found += changes_of(x, HOUR, &first);
		}
		cell_at_most(
		    c, slow[i].name, found < 60 * hours ? found : 60 * hours, 60 * hours, 1 / 60.0);
	}
	free(x);
}

/* Cycles and slow waves are no changes: at most one in an hour. */
static void
cycles_cut(struct calibration *c)
{
	static const struct shape whole[] = {
		{ "turns of 30 windows", shape_turns, 30 },
		{ "turns of 60 windows", shape_turns, 60 },
		{ "saw teeth of 20 windows", shape_teeth, 20 },
		{ "a single wave", shape_wave, 300 },
		{ "a twelfth of a wave", shape_wave, 3600 },
	};
	enum { N = 300 };
	double x[N];
	size_t hours = calibrate_runs(c, SERIES_COST), first;

	calibrate_title(c,
	    "False changes per minute in cycles and waves (1 per hour allowed, 3 in a slow wave)");
	for (size_t i = 0; i < COUNT(whole); i++) {
		size_t found = 0;

		for (size_t k = 0; k < hours * HOUR / N; k++) {
			whole[i].fill(x, N, whole[i].parameter);
			found += changes_of(x, N, &first);
		}
		/* the best that is reached on a slow wave: two in an hour */
		cell_at_most(c, whole[i].name, found < 60 * hours ? found : 60 * hours, 60 * hours,
		    (whole[i].parameter > N ? 3 : 1) / 60.0);
	}
	slow_cycles_cut(c);
}

/* --- smooth courses --- */

/* A single hump; parameter: its sd as a share of the series. */
static void
shape_hump(double *x, size_t n, double sd)
{
	double middle = 0.3 + 0.4 * noise_uniform();

	for (size_t i = 0; i < n; i++)
		x[i] = 100 + 60 * exp(-0.5 * pow(((double)i / (double)n - middle) / sd, 2)) +
		    5 * noise_normal();
}

/* A rise from one level to another; parameter: its length as a share of the series. */
static void
shape_rise(double *x, size_t n, double length)
{
	double begin = (1 - length) * noise_uniform();

	for (size_t i = 0; i < n; i++) {
		double t = fmax(0, fmin(1, ((double)i / (double)n - begin) / length));

		x[i] = 100 + 30 * (1 - cos(M_PI * t)) + 5 * noise_normal();
	}
}

static void
shape_waves(double *x, size_t n, double waves)
{
	shape_wave(x, n, (double)n / waves);
}

/* A smooth rise and fall is told as a drift, never as steps. */
static void
drifts_told(struct calibration *c)
{
	static const struct shape courses[] = {
		{ "half a wave", shape_waves, 0.5 },
		{ "one wave", shape_waves, 1 },
		{ "one and a half waves", shape_waves, 1.5 },
		{ "two waves", shape_waves, 2 },
		{ "a hump of sd 0.2", shape_hump, 0.2 },
		{ "a hump of sd 0.1", shape_hump, 0.1 },
		{ "a rise over all of the time", shape_rise, 1 },
		{ "a rise over half of the time", shape_rise, 0.5 },
	};
	static const size_t lengths[] = { 60, 300, 3600 };
	char what[80];

	calibrate_title(c, "Smooth courses cut into steps, and told as no drift");
	for (size_t i = 0; i < COUNT(courses); i++)
		for (size_t k = 0; k < COUNT(lengths); k++) {
			size_t n = lengths[k], cut = 0, silent = 0;
			size_t runs = calibrate_runs(c, n > 1000 ? SERIES_COST : STEP_COST);
			double *x = calloc(n, sizeof(*x));

			for (size_t r = 0; r < runs; r++) {
				struct nw_changes found;
				bool drifts = false;

				courses[i].fill(x, n, courses[i].parameter);
				if (nw_changes(x, n, &nw_change_better, &found) == 0)
					cut += found.n_segments > 1;
				for (size_t j = 0; j < found.n_segments; j++)
					drifts = drifts || found.segment[j].drifts;
				silent += !drifts;
				nw_changes_clear(&found);
			}
			(void)snprintf(
			    what, sizeof(what), "%s, %zu windows, cut", courses[i].name, n);
			cell_at_most(c, what, cut, runs, 0.05);
			(void)snprintf(
			    what, sizeof(what), "%s, %zu windows, no drift", courses[i].name, n);
			cell_at_most(c, what, silent, runs, 0.05);
			free(x);
		}
}

void
calibrate_changes(struct calibration *c)
{
	static const size_t sizes[] = { 20, 25, 30, 40, 60, 120, 300, 1000 };
	static const size_t lengths[] = { 60, 300, 3600 };
	static const double places[] = { 0, 0.3, 0.5, 0.7, 1 };

	false_changes(
	    c, HOUR, "False changes per minute, sessions of an hour (1 per hour allowed)");
	false_changes(c, 60, "False changes per minute, sessions of a minute (1 per hour allowed)");
	calibrate_title(c, "Steps found, alone and within 3 windows");
	for (size_t i = 0; i < COUNT(sizes); i++)
		for (size_t k = 0; k < COUNT(places); k++) {
			/* five values at an end of a long series are seldom told from a memory */
			double bound =
			    places[k] * (1 - places[k]) > 0 || sizes[i] <= 30 ? 0.95 : 0.7;

			steps(c, &(struct step){ sizes[i], places[k], 5, 0, 0 }, bound);
			steps(c, &(struct step){ sizes[i], places[k], -5, 0, 0 }, bound);
		}
	for (size_t i = 0; i < COUNT(sizes); i++)
		for (size_t k = 1; k < COUNT(noises); k++)
			steps(c, &(struct step){ sizes[i], 0.5, 5, 0, k }, 0.95);
	steps(c, &(struct step){ 120, 0.5, 3, 0, 0 }, 0.9);
	steps(c, &(struct step){ 300, 0.5, 5, 0.5, 0 }, 0.9);
	for (size_t i = 0; i < COUNT(lengths); i++)
		steps(c, &(struct step){ lengths[i], 0.5, 2, 0, 0 }, 0.9);
	stair_steps(c, 300, 5);
	stair_steps(c, 600, 10);
	cycles_found(c);
	cycles_invented(c, 60);
	cycles_invented(c, 300);
	cycles_cut(c);
	drifts_told(c);
}
