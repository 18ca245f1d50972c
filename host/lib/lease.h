/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders in force at a provider. Each order ends by itself when the lease is over: a box that
 * disappears leaves nothing behind. Where several orders name the same series, the shortest
 * interval counts. Time is an argument.
 */
#ifndef HOST_LEASE_H
#define HOST_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/order.h"

enum { LEASES_MAX = 128 };

struct lease {
	struct nw_order order;
	int64_t until_mono_ns;
};
/* In the order of arrival. To start n is zero; the list, which is large, may be anything. */
struct leases {
	size_t n;
	struct lease list[LEASES_MAX];
};

/*
 * Takes an order: START and RATE begin, renew or change the lease of that id, STOP ends the lease
 * and all leases below. *changed tells whether anything but the time is different. NW_EFULL: too
 * many.
 */
int leases_take(struct leases *l, const struct nw_order *o, int64_t now_mono_ns, bool *changed);
/* Ends leases whose time is over; true if there was any. */
bool leases_expire(struct leases *l, int64_t now_mono_ns);
int64_t leases_deadline(const struct leases *l); /* of the first to end; INT64_MAX: none */

/* The interval of series with the event type; base_ns when no order names the type. */
int64_t leases_interval_ns(const struct leases *l, const char *event_type, int64_t base_ns);
/* The interval of samples that are kept, and how long; 0: no order wants samples kept. */
int64_t leases_keep_ns(const struct leases *l, const char *event_type, int64_t *keep_ns);
/* The shortest report period ordered, else base_ns. */
int64_t leases_report_ns(const struct leases *l, int64_t base_ns);
/* Whether a START names the event type, without naming a connection. */
bool leases_started(const struct leases *l, const char *event_type);
const struct lease *leases_find(const struct leases *l, const char *id);

#endif
