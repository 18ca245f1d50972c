/* SPDX-License-Identifier: BSD-3-Clause */
/* The listening sockets for XSP peers. */
#ifndef LISTENER_H
#define LISTENER_H

#include "daemon/conf.h"
#include "daemon/peer.h"

struct box;
struct listeners;

/* Listens on every address of the list ("a/p b/p", "none"), for what the peers of that port
 * speak. NW_EIO: why begins with the directive and the address. */
int listeners_start(struct box *box, const char *directive, enum peer_port port,
    const char *addresses, struct listeners **out, char why[CONF_WHY_BYTES]);
void listeners_stop(struct listeners *l);
/* "127.0.0.1/5006", as bound, separated by blanks. On loan until listeners_stop. */
const char *listeners_addresses(const struct listeners *l);

#endif
