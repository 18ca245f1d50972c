/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/magnet/budget.h"

#include <math.h>

/* Below this part of the budget there is room for twice as many slots. */
static const double ROOM = 0.4;

void
wait_budget_init(struct wait_budget *b, double share)
{
	*b = (struct wait_budget){ .share = share, .slots = BUDGET_SLOTS_START, .kept = true };
}

bool
wait_budget_step(struct wait_budget *b, double used_share)
{
	uint16_t slots = b->slots;

	if (b->pause > 0) {
		b->pause--;
		return b->pause == 0;
	}
	b->used_share = used_share;
	b->kept = !(used_share > b->share);
	if (b->kept) {
		while (b->slots > 1 && used_share * slots < ROOM * b->share * b->slots)
			b->slots /= 2;
		return b->slots != slots;
	}
	while (b->slots < BUDGET_SLOTS_MAX && used_share * slots > b->share * b->slots)
		b->slots *= 2;
	if (slots == BUDGET_SLOTS_MAX)
		b->pause =
		    (unsigned)fmin(BUDGET_PAUSE_MAX, fmax(1, ceil(used_share / b->share) - 1));
	return true;
}
