/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steps of a session's loops, as the programs mark them, or as the calls of loops with workers
 * tell. Only marks tell when the device that computes a step is idle: work of a device goes on
 * after the call that began the work.
 */
#ifndef CHAIN_STEPS_H
#define CHAIN_STEPS_H

#include "analyze/verdict/chain/chain_find.h"

struct steps_loop {
	const struct evidence_steps *of;
	double between_share, waited_share, read_share; /* of the time inside and between steps */
	struct claims told;
	char *sentence;
};

struct steps {
	struct steps_loop *loop;
	size_t n;
};

void steps_find(const struct evidence *e, const struct chain *c, struct steps *out);
void steps_clear_found(struct steps *s);

/* The share of fetches in the time of a process's loop, as the loop's calls tell; 0 without such
 * a loop. */
double steps_fetched_share(const struct evidence *e, const struct chain *c, size_t process);

#endif
