/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two ends of a connection. An agent on a host (nwflow) measures transfers without a start by
 * hand, each in a session of its own; where the other end of the connection is in another
 * session, of an agent or of nwrun, the two are one transfer and become one session.
 *
 * A sender is believed that it is an end only if its connection to the box comes from the address
 * of that end, or from this host, or if its certificate lists that address. Sessions that people
 * have started on both ends stay apart: the people have given them two tasks.
 */
#ifndef ENDS_H
#define ENDS_H

#include <stdbool.h>

#include "narrows/doc.h"

struct ends;
struct session;
struct session_guest;

struct ends_sender {
	const struct session_guest *guest;
	bool is_agent;
};

struct ends *ends_new(void);
void ends_free(struct ends *e);
/*
 * Returns the session of a sender that told of an end of the connection, or NULL; on loan. The
 * announcer of a flow (announced.h) names both ends, and proves neither.
 */
struct session *ends_find(struct ends *e, const struct nw_subject *subject);
/* Notes the announced connection of a session without a measured end. The session becomes part of
 * the session of a measured end that comes later. */
void ends_announce(struct ends *e, struct session *s, const struct nw_subject *subject);
/* A sender of the session told of its end of a connection. Merges sessions; session_now() tells. */
void ends_note(struct ends *e, struct session *s, const struct ends_sender *sender,
    const struct nw_subject *subject);

#endif
