/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single operations of a caliper as events. The caliper's thread notes them with each digest;
 * any caller may ask for a window of time meanwhile.
 */
#ifndef HOST_CALIPER_OPS_H
#define HOST_CALIPER_OPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "narrows/caliper.h"
#include "narrows/order.h"

struct caliper_ops {
	struct nw_eventlog *log; /* NULL: the program has prepared none */
	char name[NW_ORDER_TEXT_BYTES];
	char order_id[NW_ORDER_ID_BYTES]; /* of the last START */
	int point;
	uint32_t one_in, skipped; /* operations since the last event */
	/* the window that is wanted; until 0: none */
	_Atomic int64_t from_mono_ns, until_mono_ns;
};

static inline bool
caliper_ops_wanted(const struct caliper_ops *o)
{
	return __builtin_expect(
	    atomic_load_explicit(&o->until_mono_ns, memory_order_acquire) != 0, 0);
}

/* Of the operations that wait for the digest. */
void caliper_ops_note(struct caliper_ops *o, const struct nw_caliper_hot *hot);
/* caliper.c: a part of the caliper. */
struct caliper_ops *caliper_ops_of(struct nw_caliper *c);

#endif
