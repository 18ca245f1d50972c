/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A direction of a stack of a session: a caliper over the operations, and the time with at least
 * one operation under way.
 *
 * Streams overlap, so the times of their operations add up to more than the clock's. The busy time
 * of a window is the union instead. In a server without threads the one thread also stands in disk
 * calls while operations of streams are under way; `apart` is that time so far, and the union
 * leaves its growth out.
 *
 * The caller holds one lock for all calls but the look at what nw_caliper_window lends out.
 */
#ifndef GRIDFTP_METER_H
#define GRIDFTP_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "narrows/caliper.h"

struct meter {
	struct nw_caliper *cal; /* NULL until the first operation */
	unsigned under_way, most_under_way;
	int64_t since_mono_ns, since_apart_ns; /* when the first of those under way began */
	int64_t union_ns, taken_ns;            /* ended stretches; told so far */
	uint64_t ops, bytes;                   /* ended operations with bytes */
};

/* NW_ENOMEM. Takes the caliper's memory before the first operation. */
int meter_ready(struct meter *m);
void meter_clear(struct meter *m);

void meter_begin(struct meter *m, int64_t now_mono_ns, int64_t apart_ns);
/* An operation is no longer under way. */
void meter_end(struct meter *m, int64_t now_mono_ns, int64_t apart_ns);
/* Counts an ended operation with bytes: `duration_ns` is its own time. */
void meter_count(struct meter *m, uint64_t bytes, int64_t duration_ns, int64_t end_mono_ns);
/* The time of all stretches so far, the present one included. */
int64_t meter_busy_ns(const struct meter *m, int64_t now_mono_ns, int64_t apart_ns);

/* The window since the last take. Returns false for a window without operation and without time. */
bool meter_take(struct meter *m, int64_t now_mono_ns, int64_t apart_ns, bool one_thread,
    struct nw_caliper_window *out);

#endif
