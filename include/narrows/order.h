/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders: requests of a box to a provider that offered them in HELLO ("can"), and the answers of
 * the provider. Each is a flat BSON document in an option block; narrows-xsp(7) describes the keys.
 * Bytes in, structs out; no clock.
 *
 * An order has two periods: how often to look (collection) and how often to send (report). Every
 * order is on lease: an order that the box does not renew ends by itself.
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
#define NW_ORDER_KEEP_MAX_NS       INT64_C(600000000000)   /* 10 min */
#define NW_ORDER_LEASE_MIN_NS      INT64_C(100000000)      /* 100 ms */
#define NW_ORDER_LEASE_MAX_NS      INT64_C(86400000000000) /* 1 d */

/* The ways in which a host repeats a stage of a transfer alone, and their words in orders. */
#define NW_REPLAY_LIST(X) X(READ, "read") X(WRITE, "write") X(SEND, "send")
enum nw_replay_way {
	NW_REPLAY_NONE,
#define X(id, word) NW_REPLAY_##id,
	NW_REPLAY_LIST(X)
#undef X
};

/* The pattern of a stage: a program's operations as they were counted. The host's configuration
 * says where the host may write, or send, and how much. */
struct nw_replay {
	enum nw_replay_way way;
	/* READ, WRITE: a file of the transfer, which tells the mount; SEND: address of the far
	 * end */
	char target[NW_ORDER_TEXT_BYTES];
	int64_t op_bytes;    /* of an operation */
	double random_share; /* of the operations: those that do not go on where the last ended */
	int64_t pause_ns;    /* the program's own, between two operations */
	int64_t bytes;       /* at most */
	int64_t time_ns;     /* at most */
};
#define NW_REPLAY_OP_MAX       INT64_C(16777216)   /* bytes */
#define NW_REPLAY_BYTES_MAX    INT64_C(1073741824) /* 1 GiB */
#define NW_REPLAY_PAUSE_MAX_NS INT64_C(1000000000)
#define NW_REPLAY_TIME_MAX_NS  INT64_C(10000000000) /* 10 s */

/* NULL of NW_REPLAY_NONE; static text. */
const char *nw_replay_word(enum nw_replay_way way);
/* NW_REPLAY_NONE for another word. */
enum nw_replay_way nw_replay_parse(const char *word);

/* Text is empty, numbers are 0 when not given. */
struct nw_order {
	uint16_t opt; /* NW_OPT_START, _STOP or _RATE */
	/* a START with the same id renews or changes the order; STOP "a" also ends "a/..." */
	char id[NW_ORDER_ID_BYTES];
	char event_type[NW_ORDER_TEXT_BYTES]; /* prefix of the event types to measure */
	char task_id[NW_ORDER_TEXT_BYTES];    /* session of the measurements */
	/* a TCP connection; src is the provider's end */
	char src[NW_ORDER_ADDRESS_BYTES], dst[NW_ORDER_ADDRESS_BYTES];
	uint16_t sport, dport;
	int64_t collection_ns, report_ns, lease_ns;
	/* RATE: samples are kept for this long instead of being sent; 0: they are sent */
	int64_t keep_ns;
	struct nw_replay replay; /* of a START of NW_TYPE_REPLAY */
};

/* NW_EPROTO with *why when the order is not whole or out of bounds: a stranger's word, or our own
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

/*
 * DIET: the whole list of series that a provider is to sample at a slower interval, on lease. A
 * later DIET replaces the list; an empty list ends it. An order that names a series' event type and
 * an interval goes before the diet.
 */
struct nw_diet {
	/* names of series, each with a newline behind: event types without "ps:tools:blipp:linux:",
	 * with a blank and the device where the type does not end in it; on loan: from the caller,
	 * or out of buf */
	const char *series;
	int64_t interval_ns, lease_ns;
};
enum { NW_DIET_BYTES_MAX = 256 << 10 };
int nw_diet_encode(struct nw_doc_buf *out, const struct nw_diet *d);
/* NW_EPROTO with *why */
int nw_diet_decode(struct nw_diet *d, const uint8_t *buf, size_t len, const char **why);

enum { NW_STATUS_UNSAID = -1 };

/* STATUS: the work of a provider now, and its cost. Text is on loan: from the caller, or out of
 * buf. */
struct nw_order_status {
	const char *collecting; /* words: probes, connections; NULL: nothing said */
	const char *orders;     /* ids of the orders in force, separated by blanks */
	const char *refused;    /* why an order is not carried out; empty or NULL: all orders are */
	/* ids of the orders in force that will not be carried out, separated by blanks */
	const char *declined;
	double collection_s, report_s;
	double cpu_s;  /* since the provider began */
	double budget; /* share of a core that the provider may take; 0: any */
	double slowed; /* factor by which the budget lengthens all intervals; 1: not at all */
	/* share of a core that the provider took lately; NaN: not known yet */
	double cpu_share;
	int64_t rss_bytes, docs_queued, docs_dropped, orders_rejected;
	int64_t samples;  /* values sent since the provider began; NW_STATUS_UNSAID: not said */
	int64_t overruns; /* how often the budget made the provider slower */
	/* names of the diet that series of the provider have, and names that no series has;
	 * NW_STATUS_UNSAID: the provider takes no diet */
	int64_t diet_series, diet_unknown;
};
int nw_order_status_encode(struct nw_doc_buf *out, const struct nw_order_status *s);
int
nw_order_status_decode(struct nw_order_status *s, const uint8_t *buf, size_t len, const char **why);

/* A STATUS as fields of a series of the box, NW_TYPE_COLLECTOR, as X(name, unit, kind). */
/* clang-format off */
#define NW_COLLECTOR_LIST(X) \
	X(cpu_share, "1", "gauge") X(resident_bytes, "By", "gauge") \
	X(samples, "{sample}", "counter") X(documents, "{document}", "counter") \
	X(dropped, "{document}", "counter") X(interval_s, "s", "gauge") X(slowed, "1", "gauge") \
	X(overruns, "{event}", "counter") X(diet_series, "{series}", "gauge") \
	X(diet_unknown, "{series}", "gauge")
/* clang-format on */
#define NW_COLLECTOR_ENUM(name, unit, kind) NW_COLLECTOR_##name,
enum { NW_COLLECTOR_LIST(NW_COLLECTOR_ENUM) NW_COLLECTOR_FIELDS };
#define NW_COLLECTOR_NAME(name, unit, kind) #name,
/* Names in the order of the enum. */
#define NW_COLLECTOR_NAMES                           \
	{                                            \
		NW_COLLECTOR_LIST(NW_COLLECTOR_NAME) \
	}

/* CLOCK: the box sends t1; the provider answers with t1, the time of arrival (t2) and the time of
 * the answer (t3). A time is 0 until known. */
struct nw_clock {
	int64_t t1_wall_ns, t2_wall_ns, t3_wall_ns;
};
int nw_clock_encode(struct nw_doc_buf *out, const struct nw_clock *c);
int nw_clock_decode(struct nw_clock *c, const uint8_t *buf, size_t len, const char **why);
/* The provider's clock minus the box's, and a bound of the error: half of the time on the way,
 * however the two directions share that time (RFC 5905, 8). NW_EPROTO: the times contradict each
 * other. */
int
nw_clock_offset(const struct nw_clock *c, int64_t t4_wall_ns, double *offset_s, double *bound_s);

/* Whether `word` is in a list of words parted by blanks. */
bool nw_order_word(const char *words, const char *word);

#endif
