/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compaction: rows of the tail become chunks, and small chunks become larger ones. All calls run
 * inside a transaction of the connection.
 */
#ifndef STORE_COMPACT_H
#define STORE_COMPACT_H

#include "store/ground/bucket.h"
#include "store/ground/columns.h"
#include "store/write/connection.h"

/* When rows move. Tests take smaller numbers, so that little data meets every case. */
struct writer_limits {
	/* rows wanted in a chunk: more rows compress little better and take longer to read */
	size_t chunk_rows;
	size_t tail_bytes;  /* largest size of the tail; beyond, the oldest rows move */
	size_t step_values; /* values moved per transaction: how long a commit may have to wait */
	size_t chunk_bytes; /* decoded bytes wanted at most; 0 stands for the default */
};
extern const struct writer_limits writer_limits_default;

struct id_list {
	int64_t *id;
	size_t n, cap;
};
int id_list_add(struct id_list *l, int64_t id);

/* A list of chunks without overlap: the rows of a layout, or a tier of its roll-ups. */
struct chunk_list {
	int stmts; /* W_CHUNK_BEFORE or W_ROLLUP_BEFORE, the first statement of the list's table */
	int64_t key; /* layout id; of a roll-up: layout id * STORE_TIERS + tier */
	int tier;
};
/* Statements of a list's table, counted from chunk_list.stmts. */
enum chunk_list_stmt { LIST_BEFORE, LIST_AFTER, LIST_NEWEST, LIST_DATA, LIST_ADD, LIST_DROP };
struct chunk_list chunk_list_of(int64_t layout_id, int tier);

/* Working memory of compaction and roll-up. */
struct compactor {
	struct connection *c;
	struct writer_limits limits;
	struct chunk_codec *codec;
	struct chunk_buf chunk;
	struct chunk_rows decoded;
	struct columns fresh, merged;
	struct columns_piece piece;
	struct id_list victims;
	uint8_t *last; /* the last row of a chunk, as numbers and packed */
	size_t cap_last;
	size_t values_encoded; /* since the caller's last reset to 0 */
	int64_t layout_id;     /* layout in hand; host_id and names belong to the layout */
	int64_t host_id;
	uint64_t names;
	uint64_t family; /* the family of the list in hand, for the codec */
	struct bucketer bucketer;
	struct columns joined; /* buckets of joined parts */
};

/* NW_ENOMEM. compactor_clear() frees everything after success and failure. */
int compactor_init(
    struct compactor *k, struct connection *c, const struct writer_limits *limits_or_null);
void compactor_clear(struct compactor *k);

/* Writes the rows of a layout in the tail as chunks; memory stays as it is. final: no more rows
 * will come. l is NULL for a layout without rows in the tail. */
int compact_layout(struct compactor *k, const struct tail_layout *l, int64_t layout_id, bool final);
/* Puts k->fresh, in time order, into a list, together with chunks that need to be merged. */
int chunk_list_put(struct compactor *k, const struct chunk_list *s, size_t n_columns, bool final);
int chunk_list_drop(struct compactor *k, const struct chunk_list *s, int64_t id);
/* Decodes a chunk into k->decoded. NW_ECORRUPT, NW_EVERSION, NW_ETOOBIG: unreadable. */
int chunk_list_decode(struct compactor *k, const struct chunk_list *s, int64_t id);

#endif
