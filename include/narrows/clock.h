/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two clocks of a host, in nanoseconds. The monotonic clock measures intervals and has no
 * meaning on another host; the wall clock counts from 1970 UTC and is stored and compared between
 * hosts. Any thread may ask.
 */
#ifndef NARROWS_CLOCK_H
#define NARROWS_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "narrows/public.h"

/* The clocks, for programs in strict ISO C, where <time.h> hides clock_gettime(). */
NW_PUBLIC int64_t nw_clock_mono_ns(void);
NW_PUBLIC int64_t nw_clock_wall_ns(void);

static inline int64_t
nw_mono_ns(void)
{
#ifdef CLOCK_MONOTONIC
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
#else
	return nw_clock_mono_ns();
#endif
}

static inline int64_t
nw_wall_ns(void)
{
#ifdef CLOCK_REALTIME
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
#else
	return nw_clock_wall_ns();
#endif
}

#endif
