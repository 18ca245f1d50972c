/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock's step, read off a histogram. See narrows/density.h. */
#include <math.h>
#include <stdlib.h>

#include "analyze/density/density_value.h"
#include "narrows/density.h"
#include "narrows/err.h"

/* share of all values: above it, empty space between two neighbours has a reason */
#define HEAVY     0.01
#define GAPS_MIN  2
#define STEP_MAX  65536 /* ticks; a coarser clock's values are single buckets' worth anyway */
#define TICKS_MAX 1e15  /* still whole numbers, with room for rounding */

struct range { /* low <= ticks < high */
	double low, high, count;
};

static int
compare_ranges(const void *a, const void *b)
{
	double x = ((const struct range *)a)->low, y = ((const struct range *)b)->low;

	return x < y ? -1 : x > y;
}

static bool
holds_multiple(double low, double high, double step)
{
	return ceil(low / step) * step < high;
}

/* Usable buckets in ticks, sorted; returns their number, 0 if a bucket is not in whole ticks. */
static size_t
to_ticks(const struct nw_density_bucket *b, size_t n, double tick, struct range *r)
{
	size_t i, kept = 0;

	for (i = 0; i < n; i++) {
		if (!bucket_is_usable(&b[i]) || !(b[i].low > 0))
			continue;
		r[kept] =
		    (struct range){ round(b[i].low / tick), round(b[i].high / tick), b[i].count };
		if (r[kept].high > TICKS_MAX || fabs(b[i].low / tick - r[kept].low) > 1e-3 ||
		    r[kept].high <= r[kept].low)
			return 0;
		kept++;
	}
	qsort(r, kept, sizeof(*r), compare_ranges);
	return kept;
}

/* Does every bucket hold a multiple of the step, and does it explain why some heavy neighbours have
 * a gap between? */
static bool
explains(const struct range *r, size_t n, double heavy, double step)
{
	size_t i, gaps = 0;

	for (i = 0; i < n; i++)
		if (!holds_multiple(r[i].low, r[i].high, step))
			return false;
	for (i = 1; i < n; i++)
		gaps += r[i - 1].count >= heavy && r[i].count >= heavy &&
		    r[i].low > r[i - 1].high && !holds_multiple(r[i - 1].high, r[i].low, step);
	return gaps >= GAPS_MIN;
}

int
nw_density_clock_step(const struct nw_density_bucket *buckets, size_t n, double tick, double *step)
{
	struct range *r = malloc((n + 1) * sizeof(*r));
	double total = 0, largest = STEP_MAX, q;
	size_t i, n_ranges;

	*step = tick;
	if (r == NULL)
		return NW_ENOMEM;
	n_ranges = to_ticks(buckets, n, tick, r);
	for (i = 0; i < n_ranges; i++) {
		total += r[i].count;
		/* largest distance of two multiples in the two buckets */
		if (i > 0)
			largest = fmin(largest, r[i].high - 1 - r[i - 1].low);
	}
	for (q = n_ranges > 1 ? largest : 0; q >= 2; q--)
		if (explains(r, n_ranges, HEAVY * total, q)) {
			*step = q * tick;
			break;
		}
	free(r);
	return NW_OK;
}
