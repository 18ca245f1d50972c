/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One look at the region.
 *
 *	a slot turns LIVE --first look--> watched
 *	watched --every interval--> one window per stage is reported
 *	watched --the process is gone, or another image has its pid (ENDED)--> last window, last
 *	words, the slot is free again
 */
#include "host/nwrun/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/nwrun/collect_in.h"

/* --- facts from /proc --- */

static bool
read_proc(int pid, const char *name, char *text, size_t cap)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		return false;
	n = read(fd, text, cap - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static void
usage_from_self(struct usage *out, const struct nwshm_usage *u)
{
	if (u->cpu_known) {
		out->user_s = (double)u->user_us * 1e-6;
		out->sys_s = (double)u->sys_us * 1e-6;
	}
	if (u->io_known) {
		out->io = (struct procfile_io){ u->rchar, u->wchar, u->read_bytes, u->write_bytes };
		out->io_known = true;
	}
}

/* False: no process of ours has this pid. A process closed to our looks is taken for alive. */
static bool
proc_look(struct collect *c, const struct nwshm_proc *p, struct watch *w)
{
	struct procfile_stat st;
	struct procfile_io io;
	uint64_t wait_ns;
	char text[1024];

	if (!read_proc(p->pid, "stat", text, sizeof(text)) || !procfile_parse_stat(text, &st))
		return kill(p->pid, 0) == 0 || errno == EPERM;
	if (w->start_ticks == 0)
		w->start_ticks = st.start_ticks;
	if (st.start_ticks != w->start_ticks)
		return false;
	w->now.user_s = (double)st.user_ticks * c->tick_s;
	w->now.sys_s = (double)st.sys_ticks * c->tick_s;
	w->rss_bytes = st.rss_pages * c->page_bytes;
	if (read_proc(p->pid, "io", text, sizeof(text)) && procfile_parse_io(text, &io)) {
		w->now.io = io;
		w->now.io_known = true;
	}
	if (read_proc(p->pid, "schedstat", text, sizeof(text)) &&
	    procfile_parse_schedstat(text, &wait_ns)) {
		w->now.wait_s = (double)wait_ns * 1e-9;
		/* waiting before the first look does not belong to this interval */
		if (!w->now.wait_known)
			w->last.wait_s = w->first.wait_s = w->now.wait_s;
		w->now.wait_known = true;
	}
	return !procfile_is_over(&st);
}

/* The best account of a process that is gone: its own last word, or the start of the next image. */
static void
usage_at_end(struct collect *c, unsigned index)
{
	const struct nwshm_proc *p = &c->shm->proc[index], *q;
	struct watch *w = &c->watch[index];

	if (atomic_load_explicit(&p->exit_mono_ns, memory_order_acquire) != 0) {
		usage_from_self(&w->now, &p->at_exit);
		return;
	}
	for (q = c->shm->proc; q < c->shm->proc + atomic_load(&c->shm->procs_used); q++)
		if (q != p && q->pid == p->pid && q->start_ticks == p->start_ticks &&
		    q->attach_mono_ns > p->attach_mono_ns && atomic_load(&q->state) != NWSHM_FREE)
			usage_from_self(&w->now, &q->at_start);
}

/* --- processes --- */

static void
watch_start(struct collect *c, unsigned index)
{
	const struct nwshm_proc *p = &c->shm->proc[index];
	struct watch *w = &c->watch[index];
	unsigned stage;

	memset(w, 0, sizeof(*w));
	w->used = true;
	w->start_ticks = p->start_ticks;
	w->foreign = p->pid_ns != 0 && c->pid_ns != 0 && p->pid_ns != c->pid_ns;
	w->window_begin_mono_ns = p->attach_mono_ns;
	usage_from_self(&w->first, &p->at_start);
	w->now = w->last = w->first;
	id_make(w->id);
	for (stage = 0; stage < NWSHM_LANES; stage++)
		id_make(w->stage[stage].id);
}

int64_t
collect_interval_ns(const struct collect *c, unsigned index, int64_t now_mono_ns)
{
	int64_t age_ns = now_mono_ns - c->shm->proc[index].attach_mono_ns;

	if (c->opts.interval_ns > 0)
		return c->opts.interval_ns;
	return age_ns < 10 * INT64_C(1000000000) ? 100 * 1000000 : 1000 * 1000000;
}

/* Windows end when the process did, as far as it could tell; no window has a negative length. */
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
	say_process(c, index, end_mono_ns, end_wall_ns);
	if (gone)
		say_process_end(c, index, end_mono_ns);
	w->window_begin_mono_ns = end_mono_ns;
}

