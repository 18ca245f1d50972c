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
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/hist.h"

#define NO_TIME INT64_MIN

enum { WAITING_MAX = 64 };

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
	int64_t begin_mono_ns; /* NO_TIME: outside an operation */
	int64_t first_begin_mono_ns, last_end_mono_ns;
	uint64_t clamped;
	uint32_t n_waiting;
	struct {
		uint64_t v, d;
	} waiting[WAITING_MAX];

	uint64_t n, n_rate; /* digested */
	struct exact v, d;
	struct moments r, g;
	uint64_t *hist; /* histogram of this window; the window before has lent out the other */
	uint64_t hists[2][NW_HIST_BUCKETS];

	int64_t window_mono_ns; /* the window's begin */
	int64_t carried_ns;     /* of the operation open at the last take: in busy_ns already */
};

static void
restart(struct nw_caliper *c, int64_t now_mono_ns)
{
	c->n = c->n_rate = c->clamped = 0;
	c->first_begin_mono_ns = NO_TIME;
	c->v = c->d = (struct exact){ .min = UINT64_MAX };
	c->r = c->g = (struct moments){ .min = INFINITY, .max = -INFINITY };
	c->hist = c->hists[c->hist == c->hists[0]];
	memset(c->hist, 0, sizeof(c->hists[0]));
	c->window_mono_ns = now_mono_ns;
}

int
nw_caliper_new(struct nw_caliper **out)
{
	struct nw_caliper *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NW_ENOMEM;
	c->begin_mono_ns = NO_TIME;
	restart(c, nw_mono_ns());
	*out = c;
	return NW_OK;
}

void
nw_caliper_free(struct nw_caliper *c)
{
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

static void
digest(struct nw_caliper *c)
{
	struct batch br = { 0 }, bg = { 0 };
	uint32_t i, n = 0;

	for (i = 0; i < c->n_waiting; i++) {
		uint64_t v = c->waiting[i].v, d = c->waiting[i].d;
		double r, g;

		exact_add(&c->v, v);
		exact_add(&c->d, d);
		c->hist[nw_hist_index(d)]++;
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
	c->n += c->n_waiting;
	c->n_waiting = 0;
}

void
nw_caliper_begin(struct nw_caliper *c, int64_t now_mono_ns)
{
	c->begin_mono_ns = now_mono_ns;
}

void
nw_caliper_end(struct nw_caliper *c, int64_t bytes, int64_t now_mono_ns)
{
	int64_t d;

	if (c->begin_mono_ns == NO_TIME)
		return;
	d = now_mono_ns - c->begin_mono_ns;
	if (d <= 0) {
		d = 1;
		c->clamped++;
	}
	if (c->first_begin_mono_ns == NO_TIME)
		c->first_begin_mono_ns = c->begin_mono_ns;
	c->last_end_mono_ns = now_mono_ns;
	c->begin_mono_ns = NO_TIME;
	c->waiting[c->n_waiting].v = bytes > 0 ? (uint64_t)bytes : 0;
	c->waiting[c->n_waiting].d = (uint64_t)d;
	if (++c->n_waiting == WAITING_MAX)
		digest(c);
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
	int64_t open_ns = c->begin_mono_ns != NO_TIME ? now_mono_ns - c->begin_mono_ns : 0;
	int64_t busy_ns = (int64_t)(c->d.sum - c->clamped) - c->carried_ns + open_ns;

	c->carried_ns = open_ns;
	/* an operation begun twice leaves its first part behind */
	return busy_ns > 0 ? busy_ns : 0;
}

void
nw_caliper_take(struct nw_caliper *c, int64_t now_mono_ns, struct nw_caliper_window *out)
{
	digest(c);
	memset(out, 0, sizeof(*out));
	out->n = c->n;
	out->n_rate = c->n_rate;
	out->clamped = c->clamped;
	exact_get(&c->v, c->n, &out->v);
	exact_get(&c->d, c->n, &out->d);
	moments_get(&c->r, c->n_rate, &out->r);
	moments_get(&c->g, c->n_rate, &out->g);
	if (c->n > 0) {
		out->first_begin_mono_ns = c->first_begin_mono_ns;
		out->last_end_mono_ns = c->last_end_mono_ns;
	}
	out->window_ns = now_mono_ns > c->window_mono_ns ? now_mono_ns - c->window_mono_ns : 0;
	out->busy_ns = out->busy_max_ns = busy_take(c, now_mono_ns);
	out->threads = 1;
	out->hist = c->hist;
	restart(c, now_mono_ns);
}
