/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TLS contexts for the ports of a running box, renewed and read again while the box runs. A new
 * connection gets the newest context, an old connection keeps its own. The net thread opens, ticks
 * and closes; tlsctx_accept() may be called from any thread.
 */
#ifndef TLSCTX_H
#define TLSCTX_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/conf.h"
#include "narrows/tls.h"

struct tlsctx;

/* hosts show a certificate, browsers do not */
enum tlsctx_port { TLSCTX_XSP, TLSCTX_HTTPS, TLSCTX_PORTS };

/* Makes the site's CA unless present, and the box's certificate. */
int tlsctx_open(const struct conf *c, struct tlsctx **out, char why[CONF_WHY_BYTES]);
void tlsctx_close(struct tlsctx *t);
/* Makes the endpoint of an accepted connection, NULL without memory. */
struct nw_tls *tlsctx_accept(struct tlsctx *t, enum tlsctx_port port);

/* Once a second: renews the box's certificate in time, reads changed files. Returns true if the
 * list of hosts changed. */
bool tlsctx_tick(struct tlsctx *t, int64_t now_wall_ns);
/* Reason why the peer may not stay, or NULL. */
const char *tlsctx_objection(struct tlsctx *t, const struct nw_tls *peer, int64_t now_wall_ns);

#endif
