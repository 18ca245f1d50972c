/* SPDX-License-Identifier: BSD-3-Clause */
/* Density classes: how often the number of classes is right, for mixtures whose number is known. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "narrows/density.h"
#include "narrows/hist.h"
#include "tests/calibrate/calibrate.h"

enum { CLASSES_COST = 25 };

/* One duration in seconds. */
struct part {
	double share, median_s, sd;
};

static double
draw_parts(const struct part *p, size_t n)
{
	double u = noise_uniform();
	size_t i;

	for (i = 0; i + 1 < n && u >= p[i].share; i++)
		u -= p[i].share;
	return p[i].median_s * exp(p[i].sd * noise_normal());
}

static double
draw_one(void)
{
	static const struct part p[] = { { 1, 1e-4, 0.4 } };

	return draw_parts(p, 1);
}

static double
draw_broad(void)
{
	static const struct part p[] = { { 1, 1e-3, 1.2 } };

	return draw_parts(p, 1);
}

static double
draw_exponential(void)
{
	return -1e-3 * log(1 - noise_uniform());
}

static double
draw_pareto(void)
{
	return 1e-4 * pow(1 - noise_uniform(), -1 / 1.5);
}

static double
draw_90_10(void)
{
	static const struct part p[] = { { 0.9, 1e-4, 0.1 }, { 0.1, 4e-3, 0.3 } };

	return draw_parts(p, 2);
}

static double
draw_99_1(void)
{
	static const struct part p[] = { { 0.99, 1e-4, 0.1 }, { 0.01, 4e-3, 0.3 } };

	return draw_parts(p, 2);
}

static double
draw_60_30_10(void)
{
	static const struct part p[] = { { 0.6, 2e-5, 0.2 }, { 0.3, 6e-4, 0.2 },
		{ 0.1, 2e-2, 0.2 } };

	return draw_parts(p, 3);
}

static double
draw_factor_2(void)
{
	static const struct part p[] = { { 0.5, 1e-4, 0.1 }, { 0.5, 2e-4, 0.1 } };

	return draw_parts(p, 2);
}

/* A clock of 1 us: cached at 3 us, from disk at 200 us. */
static double
draw_coarse_clock(void)
{
	static const struct part p[] = { { 0.7, 3e-6, 0.3 }, { 0.3, 2e-4, 0.2 } };

	return fmax(1e-6, 1e-6 * round(1e6 * draw_parts(p, 2)));
}

static double
draw_coarse_one(void)
{
	static const struct part p[] = { { 1, 9e-6, 0.15 } };

	return fmax(1e-6, 1e-6 * round(1e6 * draw_parts(p, 1)));
}

static const struct mixture {
	const char *name;
	double (*draw)(void);
	size_t n_classes;
	size_t n_min; /* fewest operations that tell the classes */
} mixtures[] = {
	{ "one lognormal", draw_one, 1, 200 },
	{ "one broad lognormal", draw_broad, 1, 200 },
	{ "exponential", draw_exponential, 1, 200 },
	{ "Pareto tail", draw_pareto, 1, 200 },
	{ "90 % fast, 10 % slow by 40", draw_90_10, 2, 200 },
	{ "99 % fast, 1 % slow by 40", draw_99_1, 2, 1000 },
	{ "60, 30, 10 % over three decades", draw_60_30_10, 3, 200 },
	{ "two by a factor of 2", draw_factor_2, 2, 200 },
	{ "two on a clock of 1 us", draw_coarse_clock, 2, 200 },
	{ "one on a clock of 1 us", draw_coarse_one, 1, 200 },
};

static size_t
classes_of(const struct mixture *m, size_t n_ops, bool histogram)
{
	struct nw_density_options o = nw_density_defaults;
	struct nw_density_bucket *b = calloc(n_ops + NW_HIST_BUCKETS, sizeof(*b));
	uint64_t *counts = calloc(NW_HIST_BUCKETS, sizeof(*counts));
	struct nw_density d;
	struct nw_classes c;
	size_t n = 0, found;
	double step = 1;

	for (size_t i = 0; i < n_ops; i++)
		counts[nw_hist_index((uint64_t)fmax(1, round(1e9 * m->draw())))]++;
	for (uint32_t i = 0; histogram && i < NW_HIST_BUCKETS; i++)
		if (counts[i] > 0) {
			nw_hist_bounds(i, &b[n].low, &b[n].high);
			b[n++].count = (double)counts[i];
		}
	o.grid = 0;
	if (nw_density_clock_step(b, n, 1, &step) != 0 ||
	    nw_density_buckets(b, n, step, &o, &d) != 0 ||
	    nw_classes_test(&d, b, n, step, NW_CLASS_H_MIN, NW_CLASS_CUTOFF_FRACTION, &c) != 0)
		abort();
	found = c.n;
	nw_classes_clear(&c);
	nw_density_clear(&d);
	free(b);
	free(counts);
	return found;
}

void
calibrate_classes(struct calibration *c)
{
	static const size_t sizes[] = { 200, 500, 1000, 2000, 10000, 100000 };
	size_t runs, right;
	char what[80];

	calibrate_title(c, "The number of density classes is right");
	for (size_t i = 0; i < sizeof(mixtures) / sizeof(*mixtures); i++)
		for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
			if (sizes[k] < mixtures[i].n_min)
				continue;
			runs = calibrate_runs(c, CLASSES_COST * (sizes[k] > 20000 ? 4 : 1));
			right = 0;
			for (size_t r = 0; r < runs; r++)
				right += classes_of(&mixtures[i], sizes[k], true) ==
				    mixtures[i].n_classes;
			(void)snprintf(
			    what, sizeof(what), "%s, %zu operations", mixtures[i].name, sizes[k]);
			cell_at_least(c, what, right, runs, 0.9);
		}
}
