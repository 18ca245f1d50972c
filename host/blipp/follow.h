/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP connections that the box orders blipp to follow: one series of event type "ps:host:tcp" each,
 * while its lease lasts. The fields have the names of RFC 4898, in its units, where the kernel
 * means the same; the others are linux_*, as the kernel counts them. A connection that is absent
 * (not yet there, closed, or in another network name space) has no samples.
 */
#ifndef HOST_FOLLOW_H
#define HOST_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/blipp/probe/queues.h"
#include "host/lib/ticker.h"
#include "host/lib/lease.h"
#include "host/blipp/probe/series.h"
#include "host/lib/tcpinfo.h"

extern const struct series_kind follow_kind;

struct follower {
	char order_id[NW_ORDER_ID_BYTES];
	char id[SERIES_ID_BYTES];
	struct nw_order order;
	struct net_addr local, peer;
	struct ticker ticker;
	char congestion[16]; /* algorithm, as announced */
	bool announced;
	bool found; /* the kernel has known the connection */
};

struct followers {
	struct follower list[LEASES_MAX];
	size_t n;
	unsigned stretch; /* factor of intervals that orders name; 0 counts as 1 */
	int fd;           /* socket diagnostics; -1: the system refuses them */
	int error;        /* errno of the refusal */
	bool all_fields;  /* also without a reader in the box */
};

void followers_init(struct followers *f);
void followers_clear(struct followers *f);
/* Follows the connections of the orders, at base_ns where an order names no interval; ends all
 * other series. */
void followers_sync(struct followers *f, const struct leases *l, int64_t base_ns, struct report *r,
    struct clock_pair now);
/* Samples the connections that are due, with the time of the report. Returns the last error, as
 * nw_provider_data(). */
int followers_sample(struct followers *f, struct report *r, struct clock_pair now);
/* The other ends of the connections that the kernel has known, each once, but not this host: an
 * order alone makes no host an end, so orders aim no sensor at strangers. */
size_t followers_ends(const struct followers *f, char out[][PEER_HOST_BYTES], size_t max);
/* Finds the queues of the interfaces that carry the followed connections. */
void followers_queues(const struct followers *f, struct queues *out);
int64_t followers_due(const struct followers *f); /* INT64_MAX: never */

/* Whether the box reads a field by its name; the others are sent on request alone. */
bool follow_is_read(const char *field);
/* Fills a value per field of follow_kind out of the kernel's answer. */
void follow_parse(const uint8_t *info, size_t len, double *values);
/* Fills the fields that follow_parse() leaves NaN. */
void follow_more(const struct tcpinfo_more *more, const uint8_t *info, size_t len, double *values);

#endif
