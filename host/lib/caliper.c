/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hot path is nw_caliper_begin() and _end(): a few stores, and a digest of 64 operations at a
 * time. Reading the clock waits for every earlier instruction, so arithmetic done per operation
 * costs its whole latency; arithmetic done in a batch costs throughput only (about half as much),
 * and both happen outside the timed operation.
 *
 * Bytes and durations are integers: their sums and sums of squares are exact in 64 and 128 bits.
 * Rates (v/d) and gaps (d/v) of a batch are summed as differences to the batch's first value, which
 * costs no division and loses no digits over 64 numbers; batches are joined as Chan, Golub and
 * LeVeque (1979) do.
 */
#include "narrows/caliper.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "host/lib/caliper_ops.h"
#include "host/lib/caliper_text.h"
#include "narrows/err.h"
#include "narrows/hist.h"

#define NO_TIME    NW_CALIPER_NO_TIME
#define HIST_BYTES (NW_HIST_BUCKETS * sizeof(uint64_t))

typedef unsigned __int128 u128;

struct exact {
	uint64_t sum, min, max;
	u128 squares;
}; /* of bytes, of ns */
struct moments {
	double sum, min, max, mean, m2;
}; /* of rates */
struct batch {
	double first, s1, s2;
}; /* sum of (x - first) and of the square of that difference */

struct nw_caliper {
	struct nw_caliper_hot hot; /* first: begin and end know no more of a caliper */

	uint64_t n, n_rate; /* digested */
	struct exact v, d;
	struct moments r, g;
	/* histograms of this window and of the window before, which is lent out; in pages that the
	 * system gives when a count touches them */
	uint64_t *hists;
	unsigned turn;              /* histogram of this window */
	unsigned lowest[2], top[2]; /* buckets in use: [lowest, top) */

	int64_t window_mono_ns; /* the window's begin */
	int64_t carried_ns;     /* of the operation open at the last take: in busy_ns already */
	struct caliper_ops ops;
	struct caliper_log log;
};

struct nw_cycles nw_caliper_clock;

