/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The budget of waiting times: how hard to sample so that the programs in the kernel and the
 * delivery stay below a share of a processor. The load of a link is unknown before the first
 * interval, so one slot of time in BUDGET_SLOTS_START is sampled then. Where slots are too many,
 * the next interval has fewer; where there is room, it has as many as the room allows. Where the
 * programs cost more than the budget although hardly a slot is sampled, they are detached for whole
 * intervals. Numbers in, numbers out.
 */
#ifndef MAGNET_BUDGET_H
#define MAGNET_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

enum { BUDGET_SLOTS_START = 8, BUDGET_SLOTS_MAX = 64, BUDGET_PAUSE_MAX = 59 };

struct wait_budget {
	double share;      /* limit, as a share of one processor */
	uint16_t slots;    /* one slot of slots is sampled: a power of two */
	unsigned pause;    /* intervals left without attached programs */
	bool kept;         /* whether the last interval kept the budget */
	double used_share; /* of the last interval with programs attached */
};

void wait_budget_init(struct wait_budget *b, double share);
/* After an interval: takes the share of a processor that was used, as far as the programs ran.
 * Returns whether slots or pause have changed. */
bool wait_budget_step(struct wait_budget *b, double used_share);

#endif
