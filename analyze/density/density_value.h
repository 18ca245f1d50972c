/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of buckets, alike for the curve and for the counts of its classes. */
#ifndef ANALYZE_DENSITY_VALUE_H
#define ANALYZE_DENSITY_VALUE_H
#include <math.h>

#include "narrows/density.h"

/* True if the bucket holds exactly one multiple of the clock's step; *value is the multiple. The
 * slack forgives scaled bounds. */
static inline bool
bucket_is_single(const struct nw_density_bucket *b, double step, double *value)
{
	double first = ceil(b->low / step - 1e-6) * step;

	*value = first;
	return first < b->high - 1e-6 * step && first + step >= b->high - 1e-6 * step;
}

/* The value all operations of a bucket count as. */
static inline double
bucket_value(const struct nw_density_bucket *b, double step, bool log_scale)
{
	double value;

	if (bucket_is_single(b, step, &value))
		return value;
	return log_scale ? sqrt(b->low) * sqrt(b->high) : b->low + (b->high - b->low) / 2;
}

static inline bool
bucket_is_usable(const struct nw_density_bucket *b)
{
	return b->count > 0 && isfinite(b->count) && isfinite(b->low) && isfinite(b->high);
}

#endif
