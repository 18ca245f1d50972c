/* SPDX-License-Identifier: BSD-3-Clause */
/* Metric reduction: headlines where the response is unrelated to all metrics, and where it has two
 * drivers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "narrows/reduce.h"
#include "tests/calibrate/calibrate.h"

enum { METRICS = 150, GROUPS = 50, ROWS_MAX = 600, MINUTE_ROWS = 60, REDUCTION_COST = 20 };

static double store[METRICS][ROWS_MAX], response[ROWS_MAX], group[GROUPS][ROWS_MAX];
static const double *column[METRICS];

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

static bool
has_headline(size_t n, bool *found)
{
	struct nw_table t = { column, METRICS, response, n };
	struct nw_reduce_options o = nw_reduce_better();
	struct nw_reduction r;
	struct nw_worth w;
	bool first = false, second = false;

	if (nw_reduce(&t, NULL, 0, &o, &r) != 0 || nw_reduce_worth(&t, &o, MINUTE_ROWS, &w) != 0)
		abort();
	for (size_t i = 0; i < r.elimination.n_metrics; i++)
		if (r.elimination.status == NW_STATUS_OK && r.elimination.metric_kept[i]) {
			first |= r.candidate[i] % GROUPS == 0;
			second |= r.candidate[i] % GROUPS == 1;
		}
	*found = first && second;
	nw_reduction_clear(&r);
	return w.holds;
}

static void
unrelated(struct calibration *c, size_t n, double ar)
{
	size_t runs = calibrate_runs(c, REDUCTION_COST), told = 0;
	char what[64];
	bool found;

	for (size_t k = 0; k < runs; k++) {
		metrics_fill(n, ar, NULL);
		noise_ar(response, n, ar);
		told += has_headline(n, &found);
	}
	(void)snprintf(what, sizeof(what), "unrelated response, %zu rows, AR %g", n, ar);
	cell_at_most(c, what, told, runs, 0.05);
}

static void
unrelated_shape(struct calibration *c, size_t n, const struct shape *shape)
{
	size_t runs = calibrate_runs(c, REDUCTION_COST), told = 0;
	char what[64];
	bool found;

	for (size_t k = 0; k < runs; k++) {
		metrics_fill(n, 0, shape);
		shape->fill(response, n);
		told += has_headline(n, &found);
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
	bool found;

	for (size_t k = 0; k < runs; k++) {
		metrics_fill(n, ar, NULL);
		noise_ar(noise, n, ar);
		for (size_t i = 0; i < n; i++)
			response[i] = group[0][i] - group[1][i] + 0.5 * noise[i];
		told += has_headline(n, &found);
		right += found;
	}
	(void)snprintf(what, sizeof(what), "two drivers, %zu rows, AR %g: headline", n, ar);
	cell_at_least(c, what, told, runs, 0.9);
	(void)snprintf(what, sizeof(what), "two drivers, %zu rows, AR %g: both kept", n, ar);
	cell_at_least(c, what, right, runs, 0.9);
}

void
calibrate_reduction(struct calibration *c)
{
	static const size_t sizes[] = { 30, 60, 240, 600 };
	static const double ars[] = { 0, 0.5, 0.9, 0.99 };

	calibrate_title(c, "Headlines of the metric reduction");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (size_t k = 0; k < sizeof(ars) / sizeof(*ars); k++)
			unrelated(c, sizes[i], ars[k]);
	for (size_t i = 1; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (size_t k = 0; k < sizeof(shapes) / sizeof(*shapes); k++)
			unrelated_shape(c, sizes[i], &shapes[k]);
	for (size_t k = 0; k < 3; k++)
		two_drivers(c, ROWS_MAX, ars[k]);
}
