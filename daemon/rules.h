/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rule: while a transfer's session is open, the providers of every host in the transfer sample
 * faster and follow the transfer's TCP connections. Where the session cannot be told, magnet
 * follows the connections inside the kernels, too. Metadata name hosts and connections little by
 * little. Net thread.
 */
#ifndef RULES_H
#define RULES_H

#include <stdbool.h>
#include <stdint.h>

struct conf;
struct control;
struct nw_subject;
struct rules;
struct session;
struct session_outcome;

/* Makes the rule of c; c must outlive the rule. */
struct rules *rules_new(struct control *c, const struct conf *conf);
void rules_free(struct rules *r);
/* Sets the source of open sessions without a verdict at the last look. */
typedef bool rules_undecided_fn(void *arg, int64_t session_id);
void rules_set_undecided(struct rules *r, rules_undecided_fn *fn, void *arg);
/* A host reports a replay of a stage of the session. Other hosts than the one that was asked, and
 * reports that nobody asked for, change nothing. A replay without a number is no answer. */
void rules_replayed(struct rules *r, const struct session *s, const char *host, bool has_number);
/* A session was analysed. */
void rules_judged(struct rules *r, const struct session_outcome *o, int64_t now_mono_ns);
/* True while no order is in force. */
bool rules_is_idle(const struct rules *r);

/* A host (name or address) takes part in an open session. */
void rules_host(struct rules *r, struct session *s, const char *host);
/*
 * Metadata of the host describe a connection; src is the host's end. Incomplete ones are ignored.
 */
void rules_connection(
    struct rules *r, struct session *s, const char *host, const struct nw_subject *subject);

#endif
