/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rule: while a transfer's session is open, whoever measures a host that takes part in it
 * samples faster, and follows the transfer's TCP connections. Which hosts and connections those are
 * comes in piece by piece. Net thread.
 */
#ifndef RULES_H
#define RULES_H

#include <stdbool.h>

struct conf;
struct control;
struct nw_subject;
struct rules;
struct session;

/* Becomes the rule of c, which must outlive it. */
struct rules *rules_new(struct control *c, const struct conf *conf);
void rules_free(struct rules *r);
/* True while no order is in force. */
bool rules_is_idle(const struct rules *r);

/* A host (name or address) takes part in an open session. */
void rules_host(struct rules *r, struct session *s, const char *host);
/* Metadata of that host speaks of a connection; src is the host's end. Others are ignored. */
void rules_connection(
    struct rules *r, struct session *s, const char *host, const struct nw_subject *subject);

#endif
