/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One look at the region.
 *
 *	a slot turns LIVE --first look--> watched
 *	watched --every interval--> one window per stage is reported
 *	watched --the process is gone, or another image has its pid (ENDED)--> last window, last
 *	words, the slot is free again
 */
#include "host/nwrun/collect/collect.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/nwrun/collect/collect_in.h"

/* A window ends with the process, as far as the process could tell; no window has a negative
 * length. */
static int64_t
window_end(const struct collect *c, unsigned index, bool gone, int64_t now_mono_ns)
{
	int64_t exit_mono_ns = atomic_load(&c->shm->proc[index].exit_mono_ns);
	int64_t begin_mono_ns = c->watch[index].window_begin_mono_ns;

	if (gone && exit_mono_ns != 0 && exit_mono_ns < now_mono_ns)
		now_mono_ns = exit_mono_ns;
	return now_mono_ns > begin_mono_ns ? now_mono_ns : begin_mono_ns + 1;
}

/* Objects first: the stages are called by the name of their largest. */
static void
interval_report(struct collect *c, unsigned index, int64_t now_mono_ns, int64_t now_wall_ns)
{
	struct watch *w = &c->watch[index];
	bool gone = w->todo == WATCH_GONE;
	int64_t end_mono_ns = window_end(c, index, gone, now_mono_ns);
	int64_t end_wall_ns = now_wall_ns - (now_mono_ns - end_mono_ns);
	uint64_t wait_ns[NWSHM_WAITS];
	unsigned stage;

	object_collect(c, index, gone, end_wall_ns);
	window_collect_rest(c, index, end_mono_ns, wait_ns);
	for (stage = 0; stage < NWSHM_LANES; stage++) {
		window_collect(c, index, stage, w->epoch, gone, end_mono_ns, &c->window);
		c->window.w.window_ns = end_mono_ns - w->window_begin_mono_ns;
		if (stage == NWSHM_NET_READ || stage == NWSHM_NET_WRITE)
			c->window.w.wait_ns = (int64_t)wait_ns[stage - NWSHM_NET_READ];
		say_stage(c, index, stage, &c->window, end_wall_ns);
	}
	say_steps(c, index, end_mono_ns, end_wall_ns);
	say_process(c, index, end_mono_ns, end_wall_ns);
	if (gone)
		say_process_end(c, index, end_mono_ns);
	w->window_begin_mono_ns = end_mono_ns;
}

static void
unseen_add(struct collect_unseen *u, const struct watch *w)
{
	uint64_t unseen = w->unseen_total[NWSHM_READ] + w->unseen_total[NWSHM_WRITE];

	if (w->now.io_known && w->first.io_known)
		u->kernel_bytes +=
		    w->counted_total[NWSHM_READ] + w->counted_total[NWSHM_WRITE] + unseen;
	if (unseen > u->unseen_bytes || u->by == NULL)
		u->by = w->unseen_by;
	u->unseen_bytes += unseen;
}

void
collect_get_unseen(const struct collect *c, struct collect_unseen *out)
{
	uint32_t used = procs_used(c), i;

	*out = c->unseen;
	out->hidden = c->opts.root_pid != 0 && !c->root.shown;
	for (i = 0; i < used; i++)
		if (c->watch[i].used)
			unseen_add(out, &c->watch[i]);
}

static void
proc_free(struct collect *c, unsigned index)
{
	struct nwshm_proc *p = &c->shm->proc[index];

	unseen_add(&c->unseen, &c->watch[index]);
	window_free_threads(c, index);
	c->watch[index].used = false;
	atomic_store(&p->exit_mono_ns, 0);
	atomic_store(&p->exit_told, 0);
	atomic_store(&p->missed_ops, 0);
	atomic_store(&p->missed_bytes, 0);
	p->pid = 0;
	atomic_store(&p->state, NWSHM_FREE);
}

