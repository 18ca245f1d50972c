/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots of watched processes and of their threads, taken as preload_slot.c takes them. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/lib/procfile.h"
#include "host/lib/procread.h"
#include "host/nwrun/preload/title.h"
#include "host/outside/feed_in.h"
#include "narrows/clock.h"

enum { TEXT_BYTES = 1024, ARGUMENTS_BYTES = 8192 };

static const char is_alone = 1;
const char *single_threaded = &is_alone;
struct state *state;
struct nwshm *region;
__thread struct self self;

static struct region *region_file;

void
feed_proc_use(struct feed_proc *p, struct nwshm_thread *slot)
{
	state = &p->state;
	self.slot = slot;
	self.generation = p->state.generation;
}

struct nwshm_thread *
thread_attach(void)
{
	return NULL;
}

/* A full file system answers here and not with a signal. */
bool
region_touch(void *at, size_t bytes)
{
	return posix_fallocate(region_file->fd, (char *)at - (char *)region, (off_t)bytes) == 0;
}

/* --- facts --- */

/* Arguments end with NULs; a process without arguments keeps the name so far. */
static void
image_describe(struct nwshm_proc *p)
{
	char text[ARGUMENTS_BYTES];
	size_t len = procread(p->pid, "cmdline", text, sizeof(text)), i;

	if (len == 0)
		return;
	title_of_cmdline(text, len, p->name, sizeof(p->name));
	for (i = 0; i + 1 < len; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	memcpy(p->argv, text, sizeof(p->argv));
	p->argv[sizeof(p->argv) - 1] = '\0';
}

/* --- processes --- */

static bool
proc_claim(struct feed_proc *p)
{
	uint32_t i, want;

	for (i = 0; i < NWSHM_PROCS; i++) {
		want = NWSHM_FREE;
		if (!atomic_compare_exchange_strong(&region->proc[i].state, &want, NWSHM_SETUP))
			continue;
		nwshm_used(&region->procs_used, i);
		p->state.index = i;
		p->state.proc = &region->proc[i];
		return true;
	}
	return false;
}

static void
parent_name_copy(struct feed *f, struct nwshm_proc *to, uint32_t parent)
{
	const struct feed_proc *p = feed_proc_find(f, parent);

	to->name[0] = to->argv[0] = '\0';
	if (p == NULL)
		return;
	memcpy(to->name, p->state.proc->name, sizeof(to->name));
	memcpy(to->argv, p->state.proc->argv, sizeof(to->argv));
}

static void
proc_fill(struct feed *f, struct nwshm_proc *s, uint32_t pid, uint32_t ppid,
    const struct nwshm_usage *usage)
{
	struct procfile_stat st;
	char text[TEXT_BYTES];

	s->pid = (int32_t)pid;
	s->ppid = (int32_t)ppid;
	s->start_ticks = 0;
	s->pid_ns = 0;
	if (procread((int)pid, "stat", text, sizeof(text)) > 0 && procfile_parse_stat(text, &st)) {
		s->start_ticks = st.start_ticks;
		s->ppid = st.ppid;
	}
	s->attach_mono_ns = nw_mono_ns();
	parent_name_copy(f, s, ppid);
	image_describe(s);
	s->at_start = *usage;
	atomic_store_explicit(&s->images, 0, memory_order_relaxed);
	atomic_store_explicit(&s->epoch, 1, memory_order_relaxed);
	atomic_store_explicit(&s->state, NWSHM_LIVE, memory_order_release);
}

struct feed_proc *
feed_proc_find(struct feed *f, uint32_t pid)
{
	struct feed_proc *p;

	HASH_FIND_INT(f->procs, &pid, p);
	return p;
}

struct feed_proc *
feed_proc_start(struct feed *f, uint32_t pid, uint32_t ppid, const struct nwshm_usage *usage)
{
	struct feed_proc *p = xcalloc(1, sizeof(*p));
	const struct feed_proc *parent = feed_proc_find(f, ppid);

	if (!proc_claim(p)) {
		free(p);
		return NULL;
	}
	p->pid = pid;
	p->feed = f;
	p->state.generation = atomic_fetch_add(&region->generation, 1) + 1;
	proc_fill(f, p->state.proc, pid, ppid, usage);
	HASH_ADD_INT(f->procs, pid, p);
	if (parent != NULL)
		feed_fd_inherit(p, parent);
	return p;
}

static void
threads_forget(struct feed_proc *p)
{
	struct feed_thread *t, *tmp;

	HASH_ITER (hh, p->threads, t, tmp) {
		HASH_DEL(p->threads, t);
		free(t);
	}
	p->n_lines = 0;
}

/* A child without a call before exec is not worth a life. */
void
feed_proc_image(struct feed *f, struct feed_proc *p, const struct nwshm_usage *usage)
{
	struct nwshm_proc *s = p->state.proc;
	uint32_t pid = p->pid, ppid = (uint32_t)s->ppid, live = NWSHM_LIVE;

	if (p->threads == NULL) {
		atomic_fetch_add(&s->images, 1);
		image_describe(s);
		atomic_fetch_add(&s->images, 1);
		return;
	}
	feed_held_count_all(p);
	feed_proc_use(p, NULL);
	feed_fd_close_all(p);
	feed_fd_free_all(p);
	threads_forget(p);
	HASH_DEL(f->procs, p);
	free(p);
	if (feed_proc_start(f, pid, ppid, usage) != NULL)
		atomic_compare_exchange_strong(&s->state, &live, NWSHM_ENDED);
}

/* The collector takes the slot from the store of the end on. */
/* A signal counts as in a shell. */
void
feed_proc_status(struct feed_proc *p, int status)
{
	struct nwshm_proc *s = p->state.proc;

	s->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	atomic_store_explicit(&s->exit_told, 1, memory_order_release);
}

void
feed_proc_end(
    struct feed *f, struct feed_proc *p, const struct nwshm_usage *usage, int64_t end_mono_ns)
{
	struct nwshm_proc *s = p->state.proc;

	feed_held_count_all(p);
	feed_proc_use(p, NULL);
	feed_fd_close_all(p);
	feed_fd_free_all(p);
	threads_forget(p);
	s->at_exit = *usage;
	atomic_store_explicit(&s->exit_mono_ns, end_mono_ns, memory_order_release);
	HASH_DEL(f->procs, p);
	free(p);
}

/* --- threads --- */

static struct nwshm_thread *
thread_at(uint32_t index)
{
	uint64_t end = offsetof(struct nwshm, thread) + (index + 1) * sizeof(struct nwshm_thread);

	return end <= region_file->bytes ? &region->thread[index] : NULL;
}

/* An idle slot of the process first: its sums may go on growing in any thread. */
static struct nwshm_thread *
thread_claim(const struct feed_proc *p, uint32_t tid, uint32_t *index)
{
	uint32_t owner = p->state.index + 1, i, none;
	struct nwshm_thread *t;

	for (i = 0; i < nwshm_used_get(&region->threads_used, NWSHM_THREADS); i++)
		if (atomic_load(&region->thread_owner[i]) == owner &&
		    atomic_load(&region->thread_tid[i]) == 0 && (t = thread_at(i)) != NULL) {
			atomic_store(&region->thread_tid[i], (int32_t)tid);
			*index = i;
			return t;
		}
	for (i = 0; i < NWSHM_THREADS && (t = thread_at(i)) != NULL; i++) {
		none = 0;
		if (!atomic_compare_exchange_strong(
			&region->thread_owner[i], &none, owner | NWSHM_OWNER_SETUP))
			continue;
		if (!region_touch(t, NWSHM_PAGE)) {
			atomic_store(&region->thread_owner[i], 0);
			return NULL;
		}
		nwshm_used(&region->threads_used, i);
		atomic_store(&region->thread_tid[i], (int32_t)tid);
		atomic_store(&region->thread_owner[i], owner);
		*index = i;
		return t;
	}
	return NULL;
}

struct feed_thread *
feed_thread_get(struct feed_proc *p, uint32_t tid)
{
	struct feed_thread *t;

	HASH_FIND_INT(p->threads, &tid, t);
	if (t == NULL) {
		t = xcalloc(1, sizeof(*t));
		t->tid = tid;
		if ((t->slot = thread_claim(p, tid, &t->index)) == NULL)
			atomic_fetch_add(&p->state.proc->missed_ops, 1);
		HASH_ADD_INT(p->threads, tid, t);
	}
	return t->slot != NULL ? t : NULL;
}

struct feed_thread *
feed_thread_find(struct feed_proc *p, uint32_t tid)
{
	struct feed_thread *t;

	HASH_FIND_INT(p->threads, &tid, t);
	return t != NULL && t->slot != NULL ? t : NULL;
}

void
feed_thread_end(struct feed_proc *p, uint32_t tid)
{
	struct feed_thread *t;

	HASH_FIND_INT(p->threads, &tid, t);
	if (t == NULL)
		return;
	if (t->slot != NULL) {
		feed_held_count(p, t);
		atomic_store(&t->slot->inflight, 0);
		atomic_store(&region->thread_tid[t->index], 0);
		t->slot = NULL;
	}
	HASH_DEL(p->threads, t);
	free(t);
}

/* The line with the latest end before the request's begin; else a new line; else the line with the
 * earliest end. */
struct feed_line *
feed_line_get(struct feed_proc *p, int64_t begin_mono_ns)
{
	struct feed_line *l, *best = NULL, *soonest = p->lines;
	struct feed_thread *t;
	unsigned i;

	for (i = 0; i < p->n_lines; i++) {
		l = &p->lines[i];
		if (l->last_end_mono_ns <= begin_mono_ns &&
		    (best == NULL || l->last_end_mono_ns > best->last_end_mono_ns))
			best = l;
		if (l->last_end_mono_ns < soonest->last_end_mono_ns)
			soonest = l;
	}
	if (best != NULL)
		return best;
	if (p->n_lines < FEED_LINES) {
		l = &p->lines[p->n_lines];
		/* numbers that the kernel gives to no thread */
		if ((t = feed_thread_get(p, INT32_MAX - p->n_lines)) != NULL) {
			l->slot = t->slot;
			l->last_end_mono_ns = 0;
			p->n_lines++;
			return l;
		}
	}
	return p->n_lines > 0 ? soonest : NULL;
}

/* --- life --- */

/* Returns false without such a process, and for a process that is over. */
static bool
stat_now(uint32_t pid, struct procfile_stat *st)
{
	char text[TEXT_BYTES];

	return procread((int)pid, "stat", text, sizeof(text)) > 0 &&
	    procfile_parse_stat(text, st) && !procfile_is_over(st);
}

/* A running process brings counts along. */
static bool
usage_now(uint32_t pid, struct nwshm_usage *u)
{
	struct procfile_stat st;
	struct procfile_io io;
	char text[TEXT_BYTES];
	long ticks = sysconf(_SC_CLK_TCK);

	memset(u, 0, sizeof(*u));
	if (!stat_now(pid, &st))
		return false;
	u->cpu_known = 1;
	u->user_us = (int64_t)(st.user_ticks * 1000000 / (uint64_t)ticks);
	u->sys_us = (int64_t)(st.sys_ticks * 1000000 / (uint64_t)ticks);
	u->children_faults = st.child_ticks > 0;
	if (procread((int)pid, "io", text, sizeof(text)) > 0 && procfile_parse_io(text, &io)) {
		u->io_known = 1;
		u->rchar = io.rchar;
		u->wchar = io.wchar;
		u->read_bytes = io.read_bytes;
		u->write_bytes = io.write_bytes;
	}
	return true;
}

bool
feed_attach(struct feed *f, uint32_t pid)
{
	struct nwshm_usage usage;
	struct feed_proc *p;

	if (feed_proc_find(f, pid) != NULL)
		return true;
	if (!usage_now(pid, &usage) || (p = feed_proc_start(f, pid, 0, &usage)) == NULL)
		return false;
	feed_fd_learn_all(p);
	return true;
}

/* Whether the number is that of another process or of none. */
static bool
is_missing(const struct feed_proc *p)
{
	struct procfile_stat st;

	return !stat_now(p->pid, &st) || st.start_ticks != p->state.proc->start_ticks;
}

void
feed_gone_check(struct feed *f, uint32_t pid)
{
	struct feed_proc *p = feed_proc_find(f, pid);
	bool is_gone;

	if (p == NULL)
		return;
	is_gone = is_missing(p);
	if (is_gone && p->was_missing)
		feed_proc_end(f, p, &p->state.proc->at_start, nw_mono_ns());
	else
		p->was_missing = is_gone;
}

struct feed *
feed_new(struct region *r)
{
	struct feed *f;

	region_file = r;
	if (!region_fill(r) || (region = region_map(r)) == NULL)
		return NULL;
	f = xcalloc(1, sizeof(*f));
	f->file = r;
	return f;
}

void
feed_free(struct feed *f)
{
	struct feed_proc *p, *tmp;
	struct nwshm_usage usage;

	if (f == NULL)
		return;
	HASH_ITER (hh, f->procs, p, tmp) {
		if (!usage_now(p->pid, &usage))
			usage = p->state.proc->at_start;
		feed_proc_end(f, p, &usage, nw_mono_ns());
	}
	region_unmap(f->file, region);
	region = NULL;
	free(f);
}
