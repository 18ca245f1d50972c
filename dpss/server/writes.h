/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks that a client writes, each into a place that the master has opened to the session. */
#ifndef NARROWS_DPSS_WRITES_H
#define NARROWS_DPSS_WRITES_H

#include "dpss/server/sessions.h"

/* Words of the master, each a message's contents. A session without a connection is passed over.
 * NW_EPROTO. */
int writes_allow(struct sessions *all, struct grant *g, struct unpacker *u);
int writes_forbid(struct sessions *all, struct grant *g, struct unpacker *u);
/* A block of the client, in the connection's thread; waits while too many are under way.
 * NW_EPROTO, NW_ENOMEM. */
int writes_block(struct session *s, struct unpacker *u);
/* The disk is done with a block. Owns t. */
void writes_done(struct task *t, int rc);

#endif
