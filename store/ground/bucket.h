/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bucketing: rows of a layout become buckets of time, and buckets become longer buckets. A bucket
 * is a row of five statistics per field, column f * STATS + s; the time of a bucket is the time of
 * its last row, so that reports of an interval still say where the interval ended. Buckets begin at
 * multiples of their length since 1970.
 *
 * NaN means "not measured" and is skipped. Mean and variance are joined as in Chan, Golub, LeVeque
 * 1979: no sum of squares, so nothing cancels.
 */
#ifndef STORE_BUCKET_H
#define STORE_BUCKET_H

#include "store/ground/columns.h"

enum { STAT_N, STAT_SUM, STAT_MIN, STAT_MAX, STAT_M2, STATS };
_Static_assert(
    STATS *TAIL_FIELDS_MAX <= CHUNK_COLUMNS_MAX, "a roll-up of the widest layout is a chunk");

struct bucket_stat {
	double n, sum, min, max, m2;
};

extern const int64_t tier_step_ns[]; /* by tier (STORE_TIERS); 0 for raw rows */

static inline int64_t
bucket_number(int64_t t_wall_ns, int64_t step_ns)
{
	return t_wall_ns / step_ns - (t_wall_ns % step_ns < 0);
}

/* The first row behind `from`, up to `to`, outside the bucket of row `from`. */
size_t bucket_end(const int64_t *t_wall_ns, size_t from, size_t to, int64_t step_ns);
/* The number of buckets of rows from..to, in time order. */
size_t buckets_count(const int64_t *t_wall_ns, size_t from, size_t to, int64_t step_ns);

/* State of bucketing. Zero before first use. */
struct bucketer {
	int64_t step_ns;
	struct columns *out; /* the caller's, of STATS columns a field, with room for all buckets */
	const uint32_t *fields; /* NULL: all fields */
	size_t n_fields;        /* of the list, or of the layout */
	bool open;              /* the last row of out may still grow */
	bool has_hist;
	uint64_t *counts; /* of the open bucket */
	uint8_t *hist;
	size_t cap_hist;
	uint64_t lost_hists; /* bytes without a histogram */
};

/* Sets the destination of buckets, and closes an open bucket. */
void bucketer_begin(struct bucketer *f, int64_t step_ns, struct columns *out,
    const uint32_t *fields, size_t n_fields);
/* Adds rows from..to, in time order and not before rows of earlier calls: plain rows, or buckets
 * (stats). NW_ENOMEM. */
int bucketer_add(
    struct bucketer *f, const struct chunk_columns *rows, size_t from, size_t to, bool stats);
int bucketer_end(struct bucketer *f); /* closes the last bucket */
void bucketer_clear(struct bucketer *f);

#endif
