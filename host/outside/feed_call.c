/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls into the counters. The last call of a thread is held back until the thread's next record:
 * the kernel may have taken the processor away before the program got the result, and the program's
 * own clock would find that time in the call.
 */
#include "host/outside/feed_in.h"

/* A move as two calls in a row: a read as long as the sleeps for the device, then a send. */
static void
split_count(struct feed_proc *p, const struct feed_held *h)
{
	struct op half = h->op;
	int64_t between_mono_ns = h->op.begin_mono_ns + h->stored_ns;

	half.stage2 = NWSHM_NO_STAGE;
	sys_about_fd(p, half.fd);
	op_count(&half, between_mono_ns, h->bytes);
	half.fd = h->op.fd2;
	half.stage = h->op.stage2;
	half.object = h->op.object2;
	half.begin_mono_ns = between_mono_ns;
	sys_about_fd(p, half.fd);
	op_count(&half, h->end_mono_ns, h->bytes);
}

static bool
is_split(const struct feed_held *h)
{
	return h->kind == HELD_MOVE && h->stored_ns >= 0;
}

void
feed_held_count(struct feed_proc *p, struct feed_thread *t)
{
	struct feed_held *h = &t->held;

	if (h->kind == HELD_NOTHING || h->is_counted)
		return;
	feed_proc_use(p, t->slot);
	atomic_store_explicit(&t->slot->inflight, 0, memory_order_relaxed);
	if (h->kind == HELD_WAIT) {
		nwshm_add(
		    &t->slot->wait_ns[h->wait], (uint64_t)(h->end_mono_ns - h->op.begin_mono_ns));
	} else {
		if (is_split(h)) {
			split_count(p, h);
		} else {
			sys_about_fd(p, h->op.fd);
			op_count(&h->op, h->end_mono_ns, h->bytes);
		}
		if (h->apart)
			op_apart(&h->op, h->dir, h->bytes);
		if (h->apart && h->kind == HELD_MOVE)
			op_apart(&h->op, NWSHM_WRITE, h->bytes);
	}
	h->is_counted = true;
}

void
feed_held_count_all(struct feed_proc *p)
{
	struct feed_thread *t, *tmp;

	HASH_ITER (hh, p->threads, t, tmp)
		if (t->slot != NULL)
			feed_held_count(p, t);
}

static int64_t
end_of(const struct outside_head *h)
{
	return h->end_mono_ns >= h->begin_mono_ns ? (int64_t)h->end_mono_ns
						  : (int64_t)h->begin_mono_ns;
}

/* A ring's request has no descriptor: a number is made up from the file. */
static int
fd_of(const struct outside_op *r)
{
	return (r->flags & OUTSIDE_RING) != 0 ? -2 - (int)(r->file.ino & 0x3fffffff) : r->head.fd;
}

static void
op_fill(struct op *op, struct feed_proc *p, const struct outside_op *r)
{
	*op = (struct op){ .fd = feed_fd_number(p, fd_of(r), &r->file),
		.fd2 = -1,
		.stage = feed_fd_stage(p, &r->file) + r->dir,
		.stage2 = NWSHM_NO_STAGE,
		.begin_mono_ns = (int64_t)r->head.begin_mono_ns,
		.offset = r->offset >= 0 ? r->offset : OP_AT_POSITION };
	op->object = feed_fd_object(p, op->fd, &r->file);
}

/* Requests at once are many threads' calls; with more than there are lines, time that a line has
 * had is not counted twice. */
static void
take_request(struct feed_proc *p, const struct outside_op *r)
{
	struct feed_line *l = feed_line_get(p, (int64_t)r->head.begin_mono_ns);
	int64_t end_mono_ns = end_of(&r->head);
	struct op op;

	if (l == NULL)
		return;
	feed_proc_use(p, l->slot);
	op_fill(&op, p, r);
	op.thread = l->slot;
	if (op.begin_mono_ns < l->last_end_mono_ns)
		op.begin_mono_ns =
		    l->last_end_mono_ns < end_mono_ns ? l->last_end_mono_ns : end_mono_ns;
	if (end_mono_ns > l->last_end_mono_ns)
		l->last_end_mono_ns = end_mono_ns;
	op_count(&op, end_mono_ns, r->bytes);
	if ((r->flags & OUTSIDE_APART) != 0)
		op_apart(&op, r->dir, r->bytes);
}

