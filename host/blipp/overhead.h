/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The overhead budget: the share of a core that blipp may take. What blipp took is looked at over
 * whole windows of OVERHEAD_WINDOW_NS; above the budget every interval is stretched, by as much as
 * is missing and in steps of two at least, and far enough below they shorten again. Times are
 * arguments.
 */
#ifndef HOST_OVERHEAD_H
#define HOST_OVERHEAD_H

#include <stdbool.h>
#include <stdint.h>

#define OVERHEAD_WINDOW_NS INT64_C(5000000000)
enum { OVERHEAD_STRETCH_MAX = 1024 };

struct overhead {
	double share;     /* of a core; 0: no budget */
	unsigned stretch; /* factor of all intervals; a power of two */
	double used;      /* share in the last whole window */
	int64_t overruns; /* windows after which intervals became longer */
	int64_t begun_mono_ns;
	double begun_cpu_s;
};

/* The first window begins. */
void overhead_begin(struct overhead *b, double share, int64_t now_mono_ns, double cpu_s);
/* Returns true if the stretch has changed. */
bool overhead_step(struct overhead *b, int64_t now_mono_ns, double cpu_s);

#endif
