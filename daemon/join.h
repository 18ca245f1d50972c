/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The session of a transfer without task_id. Original senders open an XSP session per file and per
 * network peer, on each host, and no message names the whole. Series join in this order:
 *
 *	1. the session of their XSP session, unless the transfer of that session has ended
 *	2. a session with the same connection (two addresses, two ports, either way round),
 *	   seen from the other end, where both senders have the address of an end; or with the same
 *	   xfer_id, which the original driver tells box and BLiPP
 *	3. a session of the same host, begun within JOIN_NEAR_NS, if it is the only candidate: disk
 *	   reads join network writes, network reads join disk writes
 *
 * Two sessions that turn out to share a connection, a transfer or a host become one
 * (session_merge).
 */
#ifndef JOIN_H
#define JOIN_H

#include <stdint.h>

#include "narrows/doc.h"

struct box;
struct join;
struct session;
struct session_guest;

struct join_clue {
	int64_t host_id;
	const char *sess_id_hex;
	const struct session_guest *guest;
	const char *event_type, *xfer_id; /* xfer_id: id of the transfer, NULL if not known */
	struct session *current;          /* session of the XSP session so far, or NULL */
	const struct nw_subject *subject;
};

/* Finds or makes the session; the caller gets a reference. */
struct session *join_find(struct box *box, const struct join_clue *clue);

#endif