void
feed_take_op(struct feed_proc *p, const struct outside_op *r)
{
	struct feed_thread *t;

	if (r->dir > NWSHM_WRITE || r->file.stage > NWSHM_OTHER_READ)
		return;
	if ((r->flags & OUTSIDE_RING) != 0) {
		take_request(p, r);
		return;
	}
	if ((t = feed_thread_get(p, r->head.tid)) == NULL)
		return;
	feed_held_count(p, t);
	feed_proc_use(p, t->slot);
	op_fill(&t->held.op, p, r);
	t->held.op.thread = t->slot;
	t->held.kind = HELD_OP;
	t->held.is_counted = false;
	t->held.end_mono_ns = end_of(&r->head);
	t->held.bytes = r->bytes;
	t->held.dir = r->dir;
	t->held.apart = (r->flags & OUTSIDE_APART) != 0;
}

void
feed_take_move(struct feed_proc *p, const struct outside_move *m)
{
	const struct outside_op *r = &m->op;
	struct feed_thread *t = feed_thread_get(p, r->head.tid);
	uint64_t span_ns;

	if (t == NULL || r->file.stage > NWSHM_OTHER_READ || m->to.stage > NWSHM_OTHER_READ)
		return;
	feed_held_count(p, t);
	feed_proc_use(p, t->slot);
	op_fill(&t->held.op, p, r);
	t->held.op.thread = t->slot;
	t->held.op.stage = feed_fd_stage(p, &r->file) + NWSHM_READ;
	t->held.op.stage2 = feed_fd_stage(p, &m->to) + NWSHM_WRITE;
	t->held.op.offset = OP_AT_POSITION;
	t->held.op.fd2 = r->fd2;
	t->held.op.object2 = feed_fd_object(p, r->fd2, &m->to);
	t->held.kind = HELD_MOVE;
	t->held.is_counted = false;
	t->held.end_mono_ns = end_of(&r->head);
	t->held.stored_ns = -1;
	if (outside_is_split(t->held.op.stage, t->held.op.stage2)) {
		span_ns = (uint64_t)(t->held.end_mono_ns - t->held.op.begin_mono_ns);
		t->held.stored_ns = (int64_t)(m->stored_ns < span_ns ? m->stored_ns : span_ns);
	}
	t->held.bytes = r->bytes;
	t->held.dir = NWSHM_READ;
	t->held.apart = (r->flags & OUTSIDE_APART) != 0;
}

void
feed_take_wait(struct feed_proc *p, const struct outside_wait *w)
{
	struct feed_thread *t = feed_thread_get(p, w->head.tid);

	if (t == NULL || w->wait >= NWSHM_WAITS)
		return;
	feed_held_count(p, t);
	t->held.kind = HELD_WAIT;
	t->held.is_counted = false;
	t->held.wait = w->wait;
	t->held.op.begin_mono_ns = (int64_t)w->head.begin_mono_ns;
	t->held.end_mono_ns = end_of(&w->head);
}

/* A counted call gets the rest of the time, though not as one duration. */
static void
call_lengthen(struct feed_thread *t, int64_t ns)
{
	const struct feed_held *h = &t->held;

	if (h->kind == HELD_WAIT) {
		nwshm_add(&t->slot->wait_ns[h->wait], (uint64_t)ns);
		return;
	}
	if (h->op.stage < NWSHM_TIMED && !is_split(h))
		nwshm_add(&t->slot->busy_ns[h->op.stage], (uint64_t)ns);
	if (h->kind == HELD_MOVE && h->op.stage2 < NWSHM_TIMED)
		nwshm_add(&t->slot->busy_ns[h->op.stage2], (uint64_t)ns);
}

void
feed_take_resumed(struct feed_proc *p, const struct outside_resumed *r)
{
	struct feed_thread *t = feed_thread_get(p, r->head.tid);
	int64_t end_mono_ns = end_of(&r->head);

	if (t == NULL || t->held.kind == HELD_NOTHING ||
	    t->held.end_mono_ns != (int64_t)r->head.begin_mono_ns)
		return;
	if (t->held.is_counted)
		call_lengthen(t, end_mono_ns - t->held.end_mono_ns);
	t->held.end_mono_ns = end_mono_ns;
}
