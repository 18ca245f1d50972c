/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The value of a field for a longer time, from the field's buckets: amounts add up, counters keep
 * their last value, minima stay minima, averages of operations are weighted by the count of
 * operations. A roll-up can so be read as rows of its layout, and readers of a layout need not know
 * roll-ups.
 */
#ifndef STORE_AGGREGATION_H
#define STORE_AGGREGATION_H

#include "narrows/field.h"
#include "store/read/reader.h"

struct aggregate {
	enum nw_aggregation how; /* never NW_AGG_UNSAID */
	uint32_t over, by;       /* other fields of the layout, for NW_AGG_RATIO and _SPREAD */
};

/* The aggregates of a layout's fields, in order; the caller frees *out. NW_ENOMEM, NW_ENOTFOUND,
 * NW_ECORRUPT. */
int
aggregates_load(struct store_reader *r, int64_t layout_id, size_t n_fields, struct aggregate **out);
/* The value of a field in a row of buckets; stats are the columns of a roll-up. */
double
aggregate_value(const struct aggregate *a, uint32_t field, const double *const *stats, size_t row);

#endif
