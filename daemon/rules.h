/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rule: while a transfer's session is open, whoever measures a host that takes part in it
 * samples faster, and follows the transfer's TCP connections. Which hosts and connections those are
 * comes in piece by piece. Net thread.
 */
#ifndef RULES_H
#define RULES_H

#include <stdbool.h>
#include <stdint.h>

struct conf;
struct control;
struct control_peer;
struct nw_subject;
struct rules;
struct session;

struct rules *rules_new(struct control *c, const struct conf *conf);
void rules_free(struct rules *r);

/* A host (name or address) takes part in an open session. */
void rules_host(struct rules *r, struct session *s, const char *host);
/* Metadata of that host speaks of a connection; src is the host's end. Others are ignored. */
void rules_connection(
    struct rules *r, struct session *s, const char *host, const struct nw_subject *subject);
/* A provider has come: it is told what is in force for it. */
void rules_peer(struct rules *r, struct control_peer *p);
/* Ends what is over; with `renew`, says the rest again. */
void rules_tick(struct rules *r, bool renew);
bool rules_idle(const struct rules *r); /* nothing to renew */

#endif
