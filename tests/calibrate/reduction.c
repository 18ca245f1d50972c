/* SPDX-License-Identifier: BSD-3-Clause */
/* Metric reduction: headlines where the response is unrelated to all metrics, where it has two
 * drivers, and where time is the common cause. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "narrows/reduce.h"
#include "narrows/timerival.h"
#include "tests/calibrate/calibrate.h"

enum { METRICS = 150, GROUPS = 50, ROWS_MAX = 600, MINUTE_ROWS = 60, REDUCTION_COST = 20 };

static double store[METRICS][ROWS_MAX], response[ROWS_MAX], group[GROUPS][ROWS_MAX];
static const double *column[METRICS];
static double clock_time[ROWS_MAX];
static const double *day; /* clock_time, or NULL if unknown */

/* --- series that go along by chance --- */
static void
fill_walk(double *x, size_t n)
{
	double v = 0;

	for (size_t i = 0; i < n; i++)
		x[i] = v += noise_normal();
}

static void
fill_trend(double *x, size_t n)
{
	double slope = 8 * noise_uniform() - 4;

	for (size_t i = 0; i < n; i++)
		x[i] = slope * (double)i / (double)n + noise_normal();
}

static void
fill_step(double *x, size_t n)
{
	double at = noise_uniform() * (double)n, height = 6 * noise_normal();

	for (size_t i = 0; i < n; i++)
		x[i] = ((double)i > at ? height : 0) + noise_normal();
}

static void
fill_levels(double *x, size_t n)
{
	double level = 3 * noise_normal();

	for (size_t i = 0; i < n; i++) {
		if (noise_uniform() * (double)n < 5)
			level = 3 * noise_normal();
		x[i] = level + noise_normal();
	}
}

/* A period of a minute in all series. */
static void
fill_minutes(double *x, size_t n)
{
	double phase = 6.283185307179586 * noise_uniform();

	for (size_t i = 0; i < n; i++)
		x[i] =
		    sin(phase + 6.283185307179586 * (double)i / MINUTE_ROWS) + 0.5 * noise_normal();
}

static void
fill_periods(double *x, size_t n)
{
	double phase = 6.283185307179586 * noise_uniform(), rows = 20 + 300 * noise_uniform();

	for (size_t i = 0; i < n; i++)
		x[i] = sin(phase + 6.283185307179586 * (double)i / rows) + 0.5 * noise_normal();
}

static void
fill_spikes(double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] =
		    noise_uniform() < 0.02 ? -50 * log(1 - noise_uniform()) : fabs(noise_normal());
}

static const struct shape {
	const char *name;
	void (*fill)(double *x, size_t n);
} shapes[] = {
	{ "random walks", fill_walk },
	{ "trends", fill_trend },
	{ "a step each", fill_step },
	{ "levels", fill_levels },
	{ "all of a minute's period", fill_minutes },
	{ "periods of their own", fill_periods },
	{ "spikes", fill_spikes },
};

/* Metrics in groups of three that follow the same hidden series, of the shape or (NULL) AR. */
static void
metrics_fill(size_t n, double ar, const struct shape *shape)
{
	double own[ROWS_MAX];

	for (size_t g = 0; g < GROUPS; g++)
		if (shape != NULL)
			shape->fill(group[g], n);
		else
			noise_ar(group[g], n, ar);
	for (size_t j = 0; j < METRICS; j++) {
		noise_ar(own, n, ar);
		for (size_t i = 0; i < n; i++)
			store[j][i] = group[j % GROUPS][i] + 0.15 * own[i];
		column[j] = store[j];
	}
}

/* What is told of a response: metrics as an explanation, groups 0 and 1 among them, and a common
 * cause in time. */
struct told {
	bool headline, first, second;
	unsigned common; /* enum nw_time_part */
};

static struct told
reduce(size_t n)
{
	struct nw_table t = { column, METRICS, response, n };
	struct nw_reduce_options o = nw_reduce_better();
	struct nw_time_rival time;
	struct nw_reduction r;
	struct nw_worth w;
	struct told told = { 0 };

	if (nw_time_rival(&t, day, &time) != 0)
		abort();
	o.n_courses = time.n_courses;
	o.course = time.course;
	o.response = time.parts != 0 ? response : NULL;
	if (nw_reduce(&time.rest, NULL, 0, &o, &r) != 0 ||
	    nw_reduce_worth(&time.rest, &o, MINUTE_ROWS, &w) != 0)
		abort();
	for (size_t i = 0; i < r.elimination.n_metrics; i++)
		if (r.elimination.status == NW_STATUS_OK && r.elimination.metric_kept[i]) {
			told.first |= r.candidate[i] % GROUPS == 0;
			told.second |= r.candidate[i] % GROUPS == 1;
		}
	told.headline = w.holds;
	told.common = time.n_taken > 0 ? time.parts : 0;
	nw_reduction_clear(&r);
	nw_time_rival_clear(&time);
	return told;
}

