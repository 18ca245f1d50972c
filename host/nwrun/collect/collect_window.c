/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the lanes of a process's threads to one caliper window per stage, each operation exactly
 * once.
 *
 * Time inside an unfinished operation counts up to now, in the interval in which the time passes,
 * so a call that blocks for ten seconds shows ten busy seconds and not one window eleven seconds
 * long. Time counted ahead is taken off again when the operation ends. Histograms are differences
 * of running counts and may run a millisecond, the time between closing and reading an interval,
 * ahead of the other numbers.
 */
#include "host/nwrun/collect/collect_in.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static bool
owns(const struct nwshm *s, unsigned thread, unsigned index)
{
	return atomic_load_explicit(&s->thread_owner[thread], memory_order_acquire) == index + 1;
}

static uint32_t
threads_used(const struct collect *c)
{
	return nwshm_used_get(&c->shm->threads_used, c->threads_max);
}

/* Before its first operation has ended a lane may have no pages. */
static bool
lane_is_there(const struct nwshm_thread *t, unsigned stage)
{
	return atomic_load_explicit(&t->ready[stage], memory_order_acquire) != 0;
}

/* --- banks --- */

/*
 * The epoch went up a millisecond ago: a thread that begins to write now writes the other bank. So
 * the closed bank is still only if its writer has left the update in which the epoch may have found
 * it.
 */
static bool
lane_is_settled(const struct nwshm_lane *l)
{
	uint32_t seq = atomic_load_explicit(&l->seq, memory_order_acquire);
	int tries;

	for (tries = 0; tries < 50 && (seq & 1) != 0; tries++) {
		if (atomic_load_explicit(&l->seq, memory_order_acquire) != seq)
			return true;
		sched_yield();
	}
	return (seq & 1) == 0;
}

static void
bank_merge(struct nw_caliper_window *w, const struct nwshm_bank *of)
{
	struct nwshm_bank copy = *of, *b = &copy;

	nwshm_bank_fold(b, true);
	nw_caliper_sum_merge(&w->v, w->n, &b->v, b->n);
	nw_caliper_sum_merge(&w->d, w->n, &b->d, b->n);
	nw_caliper_sum_merge(&w->r, w->n_rate, &b->r, b->n_rate);
	nw_caliper_sum_merge(&w->g, w->n_rate, &b->g, b->n_rate);
	if (w->n == 0 || b->first_begin_mono_ns < w->first_begin_mono_ns)
		w->first_begin_mono_ns = b->first_begin_mono_ns;
	if (w->n == 0 || b->last_end_mono_ns > w->last_end_mono_ns)
		w->last_end_mono_ns = b->last_end_mono_ns;
	w->n += b->n;
	w->n_rate += b->n_rate;
	w->clamped += b->clamped;
}

static const struct nwshm_bank *
bank_of(const struct nwshm_lane *l, uint32_t epoch)
{
	const struct nwshm_bank *b = &l->bank[epoch & 1];

	return atomic_load_explicit(&b->epoch, memory_order_relaxed) == epoch ? b : NULL;
}

static void
lane_take_banks(const struct nwshm_lane *l, struct lane_seen *seen, uint32_t epoch, bool final,
    struct nw_caliper_window *w)
{
	const struct nwshm_bank *b;

	if (seen->has_late)
		bank_merge(w, &seen->late);
	seen->has_late = false;
	if ((b = bank_of(l, epoch)) == NULL)
		return;
	if (final || lane_is_settled(l))
		bank_merge(w, b);
	else
		seen->pending_epoch = epoch;
}

static void
lane_take_hist(const struct nwshm_lane *l, struct lane_seen *seen, uint64_t hist[NW_HIST_BUCKETS])
{
	uint32_t i, count;

	if (seen->hist == NULL &&
	    (seen->hist = calloc(NW_HIST_BUCKETS, sizeof(*seen->hist))) == NULL)
		abort();
	for (i = 0; i < NW_HIST_BUCKETS; i++) {
		if ((count = ((const volatile uint32_t *)l->hist)[i]) == seen->hist[i])
			continue;
		hist[i] += (uint32_t)(count - seen->hist[i]);
		seen->hist[i] = count;
	}
}

/* --- time in operations --- */

