/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The history of a route, "narrows-route/1": of the newest 500 sessions of a program between the
 * same hosts. The document is made anew after each session of the route; pages show it.
 */
#ifndef NARROWS_ROUTEHIST_H
#define NARROWS_ROUTEHIST_H

#include "narrows/store.h"

/* program may be NULL. A record to store; routehist_clear() frees the record's texts. NW_ENOTFOUND:
 * no session of the route moved data. NW_ENOMEM or the store's code. */
int routehist_make(struct store_reader *r, const char *route, const char *program,
    int64_t now_wall_ns, struct nw_route_rec *out);
void routehist_clear(struct nw_route_rec *rec);

#endif
