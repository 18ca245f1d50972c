/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order in which data goes when a store is full. The host with the most bytes pays, so that a
 * host that floods the store evicts its own data, and all others keep theirs. Of that host's data
 * goes, oldest first, the first kind in this order that has more than its share of the host's
 * bytes:
 *
 *	rows            3/8    become buckets of 10 s, or of a minute where 10 s save little
 *	events          1/8    are deleted
 *	timelines       1/16   documents stay, with empty lists
 *	buckets of 10 s 3/16   become buckets of a minute
 *	of a minute     1/8    become buckets of an hour
 *	of an hour      1/16   are deleted
 *	documents       3/16   the sentence, the stage and the other columns of a result stay
 *
 * Where every kind is within its share, the first kind that may go does.
 *
 * Descriptions count as bytes of their host, and go with their sessions. So each kind keeps at
 * least its share where the host has so much of that kind: neither do years of buckets push out the
 * last hour of rows, nor documents the samples. Data of pinned sessions stays. Sessions as a whole
 * are the ceiling's (ceiling.h).
 */
#ifndef STORE_EVICT_H
#define STORE_EVICT_H

#include "store/write/eventwriter.h"
#include "store/write/rollup.h"

struct evictor {
	struct compactor *k;
	/* how far the tiers of each host were looked through, by the host's index in sizes */
	struct host_cursor {
		struct age_cursor at[STORE_TIERS];
	} * cursors;
	size_t n_cursors;
};

struct victim {
	int kind;           /* as in sizes.h */
	int64_t session_id; /* of timelines and documents */
	struct event_old events;
	struct aged chunk; /* of tiers */
	bool found;
	bool of_most; /* the host has the most bytes */
};

void evictor_clear(struct evictor *e);
/* Bytes of a host, of all kinds. */
int64_t evict_host_bytes(const struct host_size *h);
/* Finds the data that goes next; victim->found is false if nothing may go. */
int evict_find(struct evictor *e, struct victim *victim);
/* Inside a transaction: takes the victim a tier down, or deletes the victim. */
int evict(struct evictor *e, const struct victim *victim);

#endif