static int64_t
inflight_elapsed(const struct collect *c, uint64_t inflight, int64_t now_mono_ns)
{
	int64_t since_ns = nwshm_inflight_since(inflight, &c->shm->cycles, c->base_mono_ns),
		ns = (int64_t)((uint64_t)(now_mono_ns - c->base_mono_ns) - (uint64_t)since_ns);

	return ns > 0 ? ns : 0;
}

static bool
inflight_is_in(uint64_t inflight, unsigned stage)
{
	return inflight != 0 && (inflight & NWSHM_INFLIGHT_WAIT) == 0 &&
	    ((inflight & 7) == stage || (inflight >> 4 & 15) == stage);
}

static bool
inflight_is_at_peer(uint64_t inflight)
{
	return (inflight & NWSHM_INFLIGHT_WAIT) != 0 && (inflight & 7) == NWSHM_INFLIGHT_PEER;
}

/* Adds the time under way to a counter. */
static uint64_t
take_ahead(const struct collect *c, uint64_t total, uint64_t inflight, uint64_t *seen_ns,
    int64_t now_mono_ns)
{
	uint64_t before = *seen_ns;

	if (inflight != 0)
		total += (uint64_t)inflight_elapsed(c, inflight, now_mono_ns);
	if (total <= before)
		return 0;
	*seen_ns = total;
	/* a thread cannot work longer than the region lives */
	if (total - before > (uint64_t)(now_mono_ns - c->base_mono_ns))
		return 0;
	return total - before;
}

/* An operation between the two loads counts twice for now; the next difference is smaller by as
 * much. */
static uint64_t
thread_take_busy(const struct collect *c, const struct nwshm_thread *t, unsigned stage,
    uint64_t *seen_ns, int64_t now_mono_ns)
{
	uint64_t inflight = nwshm_get(&t->inflight);

	return take_ahead(c, nwshm_get(&t->busy_ns[stage]),
	    inflight_is_in(inflight, stage) ? inflight : 0, seen_ns, now_mono_ns);
}

/* The same of waits at shared semaphores and for children. */
static uint64_t
thread_take_peers(
    const struct collect *c, const struct nwshm_thread *t, uint64_t *seen_ns, int64_t now_mono_ns)
{
	uint64_t inflight = nwshm_get(&t->inflight);

	return take_ahead(c, nwshm_get(&t->peer_ns), inflight_is_at_peer(inflight) ? inflight : 0,
	    seen_ns, now_mono_ns);
}

/* --- a process --- */

static void
window_take_lane(struct collect *c, unsigned thread, unsigned stage, uint32_t epoch, bool final,
    int64_t now_mono_ns, struct stage_window *out)
{
	const struct nwshm_thread *t = &c->shm->thread[thread];
	const struct nwshm_lane *l = &t->lane[stage];
	struct lane_seen *seen = &c->thread[thread].lane[stage];
	uint64_t ops, n_before = out->w.n;
	int64_t busy_ns;

	busy_ns = (int64_t)thread_take_busy(c, t, stage, &seen->busy_ns, now_mono_ns);
	if (lane_is_there(t, stage)) {
		lane_take_banks(l, seen, epoch, final, &out->w);
		if ((ops = nwshm_get(&l->ops)) != seen->ops)
			lane_take_hist(l, seen, out->hist);
		seen->ops = ops;
	}
	out->w.busy_ns += busy_ns;
	if (busy_ns > out->w.busy_max_ns)
		out->w.busy_max_ns = busy_ns;
	if (busy_ns > 0 || out->w.n > n_before)
		out->w.threads++;
}

void
window_collect(struct collect *c, unsigned index, unsigned stage, uint32_t epoch, bool final,
    int64_t now_mono_ns, struct stage_window *out)
{
	static const struct nw_caliper_window empty;
	uint32_t used = threads_used(c), i;

	out->w = empty;
	memset(out->hist, 0, sizeof(out->hist));
	for (i = 0; i < used; i++)
		if (owns(c->shm, i, index))
			window_take_lane(c, i, stage, epoch, final, now_mono_ns, out);
	out->w.hist = out->w.n > 0 ? out->hist : NULL;
}

static bool
lane_take_late(const struct nwshm_lane *l, struct lane_seen *seen, bool final)
{
	const struct nwshm_bank *b;

	if (seen->pending_epoch == 0)
		return true;
	if (!final && !lane_is_settled(l))
		return false;
	if ((b = bank_of(l, seen->pending_epoch)) != NULL) {
		seen->late = *b;
		seen->has_late = true;
	}
	seen->pending_epoch = 0;
	return true;
}

