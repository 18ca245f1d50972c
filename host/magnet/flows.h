/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP connections, followed by the box's order: waiting times between layers, a series of each,
 * while the lease lasts. magnet asks the kernel for the connection's cookie, the socket's name in
 * the kernel's programs; a connection of another network namespace is not found.
 */
#ifndef MAGNET_FLOWS_H
#define MAGNET_FLOWS_H

#include <stddef.h>
#include <stdint.h>

#include "host/lib/lease.h"
#include "host/lib/net_addr.h"

struct kernel;
struct nw_provider;

enum { FLOWS_MAX = 64, FLOW_ID_BYTES = 400 };

struct flow {
	struct nw_order order;
	struct net_addr local, peer;
	uint64_t cookie;        /* 0: not found yet */
	char id[FLOW_ID_BYTES]; /* prefix of the ids of its series */
	uint32_t announced;     /* a bit per waiting time */
};

struct flows {
	struct flow list[FLOWS_MAX];
	size_t n, n_refused; /* orders without room or without valid addresses */
	int fd;              /* socket diagnostics; -1: the system refuses them */
};

void flows_init(struct flows *f);
void flows_clear(struct flows *f);
/* Follows the connections of the orders, and ends all other series. */
void flows_sync(struct flows *f, const struct leases *l, struct kernel *k, struct nw_provider *p,
    const char *host);
/* Looks for the sockets that are not found yet; to be called once per interval. */
void flows_find(struct flows *f, struct kernel *k);
/* The flow of a cookie, or NULL. */
struct flow *flows_of(struct flows *f, uint64_t cookie);

#endif
