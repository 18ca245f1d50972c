/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forgetting: the oldest session goes as a whole, with its metadata, its verdict, its runs and the
 * rest of its samples. A verdict is worth more than samples and outlives them; but the descriptions
 * and results of a session take tens of KiB, and nothing else ever frees that space.
 */
#ifndef STORE_FORGET_H
#define STORE_FORGET_H

#include "store/mover.h"

enum { SESSION_NONE = 0 };

struct forgetter {
	struct connection *c;
	const struct mover *mover;
	/* Sessions up to this id are passed over in this pass: damage holds one of them. */
	int64_t after;
};

/* Finds the oldest session that closed before a time and can be forgotten: *id, or SESSION_NONE. */
int forget_oldest(struct forgetter *f, int64_t closed_before_wall_ns, int64_t *id);
/*
 * Forgets a session in a transaction of its own; of a session with very many samples, a bounded
 * part of the samples. A session that damage holds is passed over until the next pass.
 */
int forget_session(struct forgetter *f, int64_t id);
/* True if only rows in the tail keep some session from being forgotten. */
bool forget_waits(struct forgetter *f);

#endif
