/* SPDX-License-Identifier: BSD-3-Clause */
/* The collector's knowledge of a process: name, intervals, and the system's account. */
#include <string.h>

#include "host/nwrun/collect/collect_in.h"
#include "narrows/clock.h"

/* --- facts of the system --- */

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

/* A process waits for processors when it did for this share of the time since the last look. */
static const double WAITS_SHARE = 0.2;

/* Each look finds the process blocked by storage or not; the time since the look before goes with
 * that. Looks ask for the quota at first, while a quota is in force, and while the process waits
 * for processors. waited_s is the wait before this look. */
static void
look_take(struct watch *w, const struct proc_facts *f, bool quota_asked, double waited_s)
{
	int64_t now_mono_ns = nw_mono_ns();
	double since_s = w->look_mono_ns != 0 ? (double)(now_mono_ns - w->look_mono_ns) * 1e-9 : 0;

	if (f->blocked) {
		w->now.blocked_s += since_s;
		w->blocked_mono_ns = now_mono_ns;
	}
	if (quota_asked) {
		w->now.throttled_s = (double)f->quota.throttled_ns * 1e-9;
		if (w->look_mono_ns == 0)
			w->last.throttled_s = w->first.throttled_s = w->now.throttled_s;
	}
	w->quota_wanted =
	    (quota_asked && f->quota.in_force) || w->now.wait_s - waited_s > WAITS_SHARE * since_s;
	w->look_mono_ns = now_mono_ns;
}

/* Fills the question about the threads at work, and their slots. */
static void
threads_ask(struct collect *c, const struct watch *w, struct proc_question *q, uint32_t *slot)
{
	uint32_t i;

	if (!w->has_threads)
		return;
	q->n_tids = window_active_threads(c, (unsigned)(w - c->watch), slot, PROC_TIDS);
	for (i = 0; i < q->n_tids; i++)
		q->tid[i] = (uint32_t)atomic_load_explicit(
		    &c->shm->thread_tid[slot[i]], memory_order_relaxed);
}

static uint64_t
grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/*
 * Time without a processor since the last look, of the thread with the longest such time. The
 * kernel counts for the life of a thread: the thread at work may have waited less in its life than
 * an idle thread.
 */
static void
starved_take(struct collect *c, struct watch *w, const struct proc_facts *f,
    const struct proc_question *q, const uint32_t *slot)
{
	uint64_t since_ns = w->look_mono_ns != 0 ? (uint64_t)(nw_mono_ns() - w->look_mono_ns) : 0;
	uint64_t most = grown(f->wait_ns, w->wait_ns), more;
	struct thread_seen *seen;
	uint32_t i;

	for (i = 0; i < q->n_tids; i++) {
		seen = &c->thread[slot[i]];
		more = grown(f->tid_wait_ns[i], seen->starved_ns);
		if (seen->asked_tid == q->tid[i] && more > most)
			most = more;
		seen->asked_tid = q->tid[i];
		seen->starved_ns = f->tid_wait_ns[i];
	}
	w->wait_ns = f->wait_ns;
	w->now.wait_s += (double)(most < since_ns ? most : since_ns) * 1e-9;
	w->now.wait_known = true;
}

static void
usage_from_facts(const struct collect *c, struct watch *w, const struct proc_facts *f)
{
	w->now.user_s = (double)f->stat.user_ticks * c->tick_s;
	w->now.sys_s = (double)f->stat.sys_ticks * c->tick_s;
	w->rss_bytes = f->stat.rss_pages * c->page_bytes;
	if (f->io_known) {
		w->now.io = f->io;
		w->now.io_known = true;
	}
}

bool
watch_look(struct collect *c, struct watch *w)
{
	struct proc_question q = { .pid = w->pid, .wanted = w->blind_wanted ? PROC_WANT_BLIND : 0 };
	uint32_t slot[PROC_TIDS];
	double waited_s = w->now.wait_s;
	struct proc_facts f;

	if (w->look_mono_ns == 0 || w->quota_wanted)
		q.wanted |= PROC_WANT_QUOTA;
	threads_ask(c, w, &q, slot);
	map_ask(c, w, &q);
	c->sink->facts(c->sink->arg, &q, &f);
	if (!f.found)
		return f.alive;
	if (w->start_ticks == 0)
		w->start_ticks = f.stat.start_ticks;
	if (f.stat.start_ticks != w->start_ticks)
		return false;
	if (f.wait_known)
		starved_take(c, w, &f, &q, slot);
	map_take(c, w, &q, &f);
	look_take(w, &f, (q.wanted & PROC_WANT_QUOTA) != 0, waited_s);
	usage_from_facts(c, w, &f);
	w->has_threads = f.stat.threads > 1;
	w->has_children = f.stat.child_ticks > 0;
	if (w->blind_wanted) {
		w->blind = f.blind;
		w->blind_known = true;
		w->blind_wanted = false;
	}
	return f.alive;
}

