/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/verdict/evidence/hosttime.h"

#include <math.h>
#include <stdlib.h>

#include "narrows/xmalloc.h"

#define AHEAD_MIN_S 1e-3
#define AHEAD_MAX_S 4e9

struct shifted {
	store_block_fn *fn;
	void *arg;
	int64_t ahead_ns, *t_wall_ns;
	size_t cap;
};

static int
on_block(void *arg, const struct store_block *b)
{
	struct shifted *s = arg;
	struct store_block moved = *b;
	size_t i;

	if (b->n_rows > s->cap) {
		s->t_wall_ns = xreallocarray(s->t_wall_ns, b->n_rows, sizeof(*s->t_wall_ns));
		s->cap = b->n_rows;
	}
	for (i = 0; i < b->n_rows; i++)
		s->t_wall_ns[i] = b->t_wall_ns[i] - s->ahead_ns;
	moved.t_wall_ns = s->t_wall_ns;
	return s->fn(s->arg, &moved);
}

static int64_t
later(int64_t t_wall_ns, int64_t ns)
{
	int64_t sum;

	if (__builtin_add_overflow(t_wall_ns, ns, &sum))
		return ns > 0 ? INT64_MAX : INT64_MIN;
	return t_wall_ns == INT64_MIN || t_wall_ns == INT64_MAX ? t_wall_ns : sum;
}

int
hosttime_rows(struct store_reader *r, int64_t layout_id, const uint32_t *fields, size_t n_fields,
    int64_t t0_wall_ns, int64_t t1_wall_ns, int64_t ahead_ns, store_block_fn *fn, void *arg)
{
	struct shifted s = { .fn = fn, .arg = arg, .ahead_ns = ahead_ns };
	int rc;

	if (ahead_ns != 0) {
		t0_wall_ns = later(t0_wall_ns, ahead_ns);
		t1_wall_ns = later(t1_wall_ns, ahead_ns);
		fn = on_block;
		arg = &s;
	}
	rc = fields == NULL
	    ? store_rows(r, layout_id, t0_wall_ns, t1_wall_ns, fn, arg)
	    : store_rows_of(r, layout_id, fields, n_fields, t0_wall_ns, t1_wall_ns, fn, arg);
	free(s.t_wall_ns);
	return rc;
}

int64_t
hosttime_ahead_ns(double offset_s, double bound_s)
{
	if (!(fabs(offset_s) >= AHEAD_MIN_S) || !(fabs(offset_s) <= AHEAD_MAX_S) ||
	    !(fabs(offset_s) > bound_s))
		return 0;
	return llround(offset_s * 1e9);
}
