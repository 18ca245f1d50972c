/* SPDX-License-Identifier: BSD-3-Clause */
/* What the curve and the counting of its classes must agree on. */
#ifndef ANALYZE_DENSITY_VALUE_H
#define ANALYZE_DENSITY_VALUE_H
#include <math.h>

#include "narrows/density.h"

/* The value all operations of a bucket count as; 1e-9 forgives edges that were computed. */
static inline bool
bucket_is_single(const struct nw_density_bucket *b, double tick)
{
	return b->high - b->low <= tick * (1 + 1e-9);
}

static inline double
bucket_value(const struct nw_density_bucket *b, double tick, bool log_scale)
{
	if (bucket_is_single(b, tick))
		return b->low;
	return log_scale ? sqrt(b->low) * sqrt(b->high) : b->low + (b->high - b->low) / 2;
}

static inline bool
bucket_is_usable(const struct nw_density_bucket *b)
{
	return b->count > 0 && isfinite(b->count) && isfinite(b->low) && isfinite(b->high);
}

#endif
