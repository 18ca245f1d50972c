/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a running box has of TLS: contexts for its ports, renewed and re-read while it runs. New
 * connections get the newest; those that exist keep theirs. Opened, ticked and closed by the net
 * thread; trust_accept() from any.
 */
#ifndef TRUST_H
#define TRUST_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/conf.h"
#include "narrows/tls.h"

struct trust;

/* hosts show a certificate, browsers do not */
enum trust_port { TRUST_XSP, TRUST_HTTPS, TRUST_PORTS };

/* Makes the site's CA if there is none, and the box's certificate. */
int trust_open(const struct conf *c, struct trust **out, char why[CONF_WHY_BYTES]);
void trust_close(struct trust *t);
/* An endpoint for a connection that was accepted. NULL: no memory. */
struct nw_tls *trust_accept(struct trust *t, enum trust_port port);

/* Once a second: renews the box's certificate in time, reads what has changed on disk. True: the
 * list of hosts did. */
bool trust_tick(struct trust *t, int64_t now_wall_ns);
/* NULL, or why that peer may not stay. */
const char *trust_objection(struct trust *t, const struct nw_tls *peer, int64_t now_wall_ns);

#endif
