/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tail: rows that are committed but not yet in chunks. Writer and readers hold the same
 * picture in memory: the blobs of the file and an index by layout.
 *
 * A blob is a run of row records, each a multiple of 8 bytes and so aligned in memory; little
 * endian:
 *
 *	struct tail_rec                24 bytes
 *	int64_t  t_wall_ns[n_rows]
 *	double   value[n_rows][n_fields]
 *	uint8_t  hist[hist_len]        of the one row; then zeros up to a multiple of 8
 *
 * Batches hold their rows in this form from the start: the bytes of ingest go to disk
 * unchanged.
 */
#ifndef STORE_TAIL_H
#define STORE_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tail blobs are mapped, not converted");

enum {
	TAIL_FIELDS_MAX = 4096, /* as many as a chunk has columns */
	TAIL_ROWS_MAX = 65536,  /* in one record */
	TAIL_HIST_MAX_BYTES = 1 << 20
};

struct tail_rec {
	int64_t layout_id;
	uint32_t n_rows, n_fields;
	uint32_t hist_len; /* > 0 only with n_rows == 1 */
	uint32_t zero;
};

static inline size_t
tail_rec_bytes(size_t n_rows, size_t n_fields, size_t hist_len)
{
	return sizeof(struct tail_rec) + 8 * n_rows * (1 + n_fields) +
	    ((hist_len + 7) & ~(size_t)7);
}

static inline const int64_t *
tail_rec_times(const struct tail_rec *r)
{
	return (const int64_t *)(const void *)(r + 1);
}

static inline const double *
tail_rec_values(const struct tail_rec *r)
{
	return (const double *)(const void *)(tail_rec_times(r) + r->n_rows);
}

static inline const uint8_t *
tail_rec_hist(const struct tail_rec *r)
{
	return (const uint8_t *)(tail_rec_values(r) + (size_t)r->n_rows * r->n_fields);
}

/* The record at p, checked against its limits and len. NULL: the bytes are none. p is aligned to
 * 8. */
const struct tail_rec *tail_rec_at(const uint8_t *p, size_t len);

/* One layout's rows in the tail, in order of arrival. */
struct tail_layout {
	int64_t id;
	uint32_t n_fields;
	size_t n_rows, n_recs, cap_recs;
	struct tail_ref {
		int64_t blob_id;
		const struct tail_rec *rec;
	} * recs;
	bool moving;                       /* the rows are on their way into chunks */
	struct tail_layout *older, *newer; /* by the blob of the first row */
	struct tail_layout *same_bucket;
};

struct tail;
/* for tail_next_full(); SIZE_MAX: not used. NULL: no memory */
struct tail *tail_new(size_t full_rows);
void tail_free(struct tail *t);
size_t tail_bytes(const struct tail *t);     /* of all blobs */
size_t tail_layouts(const struct tail *t);   /* number of layouts with rows */
int64_t tail_first_id(const struct tail *t); /* 0: none */
int64_t tail_last_id(const struct tail *t);
struct tail_layout *tail_find(const struct tail *t, int64_t layout_id); /* NULL: no rows */
/* Finds the layout whose rows have been in the tail longest; NULL for an empty tail. */
struct tail_layout *tail_oldest(const struct tail *t);
/* Walks the layouts with full_rows or more; *at starts as 0. NULL at the end. */
struct tail_layout *tail_next_full(struct tail *t, size_t *at);
/* The highest blob to be freed so that at most max_bytes stay; 0 if the tail fits. */
int64_t tail_excess_id(const struct tail *t, size_t max_bytes);

/*
 * Takes a blob (malloc'ed; freed also on error) with a higher id than all before. NW_ECORRUPT: not
 * a run of records, or a layout changes its number of fields. After an error the tail must be
 * cleared or freed.
 */
int tail_add(struct tail *t, int64_t id, uint8_t *blob, size_t len);
/* Drops a layout's rows in blobs up to an id, after their move into chunks. Pointers to the layout
 * die with its last row. */
void tail_forget(struct tail *t, int64_t layout_id, int64_t through_id);
/* Frees blobs below an id, after all rows in the blobs were dropped. */
void tail_trim(struct tail *t, int64_t first_kept_id);
void tail_clear(struct tail *t);

#endif
