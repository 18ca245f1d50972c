/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monotonic clock by the processor's cycle counter, in half the time of clock_gettime(2). The
 * counter is trusted where the kernel itself keeps time by it. One thread calibrates the counter
 * against CLOCK_MONOTONIC, again and again, and gives up the counter when a prediction is wrong;
 * readers, also in other processes that share the struct's memory, fall back to CLOCK_MONOTONIC
 * meanwhile and afterwards. Readings are of the same clock: differences to nw_mono_ns() are below a
 * microsecond, except while the system slews its clock.
 */
#ifndef NARROWS_CYCLES_H
#define NARROWS_CYCLES_H

#include <stdint.h>

#include "narrows/clock.h"
#include "narrows/public.h"

__extension__ typedef __int128 nw_int128;

/* Zero to start: not calibrated. */
struct nw_cycles {
	uint32_t seq;        /* odd while the numbers change; 0: no numbers */
	uint32_t given_up;   /* the counter was wrong once */
	uint64_t mult;       /* nanoseconds per tick, times 2^32 */
	uint64_t base_ticks; /* counter at base_mono_ns */
	int64_t base_mono_ns;
	/* the owner's: first pair of readings, and time of the next calibration */
	uint64_t first_ticks;
	int64_t first_mono_ns, next_mono_ns;
};

/* Calibrates when it is time; the owner calls it once per interval. The first call takes the first
 * reading, a call 20 ms or more later makes the counter usable. */
NW_PUBLIC void nw_cycles_calibrate(struct nw_cycles *c, int64_t now_mono_ns);

/* For a clock that is needed at once: the second reading a millisecond after the first, for which
 * the call sleeps if need be. The numbers err by some 20 ppm, until the next calibration. */
NW_PUBLIC void nw_cycles_calibrate_soon(struct nw_cycles *c);

/* Copies the numbers in force to memory that other processes read and may write. */
NW_PUBLIC void nw_cycles_share(const struct nw_cycles *from, struct nw_cycles *to);

static inline uint64_t
nw_ticks(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#else
	return 0;
#endif
}

/* The monotonic clock now. Any thread. */
static inline int64_t
nw_cycles_ns(const struct nw_cycles *c)
{
	uint32_t seq = __atomic_load_n(&c->seq, __ATOMIC_ACQUIRE);
	uint64_t mult = __atomic_load_n(&c->mult, __ATOMIC_RELAXED);
	uint64_t base_ticks = __atomic_load_n(&c->base_ticks, __ATOMIC_RELAXED);
	int64_t base_mono_ns = __atomic_load_n(&c->base_mono_ns, __ATOMIC_RELAXED);

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (seq == 0 || (seq & 1) != 0 || __atomic_load_n(&c->seq, __ATOMIC_RELAXED) != seq)
		return nw_mono_ns();
	/* signed: another processor's counter may be a little behind */
	return base_mono_ns +
	    (int64_t)((nw_int128)(int64_t)(nw_ticks() - base_ticks) * (int64_t)mult >> 32);
}

#endif
