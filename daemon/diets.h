/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Diets (narrows/diet.h) on their way from proposal to provider. The box keeps every open proposal
 * and diet in memory: the thread that makes proposals publishes them, the net thread takes them
 * over, accepts and ends them by command, and orders what is in force from the providers of the
 * hosts, on lease. The store has every decision, so that a restart of the box or of a provider
 * changes nothing.
 *
 * Decisions of the net thread go before what was published: their batch may still be on its way.
 */
#ifndef DIETS_H
#define DIETS_H

#include <stdint.h>

#include "narrows/store.h"

struct control;
struct diets;

/* accept: names of hosts with proposals accepted at once, "any" or "none"; the caller's. */
struct diets *diets_new(struct store *st, const char *accept);
void diets_free(struct diets *d);

/* Any thread but in a completion: reads the open diets, and publishes them. Proposals of hosts in
 * `accept` become diets, unless one of the same host and group was ended before. */
int diets_load(struct diets *d, struct store_reader *r, int64_t now_wall_ns);

/* --- net thread --- */

/* Orders diets from new providers, and renews leases. To be called about once a second. */
void diets_tick(struct diets *d, struct control *c, int64_t now_mono_ns);
/* Accepts a proposal, or ends a diet or proposal, of the host: by number, or all of them (id 0).
 * Calls `line` for each. NW_ENOTFOUND: nothing is open there; NW_EFULL: the store is busy. */
int diets_decide(struct diets *d, const char *host, int64_t id, bool end, int64_t now_wall_ns,
    void (*line)(void *arg, const char *text), void *arg);

#endif
