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

#include <stdint.h>

#include "narrows/limit.h"
#include "analyze/verdict/judge/resources.h"

/* Sources of a gain, and their words in documents: shares of the time that other stages left free,
 * the network's rate in its better windows, the throttle of a disk, earlier sessions of the
 * route, stages that the hosts repeated alone, waits of programs for each other. */
#define GAIN_SOURCE_LIST(X)     \
	X(STAGES, "stages")     \
	X(NETWORK, "network")   \
	X(THROTTLE, "throttle") \
	X(HISTORY, "history")   \
	X(REPLAY, "replay")     \
	X(CHAIN, "chain")

struct replayed;

enum gain_source {
	GAIN_UNKNOWN,
#define X(id, name) GAIN_##id,
	GAIN_SOURCE_LIST(X)
#undef X
};

struct gain {
	double about;     /* best estimate; NaN unless both bounds are known */
	double low, high; /* bounds; NaN where unknown */
	size_t next;      /* index of the next limiting stage; number of stages if unknown */
	enum gain_source source;
	double seen_bytes_per_s; /* of GAIN_HISTORY: rate of the route's best session */
	int64_t seen_wall_ns;    /* begin of that session */
};

/* Rates that earlier sessions let expect: 90 % of sessions lie between low and high. NaN: none. */
struct gain_history {
	double low, about, high, best;
	int64_t best_wall_ns;
};

/* NULL of GAIN_UNKNOWN; static text. */
const char *gain_source_name(enum gain_source source);

/* `limit` is the index of the limiting stage. */
struct gain
gain_find(const struct nw_path *p, const struct limit *l, const struct resources *r, size_t limit);
/* Bounds by the network's rate in its better windows. Returns false, without a change of *g, if
 * the network has much room, or if a buffer or an unmeasured end hides the room. */
bool gain_by_room(const struct nw_path *p, const struct resources *r, size_t limit, struct gain *g);
/* Bounds by the throttles of the other disks: a throttle tells the load of its disk. From below
 * where every other stage carries as much, by its account or by its replay. */
void gain_by_throttle(const struct nw_path *p, const struct limit *l, const struct resources *r,
    const struct replayed *y, size_t limit, struct gain *g);
/* Bounds by the level that the route reached earlier, of a path of n_stages. The narrower bounds
 * stay; a bound of this session that excludes the level stays, too. */
void
gain_by_history(const struct gain_history *h, double bytes_per_s, size_t n_stages, struct gain *g);
/* The share of the time for which a stage worked, by the best account; of disks, a lower bound. */
double gain_worked(
    const struct nw_path *p, const struct limit *l, const struct resources *r, size_t stage);

#endif
