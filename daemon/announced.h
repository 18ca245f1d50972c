/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sessions of announced flows. A flow belongs to the session of a measured end of its
 * connection; without such an end, to a session of its own or of its group, which becomes part of a
 * measured session that comes later (ends.h). Announcements neither open nor hold open a measured
 * session; announcements that end after the session lead to a few new judgements.
 */
#ifndef ANNOUNCED_H
#define ANNOUNCED_H

#include "narrows/conftable.h"

struct announce;
struct box;
struct nw_scitags;
struct traces;

/* Opens the addresses of listen-announcements; names as in hearsay.h. After a negative code, why
 * has the fault. */
int announced_start(struct box *box, const struct nw_scitags *names, struct announce **out,
    char why[CONF_WHY_BYTES]);

/* The same for the way of traces (gate/traces.h); *out is NULL without take-traces. */
int announced_traces_start(struct box *box, struct traces **out, char why[CONF_WHY_BYTES]);

#endif
