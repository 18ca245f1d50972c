/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One operation into the counters. The cost is two clock reads and less than as much again.
 */
#include "host/nwrun/preload/preload_count.h"

#include <errno.h>
#include <math.h>

static __attribute__((noinline, cold)) bool
lane_make_ready(struct nwshm_thread *t, unsigned stage)
{
	if (!region_touch(&t->lane[stage], sizeof(t->lane[stage])))
		return false;
	atomic_store_explicit(&t->ready[stage], 1, memory_order_release);
	return true;
}

static inline bool
lane_is_ready(struct nwshm_thread *t, unsigned stage)
{
	return likely(atomic_load_explicit(&t->ready[stage], memory_order_relaxed) != 0) ||
	    lane_make_ready(t, stage);
}

void
lanes_prepare(struct nwshm_thread *t)
{
	unsigned stage;

	for (stage = 0; stage < NWSHM_LANES; stage++)
		lane_is_ready(t, stage);
}

static __attribute__((noinline, cold)) void
lane_miss(uint64_t bytes)
{
	atomic_fetch_add(&state->proc->missed_ops, 1);
	atomic_fetch_add(&state->proc->missed_bytes, bytes);
}

static __attribute__((noinline, cold)) void
bank_restart(struct nwshm_bank *b, uint32_t epoch, int64_t begin_mono_ns)
{
	static const struct nw_caliper_sum empty = { .min = INFINITY, .max = -INFINITY };

	b->n = b->n_rate = b->clamped = b->run.n = 0;
	b->first_begin_mono_ns = begin_mono_ns;
	b->v = b->d = b->r = b->g = empty;
	atomic_store_explicit(&b->epoch, epoch, memory_order_relaxed);
}

