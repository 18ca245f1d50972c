/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The size ceiling of WAL and file together. SQLite itself refuses more pages (max_page_count), and
 * no transaction begins without room in the WAL. Long before, the oldest data goes, and a working
 * store has free pages to write on.
 *
 * A commit leaves room for the move of the tail into chunks: else rows on their way to chunks would
 * fill the store.
 *
 * evict.h says which data goes. When descriptions (metadata, connections, sessions) take more than
 * half of the store, old sessions go first, as a whole: of the host with the most bytes of
 * descriptions, the oldest session of the host alone that ended an hour ago, or else ended series
 * of the host alone without a sample left; a minute ago, if the host has far more descriptions than
 * the rest; else the oldest session of any host that ended an hour ago, or a minute ago. Where only
 * rows in the tail hold such sessions, the rows are moved.
 *
 * No host pays for the flood of another one. The share of a host is an equal part of the bytes of
 * all hosts. Before data of other hosts go, the host with the most bytes loses, if it is above its
 * share, its series without samples, however young, also those of open connections and sessions;
 * rows for such series come too late. The same series go before the store refuses data. So a store
 * refuses data only when the rest is pinned.
 */
#ifndef STORE_CEILING_H
#define STORE_CEILING_H

#include "store/write/evict.h"
#include "store/write/forget.h"

struct ceiling {
	struct compactor *k;
	struct mover *mover;
	struct forgetter *forgetter;
	uint64_t max_bytes;            /* of file and WAL; 0 means no ceiling */
	int64_t page_bytes, pages_max; /* of the file */
	/* pages in use at the last count (INT64_MAX: none), and the pages_most of then */
	int64_t counted_live, counted_most;
	size_t wal_max_bytes, group_max_bytes;
	struct evictor evictor;
	int64_t described;   /* the host with the most bytes of descriptions, at the last look */
	bool described_much; /* host with more than 1.5 times the mean */
	uint64_t forgotten_since;
	/* the last look without success at what of a host ended so long ago, and how long no look
	 * follows */
	int64_t rest_host, rest_settled_ns, rest_until_mono_ns;
};

/* Puts a ceiling into force; max_bytes 0 means no ceiling. */
int ceiling_init(struct ceiling *c, struct compactor *k, struct mover *m, struct forgetter *f,
    uint64_t max_bytes);
/*
 * Outside a transaction: makes room for a transaction that writes so many bytes, by freeing the
 * oldest data. NW_EIO: no room can be made, the connection's trouble says so. NW_ETOOBIG: there
 * will never be so much room. Without a ceiling always NW_OK.
 */
int ceiling_make_room(struct ceiling *c, size_t bytes);
/* The same for a commit, which adds to the tail; and for moving all of the tail into chunks. */
int ceiling_make_room_to_commit(struct ceiling *c, size_t bytes);
int ceiling_make_room_to_move(struct ceiling *c);
/* Makes room in advance, one bounded step at a time, as far as a working store needs. */
int ceiling_step(struct ceiling *c);
void ceiling_clear(struct ceiling *c);
/* True if the file has more pages than allowed, which have to be given back. */
bool ceiling_is_exceeded(const struct ceiling *c);

#endif
