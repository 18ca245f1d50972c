/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a field's value for a longer time is, given its buckets: amounts add up, counters stand
 * where they stood last, minima are minima, averages of operations are weighted by how many there
 * were. So a roll-up can be read as rows of its layout, and whoever knows the layout need not know
 * roll-ups.
 */
#ifndef STORE_MEANING_H
#define STORE_MEANING_H

#include "store/reader.h"

enum meaning_how {
	MEANING_MEAN, /* of the rows: gauges, and what is not known */
	MEANING_SUM,
	MEANING_MIN,
	MEANING_MAX,
	MEANING_LAST,  /* of a counter: its largest, as it only rises */
	MEANING_RATIO, /* the sum of field `over` by the sum of field `by` */
	/* a standard deviation: those within, and that of field `over` between rows */
	MEANING_SPREAD
};
struct meaning {
	enum meaning_how how;
	uint32_t over, by;
};

/* Of a layout's fields, in order; free() it. NW_ENOMEM, NW_ENOTFOUND, NW_ECORRUPT. */
int meaning_load(struct store_reader *r, int64_t layout_id, size_t n_fields, struct meaning **out);
/* The value of one field in one row of buckets; stats are the columns of a roll-up. */
double
meaning_value(const struct meaning *m, uint32_t field, const double *const *stats, size_t row);

#endif
