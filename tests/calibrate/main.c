/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calibrate [-q] [-r RUNS] [-s SEED] [TABLE ..]
 *
 * Prints tables of false conclusions, power and coverage; -q runs few repetitions of all cells but
 * the dearest, and prints failures only. Exit status 1 if a cell failed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "narrows/special.h"
#include "tests/calibrate/calibrate.h"

enum { RUNS_FULL = 2000, RUNS_QUICK = 60, RUNS_MIN = 4 };

uint64_t noise_state;

static const struct {
	const char *name;
	void (*run)(struct calibration *c);
} tables[] = {
	{ "changes", calibrate_changes },
	{ "bottleneck", calibrate_bottleneck },
	{ "intervals", calibrate_intervals },
	{ "classes", calibrate_classes },
	{ "reduction", calibrate_reduction },
	{ "lifelines", calibrate_lifelines },
	{ "reached", calibrate_reached },
	{ "activetests", calibrate_activetests },
	{ "causes", calibrate_causes },
	{ "incidents", calibrate_incidents },
	{ "natural", calibrate_natural },
	{ "histories", calibrate_histories },
	{ "chains", calibrate_chains },
};

double
noise_student(unsigned df)
{
	double z = noise_normal(), square = 0;

	for (unsigned i = 0; i < df; i++) {
		double u = noise_normal();

		square += u * u;
	}
	return z / sqrt(square / df);
}

unsigned
noise_poisson(double mean)
{
	double left = exp(-mean), product = noise_uniform();
	unsigned n = 0;

	for (; product > left; n++)
		product *= noise_uniform();
	return n;
}

size_t
calibrate_runs(const struct calibration *c, double cost)
{
	double runs = (double)c->runs / cost;

	return runs < RUNS_MIN ? RUNS_MIN : (size_t)runs;
}

void
calibrate_title(const struct calibration *c, const char *text)
{
	if (c->verbose)
		printf("\n%s\n", text);
}

/* P(X >= k) of a binomial. */
static double
binomial_upper(size_t k, size_t n, double p)
{
	if (k == 0)
		return 1;
	if (p <= 0)
		return 0;
	return p >= 1 ? 1 : exp(nw_log_beta_inc((double)k, (double)(n - k) + 1, p, 1 - p));
}

static void
cell(struct calibration *c, const char *what, size_t events, size_t runs, const char *bound,
    bool failed)
{
	c->n_cells++;
	c->n_failed += failed;
	if (c->verbose || failed)
		printf("%-52s %6.2f %%  of %5zu  %-16s %s\n", what,
		    100 * (double)events / (double)runs, runs, bound, failed ? "FAILED" : "ok");
	fflush(stdout);
}

void
cell_at_most(struct calibration *c, const char *what, size_t events, size_t runs, double bound)
{
	char text[40];

	(void)snprintf(text, sizeof(text), "at most %g %%", 100 * bound);
	cell(c, what, events, runs, text, binomial_upper(events, runs, bound) < CELL_CHANCE);
}

void
cell_at_least(struct calibration *c, const char *what, size_t events, size_t runs, double bound)
{
	char text[40];

	(void)snprintf(text, sizeof(text), "at least %g %%", 100 * bound);
	cell(c, what, events, runs, text,
	    binomial_upper(runs - events, runs, 1 - bound) < CELL_CHANCE);
}

void
cell_within(
    struct calibration *c, const char *what, size_t events, size_t runs, double low, double high)
{
	char text[40];

	(void)snprintf(text, sizeof(text), "%g to %g %%", 100 * low, 100 * high);
	cell(c, what, events, runs, text,
	    binomial_upper(events, runs, high) < CELL_CHANCE ||
		binomial_upper(runs - events, runs, 1 - low) < CELL_CHANCE);
}

static bool
is_wanted(const char *name, int n_words, char *const *words)
{
	for (int i = 0; i < n_words; i++)
		if (strcmp(words[i], name) == 0)
			return true;
	return n_words == 0;
}

int
main(int argc, char **argv)
{
	struct calibration c = { .runs = RUNS_FULL, .verbose = true };
	uint64_t seed = 1;
	int opt;

	while ((opt = getopt(argc, argv, "qr:s:")) != -1) {
		switch (opt) {
		case 'q':
			c.runs = RUNS_QUICK;
			c.verbose = false;
			c.sample = true;
			break;
		case 'r': c.runs = strtoul(optarg, NULL, 10); break;
		case 's': seed = strtoull(optarg, NULL, 0); break;
		default: return 2;
		}
	}
	printf("seed %llu, %zu runs per cell\n", (unsigned long long)seed, c.runs);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		noise_state = seed;
		if (is_wanted(tables[i].name, argc - optind, argv + optind))
			tables[i].run(&c);
	}
	printf("%s calibrate: %zu cells, %zu failed\n", c.n_failed > 0 ? "FAIL" : "PASS", c.n_cells,
	    c.n_failed);
	return c.n_failed > 0;
}