static bool
proc_is_due(const struct collect *c, unsigned index, int64_t now_mono_ns)
{
	int64_t interval_ns = collect_interval_ns(c, index, now_mono_ns);

	/* a look that comes a little early ends the interval: the next look would make the
	 * interval twice as long */
	return now_mono_ns - c->watch[index].window_begin_mono_ns >= interval_ns - interval_ns / 20;
}

/* Asks the system once about all processes that have told their end: of very many short processes
 * nearly all are gone, and a question each would cost more than the rest of the look. */
static void
gone_ask(struct collect *c, int64_t now_mono_ns)
{
	struct proc_gone g = { .n = 0 };
	uint32_t used = procs_used(c), index[PROC_GONE_MAX], i, k;
	const struct nwshm_proc *p;

	if (c->sink->gone == NULL || c->opts.outside)
		return;
	for (i = 0; i < used; i++) {
		p = &c->shm->proc[i];
		c->watch[i].is_gone = false;
		if (atomic_load_explicit(&p->state, memory_order_acquire) == NWSHM_LIVE &&
		    atomic_load_explicit(&p->exit_mono_ns, memory_order_acquire) != 0) {
			if (!c->watch[i].used)
				watch_start(c, i, now_mono_ns);
			if (!c->watch[i].foreign) {
				g.pid[g.n] = c->watch[i].pid;
				index[g.n++] = i;
			}
		}
		if (g.n == 0 || (g.n < PROC_GONE_MAX && i + 1 < used))
			continue;
		c->sink->gone(c->sink->arg, &g);
		for (k = 0; k < g.n; k++)
			c->watch[index[k]].is_gone = g.is_gone[k] != 0;
		g.n = 0;
	}
}

/* The system does not answer for a process in another pid name space: the process's own word counts
 * then, and time for its last handlers. */
static bool
proc_is_alive(struct collect *c, unsigned index, uint32_t state, int64_t now_mono_ns)
{
	int64_t exit_mono_ns =
	    atomic_load_explicit(&c->shm->proc[index].exit_mono_ns, memory_order_acquire);

	if (state != NWSHM_LIVE)
		return false;
	/* the last records of a process that is gone may not be counted yet */
	if (c->opts.outside) {
		(void)watch_look(c, &c->watch[index]);
		return exit_mono_ns == 0;
	}
	if (c->watch[index].is_gone)
		return false;
	if (c->watch[index].foreign)
		return exit_mono_ns == 0 || now_mono_ns - exit_mono_ns < INT64_C(1000000000);
	return watch_look(c, &c->watch[index]);
}

/* Ends the interval of a process. With `gone` no thread writes any more. Returns false if a
 * thread is still in an update of the interval before. */
static bool
interval_end(struct collect *c, unsigned index, bool gone)
{
	struct watch *w = &c->watch[index];

	if (!window_take_late(c, index, gone))
		return false;
	w->todo = gone ? WATCH_GONE : WATCH_DUE;
	w->epoch = atomic_fetch_add(&c->shm->proc[index].epoch, 1);
	return true;
}

/* Decides about a process, and ends the interval if there is work. Returns whether the process
 * lives. */
static bool
proc_judge(struct collect *c, unsigned index, bool final, int64_t now_mono_ns)
{
	struct nwshm_proc *p = &c->shm->proc[index];
	struct watch *w = &c->watch[index];
	uint32_t state = atomic_load_explicit(&p->state, memory_order_acquire);
	bool alive;

	w->todo = WATCH_NOTHING;
	if (state != NWSHM_LIVE && state != NWSHM_ENDED)
		return false;
	if (!w->used)
		watch_start(c, index, now_mono_ns);
	alive = proc_is_alive(c, index, state, now_mono_ns);
	if (!alive || final || proc_is_due(c, index, now_mono_ns))
		(void)interval_end(c, index, !alive || final);
	return alive && !w->foreign;
}

/*
 * A parent that is gone may have waited for children since their turn in this look: their counts
 * are part of the parent's, although their own end waits for the next look.
 */
