/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A limit beside busy processors: does a program's wait for a processor limit, too?
 *
 * A wait during which the network or the disk worked anyway costs nothing (nw_starved_harm()), as
 * far as the kernels tell. Two signs are left that both limit. Where the network is the limit, but
 * delivered far more in its better windows than on average, its queue ran dry while a program had
 * no processor. And where neither the network (or the disk) nor the waiting program took nearly all
 * of the time, each took its part. The network's part is what the network needed for the bytes at
 * the rate of its better windows, if that rate is the network's own: it is even then. Beside a
 * program that keeps a pace, the chain tells what the waits cost (chained.c).
 *
 * Where the kernel tells no rates in the course of a transfer, a sender with long waits beside a
 * network that rested at times leaves open which of the two limits. The kernel woke the sender
 * because the socket had room again, and data stay in flight meanwhile, as acknowledgements come
 * late.
 */
#ifndef CROWD_H
#define CROWD_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/verdict/evidence/evidence.h"
#include "analyze/verdict/judge/resources.h"
#include "narrows/limit.h"

struct crowd {
	bool limits;     /* whether a wait for a processor limits beside another stage */
	size_t stage;    /* the other stage: network or disk; an index into the path */
	size_t program;  /* the stage of the waiting program, likewise */
	double room;     /* how many times the mean rate the other stage carries; NaN if unknown */
	double wait_s;   /* the program's time without a processor */
	bool is_certain; /* whether the better windows leave no doubt */
	bool is_open;    /* whether the network may limit alone, or the program */
};

/* starved_s: per process, seconds without a processor that a processor would have saved. */
void crowd_find(const struct evidence *e, const struct nw_path *p, const struct limit *l,
    const struct resources *r, const double *starved_s, struct crowd *out);

#endif
