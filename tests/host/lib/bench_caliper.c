/* SPDX-License-Identifier: BSD-3-Clause */
/* What a caliper pair costs, next to the two clock reads it cannot do without. Thread CPU time,
 * medians, interleaved. */
#include "narrows/caliper.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 31, PAIRS = 200000 };

static int64_t
cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static double
clock_reads_ns(void)
{
	volatile int64_t keep;
	int64_t start = cpu_ns();
	int i;

	for (i = 0; i < PAIRS; i++) {
		keep = nw_mono_ns();
		keep = nw_mono_ns();
	}
	(void)keep;
	return (double)(cpu_ns() - start) / PAIRS;
}

static double
caliper_ns(struct nw_caliper *c)
{
	int64_t start = cpu_ns();
	int i;

	for (i = 0; i < PAIRS; i++) {
		nw_caliper_begin(c, nw_mono_ns());
		nw_caliper_end(c, 65536 + (i & 1023), nw_mono_ns());
	}
	return (double)(cpu_ns() - start) / PAIRS;
}

static double
fast_ns(struct nw_caliper *c)
{
	int64_t start = cpu_ns();
	int i;

	for (i = 0; i < PAIRS; i++) {
		nw_caliper_begin(c, nw_caliper_now());
		nw_caliper_end(c, 65536 + (i & 1023), nw_caliper_now());
	}
	return (double)(cpu_ns() - start) / PAIRS;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int
main(void)
{
	double clocks[ROUNDS], pairs[ROUNDS], fast[ROUNDS], take_ns;
	struct nw_caliper_window w;
	struct nw_caliper *c;
	int64_t start;
	int i;

	if (nw_caliper_new(&c) < 0)
		return 1;
	usleep(30000); /* the cycle counter is calibrated at the next take */
	nw_caliper_take(c, nw_mono_ns(), &w);
	for (i = 0; i < ROUNDS; i++) {
		clocks[i] = clock_reads_ns();
		fast[i] = fast_ns(c);
		pairs[i] = caliper_ns(c);
	}
	start = cpu_ns();
	nw_caliper_take(c, nw_mono_ns(), &w);
	take_ns = (double)(cpu_ns() - start);
	qsort(clocks, ROUNDS, sizeof(clocks[0]), by_value);
	qsort(pairs, ROUNDS, sizeof(pairs[0]), by_value);
	printf("two clock reads      %7.2f ns\n", clocks[ROUNDS / 2]);
	printf("caliper pair         %7.2f ns   %.3f x\n", pairs[ROUNDS / 2],
	    pairs[ROUNDS / 2] / clocks[ROUNDS / 2]);
	qsort(fast, ROUNDS, sizeof(fast[0]), by_value);
	printf("by the cycle counter %7.2f ns   %.3f x\n", fast[ROUNDS / 2],
	    fast[ROUNDS / 2] / clocks[ROUNDS / 2]);
	printf("take, per window     %7.0f ns\n", take_ns);
	nw_caliper_free(c);
	return w.n == 2 * (uint64_t)ROUNDS * PAIRS ? 0 : 1;
}
