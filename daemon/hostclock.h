/* SPDX-License-Identifier: BSD-3-Clause */
/* What the box itself finds out about hosts' clocks, as a series of the host: "nw:clock" with
 * offset_s and bound_s. */
#ifndef HOSTCLOCK_H
#define HOSTCLOCK_H

#include <stdint.h>

struct box;
struct host;

/* One exchange: the host's clock minus the box's, and how wrong that can be. xsp_id: by which XSP
 * session. */
void hostclock_put(struct box *box, struct host *h, int64_t xsp_id, double offset_s, double bound_s,
    int64_t now_wall_ns);

#endif
