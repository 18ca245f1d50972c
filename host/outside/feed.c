/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/outside/feed.h"

#include <string.h>

#include "host/outside/feed_in.h"

/* --- descriptors and names --- */

static void
take_name(struct feed_proc *p, const struct outside_name *n)
{
	static const struct feed_fd none;
	struct feed_thread any = { .slot = NULL };

	if (n->head.kind == OUTSIDE_OPEN) {
		feed_fd_opened(p, n);
		return;
	}
	if (p->threads == NULL || strnlen(n->path, sizeof(n->path)) >= sizeof(n->path) - 1)
		return;
	any = *p->threads;
	feed_proc_use(p, any.slot);
	sys_about(p, &none);
	object_renamed(n->dir_fd, n->path);
}

/* --- processes --- */

static void
usage_of(const struct outside_life *l, struct nwshm_usage *u)
{
	*u = (struct nwshm_usage){ .user_us = (int64_t)(l->user_ns / 1000),
		.sys_us = (int64_t)(l->sys_ns / 1000),
		.rchar = l->rchar,
		.wchar = l->wchar,
		.read_bytes = l->read_bytes,
		.write_bytes = l->write_bytes,
		.cpu_known = 1,
		.io_known = 1,
		.children_faults = l->has_children };
}

static void
take_fork(struct feed *f, const struct outside_life *l)
{
	struct nwshm_usage usage = { .cpu_known = 1, .io_known = 1 };

	if (l->head.tgid == 0)
		usage_of(l, &usage); /* came into the control group */
	if (feed_proc_find(f, l->child) == NULL)
		(void)feed_proc_start(f, l->child, l->head.tgid, &usage);
}

static void
take_exit(struct feed *f, struct feed_proc *p, const struct outside_life *l)
{
	struct nwshm_usage usage;

	feed_thread_end(p, l->head.tid);
	if (!l->is_last)
		return;
	usage_of(l, &usage);
	feed_proc_status(p, (int)l->exit_code);
	feed_proc_end(f, p, &usage, (int64_t)l->head.end_mono_ns);
}

static void
take_exec(struct feed *f, struct feed_proc *p, const struct outside_life *l)
{
	struct nwshm_usage usage;

	usage_of(l, &usage);
	feed_proc_image(f, p, &usage);
}

/* Nothing of a process counts before its program runs. */
static void
take_expected(struct feed *f, const struct outside_life *l)
{
	struct nwshm_usage usage;

	if (l->head.kind == OUTSIDE_EXEC) {
		usage_of(l, &usage);
		(void)feed_proc_start(f, l->head.tgid, 0, &usage);
		f->expected = 0;
	} else if (l->head.kind == OUTSIDE_EXIT && l->is_last) {
		f->expected = 0;
	}
}

void
feed_only_peer(struct feed *f, const struct net_addr *peer)
{
	f->only_peer = peer;
}

void
feed_expect(struct feed *f, uint32_t pid)
{
	f->expected = pid;
}

/* --- records --- */

static size_t
bytes_of(uint16_t kind)
{
	switch (kind) {
	case OUTSIDE_OP: return sizeof(struct outside_op);
	case OUTSIDE_MOVE: return sizeof(struct outside_move);
	case OUTSIDE_WAIT: return sizeof(struct outside_wait);
	case OUTSIDE_RESUMED: return sizeof(struct outside_resumed);
	case OUTSIDE_OPEN:
	case OUTSIDE_RENAME: return sizeof(struct outside_name);
	case OUTSIDE_CLOSE:
	case OUTSIDE_FORK:
	case OUTSIDE_EXEC:
	case OUTSIDE_EXIT: return sizeof(struct outside_life);
	}
	return SIZE_MAX;
}

static void
take(struct feed *f, struct feed_proc *p, const struct outside_head *h)
{
	const void *record = h;

	switch (h->kind) {
	case OUTSIDE_OP: feed_take_op(p, record); break;
	case OUTSIDE_MOVE: feed_take_move(p, record); break;
	case OUTSIDE_WAIT: feed_take_wait(p, record); break;
	case OUTSIDE_RESUMED: feed_take_resumed(p, record); break;
	case OUTSIDE_OPEN:
	case OUTSIDE_RENAME: take_name(p, record); break;
	case OUTSIDE_CLOSE: feed_fd_closed(p, h->fd); break;
	case OUTSIDE_EXEC: take_exec(f, p, record); break;
	case OUTSIDE_EXIT: take_exit(f, p, record); break;
	}
}