static void
children_judge(struct collect *c, unsigned parent, int64_t now_mono_ns)
{
	uint32_t used = procs_used(c), i;

	for (i = 0; i < used; i++)
		if (c->watch[i].used && c->watch[i].todo != WATCH_GONE &&
		    c->watch[i].ppid == c->watch[parent].pid &&
		    !proc_is_alive(c, i, atomic_load(&c->shm->proc[i].state), now_mono_ns))
			watch_end_usage(c, i);
}

/* Until the collector has numbers of its own, nwrun's are in force. */
static void
clock_calibrate(struct collect *c, int64_t now_mono_ns)
{
	struct nw_cycles shared = *(volatile struct nw_cycles *)&c->shm->cycles;

	if (c->cycles.seq == 0 && c->cycles.given_up == 0 && (shared.seq & 1) == 0)
		nw_cycles_share(&shared, &c->cycles);
	nw_cycles_calibrate(&c->cycles, now_mono_ns);
	if (c->cycles.seq != 0 || c->cycles.given_up != 0)
		nw_cycles_share(&c->cycles, &c->shm->cycles);
}

/* Two passes, so that a single pause serves all processes whose interval ends now. */
static int
look(struct collect *c, bool final, int64_t now_mono_ns, int64_t now_wall_ns)
{
	static const struct timespec store_visible = { .tv_nsec = 1000000 };
	uint32_t used = procs_used(c), i;
	int alive = 0, due = 0;

	c->wall_ahead_ns = now_wall_ns - now_mono_ns;
	clock_calibrate(c, now_mono_ns);
	gone_ask(c, now_mono_ns);
	for (i = 0; i < used; i++) {
		alive += proc_judge(c, i, final, now_mono_ns);
		due += c->watch[i].todo == WATCH_DUE;
	}
	if (due > 0)
		nanosleep(&store_visible, NULL);
	for (i = 0; i < used; i++)
		if (c->watch[i].todo == WATCH_GONE)
			children_judge(c, i, now_mono_ns);
	for (i = 0; i < used; i++)
		if (c->watch[i].todo == WATCH_GONE)
			watch_end_usage(c, i);
	for (i = 0; i < used; i++) {
		if (c->watch[i].todo != WATCH_NOTHING)
			interval_report(c, i, now_mono_ns, now_wall_ns);
		if (c->watch[i].todo == WATCH_GONE)
			proc_free(c, i);
	}
	object_sweep(c, now_mono_ns, now_wall_ns, final);
	alive += unseen_look(c, now_mono_ns, now_wall_ns, final);
	return alive;
}

int
collect_look(struct collect *c, int64_t now_mono_ns, int64_t now_wall_ns)
{
	return look(c, false, now_mono_ns, now_wall_ns);
}

void
collect_finish(struct collect *c, int64_t now_mono_ns, int64_t now_wall_ns)
{
	look(c, true, now_mono_ns, now_wall_ns);
}

void
collect_set_interval(struct collect *c, int64_t interval_ns)
{
	c->opts.interval_ns = interval_ns;
}

/* --- life --- */

struct collect *
collect_new(const struct region *region, struct nwshm *shm, const struct collect_opts *opts,
    const struct collect_sink *sink)
{
	struct collect *c;
	struct stat st;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return NULL;
	c->shm = shm;
	c->threads_max =
	    (uint32_t)((region->bytes - sizeof(struct nwshm)) / sizeof(struct nwshm_thread));
	c->base_mono_ns = region->base_mono_ns;
	c->opts = *opts;
	c->sink = sink;
	c->tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
	c->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	c->pid_ns = stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
	shm->keeper_pid = getpid();
	shm->keeper_pid_ns = c->pid_ns;
	shm->keeper_sid = c->pid_ns != 0 ? getsid(0) : 0;
	c->root.blind = opts->root_blind;
	c->tcp_fd = tcp_open();
	return c;
}
