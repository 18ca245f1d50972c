/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of a reader: a read-only connection, a copy of the tail, working memory. Used by
 * reader.c, rows.c and verify.c. */
#ifndef STORE_READER_H
#define STORE_READER_H

#include "narrows/store.h"
#include "store/read/cache.h"
#include "store/ground/columns.h"
#include "store/ground/db.h"
#include "store/ground/document.h"
#include "store/ground/eventcodec.h"
#include "store/ground/tail.h"

enum reader_stmt {
	R_BEGIN,
	R_END,
	R_PIN,
	R_HOSTS,
	R_HOST,
	R_HOST_NAMED,
	R_PROVIDERS,
	R_SESSIONS,
	R_SESSIONS_AFTER,
	R_SESSIONS_DURING,
	R_DATA_VERSION,
	R_SESSION,
	R_KEEPLISTS,
	R_DIETS,
	R_DIET_SEEN,
	R_CHUNK_SIZE,
	R_ROWS_COUNT,
	R_CONFIG_AT,
	R_CONFIG_CHANGES,
	R_CONFIG_AGAIN,
	R_CONFIG_MOVES,
	R_SESSIONS_OF_ROUTE,
	R_ROUTES,
	R_ROUTE,
	R_ROUTES_LACKING,
	R_ROUTES_STALE,
	R_INCIDENTS,
	R_INCIDENTS_OPEN,
	R_VOUCHING,
	R_EXPERIMENTS,
	R_NOTES_OF_ROUTE,
	R_ACCEPTANCES,
	R_UNJUDGED,
	R_SESSION_LAST,
	R_XSP,
	R_XSP_OF_HOST,
	R_HOST_USE,
	R_XSP_ONE,
	R_RUNS,
	R_META,
	R_METAS_OF_SESSION,
	R_METAS_OF_HOST,
	R_METAS_OF_HOSTS,
	R_METAS_BETWEEN,
	R_META_LAST,
	R_LAYOUTS,
	R_FIELDS,
	R_UNIT,
	R_LAYOUT,
	R_TAIL_ENDS,
	R_TAIL_NEWER,
	R_CHUNKS,
	R_CHUNK_DATA,
	R_ROLLUP_DATA,
	R_CHUNK_LAST,
	R_CHUNKS_ALL,
	R_ROLLUPS_ALL,
	R_ROLLUP_ANY,
	R_ROLLUP_NEWEST,
	R_ROLLUP_LAST,
	R_PIECES,
	R_AGGREGATES,
	R_EVENTS,
	R_EVENTS_ALL,
	R_EVENT_DATA,
	R_EVENT_SPAN,
	R_NOTES,
	R_NOTES_COUNT,
	R_RESULT_STAMP,
	R_LABEL_NAMES,
	R_LABEL_VALUES,
	R_LABEL_SPAN,
	R_SERIES_IDS,
	R_METRICS,
	R_TESTS_BETWEEN,
	R_TESTS_AFTER,
	R_SESSIONS_BESIDE,
	R_TEST_PAIRS,
	R_TESTS_OF_PAIR,
	R_STMTS
};

struct store_reader {
	sqlite3 *db;
	bool borrowed; /* the connection belongs to another owner */
	bool old_too;  /* whatever version the file has */
	struct db_stmts stmts;
	bool begun;   /* by the caller */
	bool in_rows; /* the working memory below is in use */

	struct tail *tail;
	struct chunk_codec *codec;
	struct chunk_rows decoded;
	/* the layout's rows of the tail; the same and the rows of a chunk */
	struct columns fresh, merged;
	struct columns_piece piece;
	const double **value; /* pointers of a block */
	const uint8_t **hist;
	size_t *hist_len;
	size_t cap_value, cap_hist;

	struct document_codec *documents; /* NULL until a document is read */
	struct event_codec *events;       /* NULL until events are read */
	struct original_codec *originals; /* NULL until metadata as received are read */
	struct cache *cache;              /* columns of chunks, as decoded */
	const double **cached;            /* [cap_cached] a chunk of cached columns */
	size_t cap_cached;
};

/* As store_reader_open(), also for a store of an older version, to be copied. */
int reader_open_old(const char *path, struct store_reader **out, char why[STORE_WHY_BYTES]);
/* Makes a reader within the running statement of a connection, and so within its snapshot.
 * NW_ENOMEM. */
int reader_attach(sqlite3 *db, struct store_reader **out);
/* Brings the copy of the tail up to the snapshot. */
int reader_load_tail(struct store_reader *r);
/* Begin and end a snapshot for a call, unless the caller holds a snapshot. reader_unpin()
 * returns rc. */
int reader_pin(struct store_reader *r);
int reader_unpin(struct store_reader *r, int rc);

#endif
