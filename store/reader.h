/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of a reader: a read-only connection, its copy of the tail, working memory. reader.c,
 * rows.c, verify.c. */
#ifndef STORE_READER_H
#define STORE_READER_H

#include "narrows/store.h"
#include "store/cache.h"
#include "store/columns.h"
#include "store/db.h"
#include "store/tail.h"

enum reader_stmt {
	R_BEGIN,
	R_END,
	R_PIN,
	R_HOSTS,
	R_HOST,
	R_PROVIDERS,
	R_SESSIONS,
	R_SESSION,
	R_SESSION_LAST,
	R_XSP,
	R_XSP_ONE,
	R_RUNS,
	R_META,
	R_METAS_OF_SESSION,
	R_METAS_OF_HOST,
	R_METAS_OF_HOSTS,
	R_LAYOUTS,
	R_FIELDS,
	R_UNIT,
	R_LAYOUT,
	R_TAIL_ENDS,
	R_TAIL_NEWER,
	R_CHUNKS,
	R_CHUNK_DATA,
	R_CHUNK_LAST,
	R_CHUNKS_ALL,
	R_ROLLUPS_ALL,
	R_ROLLUP_ANY,
	R_ROLLUP_NEWEST,
	R_ROLLUP_LAST,
	R_PIECES,
	R_AGGREGATES,
	R_STMTS
};

struct store_reader {
	sqlite3 *db;
	bool borrowed; /* the connection is somebody else's */
	bool old_too;  /* whatever version the file has */
	struct db_stmts stmts;
	bool begun;   /* by the caller */
	bool in_rows; /* the working memory below is in use */

	struct tail *tail;
	struct chunk_codec *codec;
	struct chunk_rows decoded;
	struct columns fresh, merged; /* the layout's rows in the tail; those and a chunk's */
	struct columns_piece piece;
	const double **value; /* what a block points to */
	const uint8_t **hist;
	size_t *hist_len;
	size_t cap_value, cap_hist;

	struct cache *cache;   /* columns of chunks, as decoded */
	const double **cached; /* [cap_cached] a chunk made of them */
	size_t cap_cached;
};

/* As store_reader_open(), of this version or an older one; good for copying. */
int reader_open_old(const char *path, struct store_reader **out, char why[STORE_WHY_BYTES]);
/* A reader within the statement that runs on a connection, and so within its snapshot.
 * NW_ENOMEM. */
int reader_attach(sqlite3 *db, struct store_reader **out);
/* Brings the copy of the tail up to the snapshot. */
int reader_load_tail(struct store_reader *r);
/* A snapshot for one call, unless the caller holds one. reader_unpin() returns rc. */
int reader_pin(struct store_reader *r);
int reader_unpin(struct store_reader *r, int rc);

#endif
