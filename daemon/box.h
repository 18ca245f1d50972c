/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of the net thread. Every field belongs to that thread alone, except the counters, which
 * any thread may read.
 *
 *	listener -> peer (wire) -> xsess (one XSP session)
 *	xsess    -> origin (sender: catalogue of series, numbering)
 *	         -> session (one transfer)
 *	         -> commit (batches to the store, acknowledgements back) -> schedule (analysis)
 *	control, rules (orders to providers, by hand or by rule) -> peer
 */
#ifndef BOX_H
#define BOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "narrows/counters.h"
#include "narrows/doc.h"
#include "narrows/frame.h"
#include "narrows/store.h"

struct conf;
struct event;
struct event_base;
struct commit;
struct ends;
struct control;
struct rules;
struct schedule;
struct series;
struct numbers;
struct origin;
struct session;
struct host;
struct admission;
struct peer;
struct tlsctx;
struct fairrate;
struct nw_event_block;
struct nw_event_line;

typedef _Atomic uint64_t counter;

/* Counters of narrows/counters.h; those of the analysis and the report stay 0 here. */
struct counters {
#define X(name, section, kind, words) counter name;
	NW_COUNTERS(X)
#undef X
};

static inline void
counter_add(counter *c, uint64_t n)
{
	atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}

static inline void
counter_sub(counter *c, uint64_t n)
{
	atomic_fetch_sub_explicit(c, n, memory_order_relaxed);
}

static inline uint64_t
counter_get(const counter *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

struct box {
	struct event_base *base;
	const struct conf *conf;
	struct store *store;
	struct commit *commit;
	struct control *control;
	struct rules *rules;
	struct ends *ends;         /* of connections */
	struct announce *announce; /* NULL in tests */
	struct schedule *schedule;
	struct tlsctx *tlsctx; /* TLS contexts, NULL if no port speaks TLS */
	char *speakers;        /* grants (narrows/speakers.h), NULL: none */
	const char
	    *xsp_tls; /* addresses for hosts, as in narrowsd.run; set before the web starts */
	struct nw_doc_decoder *decoder;
	struct nw_event_line *lines;   /* reader of lines; NULL until the first connection */
	struct nw_event_block *events; /* block of events in hand; NULL until the first */
	struct nw_frame_limits limits; /* limits of an open XSP session */
	struct store_ids next;         /* next free id of each kind */
	struct counters counters;

	struct host *hosts;     /* hash by name */
	struct origin *origins; /* hash by owner and provider id */
	struct origin_idle {
		struct origin *oldest, *newest;
		unsigned count;
	} idle;                   /* origins without connection */
	struct numbers *numbers;  /* of providers without an origin */
	struct session *sessions; /* hash by label: open sessions and the newest closed sessions */
	size_t n_sessions;
	uint8_t alias_key[32];    /* random; makes the aliases of sessions (daemon/session.h) */
	uint8_t announce_key[32]; /* of the site; hides names in announcements (announce-hide) */
	struct peer *peers;
	struct xsess *changed; /* XSP sessions with counts not yet in the store */
	struct xsess *asking;  /* XSP sessions whose providers wait for a verdict */
	struct event *look;    /* looks for verdicts while there are such; NULL in tests */
	struct admission *admission;
	/* of lines that peers provoke (narrows/provoked.h); the second is the web thread's */
	struct fairrate *log_rate, *enroll_log_rate;
	uint64_t memory_bytes; /* held for senders: input, output, series, waiting documents */
	/* of every origin's catalogue (narrows/catalog.h) */
	void (*on_series_forget)(struct series *gone);
	bool (*is_series_over)(struct series *s, int64_t now_wall_ns);
	/* error of the store as last told to providers, or empty */
	char store_error[STORE_WHY_BYTES];
	bool stopping;
};

#endif