/* A single thread calibrates; all other threads continue meanwhile. */
static void
clock_calibrate(int64_t now_mono_ns)
{
	static atomic_flag busy = ATOMIC_FLAG_INIT;

	if (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
		return;
	nw_cycles_calibrate(&nw_caliper_clock, now_mono_ns);
	atomic_flag_clear_explicit(&busy, memory_order_release);
}

static uint64_t *
hist_of(const struct nw_caliper *c, unsigned turn)
{
	return c->hists + turn * NW_HIST_BUCKETS;
}

/* Turns to the other histogram, and clears the buckets that were in use there. */
static void
hist_turn(struct nw_caliper *c)
{
	unsigned t = c->turn = !c->turn;

	if (c->top[t] > c->lowest[t])
		memset(
		    hist_of(c, t) + c->lowest[t], 0, (c->top[t] - c->lowest[t]) * sizeof(uint64_t));
	c->lowest[t] = NW_HIST_BUCKETS;
	c->top[t] = 0;
}

static inline void
hist_add(struct nw_caliper *c, uint64_t d)
{
	unsigned t = c->turn, bucket = (unsigned)nw_hist_index(d);

	hist_of(c, t)[bucket]++;
	if (bucket < c->lowest[t])
		c->lowest[t] = bucket;
	if (bucket >= c->top[t])
		c->top[t] = bucket + 1;
}

static void
restart(struct nw_caliper *c, int64_t now_mono_ns)
{
	c->n = c->n_rate = c->hot.clamped = 0;
	c->hot.first_begin_mono_ns = NO_TIME;
	c->v = c->d = (struct exact){ .min = UINT64_MAX };
	c->r = c->g = (struct moments){ .min = INFINITY, .max = -INFINITY };
	hist_turn(c);
	c->window_mono_ns = now_mono_ns;
}

int
nw_caliper_new(struct nw_caliper **out)
{
	struct nw_caliper *c = calloc(1, sizeof(*c));
	void *hists;

	if (c == NULL)
		return NW_ENOMEM;
	hists =
	    mmap(NULL, 2 * HIST_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (hists == MAP_FAILED) {
		free(c);
		return NW_ENOMEM;
	}
	c->hists = hists;
	c->hot.begin_mono_ns = NO_TIME;
	restart(c, nw_mono_ns());
	clock_calibrate(nw_mono_ns());
	*out = c;
	return NW_OK;
}

void
nw_caliper_free(struct nw_caliper *c)
{
	if (c == NULL)
		return;
	if (c->log.end != NULL)
		c->log.end(c);
	munmap(c->hists, 2 * HIST_BYTES);
	free(c);
}

static inline void
exact_add(struct exact *e, uint64_t x)
{
	e->sum += x;
	e->squares += (u128)x * x;
	if (x < e->min)
		e->min = x;
	if (x > e->max)
		e->max = x;
}

static inline void
batch_add(struct batch *b, struct moments *m, double x)
{
	double dx = x - b->first;

	b->s1 += dx;
	b->s2 += dx * dx;
	if (x < m->min)
		m->min = x;
	if (x > m->max)
		m->max = x;
}

/* Joins a batch of n numbers to a set of n_before. */
static void
moments_join(struct moments *m, uint64_t n_before, const struct batch *b, uint32_t n)
{
	double mean = b->first + b->s1 / n, m2 = fmax(0, b->s2 - b->s1 * b->s1 / n);
	double delta = mean - m->mean, share = n / (double)(n_before + n);

	m->sum += b->first * n + b->s1;
	m->mean += delta * share;
	m->m2 += m2 + delta * delta * share * (double)n_before;
}

void
nw_caliper_digest(struct nw_caliper *c)
{
	struct batch br = { 0 }, bg = { 0 };
	uint32_t i, n = 0;

	if (caliper_ops_wanted(&c->ops))
		caliper_ops_note(&c->ops, &c->hot);
	for (i = 0; i < c->hot.n_waiting; i++) {
		uint64_t v = c->hot.waiting[i].v, d = c->hot.waiting[i].d;
		double r, g;

		exact_add(&c->v, v);
		exact_add(&c->d, d);
		hist_add(c, d);
		if (v == 0)
			continue;
		/* signed: the conversion takes one instruction */
		r = (double)(int64_t)v / (double)(int64_t)d;
		g = (double)(int64_t)d / (double)(int64_t)v;
		if (n++ == 0) {
			br.first = r;
			bg.first = g;
		}
		batch_add(&br, &c->r, r);
		batch_add(&bg, &c->g, g);
	}
	if (n > 0) {
		moments_join(&c->r, c->n_rate, &br, n);
		moments_join(&c->g, c->n_rate, &bg, n);
	}
	c->n_rate += n;
	c->n += c->hot.n_waiting;
	c->hot.n_waiting = 0;
}

/* n times the squares minus the square of the sum, in whole numbers as long as these fit. */
static double
exact_m2(const struct exact *e, uint64_t n)
{
	u128 a, b = (u128)e->sum * e->sum;

	if (!__builtin_mul_overflow(e->squares, (u128)n, &a))
		return a > b ? (double)(a - b) / (double)n : 0;
	return (double)((long double)e->squares - (long double)e->sum * e->sum / n);
}

static void
exact_get(const struct exact *e, uint64_t n, struct nw_caliper_sum *out)
{
	*out =
	    (struct nw_caliper_sum){ .sum = (double)e->sum, .min = NAN, .max = NAN, .mean = NAN };
	if (n == 0)
		return;
	out->min = (double)e->min;
	out->max = (double)e->max;
	out->mean = (double)e->sum / (double)n;
	out->m2 = exact_m2(e, n);
}

static void
moments_get(const struct moments *m, uint64_t n, struct nw_caliper_sum *out)
{
	*out = (struct nw_caliper_sum){ .min = NAN, .max = NAN, .mean = NAN };
	if (n > 0)
		*out = (struct nw_caliper_sum){ m->sum, m->min, m->max, m->mean, m->m2 };
}

/* An operation belongs, whole, to the window in which the operation ends; busy time belongs to
 * the window in which the time passes. */
static int64_t
busy_take(struct nw_caliper *c, int64_t now_mono_ns)
{
	int64_t open_ns = c->hot.begin_mono_ns != NO_TIME ? now_mono_ns - c->hot.begin_mono_ns : 0;
	int64_t busy_ns = (int64_t)(c->d.sum - c->hot.clamped) - c->carried_ns + open_ns;

	c->carried_ns = open_ns;
	/* an operation begun twice leaves its first part behind */
	return busy_ns > 0 ? busy_ns : 0;
}

void
nw_caliper_take(struct nw_caliper *c, int64_t now_mono_ns, struct nw_caliper_window *out)
{
	nw_caliper_digest(c);
	memset(out, 0, sizeof(*out));
	out->n = c->n;
	out->n_rate = c->n_rate;
	out->clamped = c->hot.clamped;
	exact_get(&c->v, c->n, &out->v);
	exact_get(&c->d, c->n, &out->d);
	moments_get(&c->r, c->n_rate, &out->r);
	moments_get(&c->g, c->n_rate, &out->g);
	if (c->n > 0) {
		out->first_begin_mono_ns = c->hot.first_begin_mono_ns;
		out->last_end_mono_ns = c->hot.last_end_mono_ns;
	}
	out->window_ns = now_mono_ns > c->window_mono_ns ? now_mono_ns - c->window_mono_ns : 0;
	out->busy_ns = out->busy_max_ns = busy_take(c, now_mono_ns);
	out->threads = 1;
	out->hist = hist_of(c, c->turn);
	restart(c, now_mono_ns);
	clock_calibrate(now_mono_ns);
}

struct caliper_log *
caliper_log_of(struct nw_caliper *c)
{
	return &c->log;
}

struct caliper_ops *
caliper_ops_of(struct nw_caliper *c)
{
	return &c->ops;
}
