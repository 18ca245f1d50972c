/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Demotion: the oldest chunk of a tier becomes buckets of the next tier, in the transaction that
 * deletes the chunk. So each row counts in exactly one place at any moment, whatever fails and
 * however late the row came.
 */
#ifndef STORE_ROLLUP_H
#define STORE_ROLLUP_H

#include "store/write/compact.h"

/* How far a search for old chunks has come: the end and the id of the last chunk looked at. */
struct age_cursor {
	int64_t t1, id;
};
extern const struct age_cursor age_cursor_first;

enum { AGED_NONE = 0 };
/* A removable chunk or roll-up, if any. */
struct aged {
	int64_t id; /* AGED_NONE: none found */
	int64_t layout_id;
	int tier;
	bool more; /* none among the many looked at, but there are more to look at */
};

enum { HOST_ANY = -1 };
struct aged_search {
	int tier;
	int64_t before_wall_ns; /* chunks that ended before */
	int64_t host_id;        /* of a host, or HOST_ANY */
};
/* Finds the oldest chunk behind the cursor that is not pinned; moves the cursor there. */
int rollup_oldest(struct connection *c, const struct aged_search *search, struct age_cursor *at,
    struct aged *out);
/*
 * Inside a transaction: turns the chunk into buckets of the next tier, or deletes a chunk of the
 * last tier. NW_ECORRUPT: the chunk does not decode, and stays.
 */
int rollup_demote(struct compactor *k, const struct aged *what, bool in_need);
/* Inside a transaction: deletes a damaged chunk. */
int rollup_discard(struct compactor *k, const struct aged *what);

#endif
