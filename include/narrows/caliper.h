/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calipers: begin and end around an operation, summarised in memory, reported once per interval.
 *
 *	struct nw_caliper *c;
 *	nw_caliper_new(&c);
 *	nw_caliper_begin(c, nw_caliper_now());
 *	n = read(fd, buf, size);
 *	nw_caliper_end(c, n, nw_caliper_now());
 *	nw_caliper_log(c, "copy.read", nw_caliper_now());     (a line of text per interval)
 *
 * or, for a box, once per interval:
 *
 *	nw_caliper_take(c, nw_mono_ns(), &window);            (copies and restarts)
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

#include <stddef.h>
#include <stdint.h>

#include "narrows/clock.h"
#include "narrows/cycles.h"
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

/* The clock for calipers: the monotonic clock, by the cycle counter where that is trusted
 * (cycles.h). The first caliper starts the calibration. */
NW_PUBLIC extern struct nw_cycles nw_caliper_clock;

static inline int64_t
nw_caliper_now(void)
{
	return nw_cycles_ns(&nw_caliper_clock);
}

NW_PUBLIC int nw_caliper_new(struct nw_caliper **out); /* NW_ENOMEM */
NW_PUBLIC void nw_caliper_free(struct nw_caliper *c);
NW_PUBLIC void
nw_caliper_take(struct nw_caliper *c, int64_t now_mono_ns, struct nw_caliper_window *out);

/* The part of a caliper that begin and end write; for them alone. */
enum { NW_CALIPER_WAITING = 64 };
#define NW_CALIPER_NO_TIME INT64_MIN
struct nw_caliper_hot {
	int64_t begin_mono_ns; /* NW_CALIPER_NO_TIME: outside an operation */
	int64_t first_begin_mono_ns, last_end_mono_ns;
	uint64_t clamped;
	uint32_t n_waiting;
	struct {
		uint64_t v, d;
		int64_t begin_mono_ns;
	} waiting[NW_CALIPER_WAITING];
};
/* Adds the waiting operations to the sums. */
NW_PUBLIC void nw_caliper_digest(struct nw_caliper *c);

static inline void
nw_caliper_begin(struct nw_caliper *c, int64_t now_mono_ns)
{
	((struct nw_caliper_hot *)c)->begin_mono_ns = now_mono_ns;
}

/* Does nothing without begin. */
static inline void
nw_caliper_end(struct nw_caliper *c, int64_t bytes, int64_t now_mono_ns)
{
	struct nw_caliper_hot *h = (struct nw_caliper_hot *)c;
	int64_t d;

	if (h->begin_mono_ns == NW_CALIPER_NO_TIME)
		return;
	d = now_mono_ns - h->begin_mono_ns;
	if (d <= 0) {
		d = 1;
		h->clamped++;
	}
	if (h->first_begin_mono_ns == NW_CALIPER_NO_TIME)
		h->first_begin_mono_ns = h->begin_mono_ns;
	h->last_end_mono_ns = now_mono_ns;
	h->waiting[h->n_waiting].begin_mono_ns = h->begin_mono_ns;
	h->begin_mono_ns = NW_CALIPER_NO_TIME;
	h->waiting[h->n_waiting].v = bytes > 0 ? (uint64_t)bytes : 0;
	h->waiting[h->n_waiting].d = (uint64_t)d;
	if (++h->n_waiting == NW_CALIPER_WAITING)
		nw_caliper_digest(c);
}

/*
 * Writes a window as one line of NetLogger text, with the newline: ts, event, v.* (bytes), r.*
 * (bytes/ns), g.* (ns/byte), d.* (s), count, dur and dur.i (s). Returns the length, 0 when cap is
 * too small. The event has no blanks.
 */
NW_PUBLIC size_t nw_caliper_text(
    char *out, size_t cap, const char *event, int64_t t_wall_ns, const struct nw_caliper_window *w);
/*
 * Every NL_INTERVAL seconds (default 1) takes a window and appends its line to the file NL_FILE.
 * Cheap to call after every operation. The end of the caliper writes the line of the rest.
 * NW_EAGAIN: not yet, or there is no NL_FILE. NW_EIO.
 */
NW_PUBLIC int nw_caliper_log(struct nw_caliper *c, const char *event, int64_t now_mono_ns);

/* --- several threads as one --- */

/* Chan, Golub, LeVeque 1983. */
static inline void
nw_caliper_sum_merge(
    struct nw_caliper_sum *a, uint64_t n_a, const struct nw_caliper_sum *b, uint64_t n_b)
{
	double n = (double)n_a + (double)n_b, delta = b->mean - a->mean;

	if (n_b == 0)
		return;
	if (n_a == 0) {
		*a = *b;
		return;
	}
	a->m2 += b->m2 + delta * delta * ((double)n_a * (double)n_b / n);
	a->mean += delta * ((double)n_b / n);
	a->sum += b->sum;
	a->min = b->min < a->min ? b->min : a->min;
	a->max = b->max > a->max ? b->max : a->max;
}

/*
 * Adds the window of another thread's caliper to `sum`, which is zero before the first. hist:
 * NW_HIST_BUCKETS counts of the caller's, zero before the first too, which `sum` has from then on.
 */
NW_PUBLIC void
nw_caliper_merge(struct nw_caliper_window *sum, uint64_t *hist, const struct nw_caliper_window *w);

/* --- single operations, in a window of time on request --- */

struct nw_eventlog;
/*
 * While it is asked for, each one_in-th operation becomes an event `op.NAME` of the log
 * (narrows/eventlog.h), at the operation's begin, with `bytes` and `dur_ns`. No request is in force
 * at first. The log is on loan until the caliper is freed. Errors as nw_event_point().
 */
NW_PUBLIC int
nw_caliper_ops(struct nw_caliper *c, struct nw_eventlog *log, const char *name, uint32_t one_in);
/* Asks, from any thread: operations that begin from now on and end by `until`; at most 64 of them
 * wait for the next nw_caliper_take(). */
NW_PUBLIC void
nw_caliper_ops_until(struct nw_caliper *c, int64_t now_mono_ns, int64_t until_mono_ns);
/* Asks as an order of the box says, from any thread: START of an event type that `op.NAME` begins
 * with, for its lease, and STOP. For the on_order of nw_provider_opts, with `can` "start stop".
 * Whether the order was for this caliper. */
NW_PUBLIC int nw_caliper_ops_order(
    struct nw_caliper *c, uint16_t opt, const uint8_t *doc, size_t len, int64_t now_mono_ns);

/*
 * Queues one caliper data document: sum_v .. sd_v, *_r (bytes/ns), *_g (ns/byte), *_d (s), count,
 * count_r (behind r and g), dur, dur_inst (s), window, busy, busy_max, wait (s), threads, clamped,
 * and h_dur. Errors as nw_provider_data().
 */
NW_PUBLIC int nw_provider_caliper(
    struct nw_provider *p, const char *mid, int64_t t_wall_ns, const struct nw_caliper_window *w);

#endif