bool
window_take_late(struct collect *c, unsigned index, bool final)
{
	uint32_t used = threads_used(c), i;
	bool ready = true;
	unsigned stage;

	for (i = 0; i < used; i++)
		for (stage = 0; owns(c->shm, i, index) && stage < NWSHM_LANES; stage++)
			ready &= lane_take_late(
			    &c->shm->thread[i].lane[stage], &c->thread[i].lane[stage], final);
	return ready;
}

/*
 * The place of a wait is known when the wait ends. Meanwhile the wait counts for the direction the
 * program asked about (the word tells the direction); at the end, the time counted ahead is taken
 * from the place of the end. A wait without a direction counts when it ends, in full: such a report
 * may have a wait longer than its interval.
 */
static void
thread_take_waits(const struct collect *c, const struct nwshm_thread *t, struct thread_seen *seen,
    int64_t now_mono_ns, uint64_t wait_ns[NWSHM_WAITS])
{
	uint64_t inflight = nwshm_get(&t->inflight), debt_ns = 0, pay_ns, ended_ns[NWSHM_WAITS];
	unsigned i, k, first = seen->waiting & 7;

	for (i = 0; i < NWSHM_WAITS; i++) {
		ended_ns[i] = nwshm_get(&t->wait_ns[i]) - seen->wait_ns[i];
		seen->wait_ns[i] += ended_ns[i];
	}
	if (seen->waiting != 0 && seen->waiting != inflight) {
		debt_ns = seen->waiting_ns;
		seen->waiting = 0;
	}
	for (k = 0; k < NWSHM_WAITS; k++) {
		i = (first + k) % NWSHM_WAITS;
		pay_ns = debt_ns < ended_ns[i] ? debt_ns : ended_ns[i];
		debt_ns -= pay_ns;
		wait_ns[i] += ended_ns[i] - pay_ns;
	}
	if ((inflight & NWSHM_INFLIGHT_WAIT) == 0 || (inflight & 7) == NWSHM_WAIT_OTHER ||
	    (inflight & 7) >= NWSHM_WAITS)
		return;
	if (seen->waiting != inflight)
		seen->waiting_ns = 0;
	pay_ns = (uint64_t)inflight_elapsed(c, inflight, now_mono_ns);
	if (pay_ns > seen->waiting_ns) {
		wait_ns[inflight & 7] += pay_ns - seen->waiting_ns;
		seen->waiting_ns = pay_ns;
	}
	seen->waiting = inflight;
}

static uint64_t
take(const _Atomic uint64_t *counter, uint64_t *seen)
{
	uint64_t now = nwshm_get(counter), difference = now - *seen;

	*seen = now;
	return difference;
}

/*
 * A helper that sleeps at a pipe tells nothing of its process: the time belongs to the thread with
 * the most bytes so far, in each direction, for one thread may read and another write. Returns the
 * thread's own time.
 */
static uint64_t
thread_take_pipes(struct collect *c, unsigned thread, const uint64_t wait_ns[NWSHM_WAITS],
    int64_t now_mono_ns, struct pipe_use out[2], uint64_t most[2])
{
	const struct nwshm_thread *t = &c->shm->thread[thread];
	struct thread_seen *seen = &c->thread[thread];
	uint64_t ns, all_ns = 0;
	unsigned dir;

	for (dir = NWSHM_READ; dir <= NWSHM_WRITE; dir++) {
		ns = thread_take_busy(
			 c, t, NWSHM_PIPE_READ + dir, &seen->pipe_ns[dir], now_mono_ns) +
		    wait_ns[NWSHM_WAIT_PIPE_READ + dir];
		all_ns += ns;
		out[dir].bytes += take(&t->pipe_bytes[dir], &seen->pipe_bytes[dir]);
		if (seen->pipe_bytes[dir] < most[dir])
			continue;
		most[dir] = seen->pipe_bytes[dir];
		out[dir].ns = ns;
	}
	return all_ns;
}

/* A shorter wait of the first thread for another thread may be a lock's. */
enum { INNER_MIN_NS = 5000000 };

/* Waits without descriptors since the last call. */
static uint64_t
thread_take_first(const struct collect *c, const struct nwshm_thread *t, struct thread_seen *seen,
    int64_t now_mono_ns, uint64_t *inner_total)
{
	uint64_t inner_ns = take(&t->inner_ns, &seen->inner_ns);

	*inner_total += inner_ns;
	return inner_ns + thread_take_peers(c, t, &seen->peer_ns, now_mono_ns);
}

