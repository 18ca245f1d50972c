/* SPDX-License-Identifier: BSD-3-Clause */
/* Forgetting: the oldest session goes as a whole, with its metadata, its verdict, its runs and
 * the rest of its samples. A verdict is worth more than samples and outlives samples. But
 * descriptions and results of a session take tens of KiB, and nothing else frees the space. */
#ifndef STORE_FORGET_H
#define STORE_FORGET_H

#include "store/write/mover.h"
#include "store/write/rollup.h"

enum { SESSION_NONE = 0 };

struct forgetter {
	struct connection *c;
	const struct mover *mover;
	/* Sessions up to this id wait for the next pass, because of damage in the session. */
	int64_t after;
	/* of forget_young(): the host of the last call, the last metadata looked at, the end of
	 * the rest after a look without success, and whether rows in the tail kept any series */
	int64_t young_host, young_after, young_rest_until_mono_ns;
	bool young_waits;
};

struct forget_search {
	int64_t closed_before_wall_ns;
	/* The session and its connections ended so long ago: forget_settled_ns, or less in need. */
	int64_t settled_ns;
	int64_t host_id; /* the only host of the session, or HOST_ANY */
};
extern const int64_t forget_settled_ns, forget_settled_in_need_ns;
/* Finds the oldest removable session: *id, or SESSION_NONE. */
int forget_oldest(struct forgetter *f, const struct forget_search *search, int64_t *id);
/* Forgets a session in a transaction of its own; of a session with very many samples, a bounded
 * part of the samples. A damaged session waits for the next pass. */
int forget_session(struct forgetter *f, int64_t id);
/* Forgets, in a transaction of its own, series of a host alone without a sample left, if their
 * connection ended so long ago, and such connections; at most some hundred. */
int forget_series(struct forgetter *f, int64_t host_id, int64_t settled_ns, size_t *n_dropped);
/* Forgets, in a transaction of its own, the oldest series of a host without samples, also young
 * ones and those of open connections; at most some hundred. Rows that follow come too late
 * (writer.c). After a look at all series without success, the next calls look at none for ten times
 * as long as the look took. */
int forget_young(struct forgetter *f, int64_t host_id, size_t *n_dropped);
/* True if only rows in the tail keep some session from being forgotten. */
bool forget_waits(struct forgetter *f);

#endif
