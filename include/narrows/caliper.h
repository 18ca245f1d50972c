/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calipers: begin and end around an operation, summarised in memory, reported once per interval.
 *
 *	struct nw_caliper *c;
 *	nw_caliper_new(&c);
 *	nw_caliper_begin(c, nw_mono_ns());
 *	n = read(fd, buf, size);
 *	nw_caliper_end(c, n, nw_mono_ns());
 *	...
 *	nw_caliper_take(c, nw_mono_ns(), &window);        (once per interval: copies and restarts)
 *	nw_provider_caliper(p, mid, nw_wall_ns(), &window);
 *
 * One caliper belongs to one thread. Values are bytes; durations are nanoseconds of the monotonic
 * clock. Per interval a caliper keeps n, sum, min, max, mean and M2 of bytes (v), duration (d),
 * rate v/d (r) and gap d/v (g), and a log-linear histogram of durations (hist.h). A duration of 0
 * ns counts as 1 ns and is counted in `clamped`. Operations of 0 bytes (or less: a read() that
 * failed) count in n, v and d, not in r and g. An operation belongs, whole, to the window in which
 * it ends. A pair costs about an eighth of its two clock reads.
 */
#ifndef NARROWS_CALIPER_H
#define NARROWS_CALIPER_H

#include <stdint.h>

#include "narrows/clock.h"
#include "narrows/public.h"

struct nw_caliper;
struct nw_provider;
struct nw_hist;

/* min, max, mean undefined when n is 0 */
struct nw_caliper_sum {
	double sum, min, max, mean, m2;
};

/* The summary of one interval. */
struct nw_caliper_window {
	uint64_t n;              /* operations */
	uint64_t n_rate;         /* operations with bytes: behind r and g */
	uint64_t clamped;        /* durations of 0 ns taken as 1 */
	struct nw_caliper_sum v; /* bytes */
	struct nw_caliper_sum d; /* ns */
	struct nw_caliper_sum r; /* bytes per ns */
	struct nw_caliper_sum g; /* ns per byte */
	int64_t first_begin_mono_ns, last_end_mono_ns;
	int64_t window_ns; /* length of the interval */
	/* time inside operations within the interval, unfinished operations included */
	int64_t busy_ns;
	int64_t busy_max_ns; /* of the busiest single thread; busy_ns for a plain caliper */
	/* time of waiting for readiness (poll and friends) on behalf of this stage */
	int64_t wait_ns;
	uint32_t threads;     /* threads with an operation; 1 for a plain caliper */
	const uint64_t *hist; /* NW_HIST_BUCKETS counts, on loan until the next take; NULL: none */
};

NW_PUBLIC int nw_caliper_new(struct nw_caliper **out); /* NW_ENOMEM */
NW_PUBLIC void nw_caliper_free(struct nw_caliper *c);
NW_PUBLIC void nw_caliper_begin(struct nw_caliper *c, int64_t now_mono_ns);
/* without begin: nothing */
NW_PUBLIC void nw_caliper_end(struct nw_caliper *c, int64_t bytes, int64_t now_mono_ns);
NW_PUBLIC void
nw_caliper_take(struct nw_caliper *c, int64_t now_mono_ns, struct nw_caliper_window *out);

/*
 * Queues one caliper data document: sum_v .. sd_v, *_r (bytes/ns), *_g (ns/byte), *_d (s), count,
 * count_r (behind r and g), dur, dur_inst (s), window, busy, busy_max, wait (s), threads, clamped,
 * and h_dur. Errors as nw_provider_data().
 */
NW_PUBLIC int nw_provider_caliper(
    struct nw_provider *p, const char *mid, int64_t t_wall_ns, const struct nw_caliper_window *w);

#endif
