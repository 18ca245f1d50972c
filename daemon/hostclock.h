/* SPDX-License-Identifier: BSD-3-Clause */
/* The box's own measurements of hosts' clocks, as the host's series "nw:clock" with offset_s and
 * bound_s. */
#ifndef HOSTCLOCK_H
#define HOSTCLOCK_H

#include <stdint.h>

struct box;
struct host;

/* Stores the result of an exchange: the host's clock minus the box's, and the error bound. xsp_id
 * is the XSP session of the exchange. */
void hostclock_put(struct box *box, struct host *h, int64_t xsp_id, double offset_s, double bound_s,
    int64_t now_wall_ns);

#endif
