/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces of Rucio (narrows/rucio.h) on their way from the web thread to the net thread. The way is
 * a pair of sockets: its room is bounded, and neither thread waits for the other.
 */
#ifndef TRACES_H
#define TRACES_H

#include <stddef.h>

#include "narrows/conftable.h"

struct event_base;
struct nw_announcement;
struct traces;

/* Called on the net thread for each transfer; everything is on loan. */
typedef void traces_fn(void *arg, const char *sender, const struct nw_announcement *n);

/* Opens the way. `from` are the networks of announce-from. After NW_EINVAL or NW_EIO, why has the
 * fault. Net thread. */
int traces_start(struct event_base *base, const char *from, traces_fn *fn, void *arg,
    struct traces **out, char why[CONF_WHY_BYTES]);
/* Behind the last traces_take(); accepts NULL. Net thread. */
void traces_stop(struct traces *t);
/*
 * Takes a document of a sender, a numeric address. Web thread. Returns the HTTP status, and writes
 * a line of text for the sender: 201; 400 for bytes that are no trace; 403 for a sender outside of
 * the networks; 503 if the way is full: of a list, the traces before may have been taken.
 */
int traces_take(void *traces, const char *sender, const char *body, char *out, size_t cap);

#endif
