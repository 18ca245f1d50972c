/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders: what a box may ask of a provider that offered it in HELLO ("can"), and what the provider
 * answers. Each is one flat BSON document in an option block; narrows-xsp(7) says the keys. Bytes
 * in, structs out; no clock.
 *
 * An order has two periods, never one for the other: how often to look (collection) and how often
 * to send (report). Every order is on lease: it ends by itself when the box does not renew it.
 */
#ifndef NARROWS_ORDER_H
#define NARROWS_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/doc.h"

enum {
	NW_ORDER_ID_BYTES = 65,
	NW_ORDER_TEXT_BYTES = 256,
	NW_ORDER_ADDRESS_BYTES = 46,
	NW_ORDER_KEYS_MAX = 24
};

#define NW_ORDER_COLLECTION_MIN_NS INT64_C(10000000)       /* 10 ms */
#define NW_ORDER_PERIOD_MAX_NS     INT64_C(3600000000000)  /* 1 h, of both */
#define NW_ORDER_LEASE_MIN_NS      INT64_C(100000000)      /* 100 ms */
#define NW_ORDER_LEASE_MAX_NS      INT64_C(86400000000000) /* 1 d */

/* Text is empty, numbers are 0 when not given. */
struct nw_order {
	uint16_t opt; /* NW_OPT_START, _STOP or _RATE */
	/* the same again renews or changes it; STOP "a" also ends "a/..." */
	char id[NW_ORDER_ID_BYTES];
	char event_type[NW_ORDER_TEXT_BYTES]; /* how the event types begin that are meant */
	char task_id[NW_ORDER_TEXT_BYTES];    /* the session that what is started belongs to */
	/* a TCP connection; src is the provider's end */
	char src[NW_ORDER_ADDRESS_BYTES], dst[NW_ORDER_ADDRESS_BYTES];
	uint16_t sport, dport;
	int64_t collection_ns, report_ns, lease_ns;
};

/* NW_EPROTO with *why when it is not whole or out of bounds: a stranger's word, or our own
 * mistake. */
int nw_order_check(const struct nw_order *o, const char **why);
/* NW_EINVAL: does not check; NW_ENOMEM */
int nw_order_encode(struct nw_doc_buf *out, const struct nw_order *o);
int
nw_order_decode(struct nw_order *o, uint16_t opt, const uint8_t *buf, size_t len, const char **why);
static inline bool
nw_order_has_connection(const struct nw_order *o)
{
	return o->src[0] != '\0' && o->dst[0] != '\0' && o->sport != 0 && o->dport != 0;
}

/* STATUS: what a provider does now and what that costs. Text is on loan: from the caller, or out of
 * buf. */
struct nw_order_status {
	const char *collecting; /* words: probes, connections; NULL: nothing said */
	const char *orders;     /* ids of those in force, as words */
	double collection_s, report_s;
	double cpu_s; /* since the provider began */
	int64_t rss_bytes, docs_queued, docs_dropped, orders_rejected;
};
int nw_order_status_encode(struct nw_doc_buf *out, const struct nw_order_status *s);
int
nw_order_status_decode(struct nw_order_status *s, const uint8_t *buf, size_t len, const char **why);

/* CLOCK: the box sends t1, the provider answers with t1, when it came (t2) and when it answers
 * (t3). 0: not yet. */
struct nw_clock {
	int64_t t1_wall_ns, t2_wall_ns, t3_wall_ns;
};
int nw_clock_encode(struct nw_doc_buf *out, const struct nw_clock *c);
int nw_clock_decode(struct nw_clock *c, const uint8_t *buf, size_t len, const char **why);
/*
 * The provider's clock minus the box's, and how wrong that can be: half of the time the exchange
 * was under way, whatever the two directions took (RFC 5905, 8). NW_EPROTO: the times contradict
 * each other.
 */
int
nw_clock_offset(const struct nw_clock *c, int64_t t4_wall_ns, double *offset_s, double *bound_s);

/* Whether `word` is in a list of words parted by blanks. */
bool nw_order_word(const char *words, const char *word);

#endif