/* The slot of the next image of a process; NULL when the process ended with the image. */
static const struct nwshm_proc *
proc_next_image(const struct collect *c, unsigned index)
{
	const struct nwshm_proc *p = &c->shm->proc[index], *q, *end = c->shm->proc + procs_used(c);
	const struct watch *w = &c->watch[index];

	for (q = c->shm->proc; q < end; q++)
		if (q != p && q->pid == w->pid &&
		    (q->start_ticks == w->start_ticks || q->start_ticks == 0) &&
		    q->attach_mono_ns > w->attach_mono_ns && atomic_load(&q->state) != NWSHM_FREE)
			return q;
	return NULL;
}

/* The kernel adds the counts of a child to the counts of the waiting parent. */
static void
parent_add(struct collect *c, const struct watch *child)
{
	struct watch *w;

	if (!child->now.io_known)
		return;
	for (w = c->watch; w < c->watch + procs_used(c); w++)
		if (w->used && w->pid == child->ppid) {
			w->children_total[NWSHM_READ] += child->now.io.rchar;
			w->children_total[NWSHM_WRITE] += child->now.io.wchar;
			w->children_device_bytes +=
			    child->now.io.read_bytes + child->now.io.write_bytes;
			return;
		}
}

void
watch_end_usage(struct collect *c, unsigned index)
{
	const struct nwshm_proc *p = &c->shm->proc[index];
	const struct nwshm_proc *next = proc_next_image(c, index);
	struct watch *w = &c->watch[index];

	bool told = atomic_load_explicit(&p->exit_mono_ns, memory_order_acquire) != 0;

	if (told)
		usage_from_self(&w->now, &p->at_exit);
	else if (next != NULL)
		usage_from_self(&w->now, &next->at_start);
	if (told && p->at_exit.children_faults != p->at_start.children_faults)
		w->has_children = true;
	if (next == NULL && !w->added) {
		w->added = true;
		parent_add(c, w);
	}
}

/* --- processes --- */

void
watch_describe(struct collect *c, unsigned index)
{
	const struct nwshm_proc *p = &c->shm->proc[index];
	struct watch *w = &c->watch[index];

	copy_text(w->name, p->name, sizeof(w->name));
	copy_text(w->argv, p->argv, sizeof(w->argv));
}

void
watch_start(struct collect *c, unsigned index, int64_t now_mono_ns)
{
	const struct nwshm_proc *p = &c->shm->proc[index];
	struct watch *w = &c->watch[index];

	memset(w, 0, sizeof(*w));
	w->used = true;
	w->pid = p->pid;
	w->ppid = p->ppid;
	w->start_ticks = p->start_ticks;
	w->attach_mono_ns = p->attach_mono_ns;
	if (w->attach_mono_ns < c->base_mono_ns || w->attach_mono_ns > now_mono_ns)
		w->attach_mono_ns = now_mono_ns;
	w->foreign = p->pid_ns != 0 && c->pid_ns != 0 && p->pid_ns != c->pid_ns;
	w->window_begin_mono_ns = w->attach_mono_ns;
	usage_from_self(&w->first, &p->at_start);
	w->now = w->last = w->first;
	id_make(w->id);
	watch_describe(c, index);
	c->root.shown |= w->pid == c->opts.root_pid;
}

int64_t
collect_interval_ns(const struct collect *c, unsigned index, int64_t now_mono_ns)
{
	int64_t age_ns = now_mono_ns - c->watch[index].attach_mono_ns;

	if (c->opts.interval_ns > 0)
		return c->opts.interval_ns;
	return age_ns < 10 * INT64_C(1000000000) ? 100 * 1000000 : 1000 * 1000000;
}