/* A time of 0 ns is unknown (or below the clock's step): the operation counts, but has no rate. */
static inline __attribute__((always_inline)) void
lane_add(struct nwshm_thread *t, unsigned stage, int64_t begin_mono_ns, int64_t end_mono_ns,
    uint64_t bytes)
{
	struct nwshm_lane *l = &t->lane[stage];
	int64_t ns = end_mono_ns - begin_mono_ns;
	struct nwshm_bank *b;
	uint32_t seq, epoch;
	bool timed = ns > 0;

	KEEP(l);
	if (unlikely(!lane_is_ready(t, stage))) {
		lane_miss(bytes);
		return;
	}
	seq = atomic_load_explicit(&l->seq, memory_order_relaxed);
	/* a signal handler came in the middle of an update */
	if (unlikely((seq & 1) != 0)) {
		lane_miss(bytes);
		return;
	}
	atomic_store_explicit(&l->seq, seq + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	epoch = atomic_load_explicit(&state->proc->epoch, memory_order_relaxed);
	b = &l->bank[epoch & 1];
	KEEP(b);
	if (unlikely(atomic_load_explicit(&b->epoch, memory_order_relaxed) != epoch))
		bank_restart(b, epoch, begin_mono_ns);
	nwshm_bank_add(b, bytes, timed ? ns : 0);
	b->last_end_mono_ns = end_mono_ns;
	l->hist[nw_hist_index(timed ? (uint64_t)ns : 1)]++;
	nwshm_add(&l->bytes, bytes);
	nwshm_add(&l->ops, 1);
	nwshm_add(&t->busy_ns[stage], timed ? (uint64_t)ns : 0);
	atomic_store_explicit(&l->seq, seq + 2, memory_order_release);
}

/* Files and connections, by the operation's lane. */
static inline __attribute__((always_inline)) void
lane_and_object_add(struct nwshm_thread *t, unsigned stage, struct nwshm_object *o, int64_t offset,
    int64_t begin_mono_ns, int64_t end_mono_ns, uint64_t bytes)
{
	struct span span = { offset, begin_mono_ns, end_mono_ns, bytes };
	bool alone = *single_threaded != 0 && o >= &region->object[NWSHM_OBJECTS_FIXED];

	lane_add(t, stage, begin_mono_ns, end_mono_ns, bytes);
	if (o == NULL)
		return;
	object_add(o, stage & 1, bytes, end_mono_ns - begin_mono_ns, alone);
	if (stage <= NWSHM_DISK_WRITE && bytes > 0)
		cells_add(t, o, stage & 1, &span, alone);
}

/* The time of an operation, and the time at its end. */
struct stop {
	int64_t ns, end_mono_ns;
};

/* A much longer time than a step, as for a checkpoint, lies apart: neither a step nor between
 * steps. Steps that stay so long are steps soon. */
static void
turn_add(struct nwshm_thread *t, int64_t away_ns)
{
	enum { APART = 16, SHORTER = 64, FEW = 8 };
	int64_t longest_ns = away_ns;

	nwshm_add(&t->turn_ns[0], (uint64_t)(self.fetch_end_mono_ns - self.fetch_begin_mono_ns));
	if (away_ns / APART > self.step_ns && nwshm_get(&t->turns) >= FEW) {
		longest_ns = away_ns / SHORTER;
		self.step_ns *= 2;
	} else {
		nwshm_add(&t->turns, 1);
		nwshm_add(&t->turn_ns[1], (uint64_t)away_ns);
	}
	if (longest_ns > self.step_ns)
		self.step_ns = longest_ns;
}

/* Fetches begin at one place, mostly: elsewhere a program without a processor looks like a program
 * in a step. */
void
turn_note(const void *at, int64_t begin_mono_ns, int64_t end_mono_ns)
{
	enum { SHIFT = 4, SHIFT_ELSEWHERE = 1, DECAY = 64 }; /* parts of a step: no division */
	int64_t away_ns = begin_mono_ns - self.fetch_end_mono_ns;
	int shift = at == self.fetch_at ? SHIFT : SHIFT_ELSEWHERE;

	if (!is_first_thread())
		return;
	self.step_ns -= self.step_ns / DECAY;
	if (self.fetch_end_mono_ns == 0 || away_ns > self.step_ns >> shift) {
		if (self.fetch_end_mono_ns != 0)
			turn_add(self.slot, away_ns);
		self.fetch_begin_mono_ns = begin_mono_ns;
		self.fetch_at = at;
	}
	self.fetch_end_mono_ns = end_mono_ns;
}

static inline __attribute__((always_inline)) void
pipe_add(
    struct nwshm_thread *t, unsigned stage, struct nwshm_object *o, struct stop stop, ssize_t bytes)
{
	int64_t ns = stop.ns > 0 ? stop.ns : 0;

	if (likely(bytes > 0))
		nwshm_add(&t->pipe_bytes[stage & 1], (uint64_t)bytes);
	if (likely(o != NULL)) {
		object_add(
		    o, stage & 1, bytes > 0 ? (uint64_t)bytes : 0, ns, *single_threaded != 0);
		atomic_store_explicit(
		    &o->u.local.used_mono_ns, stop.end_mono_ns, memory_order_relaxed);
	}
	nwshm_add(&t->busy_ns[stage], (uint64_t)ns);
	if ((stage & 1) == NWSHM_READ)
		turn_note(o, stop.end_mono_ns - ns, stop.end_mono_ns);
}

static void
stage_add(struct nwshm_thread *t, unsigned stage, struct nwshm_object *o, int64_t offset,
    int64_t begin_mono_ns, int64_t end_mono_ns, ssize_t bytes)
{
	if (stage >= NWSHM_TIMED) {
		if (bytes > 0)
			nwshm_add(&t->other_bytes[stage & 1], (uint64_t)bytes);
	} else if (stage >= NWSHM_LANES) {
		pipe_add(
		    t, stage, o, (struct stop){ end_mono_ns - begin_mono_ns, end_mono_ns }, bytes);
	} else if (bytes < 0) {
		nwshm_add(&t->busy_ns[stage], (uint64_t)(end_mono_ns - begin_mono_ns));
	} else {
		lane_and_object_add(
		    t, stage, o, offset, begin_mono_ns, end_mono_ns, (uint64_t)bytes);
	}
}

/* The clock has no numbers now. */
static __attribute__((noinline, cold)) struct stop
stop_slowly(uint64_t begin_ticks)
{
	const struct nw_cycles *c = &region->cycles;
	int64_t ticks = (int64_t)(nw_ticks() - begin_ticks);

	return (
	    struct stop){ (int64_t)((nw_int128)ticks * (int64_t)c->mult >> 32), nw_cycles_ns(c) };
}

static inline __attribute__((always_inline)) struct stop
stop_now(uint64_t begin_ticks)
{
	const struct nw_cycles *c = &region->cycles;
	uint32_t seq = __atomic_load_n(&c->seq, __ATOMIC_ACQUIRE);
	int64_t mult = (int64_t)__atomic_load_n(&c->mult, __ATOMIC_RELAXED);
	uint64_t base_ticks = __atomic_load_n(&c->base_ticks, __ATOMIC_RELAXED), now_ticks;
	int64_t base_mono_ns = __atomic_load_n(&c->base_mono_ns, __ATOMIC_RELAXED);

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (unlikely(
		(seq & 1) != 0 || __atomic_load_n(&c->seq, __ATOMIC_RELAXED) != seq || seq == 0))
		return stop_slowly(begin_ticks);
	now_ticks = nw_ticks();
	return (struct stop){ (int64_t)((nw_int128)(int64_t)(now_ticks - begin_ticks) * mult >> 32),
		base_mono_ns +
		    (int64_t)((nw_int128)(int64_t)(now_ticks - base_ticks) * mult >> 32) };
}

static inline __attribute__((always_inline)) struct stop
quick_stop(struct nwshm_thread *t, uint64_t begin_ticks)
{
	struct stop stop = stop_now(begin_ticks);

	atomic_store_explicit(&t->inflight, 0, memory_order_relaxed);
	return stop;
}

/* A read that found its socket empty: a short pause behind the read waits for the network. */
static inline void
drained_note(unsigned stage, ssize_t bytes)
{
	if (unlikely(bytes == OP_FAILED) && stage == NWSHM_NET_READ && errno == EAGAIN)
		self.drained = true;
}

/* A call that failed, or one without a time: another processor's counter may be a little behind. */
static __attribute__((noinline, cold)) void
quick_count_rest(struct nwshm_thread *t, unsigned stage, struct nwshm_object *o, struct stop stop,
    int64_t offset, ssize_t bytes)
{
	int64_t ns = stop.ns > 0 ? stop.ns : 0;

	drained_note(stage, bytes);
	stage_add(t, stage, o, offset, stop.end_mono_ns - ns, stop.end_mono_ns, bytes);
}

void
quick_count_pipe(
    struct nwshm_thread *t, uint64_t begin_ticks, uint32_t word, unsigned stage, ssize_t bytes)
{
	struct stop stop = quick_stop(t, begin_ticks);

	pipe_add(t, stage, fd_word_object(word), stop, bytes);
}

void
quick_count(struct nwshm_thread *t, uint64_t begin_ticks, uint64_t fd_and_word, unsigned stage,
    int64_t offset, ssize_t bytes)
{
	struct nwshm_object *o = fd_word_object((uint32_t)fd_and_word);
	struct stop stop = quick_stop(t, begin_ticks);

	if (unlikely(bytes < 0 || stop.ns <= 0)) {
		quick_count_rest(t, stage, o, stop, offset, bytes);
		return;
	}
	lane_and_object_add(
	    t, stage, o, offset, stop.end_mono_ns - stop.ns, stop.end_mono_ns, (uint64_t)bytes);
	object_name_large(o, (int)(fd_and_word >> 32));
}

static inline bool
is_pipe(unsigned stage)
{
	return stage >= NWSHM_LANES && stage < NWSHM_TIMED;
}

/* A call that blocks on a pipe counts as a wait for the neighbour, whatever else the call
 * reads or writes. */
static inline unsigned
timed_stage(unsigned stage, unsigned beside)
{
	return is_pipe(beside) && !is_pipe(stage) ? NWSHM_OTHER_READ : stage;
}

uint64_t
op_inflight(unsigned stage, unsigned stage2, int64_t begin_mono_ns)
{
	return nwshm_inflight(begin_mono_ns - region->base_mono_ns, timed_stage(stage, stage2),
	    timed_stage(stage2, stage), 0);
}

static inline void
op_start_clock(struct op *op)
{
	thread_goes_to(op->thread, is_pipe(op->stage) ? op->object : op->object2);
	op->begin_mono_ns = nw_cycles_ns(&region->cycles);
	atomic_store_explicit(&op->thread->inflight,
	    op_inflight(op->stage, op->stage2, op->begin_mono_ns), memory_order_relaxed);
}

void
op_begin(struct op *op, int fd, enum nwshm_dir dir)
{
	struct fd_info info;

	if ((op->thread = thread_slot()) == NULL)
		return;
	info = fd_get(fd);
	if (unlikely(info.stage == NWSHM_NO_STAGE)) {
		op->thread = NULL;
		return;
	}
	op_begin_known(op, op->thread, info, fd, dir);
}

/* sendfile and its like: one duration, which cannot be split, stands in both stages, or in the
 * stage of a pipe. */
void
op_begin2(struct op *op, int from_fd, int to_fd)
{
	struct fd_info from, to;

	if ((op->thread = thread_slot()) == NULL)
		return;
	from = fd_get(from_fd);
	to = fd_get(to_fd);
	if (unlikely(from.stage == NWSHM_NO_STAGE || to.stage == NWSHM_NO_STAGE)) {
		op->thread = NULL;
		return;
	}
	op->fd = from_fd;
	op->fd2 = to_fd;
	op->stage = from.stage + NWSHM_READ;
	op->stage2 = to.stage + NWSHM_WRITE;
	op->offset = OP_AT_POSITION;
	op->object = from.object;
	op->object2 = to.object;
	op_start_clock(op);
}

/* A stage whose time belongs to another stage has no time of its own, so no rate. */
static inline int64_t
op_begin_of(const struct op *op, unsigned stage, unsigned beside, int64_t end_mono_ns)
{
	return timed_stage(stage, beside) == stage ? op->begin_mono_ns : end_mono_ns;
}

static inline bool
op_has_clock(const struct op *op)
{
	return op->stage < NWSHM_TIMED || op->stage2 != NWSHM_NO_STAGE;
}

/* A call for reading and writing. */
static __attribute__((noinline)) void
op_count2(struct op *op, int64_t end_mono_ns, ssize_t bytes)
{
	struct nwshm_thread *t = op->thread;

	stage_add(t, op->stage, op->object, OP_AT_POSITION,
	    op_begin_of(op, op->stage, op->stage2, end_mono_ns), end_mono_ns, bytes);
	stage_add(t, op->stage2, op->object2, OP_AT_POSITION,
	    op_begin_of(op, op->stage2, op->stage, end_mono_ns), end_mono_ns, bytes);
	object_name_large(op->object, op->fd);
	object_name_large(op->object2, op->fd2);
	if (bytes > 0 && op->stage < NWSHM_LANES && op->stage2 < NWSHM_LANES) {
		nwshm_add(&t->combined_bytes, (uint64_t)bytes);
		nwshm_add(&t->combined_ns, (uint64_t)(end_mono_ns - op->begin_mono_ns));
	}
}

void
op_count(struct op *op, int64_t end_mono_ns, ssize_t bytes)
{
	if (op->stage2 != NWSHM_NO_STAGE) {
		op_count2(op, end_mono_ns, bytes);
		return;
	}
	drained_note(op->stage, bytes);
	stage_add(
	    op->thread, op->stage, op->object, op->offset, op->begin_mono_ns, end_mono_ns, bytes);
	object_name_large(op->object, op->fd);
}

void
op_end(struct op *op, ssize_t bytes)
{
	int64_t end_mono_ns = 0;

	if (op->thread == NULL)
		return;
	if (op_has_clock(op)) {
		end_mono_ns = nw_cycles_ns(&region->cycles);
		atomic_store_explicit(&op->thread->inflight, 0, memory_order_relaxed);
	}
	op_count(op, end_mono_ns, bytes);
}

void
op_cancel(struct op *op)
{
	if (op->thread != NULL && op->stage < NWSHM_TIMED)
		atomic_store_explicit(&op->thread->inflight, 0, memory_order_relaxed);
}

void
op_untimed(int fd, enum nwshm_dir dir, uint64_t bytes)
{
	struct nwshm_thread *t;
	struct fd_info info;
	int64_t now_mono_ns;

	if (bytes == 0 || (t = thread_slot()) == NULL)
		return;
	info = fd_get(fd);
	if (info.stage == NWSHM_NO_STAGE)
		return;
	now_mono_ns = nw_cycles_ns(&region->cycles);
	stage_add(t, info.stage + (unsigned)dir, info.object, OP_AT_POSITION, now_mono_ns,
	    now_mono_ns, (ssize_t)bytes);
}