static void
unrelated(struct calibration *c, size_t n, double ar)
{
	size_t runs = calibrate_runs(c, REDUCTION_COST), headlines = 0, common = 0;
	char what[64];

	for (size_t k = 0; k < runs; k++) {
		struct told told;

		metrics_fill(n, ar, NULL);
		noise_ar(response, n, ar);
		told = reduce(n);
		headlines += told.headline;
		common += told.common != 0;
	}
	(void)snprintf(what, sizeof(what), "unrelated response, %zu rows, AR %g", n, ar);
	cell_at_most(c, what, headlines, runs, 0.05);
	if (ar > 0.5) /* slow noise is a course in time of its own */
		return;
	(void)snprintf(what, sizeof(what), "unrelated, %zu rows, AR %g: common cause told", n, ar);
	cell_at_most(c, what, common, runs, 0.05);
}

static void
unrelated_shape(struct calibration *c, size_t n, const struct shape *shape)
{
	size_t runs = calibrate_runs(c, REDUCTION_COST), told = 0;
	char what[64];

	for (size_t k = 0; k < runs; k++) {
		metrics_fill(n, 0, shape);
		shape->fill(response, n);
		told += reduce(n).headline;
	}
	(void)snprintf(what, sizeof(what), "unrelated response, %zu rows, %s", n, shape->name);
	cell_at_most(c, what, told, runs, 0.05);
}

static void
two_drivers(struct calibration *c, size_t n, double ar)
{
	size_t runs = calibrate_runs(c, REDUCTION_COST), told = 0, right = 0;
	double noise[ROWS_MAX];
	char what[64];

	for (size_t k = 0; k < runs; k++) {
		struct told one;

		metrics_fill(n, ar, NULL);
		noise_ar(noise, n, ar);
		for (size_t i = 0; i < n; i++)
			response[i] = group[0][i] - group[1][i] + 0.5 * noise[i];
		one = reduce(n);
		told += one.headline;
		right += one.first && one.second;
	}
	(void)snprintf(what, sizeof(what), "two drivers, %zu rows, AR %g: headline", n, ar);
	cell_at_least(c, what, told, runs, 0.9);
	(void)snprintf(what, sizeof(what), "two drivers, %zu rows, AR %g: both kept", n, ar);
	cell_at_least(c, what, right, runs, 0.9);
}

/* --- common causes --- */
/* A course in time that response and metrics share; values of 0 to 1. */
static void
fill_at_once(double *x, size_t n)
{
	size_t at = n / 5 + (size_t)(noise_uniform() * 0.6 * (double)n);

	for (size_t i = 0; i < n; i++)
		x[i] = i >= at;
}

static void
fill_by_and_by(double *x, size_t n)
{
	size_t at = n / 5 + (size_t)(noise_uniform() * 0.4 * (double)n);

	for (size_t i = 0; i < n; i++)
		x[i] = i < at ? 0 : 1 - exp(-(double)(i - at) * 15 / (double)n);
}

static void
fill_slow_start(double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = 1 - exp(-(double)i * 15 / (double)n);
}

static void
fill_begin_end(double *x, size_t n)
{
	size_t at = n / 6 + (size_t)(noise_uniform() * (double)n / 4);
	size_t end = n / 2 + (size_t)(noise_uniform() * (double)n / 3);

	for (size_t i = 0; i < n; i++)
		x[i] = i >= at && i < end;
}

static void
fill_rise(double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = (double)i / (double)n;
}

/* Two days, and a third of a day. */
static void
fill_days(double *x, size_t n)
{
	double phase = noise_uniform();

	for (size_t i = 0; i < n; i++) {
		clock_time[i] = fmod(phase + 2 * (double)i / (double)n, 1);
		x[i] = 0.5 + 0.5 * sin(6.283185307179586 * (clock_time[i] - 0.3));
	}
	day = clock_time;
}

