/* SPDX-License-Identifier: BSD-3-Clause */
/* One stream of rows, or of buckets, out of all places where a layout's rows may be: tail, chunks,
 * roll-ups. */
#ifndef STORE_MERGE_H
#define STORE_MERGE_H

#include "store/ground/bucket.h"
#include "store/read/aggregation.h"

typedef int merge_fn(void *arg, const struct columns *c, size_t from, size_t to);

struct merge {
	struct store_reader *r;
	int64_t layout_id, t0, t1;
	int64_t step_ns; /* 0 for rows where there are rows; else the length of buckets */
	size_t n_fields;
	const uint32_t *fields;     /* NULL: all */
	size_t n_wanted;            /* of fields */
	size_t fresh_at, fresh_end; /* rows of r->fresh still to come */
	merge_fn *fn;               /* gets columns of fields, or of STATS each (step_ns > 0) */
	void *arg;

	struct aggregate *aggregates; /* of rows */
	uint32_t *stat_columns;       /* columns to read of roll-ups; NULL: all */
	size_t n_stat_columns;
	int64_t bucket_ns; /* length of the longest carried bucket */
	size_t kept_bytes; /* of buckets, put into the reader's cache */
	struct columns carry, next, stats;
	struct columns_piece piece;
	struct bucketer fold;
};

/* Streams rows to fn. r->fresh holds the layout's rows of the tail, with the same fields. Returns
 * the last result of fn, or an error. */
int merge_run(struct merge *b);

#endif
