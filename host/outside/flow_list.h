/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP connections of this host over time: which of them have become transfers worth a session, and
 * which of those are over. Pure bookkeeping: samples in, answers out.
 *
 *	SEEN --moved enough, or long and fast enough--> DUE --flows_take()--> TAKEN
 *	TAKEN --quiet for a while--> SEEN (counting begins anew); any --gone--> forgotten
 *	DUE --flows_refuse()--> REFUSED, until the connection is gone
 *	SEEN --flows_claim()--> DUE; a claimed connection is DUE again with its next byte
 */
#ifndef HOST_OUTSIDE_FLOWS_H
#define HOST_OUTSIDE_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "host/lib/net_addr.h"

struct flows;

struct flows_limits {
	uint64_t bytes;            /* moved, in both directions: a transfer at once */
	int64_t after_ns;          /* age at which a rate makes a transfer */
	uint64_t rate_bytes_per_s; /* the rate */
	int64_t quiet_ns;          /* without a byte for so long, a transfer is over */
};

struct flow_sample {
	uint64_t cookie; /* the kernel's number of the socket: never given twice */
	uint64_t inode;
	uint32_t uid;
	struct net_addr local, peer;
	uint64_t moved_bytes;
	/* bytes written and not acknowledged, less bytes received and not read by the program */
	int64_t queued_bytes;
};

enum flow_state { FLOW_SEEN, FLOW_DUE, FLOW_TAKEN, FLOW_REFUSED };

/* The holder's notice of a connection. */
struct flow_claim {
	uint32_t pid;
	char task[]; /* empty: none */
};

struct flow {
	struct flow_sample last;
	enum flow_state state;
	int64_t from_mono_ns;  /* counting began */
	int64_t moved_mono_ns; /* a byte has moved */
	uint64_t from_bytes;
	uint64_t look;
	int worker;               /* as given to flows_take() */
	struct flow_claim *claim; /* NULL: none */
};

/* `limits` is on loan for the life of the table. */
struct flows *flows_new(const struct flows_limits *limits);
void flows_free(struct flows *f);
/* Begins a look: at all connections of the host, or at those alone that are TAKEN. The first look
 * is at all. */
void flows_begin(struct flows *f, int64_t now_mono_ns, bool all);
void flows_note(struct flows *f, const struct flow_sample *s);
/* Ends the look: connections of the look without a note are forgotten. */
void flows_end(struct flows *f);
/* Calls fn for each connection that is DUE or TAKEN; fn may change state and worker. */
void flows_each(struct flows *f, void (*fn)(void *arg, struct flow *flow), void *arg);
/* The connection is part of the worker's session from now on. */
void flows_take(struct flow *flow, int worker);
/* The connection with this peer and local end; family 0 of the local end stands for any address.
 * NULL: the table has no such connection, or several, which sets *is_ambiguous. */
struct flow *flows_find(
    struct flows *f, const struct net_addr *local, const struct net_addr *peer, bool *is_ambiguous);
/* The connection is a transfer of the process by the process's own word, and is DUE unless a
 * session has or refuses the connection. Thresholds count no more. */
void flows_claim(struct flow *flow, uint32_t pid, const char *task);
/* No session uses the connection. */
void flows_refuse(struct flow *flow);
/* Not now: counting begins anew. */
void flows_put_off(struct flows *f, struct flow *flow);

#endif
