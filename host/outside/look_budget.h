/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When to look at all connections of the host. The cost of such a look grows with the number of
 * connections, so looks keep a share of a processor; and where hardly a byte moved on the host
 * since the last look, no connection has become a transfer, and no look is due. Numbers in,
 * answers out.
 */
#ifndef HOST_OUTSIDE_LOOK_BUDGET_H
#define HOST_OUTSIDE_LOOK_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* zero to start, but for the limits */
struct look_budget {
	double share;           /* of a processor */
	uint64_t bytes_per_s;   /* a slower host has no new transfer.. */
	uint64_t bytes;         /* ..before so many bytes have moved */
	int64_t next_mono_ns;   /* no look before */
	int64_t looked_mono_ns; /* the last look; 0: none */
	uint64_t host_bytes;    /* of the host, at the last look */
};

/* Whether a look is due; host_bytes: moved by the host since its start, 0: unknown. */
bool look_budget_is_due(const struct look_budget *b, int64_t now_mono_ns, uint64_t host_bytes);
/* After a look that took cost_ns of a processor. */
void
look_budget_spend(struct look_budget *b, int64_t now_mono_ns, uint64_t host_bytes, int64_t cost_ns);

#endif
