/* SPDX-License-Identifier: BSD-3-Clause */
/* Cost and health of the collectors of a host, as they say in STATUS, as the host's series
 * "nw:collector", one per kind of collector. */
#ifndef HOSTCOST_H
#define HOSTCOST_H

#include <stdint.h>

#include "narrows/order.h"

struct box;
struct host;
struct hostcost; /* series of a kind of collector, in a list of the host */

/* Stores a STATUS. software: of HELLO, NULL is unknown. Kinds of collectors beyond a limit per host
 * are not stored. */
void hostcost_put(struct box *box, struct host *h, int64_t xsp_id, const char *software,
    const struct nw_order_status *s, int64_t now_wall_ns);
void hostcost_free_all(struct hostcost *list);

#endif
