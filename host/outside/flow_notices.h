/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notices of programs about their connections (flow_notice.h), on a datagram socket of this host,
 * to which any local process can write. The kernel names the sender of a datagram; a notice counts
 * only for a connection whose socket the sender holds. A notice waits for a look at all
 * connections, and is dropped after a few looks without the connection, or if several connections
 * fit. Bounds exist for waiting notices, for notices read by a look, and for descriptors looked at.
 */
#ifndef HOST_OUTSIDE_FLOW_NOTICES_H
#define HOST_OUTSIDE_FLOW_NOTICES_H

#include <stdbool.h>
#include <stdint.h>

#include "host/outside/flow_list.h"

struct flow_notices;

struct flow_notices_stats {
	uint64_t taken;     /* became part of a connection here */
	uint64_t missed;    /* found no agent, as senders say */
	uint64_t malformed; /* no notice, or without a sender */
	uint64_t foreign;   /* of a connection that another process holds */
	uint64_t
	    unfound; /* without its connection: over too soon, of another network or transport */
	uint64_t ambiguous; /* fit more than one connection */
	uint64_t full;      /* had no room to wait */
};

/* NULL, after a line of the log: no socket could be made at the path. */
struct flow_notices *flow_notices_open(const char *path);
/* Removes the socket. NULL is no error. */
void flow_notices_close(struct flow_notices *n);
/* Closes the descriptor alone, in a child. */
void flow_notices_leave(struct flow_notices *n);
int flow_notices_fd(const struct flow_notices *n);
/* Takes what has come, without waiting. Returns false if as many came as a look may bring: the
 * rest stays in the kernel until the next look. */
bool flow_notices_read(struct flow_notices *n);
/* Returns true if a notice waits for a look at all connections. */
bool flow_notices_wait(const struct flow_notices *n);
/* After a look at all connections of this host. */
void flow_notices_match(struct flow_notices *n, struct flows *f);
void flow_notices_get_stats(const struct flow_notices *n, struct flow_notices_stats *out);

#endif