static void
fill_morning(double *x, size_t n)
{
	double phase = noise_uniform();

	for (size_t i = 0; i < n; i++) {
		clock_time[i] = fmod(phase + 0.33 * (double)i / (double)n, 1);
		x[i] = 0.5 + 0.5 * sin(6.283185307179586 * (clock_time[i] - 0.3));
	}
	day = clock_time;
}

static const struct course {
	const char *name;
	void (*fill)(double *x, size_t n);
	unsigned part; /* 0: any */
} courses[] = {
	{ "a start", fill_at_once, NW_TIME_START },
	{ "a start, by and by", fill_by_and_by, NW_TIME_START },
	{ "the first rows", fill_slow_start, NW_TIME_START },
	{ "begin and end", fill_begin_end, NW_TIME_START },
	{ "a rise", fill_rise, NW_TIME_TREND },
	{ "the hour of two days", fill_days, NW_TIME_HOUR },
	{ "the hour of a morning", fill_morning, 0 },
};

/* Metrics with the course beside noise of their own; every fifth group has no part in it. */
static void
share_course(size_t n, double ar, double *course, const struct course *of)
{
	double height[GROUPS];

	day = NULL;
	of->fill(course, n);
	metrics_fill(n, ar, NULL);
	for (size_t g = 0; g < GROUPS; g++)
		height[g] = g % 5 == 4 ? 0 : 2 + 6 * noise_uniform();
	for (size_t g = 0; g < GROUPS; g++)
		for (size_t i = 0; i < n; i++)
			group[g][i] += height[g] * course[i];
	for (size_t j = 0; j < METRICS; j++)
		for (size_t i = 0; i < n; i++)
			store[j][i] += height[j % GROUPS] * course[i];
}

static void
common_cause(struct calibration *c, size_t n, double ar, const struct course *of)
{
	size_t runs = calibrate_runs(c, REDUCTION_COST), explained = 0, said = 0, found = 0;
	double course[ROWS_MAX];
	char what[80];

	for (size_t k = 0; k < runs; k++) {
		struct told told;
		double height = 3 + 5 * noise_uniform();

		share_course(n, ar, course, of);
		noise_ar(response, n, ar);
		for (size_t i = 0; i < n; i++)
			response[i] += height * course[i];
		told = reduce(n);
		explained += told.headline;
		said += of->part != 0 ? (told.common & of->part) != 0 : told.common != 0;
	}
	(void)snprintf(
	    what, sizeof(what), "common: %s, %zu rows, AR %g: explained", of->name, n, ar);
	cell_at_most(c, what, explained, runs, 0.05);
	(void)snprintf(what, sizeof(what), "common: %s, %zu rows, AR %g: told", of->name, n, ar);
	cell_at_least(c, what, said, runs, 0.95);
	for (size_t k = 0; k < runs; k++) {
		struct told told;
		double noise[ROWS_MAX];

		share_course(n, ar, course, of);
		noise_ar(noise, n, ar);
		for (size_t i = 0; i < n; i++)
			response[i] = group[0][i] + 0.5 * noise[i];
		told = reduce(n);
		found += told.headline && told.first;
	}
	(void)snprintf(
	    what, sizeof(what), "driver with %s, %zu rows, AR %g: found", of->name, n, ar);
	cell_at_least(c, what, found, runs, 0.9);
	day = NULL;
}

void
calibrate_reduction(struct calibration *c)
{
	static const size_t sizes[] = { 30, 60, 240, 600 };
	static const double ars[] = { 0, 0.5, 0.9, 0.99 };
	size_t n_sizes = sizeof(sizes) / sizeof(*sizes) - c->sample;

	calibrate_title(c, "Headlines of the metric reduction");
	for (size_t i = 0; i < n_sizes; i++)
		for (size_t k = 0; k < sizeof(ars) / sizeof(*ars); k++)
			unrelated(c, sizes[i], ars[k]);
	for (size_t i = 1; i < n_sizes; i++)
		for (size_t k = 0; k < sizeof(shapes) / sizeof(*shapes); k++)
			unrelated_shape(c, sizes[i], &shapes[k]);
	for (size_t k = 0; k < 3; k++)
		two_drivers(c, ROWS_MAX, ars[k]);
	calibrate_title(c, "Common causes in time");
	for (size_t k = 0; k < sizeof(courses) / sizeof(*courses); k++)
		for (size_t i = 2; i < n_sizes; i++)
			for (size_t a = 0; a < 2; a++)
				common_cause(c, sizes[i], ars[a], &courses[k]);
}
