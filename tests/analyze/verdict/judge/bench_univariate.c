/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the statistics of one series cost, beside the usual ways to the same answer in the same run.
 *
 *   what                  cost model                                 memory while running
 *   density of n values   n (ln + range + bin for quartiles +        8 n bytes, the gathered bins
 *                         square + spread) + 10 m log2 2m of the     (a few per cent of n), 40 m
 *                         transform, m = 512
 *   classes               n log2 classes comparisons                 classes
 *   changes of n <= 8192  n^2/2 comparisons, n^2/20 logarithms at    about 100 n bytes
 *                         most; fewer by the square of the number
 *                         of changes
 *   changes of more       as of 4096, + as of the positions near     32 n bytes + as of 4096
 *                         the changes
 *
 * References: ln and a sort of the same values (what quartiles usually cost); optimal partitioning
 * without pruning. Each time is the median CPU time of the runs given. Memory is what a child
 * process that does it once grows by.
 */
#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "narrows/changepoint.h"
#include "narrows/density.h"
#include "narrows/err.h"
#include "narrows/summary.h"
#include "tests/noise.h"

enum { VALUES = 1000000, HOUR = 3600, DAY = 86400, RUNS_MAX = 16 };

static double *durations, *ticking, *scratch;
static double flat_hour[HOUR], busy_hour[HOUR], flat_day[DAY], busy_day[DAY];
static volatile double sink;

static void
fail(const char *what)
{
	fprintf(stderr, "bench_univariate: %s\n", what);
	exit(1);
}

static void
make_data(void)
{
	size_t i;

	durations = malloc(VALUES * sizeof(*durations));
	ticking = malloc(VALUES * sizeof(*ticking));
	scratch = malloc(VALUES * sizeof(*scratch));
	if (durations == NULL || ticking == NULL || scratch == NULL)
		fail("no memory");
	for (i = 0; i < VALUES; i++) {
		durations[i] = (noise_uniform() < 0.7 ? 2e-5 : 7e-3) * exp(0.3 * noise_normal());
		ticking[i] = noise_uniform() < 0.95 ? 1.5e-7 : 1.6e-7; /* a clock of 10 ns */
	}
	noise_fill(flat_hour, HOUR);
	noise_fill(flat_day, DAY);
	for (i = 0; i < HOUR; i++)
		busy_hour[i] = noise_normal() + (double)(i / 300 % 4) * 3;
	for (i = 0; i < DAY; i++)
		busy_day[i] = noise_normal() + (double)(i / 1800 % 4) * 3;
}

/* --- what is measured --- */

static void
density_of(const double *x)
{
	struct nw_density d;

	if (nw_density(x, VALUES, &nw_density_defaults, &d) != NW_OK)
		fail("density");
	sink = d.bw;
	nw_density_clear(&d);
}

static void
run_density(void)
{
	density_of(durations);
}

static void
run_density_ticking(void)
{
	density_of(ticking);
}

static void
run_classes(void)
{
	struct nw_density d;
	struct nw_classes c;

	if (nw_density(durations, VALUES, &nw_density_defaults, &d) != NW_OK ||
	    nw_classes_find(&d, NW_CLASS_H_MIN, NW_CLASS_CUTOFF_FRACTION, false, &c) != NW_OK)
		fail("classes");
	nw_classes_count(&c, &d, durations, VALUES);
	sink = c.n_outliers;
	nw_classes_clear(&c);
	nw_density_clear(&d);
}

static void
run_summary(void)
{
	struct nw_summary s = { 0 };
	size_t i;

	for (i = 0; i < VALUES; i++)
		nw_summary_add(&s, durations[i]);
	sink = nw_summary_sd(&s);
}

static void
changes_of(const double *y, size_t n)
{
	struct nw_changes c;

	if (nw_changes(y, n, &nw_change_faithful, &c) != NW_OK)
		fail("changes");
	sink = (double)c.n_segments;
	nw_changes_clear(&c);
}

static void
run_flat_hour(void)
{
	changes_of(flat_hour, HOUR);
}

