/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sums of a thread's operations in a stage and an interval. Most programs move the same number
 * of bytes again and again: then bytes, rate and gap follow from the durations alone. So operations
 * of one size in a row are a run, which costs one division per operation, and a change of size
 * folds the run into the sums. The measured side adds; the collector folds a copy.
 */
#ifndef HOST_BANK_H
#define HOST_BANK_H

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "narrows/caliper.h"

/* A duration in ns, and one divided by the duration. */
typedef double nwshm_pair __attribute__((vector_size(16)));

/*
 * The first value is taken from all others, so that squares lose no digits. The last duration is
 * counted, and joins the sums with the next operation: the division then costs no time, for it
 * waits for no clock.
 */
struct nwshm_run {
	uint64_t n; /* operations; 0: there is no run */
	uint64_t bytes;
	int64_t last_ns;
	nwshm_pair first, sum, square;
	int64_t min_ns, max_ns; /* without the last */
};

struct nwshm_bank {
	_Atomic uint32_t epoch; /* of the interval; 0: never used */
	uint64_t clamped;
	int64_t first_begin_mono_ns, last_end_mono_ns;
	struct nwshm_run run;
	uint64_t n, n_rate; /* operations in the sums, without the run */
	struct nw_caliper_sum v, d, r, g;
};

static inline void
nwshm_run_start(struct nwshm_run *r, uint64_t bytes, int64_t ns)
{
	const nwshm_pair zero = { 0, 0 };

	r->n = 1;
	r->bytes = bytes;
	r->last_ns = r->min_ns = r->max_ns = ns;
	r->first = (nwshm_pair){ (double)ns, 1 / (double)ns };
	r->sum = r->square = zero;
}

static inline void
nwshm_run_join(struct nwshm_run *r, int64_t ns)
{
	nwshm_pair from_first = (nwshm_pair){ (double)ns, 1 / (double)ns } - r->first;

	r->sum += from_first;
	r->square += from_first * from_first;
	r->min_ns = ns < r->min_ns ? ns : r->min_ns;
	r->max_ns = ns > r->max_ns ? ns : r->max_ns;
}

static inline void
nwshm_run_add(struct nwshm_run *r, int64_t ns)
{
	nwshm_run_join(r, r->last_ns);
	r->n++;
	r->last_ns = ns;
}

/* Durations, or their reciprocals, times `scale`. */
static inline struct nw_caliper_sum
nwshm_run_sum(const struct nwshm_run *r, int which, double min, double max, double scale)
{
	double n = (double)r->n, mean = r->first[which] + r->sum[which] / n,
	       m2 = r->square[which] - r->sum[which] * r->sum[which] / n;

	return (struct nw_caliper_sum){ .sum = mean * n * scale,
		.min = min * scale,
		.max = max * scale,
		.mean = mean * scale,
		.m2 = m2 > 0 ? m2 * scale * scale : 0 };
}

/* Adds the run to the sums and ends the run. `rated`: its durations are known, so rates are. */
static __attribute__((noinline, unused)) void
nwshm_bank_fold(struct nwshm_bank *b, bool rated)
{
	struct nwshm_run *r = &b->run;
	double bytes = (double)r->bytes, min_ns, max_ns;
	struct nw_caliper_sum v = { bytes * (double)r->n, bytes, bytes, bytes, 0 }, x;

	if (r->n == 0)
		return;
	nwshm_run_join(r, r->last_ns);
	min_ns = (double)r->min_ns;
	max_ns = (double)r->max_ns;
	nw_caliper_sum_merge(&b->v, b->n, &v, r->n);
	x = nwshm_run_sum(r, 0, min_ns, max_ns, 1);
	nw_caliper_sum_merge(&b->d, b->n, &x, r->n);
	b->n += r->n;
	if (rated && r->bytes > 0) {
		x = nwshm_run_sum(r, 1, 1 / max_ns, 1 / min_ns, bytes);
		nw_caliper_sum_merge(&b->r, b->n_rate, &x, r->n);
		x = nwshm_run_sum(r, 0, min_ns, max_ns, 1 / bytes);
		nw_caliper_sum_merge(&b->g, b->n_rate, &x, r->n);
		b->n_rate += r->n;
	}
	b->run.n = 0;
}

/* An operation that begins a run. */
static __attribute__((noinline, unused)) void
nwshm_bank_add_other(struct nwshm_bank *b, uint64_t bytes, int64_t ns)
{
	nwshm_bank_fold(b, true);
	nwshm_run_start(&b->run, bytes, ns > 0 ? ns : 1);
	if (ns > 0)
		return;
	b->clamped++;
	nwshm_bank_fold(b, false);
}

/* `ns` 0: the duration is unknown, or below the clock's step, and counts as 1. */
static inline void
nwshm_bank_add(struct nwshm_bank *b, uint64_t bytes, int64_t ns)
{
	if (__builtin_expect(ns > 0 && b->run.n > 0 && b->run.bytes == bytes, 1)) {
		nwshm_run_add(&b->run, ns);
		return;
	}
	nwshm_bank_add_other(b, bytes, ns);
}

#endif