static uint64_t
thread_bytes(const struct nwshm_thread *t)
{
	uint64_t bytes = nwshm_get(&t->pipe_bytes[NWSHM_READ]) +
	    nwshm_get(&t->pipe_bytes[NWSHM_WRITE]) + nwshm_get(&t->other_bytes[NWSHM_READ]) +
	    nwshm_get(&t->other_bytes[NWSHM_WRITE]);
	unsigned stage;

	for (stage = 0; stage < NWSHM_LANES; stage++)
		bytes += lane_is_there(t, stage) ? nwshm_get(&t->lane[stage].bytes) : 0;
	return bytes;
}

/* The least turns of a loop. */
enum { TURNS_MIN = 8 };

/* Whether a child of the process runs the same program, as the workers of a loop do. */
static bool
has_worker(const struct collect *c, struct watch *w)
{
	uint32_t used = procs_used(c), i;

	for (i = 0; i < used && !w->has_worker; i++)
		w->has_worker = c->watch[i].used && c->watch[i].ppid == w->pid &&
		    strcmp(c->watch[i].name, w->name) == 0;
	return w->has_worker;
}

/* The steps of a loop without marks, by the loop's calls. */
static void
turns_take(struct watch *w, const struct nwshm_thread *t, struct thread_seen *seen)
{
	unsigned k;

	if (nwshm_get(&t->turns) < TURNS_MIN)
		return;
	w->steps += take(&t->turns, &seen->turns);
	for (k = 0; k < 2; k++)
		w->step_ns[k] += take(&t->turn_ns[k], &seen->turn_ns[k]);
}

void
window_collect_rest(
    struct collect *c, unsigned index, int64_t now_mono_ns, uint64_t wait_ns[NWSHM_WAITS])
{
	uint64_t thread_wait_ns[NWSHM_WAITS], most[2] = { 0, 0 }, most_of_all = 0, pause_ns = 0,
					      pipes_ns, first_ns;
	uint32_t used = threads_used(c), i;
	const struct nwshm_thread *t;
	struct thread_seen *seen;
	struct watch *w = &c->watch[index];
	bool has_first = false, first_reads = false, is_first;
	unsigned k;

	memset(wait_ns, 0, NWSHM_WAITS * sizeof(*wait_ns));
	memset(w->pipe, 0, sizeof(w->pipe));
	for (i = 0; i < used; i++) {
		if (!owns(c->shm, i, index))
			continue;
		t = &c->shm->thread[i];
		seen = &c->thread[i];
		memset(thread_wait_ns, 0, sizeof(thread_wait_ns));
		thread_take_waits(c, t, seen, now_mono_ns, thread_wait_ns);
		for (k = 0; k < NWSHM_WAITS; k++)
			wait_ns[k] += thread_wait_ns[k];
		if (thread_bytes(t) >= most_of_all) {
			most_of_all = thread_bytes(t);
			pause_ns = thread_wait_ns[NWSHM_WAIT_PAUSE];
		}
		pipes_ns = thread_take_pipes(c, i, thread_wait_ns, now_mono_ns, w->pipe, most);
		is_first =
		    atomic_load_explicit(&c->shm->thread_tid[i], memory_order_relaxed) == w->pid;
		has_first |= is_first;
		if (most[NWSHM_READ] > 0 && seen->pipe_bytes[NWSHM_READ] == most[NWSHM_READ])
			first_reads = is_first;
		first_ns = thread_take_first(c, t, seen, now_mono_ns, &w->inner_total);
		if (is_first)
			w->first_ns += first_ns + pipes_ns;
		w->other_bytes[NWSHM_READ] +=
		    take(&t->other_bytes[NWSHM_READ], &seen->other_bytes[NWSHM_READ]);
		w->other_bytes[NWSHM_WRITE] +=
		    take(&t->other_bytes[NWSHM_WRITE], &seen->other_bytes[NWSHM_WRITE]);
		w->apart_bytes[NWSHM_READ] +=
		    take(&t->apart_bytes[NWSHM_READ], &seen->apart_bytes[NWSHM_READ]);
		w->apart_bytes[NWSHM_WRITE] +=
		    take(&t->apart_bytes[NWSHM_WRITE], &seen->apart_bytes[NWSHM_WRITE]);
		w->combined_bytes += take(&t->combined_bytes, &seen->combined_bytes);
		w->combined_ns += take(&t->combined_ns, &seen->combined_ns);
		w->steps += take(&t->steps, &seen->steps);
		for (k = 0; k < 2; k++)
			w->step_ns[k] += take(&t->step_ns[k], &seen->step_ns[k]);
		w->marks |= seen->steps + seen->step_ns[0] + seen->step_ns[1] > 0;
		if (is_first && !w->marks && has_worker(c, w))
			turns_take(w, t, seen);
	}
	w->pause_ns += pause_ns;
	/* for good: a helper that passes descriptors on may read more bytes later */
	w->first_waits |= has_first && (first_reads || w->inner_total >= INNER_MIN_NS);
}

