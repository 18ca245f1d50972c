/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions of clients at this server: the blocks to send by the master's word, and the rights to
 * write. A session's requests wait here and enter the queues of the disks as its connection
 * takes blocks away, so that a slow client costs the memory of a few blocks.
 */
#ifndef NARROWS_DPSS_SESSION_H
#define NARROWS_DPSS_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include "dpss/eventlog.h"
#include "dpss/server/disk.h"

struct sessions;

struct sessions_opts {
	size_t n_disks;
	size_t cache_bytes;
	uint64_t pace_bytes_per_s; /* at most, to each client; 0: no limit */
	struct eventlog *log;      /* NULL: none */
};

struct grant *session_grant(const struct session *s);

int sessions_new(const struct sessions_opts *opts, struct sessions **out);
void sessions_free(struct sessions *all); /* after all connections have ended */

/* A client with a good ticket: serves the connection until its end. NW_ECONFLICT: the session has
 * a connection. udp_port 0: blocks go on the connection. NW_EUNSUPPORTED: blocks by UDP are in
 * clear, the connection is not. */
int session_serve(struct sessions *all, struct grant *g, const struct ticket *t, struct channel *w,
    uint16_t udp_port, uint64_t udp_key);

/* Words of the master, each a message's contents; NW_EPROTO. Sessions without a connection are
 * passed over. */
int session_read(struct sessions *all, struct grant *g, struct unpacker *u);
int session_take(struct sessions *all, struct grant *g, struct unpacker *u);
int session_forget(struct sessions *all, struct grant *g, struct unpacker *u);

#endif