static void
proc_free(struct collect *c, unsigned index)
{
	struct nwshm_proc *p = &c->shm->proc[index];

	window_free_threads(c, index);
	c->watch[index].used = false;
	atomic_store(&p->exit_mono_ns, 0);
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

/* Nobody can ask for a process in another pid name space: the process's own word counts then,
 * and time for its last handlers. */
static bool
proc_is_alive(struct collect *c, unsigned index, uint32_t state, int64_t now_mono_ns)
{
	const struct nwshm_proc *p = &c->shm->proc[index];
	int64_t exit_mono_ns = atomic_load_explicit(&p->exit_mono_ns, memory_order_acquire);

	if (state != NWSHM_LIVE)
		return false;
	if (c->watch[index].foreign)
		return exit_mono_ns == 0 || now_mono_ns - exit_mono_ns < INT64_C(1000000000);
	return proc_look(c, p, &c->watch[index]);
}

/* Decides about a process, and ends its interval if there is work. Returns whether the process
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
		watch_start(c, index);
	alive = proc_is_alive(c, index, state, now_mono_ns);
	if (!alive || final)
		w->todo = WATCH_GONE;
	else if (proc_is_due(c, index, now_mono_ns))
		w->todo = WATCH_DUE;
	if (w->todo != WATCH_NOTHING && !window_take_late(c, index, w->todo == WATCH_GONE))
		w->todo = WATCH_NOTHING;
	if (w->todo != WATCH_NOTHING)
		w->epoch = atomic_fetch_add(&p->epoch, 1);
	return alive && !w->foreign;
}

/* Two passes, so that one pause serves all processes whose interval ends now. */
static int
look(struct collect *c, bool final, int64_t now_mono_ns, int64_t now_wall_ns)
{
	static const struct timespec store_visible = { .tv_nsec = 1000000 };
	uint32_t used = atomic_load(&c->shm->procs_used), i;
	int alive = 0, due = 0;

	for (i = 0; i < used; i++) {
		alive += proc_judge(c, i, final, now_mono_ns);
		due += c->watch[i].todo == WATCH_DUE;
	}
	if (due > 0)
		nanosleep(&store_visible, NULL);
	for (i = 0; i < used; i++) {
		if (c->watch[i].todo == WATCH_GONE)
			usage_at_end(c, i);
		if (c->watch[i].todo != WATCH_NOTHING)
			interval_report(c, i, now_mono_ns, now_wall_ns);
		if (c->watch[i].todo == WATCH_GONE)
			proc_free(c, i);
	}
	object_sweep(c, now_mono_ns, now_wall_ns, final);
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
collect_new(struct nwshm *shm, const struct collect_opts *opts, const struct collect_sink *sink)
{
	struct collect *c;
	struct stat st;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return NULL;
	c->shm = shm;
	c->opts = *opts;
	c->sink = sink;
	c->tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
	c->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	c->pid_ns = stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
	c->tcp_fd = tcp_open();
	return c;
}

void
collect_free(struct collect *c)
{
	if (c == NULL)
		return;
	if (c->tcp_fd >= 0)
		close(c->tcp_fd);
	window_clear(c);
	free(c);
}