static void
run_busy_hour(void)
{
	changes_of(busy_hour, HOUR);
}

static void
run_flat_day(void)
{
	changes_of(flat_day, DAY);
}

static void
run_busy_day(void)
{
	changes_of(busy_day, DAY);
}

/* --- references --- */

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
run_logs(void)
{
	size_t i;

	for (i = 0; i < VALUES; i++)
		scratch[i] = log(durations[i]);
	sink = scratch[VALUES / 2];
}

static void
run_sort(void)
{
	run_logs();
	qsort(scratch, VALUES, sizeof(*scratch), by_value);
	sink = scratch[VALUES / 4];
}

/* Every end with every start. */
static void
run_partitioning(void)
{
	static double sum[HOUR + 1], square[HOUR + 1], best[HOUR + 1];
	double penalty = 3 * log(HOUR), m, mean, var, cost;
	size_t s, t;

	for (t = 0; t < HOUR; t++) {
		sum[t + 1] = sum[t] + flat_hour[t];
		square[t + 1] = square[t] + flat_hour[t] * flat_hour[t];
	}
	best[0] = -penalty;
	for (t = 1; t <= HOUR; t++)
		for (s = 0, best[t] = INFINITY; s + 5 <= t; s++) {
			m = (double)(t - s);
			mean = (sum[t] - sum[s]) / m;
			var = (square[t] - square[s]) / m - mean * mean;
			cost = best[s] + penalty + m * log(var > 1e-8 ? var : 1e-8);
			best[t] = cost < best[t] ? cost : best[t];
		}
	sink = best[HOUR];
}

/* --- measuring --- */

static double
cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double
median_ms(void (*run)(void), int runs)
{
	double t[RUNS_MAX];
	int i;

	run();
	for (i = 0; i < runs; i++) {
		t[i] = cpu_ms();
		run();
		t[i] = cpu_ms() - t[i];
	}
	qsort(t, (size_t)runs, sizeof(*t), by_value);
	return t[runs / 2];
}

static void
run_nothing(void)
{
}

/* Peak of a child that runs it once. */
static long
child_kib(void (*run)(void))
{
	struct rusage usage;
	pid_t child;
	int status;

	malloc_trim(0); /* else the child finds what earlier runs left */
	child = fork();
	if (child == 0) {
		run();
		_exit(0);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0)
		fail("child");
	return usage.ru_maxrss;
}

static void
show(const char *what, void (*run)(void), int runs, double reference_ms)
{
	double ms = median_ms(run, runs);
	long kib = child_kib(run) - child_kib(run_nothing);

	printf("%-38s %9.2f %12.3f %11ld\n", what, ms, ms / reference_ms, kib > 0 ? kib : 0);
}

int
main(int argc, char **argv)
{
	double sort_ms, partitioning_ms;

	noise_seed(argc, argv, 30);
	make_data();
	sort_ms = median_ms(run_sort, 3);
	partitioning_ms = median_ms(run_partitioning, 3);
	printf("%-38s %9s %12s %11s\n", "", "CPU ms", "of the sort", "memory KiB");
	show("ln and sort of 1e6", run_sort, 3, sort_ms);
	show("  ln alone", run_logs, 9, sort_ms);
	show("density of 1e6, two classes", run_density, 9, sort_ms);
	show("density of 1e6, two values of a clock", run_density_ticking, 9, sort_ms);
	show("density of 1e6 and its classes", run_classes, 9, sort_ms);
	show("running summary of 1e6", run_summary, 9, sort_ms);
	printf("%-38s %9s %12s %11s\n", "", "CPU ms", "of the plain", "memory KiB");
	show("plain partitioning of 3600", run_partitioning, 3, partitioning_ms);
	show("changes of 3600, none", run_flat_hour, 9, partitioning_ms);
	show("changes of 3600, one every 300", run_busy_hour, 9, partitioning_ms);
	show("changes of 86400, none", run_flat_day, 5, partitioning_ms);
	show("changes of 86400, one every 1800", run_busy_day, 5, partitioning_ms);
	free(durations);
	free(ticking);
	free(scratch);
	return 0;
}
