/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions over the samples of a window of time, as Prometheus 2 computes them, for windows that
 * move on in time. A step costs what enters and leaves its window, and not the whole window:
 *
 *	        low        split          high
 *	 ........|behind[low]|   front     |.......   sum, min, max, falls of counters
 *
 * The part before `split` has the aggregate of each of its ends, the part behind `split` has one
 * aggregate, which grows. When `low` passes `split`, all of the window becomes the first part. So
 * nothing is ever subtracted, and no digits are lost. Quantiles come from a tree of counts over the
 * ranks of all values in hand (Fenwick 1994), in O(log n) for each sample and step.
 */
#ifndef NARROWS_WEB_PROM_WINDOW_H
#define NARROWS_WEB_PROM_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "web/query/promql.h"

struct prom_sample {
	int64_t t_wall_ns;
	double v;
};

/* How long a window is. */
int64_t prom_window_ns(const struct promql_selector *q);

struct prom_windows;

/* Windows of the function and the range of q, on loan, over at most samples_max samples at a time.
 * NULL: no memory. */
struct prom_windows *prom_windows_new(const struct promql_selector *q, size_t samples_max);
void prom_windows_free(struct prom_windows *w); /* accepts NULL */
/* Begins windows over the samples, on loan, which rise in time. */
void prom_windows_begin(struct prom_windows *w, const struct prom_sample *s, size_t n);
/*
 * Value of the function at `end` over samples with end - range <= t <= end; NaN without enough
 * samples. *has tells whether there is a value; the value may be NaN. Ends never fall between two
 * calls of prom_windows_begin().
 */
double prom_windows_at(struct prom_windows *w, int64_t end_ns, bool *has);

#endif
