/* SPDX-License-Identifier: BSD-3-Clause */
/* A client's connection, from the good ticket to its end. */
#ifndef NARROWS_DPSS_SESSION_SERVE_H
#define NARROWS_DPSS_SESSION_SERVE_H

#include "dpss/server/sessions.h"

/* For sessions_new(). */
extern const struct disk_calls session_calls;

/* NW_ECONFLICT: the session has a connection. udp_port 0: blocks go on the connection.
 * NW_EUNSUPPORTED: blocks by UDP are in clear, the connection is not. */
int session_serve(struct sessions *all, struct grant *g, const struct ticket *t, struct channel *w,
    uint16_t udp_port, uint64_t udp_key);

#endif
