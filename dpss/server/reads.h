/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks on their way to a client: the master's word, the disk, the connection. */
#ifndef NARROWS_DPSS_READS_H
#define NARROWS_DPSS_READS_H

#include "dpss/server/sessions.h"

/* The master's word, a message's contents. A session without a connection is passed over.
 * NW_EPROTO. */
int reads_request(struct sessions *all, struct grant *g, struct unpacker *u);
/* The disk is done with a block, which goes to the client. Owns t. */
void reads_done(struct task *t, int rc);

#endif
