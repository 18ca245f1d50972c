/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When periodic work is due: at whole multiples of its interval since 1970, so that hosts, and
 * series of one host with different intervals, sample together. Every due time is computed from the
 * clock anew: nothing drifts, whatever the interval becomes, and missed times (of a suspended
 * machine) are not made up for.
 */
#ifndef HOST_TICKER_H
#define HOST_TICKER_H

#include <stdbool.h>
#include <stdint.h>

#include "narrows/clock.h"

/* Both clocks at once: due times within a look must not differ by the duration of the look. */
struct clock_pair {
	int64_t mono_ns, wall_ns;
};

static inline struct clock_pair
clock_pair_now(void)
{
	return (struct clock_pair){ nw_mono_ns(), nw_wall_ns() };
}

struct ticker {
	int64_t interval_ns, due_mono_ns;
}; /* zero to start: due at once */

/* The next multiple, at least half an interval away: a clock that is being slewed does not meet
 * a multiple twice. */
static inline int64_t
ticker_after(int64_t interval_ns, struct clock_pair now)
{
	int64_t ahead = interval_ns - now.wall_ns % interval_ns;

	if (ahead < interval_ns / 2)
		ahead += interval_ns;
	return now.mono_ns + ahead;
}

/* Sets the interval; a new interval counts from now on, not after the old interval. */
static inline void
ticker_set(struct ticker *b, int64_t interval_ns, struct clock_pair now)
{
	if (b->interval_ns != 0 && b->interval_ns != interval_ns)
		b->due_mono_ns = ticker_after(interval_ns, now);
	b->interval_ns = interval_ns;
}

/* True once per interval: the call sets the next due time. */
static inline bool
ticker_is_due(struct ticker *b, struct clock_pair now)
{
	if (now.mono_ns < b->due_mono_ns)
		return false;
	b->due_mono_ns = ticker_after(b->interval_ns, now);
	return true;
}

#endif
