/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of a batch, for the writer: rows as a tail blob in the making, everything else as a
 * list of records. A record is the number of its statement and the values to bind, so applying a
 * record needs no code per kind. */
#ifndef STORE_BATCH_H
#define STORE_BATCH_H

#include "narrows/event.h"
#include "narrows/store.h"

enum batch_kind {
	BATCH_HOST,
	BATCH_XSP,
	BATCH_SESSION,
	BATCH_META,
	BATCH_LAYOUT,
	BATCH_RUN,
	BATCH_RESULT,
	BATCH_KEEPLIST,
	BATCH_KEEPLISTS_TRIM,
	BATCH_DIET,
	BATCH_DIET_TRIM,
	BATCH_DIET_ACCEPT,
	BATCH_DIET_END,
	BATCH_DIET_CARRIED,
	BATCH_DIET_SEEN,
	BATCH_SETTING,
	BATCH_SETTINGS_GONE,
	BATCH_SETTINGS_TRIM,
	BATCH_ROUTE,
	BATCH_ROUTES_TRIM,
	BATCH_INCIDENTS_GONE,
	BATCH_INCIDENT,
	BATCH_EXPERIMENT,
	BATCH_PROVIDER,
	BATCH_MERGE_META,
	BATCH_MERGE_XSP,
	BATCH_MERGE_RUN,
	BATCH_MERGE_EVENTS,
	BATCH_MERGE_NOTES,
	BATCH_DROP_RESULT,
	BATCH_KEEP_RESULT,
	BATCH_MERGE_PIN,
	BATCH_MERGE_SESSION,
	BATCH_KINDS,
	BATCH_SEAL = BATCH_KINDS /* without a statement: the only value is the session */
};

struct batch_value {
	char type; /* i, d, t, b; 0: NULL */
	union {
		int64_t i;
		double d;
		size_t at; /* t and b: in text */
	} u;
	size_t len;
};

struct batch_rec {
	enum batch_kind kind;
	size_t first_value, n_values;
};

/* Events of a session (0: of none) and a sender. */
struct batch_events {
	int64_t session_id, host_id;
	struct nw_events *columns;
	size_t bytes; /* of the columns, at the last count */
	struct batch_events *next;
};

struct nw_batch {
	uint8_t *rows; /* tail records (tail.h); NULL once the tail has taken the records */
	size_t rows_len, rows_cap;
	/* length of rows taken out: the queue counts a batch with its first length */
	size_t late_len;
	struct batch_rec *recs;
	size_t n_recs, cap_recs;
	struct batch_value *values;
	size_t n_values, cap_values;
	uint8_t *text;
	size_t text_len, text_cap;
	uint64_t n_rows, n_samples, n_events;
	struct batch_events *events; /* the builder in use of each pair, and full ones */
	size_t event_bytes;

	void (*done)(void *arg, int rc);
	void *arg;
	int rc;
	struct nw_batch *next; /* in the store's queues */
};

#endif
