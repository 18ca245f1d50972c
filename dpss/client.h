/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the client library: a connection to the master, one request and one answer at a time. */
#ifndef NARROWS_DPSS_CLIENT_H
#define NARROWS_DPSS_CLIENT_H

#include "dpss/channel.h"
#include "narrows/dpss.h"

struct nw_tls_ctx;

/* tls: NULL for clear. The connection has said HELLO. */
int client_connect(
    const struct dpss_opts *opts, struct nw_tls_ctx *tls, struct channel **out, char *why);
/* Sends a request and waits for the answer `want`; pings are passed over. NW_E* with why: the
 * master's own words, if it has refused. The packer is freed. */
int client_ask(struct channel *w, uint16_t type, struct packer *p, uint16_t want,
    struct channel_message *m, char *why);

#endif
