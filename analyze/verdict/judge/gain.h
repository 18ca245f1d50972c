/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gain from lifting a limit: how many times as fast the transfer could have gone until the next
 * stage limits.
 *
 * A stage that worked for a share u of the time can carry 1 / u times the rate, so every other
 * stage bounds the gain. Where a buffer hides work, calls show a part of u only: behind readahead
 * or dirty pages a disk works without a waiting program. So shares of disks give upper bounds only.
 * The network has two accounts by the kernel: the rate at which data were delivered in the better
 * windows, which bounds the gain from both sides where it is near; and the share of the time with
 * data in flight, good to a third up to a gain of 3, and beyond an upper bound of u: round trips
 * fill the time.
 */
#ifndef GAIN_H
#define GAIN_H

#include "narrows/limit.h"
#include "analyze/verdict/judge/resources.h"

struct gain {
	double about;     /* best estimate; NaN unless both bounds are known */
	double low, high; /* bounds; NaN where unknown */
	size_t next;      /* index of the next limiting stage; number of stages if unknown */
};

/* `limit` is the index of the limiting stage. */
struct gain
gain_find(const struct nw_path *p, const struct limit *l, const struct resources *r, size_t limit);
/* Bounds by the network's rate in its better windows. Returns false, without a change of *g, if
 * the network has much room, or if a buffer or an unmeasured end hides the room. */
bool gain_by_room(const struct nw_path *p, const struct resources *r, size_t limit, struct gain *g);
/* Bounds by the throttles of the other disks: a throttle tells the load of its disk. */
void gain_by_throttle(const struct nw_path *p, const struct limit *l, const struct resources *r,
    size_t limit, struct gain *g);
/* The share of the time for which a stage worked, by the best account; of disks, a lower bound. */
double gain_worked(
    const struct nw_path *p, const struct limit *l, const struct resources *r, size_t stage);

#endif
