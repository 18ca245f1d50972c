/* SPDX-License-Identifier: BSD-3-Clause */
/* A push: what the fleet lacks goes from the box's store to the fleet. */
#ifndef FLEET_PUSH_H
#define FLEET_PUSH_H

#include "fleet/fleet.h"

struct fleet_push {
	const struct fleet_conf *conf;
	const char *store_path;  /* narrows.db, open for reading only */
	const char *memory_path; /* file with the newest run that the fleet has; made if missing */
	const char *clock;       /* of struct fleet_site */
	bool all;                /* begins with the first run again */
	int64_t levels_wait_ns;  /* roll-ups are counted at most once in so long */
	uint64_t sent, kept;     /* out: sessions sent, sessions that do not leave */
	uint64_t chunks;         /* out: chunks sent */
};

/* Sends batch by batch until the fleet has all; the memory follows each batch, so that a push that
 * is cut off goes on, and repeats a batch at most. NW_EINVAL, NW_EIO, ... with why. */
int fleet_push(struct fleet_push *p, char why[FLEET_WHY_BYTES]);
/* Calls fn with the rows that the next push would send, up to max sessions; nothing is sent. */
int fleet_preview(const struct fleet_push *p, size_t max,
    void (*fn)(void *arg, const struct fleet_rows *rows), void *arg, char why[FLEET_WHY_BYTES]);

/* Has the next push send the chunks of sessions, too. NW_EINVAL: chunks never leave with hashed
 * names, because their series have the names that senders chose. */
int fleet_give(struct fleet_push *p, const int64_t *sessions, size_t n, char why[FLEET_WHY_BYTES]);

/* Deletes sessions of this site from the fleet (n 0: all so far), first from what may leave: a
 * fleet that is away keeps them until the call is repeated, and none of them is sent again. */
int
fleet_delete(struct fleet_push *p, const int64_t *sessions, size_t n, char why[FLEET_WHY_BYTES]);

#endif