void
feed_record(struct feed *f, const void *record, size_t bytes)
{
	const struct outside_head *h = record;
	struct feed_proc *p;

	if (bytes < sizeof(*h) || bytes_of(h->kind) > bytes)
		return;
	if (h->kind == OUTSIDE_FORK) {
		take_fork(f, record);
		return;
	}
	if (h->tgid == f->expected)
		take_expected(f, record);
	else if ((p = feed_proc_find(f, h->tgid)) != NULL)
		take(f, p, record);
}
/* The connection of a call under way is unknown: where some do not count, none counts early. */
static bool
is_own(const struct feed_proc *p, unsigned stage)
{
	return stage < NWSHM_TIMED &&
	    (!p->has_others || (stage != NWSHM_NET_READ && stage != NWSHM_NET_WRITE));
}

/* A call under way counts for the present stage of the thread, with the call's time in that
 * stage. */
static uint64_t
word_of_split(const struct outside_thread *t)
{
	if (t->stored_mono_ns != 0)
		return op_inflight(
		    t->stage, NWSHM_NO_STAGE, (int64_t)(t->stored_mono_ns - t->stored_ns));
	return op_inflight(t->stage2, NWSHM_NO_STAGE, (int64_t)(t->begin_mono_ns + t->stored_ns));
}

void
feed_under_way(struct feed *f, uint32_t tid, const struct outside_thread *t)
{
	struct feed_proc *p = feed_proc_find(f, t->tgid);
	bool is_timed = t->is_wait || t->stage != NWSHM_NO_STAGE;
	struct feed_thread *thread;
	uint64_t word = 0;

	if (p == NULL || !t->measured)
		return;
	thread = is_timed ? feed_thread_get(p, tid) : feed_thread_find(p, tid);
	if (thread == NULL)
		return;
	/* a thread that has lost the processor at a call's end is still in the call */
	if (t->out_mono_ns != 0)
		return;
	feed_held_count(p, thread);
	if (t->begin_mono_ns != 0 && t->is_wait)
		word = nwshm_inflight((int64_t)t->begin_mono_ns - region->base_mono_ns,
		    t->is_late ? NWSHM_WAIT_OTHER : t->hope, 0, NWSHM_INFLIGHT_WAIT);
	else if (t->begin_mono_ns != 0 && outside_is_split(t->stage, t->stage2) &&
	    is_own(p, t->stage2))
		word = word_of_split(t);
	else if (t->begin_mono_ns != 0 &&
	    (is_own(p, t->stage) || (t->stage2 != NWSHM_NO_STAGE && is_own(p, t->stage2))))
		word = op_inflight(t->stage, t->stage2, (int64_t)t->begin_mono_ns);
	atomic_store_explicit(&thread->slot->inflight, word, memory_order_relaxed);
}

void
feed_settle(struct feed *f)
{
	struct feed_proc *p, *tmp;

	HASH_ITER (hh, f->procs, p, tmp)
		feed_held_count_all(p);
}

void
feed_lost(struct feed *f, uint32_t pid, uint64_t ops, uint64_t bytes)
{
	struct feed_proc *p = feed_proc_find(f, pid);

	if (p == NULL || ops <= p->lost_ops)
		return;
	atomic_fetch_add(&p->state.proc->missed_ops, ops - p->lost_ops);
	atomic_fetch_add(&p->state.proc->missed_bytes, bytes - p->lost_bytes);
	p->lost_ops = ops;
	p->lost_bytes = bytes;
}

size_t
feed_count(const struct feed *f)
{
	return HASH_COUNT(f->procs) + (f->expected != 0);
}

void
feed_each(const struct feed *f, void (*fn)(void *arg, uint32_t pid), void *arg)
{
	struct feed_proc *p, *tmp;

	HASH_ITER (hh, f->procs, p, tmp)
		fn(arg, p->pid);
}
