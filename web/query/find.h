/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds metadata and fields that a query asks for, in the order of their ids. A search holds one
 * window of descriptions, opens no query between calls, and looks at a bounded number of metadata
 * per call, so that a search through a large store yields to other clients.
 */
#ifndef NARROWS_WEB_FIND_H
#define NARROWS_WEB_FIND_H

#include <stdbool.h>

#include "narrows/store.h"
#include "web/query/series_query.h"

struct find;

/* Fields of a layout that match the query. */
struct found_layout {
	int64_t id;
	size_t n_fields;   /* number of matching fields */
	uint32_t *columns; /* place of each in the layout */
	char **fields;
	char **units; /* UCUM, "" for an unknown unit */
};

struct found {
	int64_t series_id, session_id; /* session_id 0: the host's own series */
	const char *host;              /* "" for an unknown host */
	char *event_type, *subject_json, *params_json;
	size_t n_layouts;
	struct found_layout *layouts; /* those with a matching field */
};

enum find_state { FIND_ONE, FIND_NONE_YET, FIND_END };

/* The reader and the query must outlive the search. NW_ENOMEM and codes of the store. */
int find_new(struct store_reader *r, const struct query *q, struct find **out);
void find_free(struct find *f);
/* Before the first find_next(): the search looks at these ids of metadata alone. */
void find_between(struct find *f, const struct store_span *span);
/*
 * FIND_ONE: *out is the next metadata, on loan until the next call. FIND_NONE_YET: nothing matches
 * in this part of the store. FIND_END: no further metadata, or the query's limit. Negative: a
 * code.
 */
int find_next(struct find *f, const struct found **out);
/* Begins the search anew with what it found, without a question to the store. Returns false if the
 * first of that is no longer in memory: the search goes on then. */
bool find_again(struct find *f);
/* How many ids of metadata the search looks at, as far as that is known before. */
double find_cost(const struct find *f);
/* series_id to continue after, 0 if the search came to the end of the store. */
int64_t find_rest(const struct find *f);

#endif
