/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which session a transfer without task_id belongs to. Original senders open one XSP session per
 * file and one per network peer, on each host, and say nothing that names the whole. What joins
 * them, in this order:
 *
 *	1. the XSP session it comes through, unless that one's transfer has ended
 *	2. the same connection (two addresses, two ports, either way round): the two ends of one transfer; or the same
 *	   xfer_id: what the original driver told the box, and what it told BLiPP
 *	3. the same host, within JOIN_NEAR_NS, when only one session could be meant: what it reads from disk and sends, or
 *	   receives and writes to disk
 *
 * Two sessions that turn out to share one of these become one (session_merge).
 */
#ifndef JOIN_H
#define JOIN_H

#include <stdint.h>

#include "narrows/doc.h"

struct box;
struct join;
struct session;

struct join_clue {
	int64_t host_id;
	const char *sess_id_hex;
	const char *event_type, *xfer_id; /* xfer_id: id of the transfer, NULL if not known */
	struct session *current;          /* session of this XSP session so far, or NULL */
	const struct nw_subject *subject;
};

/* Finds or makes the session; the caller gets one reference. */
struct session *join_find(struct box *box, const struct join_clue *clue);

#endif