/* The direction of a wait at a pipe or semaphore; negative: another operation, or none. */
static int
inflight_dir(uint64_t inflight)
{
	unsigned place = inflight & 7, dir;

	if (inflight_is_at_peer(inflight))
		return NWSHM_READ;
	for (dir = NWSHM_READ; dir <= NWSHM_WRITE; dir++)
		if ((inflight & NWSHM_INFLIGHT_WAIT) != 0
			? place == NWSHM_WAIT_PIPE_READ + dir
			: inflight_is_in(inflight, NWSHM_PIPE_READ + dir))
			return (int)dir;
	return -1;
}

void
window_collect_ahead(struct collect *c, unsigned index, int64_t now_mono_ns)
{
	uint32_t used = threads_used(c), i, object;
	const struct nwshm_thread *t;
	uint64_t inflight;
	int dir;

	for (i = 0; i < used; i++) {
		if (!owns(c->shm, i, index))
			continue;
		t = &c->shm->thread[i];
		inflight = nwshm_get(&t->inflight);
		object = atomic_load_explicit(&t->at_object, memory_order_acquire) - 1;
		/* the next operation may have noted its object already */
		if ((dir = inflight_dir(inflight)) < 0 || nwshm_get(&t->inflight) != inflight ||
		    object >= NWSHM_OBJECTS || !c->object[object].used ||
		    c->object[object].owner != index)
			continue;
		c->object[object].ahead_ns[dir] +=
		    (uint64_t)inflight_elapsed(c, inflight, now_mono_ns);
	}
}

uint32_t
window_active_threads(struct collect *c, unsigned index, uint32_t *slot, uint32_t max)
{
	uint32_t used = threads_used(c), i, n = 0;
	uint64_t bytes;

	for (i = 0; i < used && n < max; i++) {
		if (!owns(c->shm, i, index))
			continue;
		bytes = thread_bytes(&c->shm->thread[i]);
		if (bytes == c->thread[i].asked_bytes &&
		    nwshm_get(&c->shm->thread[i].inflight) == 0)
			continue;
		c->thread[i].asked_bytes = bytes;
		slot[n++] = i;
	}
	return n;
}

/* --- ends --- */

static void
thread_forget(struct collect *c, unsigned thread)
{
	unsigned stage;

	for (stage = 0; stage < NWSHM_LANES; stage++)
		free(c->thread[thread].lane[stage].hist);
	memset(&c->thread[thread], 0, sizeof(c->thread[thread]));
}

/* Touched pages keep their memory, and with it the promise of `ready`, for the next owner. */
static void
thread_clear(struct nwshm_thread *t)
{
	unsigned stage;

	for (stage = 0; stage < NWSHM_LANES; stage++)
		if (lane_is_there(t, stage))
			memset(&t->lane[stage], 0, sizeof(t->lane[stage]));
	memset(t, 0, offsetof(struct nwshm_thread, ready));
}

void
window_free_threads(struct collect *c, unsigned index)
{
	uint32_t used = threads_used(c), i, owner;

	for (i = 0; i < used; i++) {
		owner = atomic_load(&c->shm->thread_owner[i]);
		if ((owner & ~NWSHM_OWNER_SETUP) != index + 1)
			continue;
		thread_forget(c, i);
		/* an owner in setup was killed before it had the page */
		if ((owner & NWSHM_OWNER_SETUP) == 0)
			thread_clear(&c->shm->thread[i]);
		atomic_store(&c->shm->thread_tid[i], 0);
		atomic_store(&c->shm->thread_owner[i], 0);
	}
}

void
window_clear(struct collect *c)
{
	uint32_t used = threads_used(c), i;

	for (i = 0; i < used; i++)
		thread_forget(c, i);
}
