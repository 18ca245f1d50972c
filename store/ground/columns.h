/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of one layout as columns, in memory: gathered from tail records and decoded chunks, put in
 * time order, handed to the chunk codec or to a reader's callback. Zero it before first use; memory
 * grows and is used again.
 */
#ifndef STORE_COLUMNS_H
#define STORE_COLUMNS_H

#include <stdbool.h>

#include "store/codec/chunk.h"
#include "store/ground/tail.h"

struct columns {
	size_t n_rows, n_fields;
	size_t n_wanted;
	uint32_t *wanted; /* the gathered fields; value[] of other fields is NULL */
	int64_t *t_wall_ns;
	double **value;     /* [n_fields] columns, into mem */
	uint32_t *hist_end; /* [n_rows], as chunk_columns.attachment_end */
	uint8_t *hist;
	bool has_hist;
	double *mem;
	/* elements there is room for */
	size_t cap_times, cap_ends, cap_value, cap_wanted, cap_mem, cap_hist;
};

/* Empties c and makes room for rows of n_fields values, or of the wanted fields only (NULL: all).
 * NW_ENOMEM. */
int columns_reset(
    struct columns *c, size_t n_fields, const uint32_t *wanted, size_t n_wanted, size_t cap_rows);
void columns_clear(struct columns *c);
/* Append, within the room made. NW_ENOMEM and NW_ETOOBIG are about histograms. */
int columns_add_rec(struct columns *c, const struct tail_rec *rec);
int columns_add_rows(struct columns *c, const struct chunk_columns *rows, size_t from, size_t to);
/* Sets the histogram of the newest row, for callers that fill values and times in place. */
int columns_set_hist(struct columns *c, size_t row, const uint8_t *hist, size_t len);
/* Sorts by time; stable: rows of the same time stay in order of arrival. NW_ENOMEM leaves the order
 * as before. */
int columns_sort(struct columns *c);
/* First row at or after t; rows must be in time order. */
size_t columns_seek(const int64_t *t_wall_ns, size_t n_rows, int64_t t);

/* Rows from..to of columns, for the codec: points into c. Zero before first use. */
struct columns_piece {
	struct chunk_columns is;
	const double **value; /* [n_fields], the piece's own */
	uint32_t *hist_end;   /* [n_rows], the piece's own */
	size_t cap_value, cap_ends;
};
/* NW_ENOMEM */
int columns_cut(const struct columns *c, size_t from, size_t to, struct columns_piece *out);
void columns_piece_clear(struct columns_piece *p);

#endif
