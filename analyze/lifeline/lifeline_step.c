/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A delay that begins in the middle of a run, where durations differ too much from each other for
 * two classes: the wait in a queue, for example. The series is cut into blocks of equal counts. A
 * step has a block (the one in which the change may lie) with every median behind clearly above
 * every median before. In a series that only wanders this order of so many medians does not come.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/lifeline/lifeline_in.h"
#include "analyze/quantile.h"
#include "narrows/summary.h"

enum { BLOCKS = 20, SIDE_MIN = 5, BLOCK_MIN = 3 };
#define CLEAR 0.25 /* of the size lies between the highest median before and the lowest behind */
#define Z95   1.96

static double
extreme(const double *v, size_t from, size_t to, bool high)
{
	double found = v[from];

	for (; from < to; from++)
		if ((v[from] > found) == high && v[from] != found)
			found = v[from];
	return found;
}

/* The block with the best parting of the medians, and the distance. */
static size_t
parting(const double *median, double *gap_s)
{
	size_t k, best = SIDE_MIN;
	double gap;

	*gap_s = -INFINITY;
	for (k = SIDE_MIN; k + SIDE_MIN < BLOCKS; k++) {
		gap = extreme(median, k + 1, BLOCKS, false) - extreme(median, 0, k, true);
		if (gap > *gap_s) {
			*gap_s = gap;
			best = k;
		}
	}
	return best;
}

/* The variance of a side's median, from the medians of its blocks. */
static double
side_variance(const double *median, size_t from, size_t to)
{
	struct nw_summary s = nw_summary_of(median + from, to - from);

	return nw_summary_variance(&s) / (double)s.n;
}

static double
part_median(double *scratch, const double *s, size_t from, size_t to)
{
	memcpy(scratch, s + from, (to - from) * sizeof(*s));
	return quantile(scratch, to - from, 0.5);
}

bool
line_step(const double *s, size_t n, double *scratch, struct line_step *out)
{
	double median[BLOCKS], gap_s, half;
	size_t i, k;

	if (n < BLOCKS * BLOCK_MIN)
		return false;
	for (i = 0; i < BLOCKS; i++)
		median[i] = part_median(scratch, s, i * n / BLOCKS, (i + 1) * n / BLOCKS);
	k = parting(median, &gap_s);
	out->at = (median[k] - extreme(median, 0, k, true) > gap_s / 2 ? k : k + 1) * n / BLOCKS;
	out->size_s = part_median(scratch, s, (k + 1) * n / BLOCKS, n) -
	    part_median(scratch, s, 0, k * n / BLOCKS);
	half = Z95 * sqrt(side_variance(median, 0, k) + side_variance(median, k + 1, BLOCKS));
	out->low_s = out->size_s - half;
	out->high_s = out->size_s + half;
	return gap_s > CLEAR * out->size_s && out->low_s > 0;
}
