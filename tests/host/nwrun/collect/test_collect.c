/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collector on a region filled by hand, with a sink that remembers: every operation in exactly
 * one window, time in unfinished calls where it passed, what is bounded stays bounded, slots come
 * free.
 */
#include "host/nwrun/collect/collect.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/nwrun/collect/collect_in.h"
#include "tests/check.h"

#define MS INT64_C(1000000)

/* --- a sink that remembers --- */

enum { SAID_MAX = 4096 };
static struct said {
	int64_t t_wall_ns; /* of the last document */
	char id[UUID_BYTES], parent[UUID_BYTES], event_type[64], stage[16], resource[64], dst[64];
	int64_t pid, size, dport;
	unsigned times, ended, documents;
	double bytes, bytes_in, rtt_s, pipe_bytes[2], pipe_s[2]; /* pipe_s: of the last report */
	struct nw_caliper_window w, sum; /* last; n, v.sum, busy, wait of all */
	uint64_t hist_n;
	double ops, strided, strided_pause_s, read_s, cpu_wait;
	double steps, inside_s, between_s, first_s; /* of all reports; -1: no first_s was told */
	uint64_t of_4k, of_1m;                      /* operations in two cells */
} said[SAID_MAX];
static size_t said_n;
static bool data_before_meta;

static struct said *
said_by_id(const char *id)
{
	size_t i;

	for (i = 0; i < said_n; i++)
		if (strcmp(said[i].id, id) == 0)
			return &said[i];
	return NULL;
}

static int
on_meta(void *arg, const char *id, const char *pid, const char *event_type,
    const struct nw_kv *subject, size_t n, const struct nw_kv *params, size_t n_params)
{
	struct said *s = said_by_id(id);
	size_t i;

	(void)arg;
	(void)params;
	CHECK(n_params == 0 || n_params == 2);
	if (pid != NULL)
		CHECK(said_by_id(pid) != NULL); /* parents first */
	if (s == NULL) {
		if (said_n == SAID_MAX)
			abort();
		s = &said[said_n++];
		memset(s, 0, sizeof(*s));
		s->first_s = -1;
	}
	s->times++;
	snprintf(s->id, sizeof(s->id), "%s", id);
	snprintf(s->parent, sizeof(s->parent), "%s", pid == NULL ? "" : pid);
	snprintf(s->event_type, sizeof(s->event_type), "%s", event_type);
	for (i = 0; i < n; i++) {
		if (strcmp(subject[i].key, "pipe") == 0)
			snprintf(s->resource, sizeof(s->resource), "%s", subject[i].v.text);
		else if (strcmp(subject[i].key, "stage") == 0)
			snprintf(s->stage, sizeof(s->stage), "%s", subject[i].v.text);
		else if (strcmp(subject[i].key, "resource") == 0)
			snprintf(s->resource, sizeof(s->resource), "%s", subject[i].v.text);
		else if (strcmp(subject[i].key, "dst") == 0)
			snprintf(s->dst, sizeof(s->dst), "%s", subject[i].v.text);
		else if (strcmp(subject[i].key, "pid") == 0)
			s->pid = subject[i].v.i;
		else if (strcmp(subject[i].key, "size") == 0)
			s->size = subject[i].v.i;
		else if (strcmp(subject[i].key, "dport") == 0)
			s->dport = subject[i].v.i;
	}
	return NW_OK;
}

static int
on_caliper(void *arg, const char *mid, int64_t t_wall_ns, const struct nw_caliper_window *w)
{
	struct said *s = said_by_id(mid);
	unsigned i;

	(void)arg;
	if ((data_before_meta |= s == NULL))
		return NW_EINVAL;
	s->documents++;
	s->t_wall_ns = t_wall_ns;
	s->w = *w;
	s->sum.n += w->n;
	s->sum.v.sum += w->n > 0 ? w->v.sum : 0;
	s->sum.busy_ns += w->busy_ns;
	s->sum.wait_ns += w->wait_ns;
	for (i = 0; w->hist != NULL && i < NW_HIST_BUCKETS; i++)
		s->hist_n += w->hist[i];
	return NW_OK;
}

static void
cells_remember(struct said *s, const uint8_t *packed, size_t len)
{
	static uint64_t cells[NW_HIST_BUCKETS];

	memset(cells, 0, sizeof(cells));
	CHECK_INT(nw_hist_decode_add(packed, len, cells), NW_OK);
	s->of_4k += cells[12 * NW_HIST_SUB + nw_cell_duration(1000)];
	s->of_1m += cells[20 * NW_HIST_SUB + nw_cell_duration(5000000)];
}

static int
on_data(void *arg, const char *mid, int64_t t_wall_ns, const char *const *fields,
    const double *values, size_t n, const uint8_t *hist, size_t hist_len)
{
	struct said *s = said_by_id(mid);
	size_t i;

	(void)arg;
	if ((data_before_meta |= s == NULL))
		return NW_EINVAL;
	s->t_wall_ns = t_wall_ns;
	CHECK((hist != NULL) == (strncmp(s->event_type, "nw:cells", 8) == 0));
	if (hist != NULL)
		cells_remember(s, hist, hist_len);
	s->documents++;
	for (i = 0; i < n; i++)
		if (strcmp(fields[i], "read_bytes") == 0 || strcmp(fields[i], "write_bytes") == 0)
			s->bytes += values[i];
		else if (strcmp(fields[i], "cpu_wait") == 0)
			s->cpu_wait += values[i];
		else if (strcmp(fields[i], "bytes_in") == 0)
			s->bytes_in += values[i];
		else if (strcmp(fields[i], "ops") == 0)
			s->ops += values[i];
		else if (strcmp(fields[i], "strided") == 0)
			s->strided += values[i];
		else if (strcmp(fields[i], "strided_pause_s") == 0)
			s->strided_pause_s += values[i];
		else if (strcmp(fields[i], "read_s") == 0)
			s->read_s += values[i];
		else if (strcmp(fields[i], "rtt_s") == 0)
			s->rtt_s = values[i];
		else if (strcmp(fields[i], "steps") == 0)
			s->steps += values[i];
		else if (strcmp(fields[i], "inside_s") == 0)
			s->inside_s += values[i];
		else if (strcmp(fields[i], "between_s") == 0)
			s->between_s += values[i];
		else if (strcmp(fields[i], "first_s") == 0)
			s->first_s = fmax(0, s->first_s) + values[i];
		else if (strcmp(fields[i], "pipe_read_bytes") == 0 ||
		    strcmp(fields[i], "pipe_write_bytes") == 0)
			s->pipe_bytes[fields[i][5] == 'w'] += values[i];
		else if (strcmp(fields[i], "pipe_read_s") == 0 ||
		    strcmp(fields[i], "pipe_write_s") == 0)
			s->pipe_s[fields[i][5] == 'w'] = values[i];
	return NW_OK;
}

static void
on_end(void *arg, const char *mid)
{
	struct said *s = said_by_id(mid);

	(void)arg;
	CHECK(s != NULL);
	if (s != NULL)
		s->ended++;
}

static void
on_facts(void *arg, const struct proc_question *q, struct proc_facts *out)
{
	(void)arg;
	proc_facts_read(q, out);
}

static void
on_socket(void *arg, struct proc_socket *s)
{
	(void)arg;
	proc_socket_find(s);
}

/* Answers of a server: the first threads waited long in the past, the thread at work waits now. */
static uint64_t waits_now;

static void
on_facts_of_threads(void *arg, const struct proc_question *q, struct proc_facts *out)
{
	uint32_t i;

	(void)arg;
	*out = (struct proc_facts){ .found = true,
		.alive = true,
		.stat.threads = 40,
		.wait_known = true,
		.wait_ns = 5000 * MS };
	for (i = 0; i < q->n_tids; i++)
		out->tid_wait_ns[i] = q->tid[i] == 77 ? 10 * MS + waits_now : 5000 * MS;
}

/* Answers of a reader of maps that storage blocks: 1 MiB arrives between two looks, a quarter of it
 * from a device, for another map. */
static uint64_t looks_at_map;

static void
on_facts_of_map(void *arg, const struct proc_question *q, struct proc_facts *out)
{
	(void)arg;
	looks_at_map++;
	*out = (struct proc_facts){ .found = true,
		.alive = true,
		.stat.threads = 1,
		.io_known = true,
		.io.read_bytes = looks_at_map << 18,
		.blocked = true };
	if ((q->wanted & PROC_WANT_RESIDENT) != 0)
		out->resident_bytes = (8 + looks_at_map) << 20;
	if ((q->wanted & PROC_WANT_MAP) != 0)
		out->map = (struct proc_map){ 42, 16 << 20, "/far/file" };
}

static unsigned questions;

static void
on_facts_counted(void *arg, const struct proc_question *q, struct proc_facts *out)
{
	questions++;
	on_facts(arg, q, out);
}

static void
on_gone(void *arg, struct proc_gone *g)
{
	(void)arg;
	proc_gone_find(g);
}

static const struct collect_sink sink = { NULL, on_meta, on_caliper, on_data, on_end, on_facts,
	on_socket, NULL };

static struct said *
said_stage(int64_t pid, const char *stage)
{
	size_t i;

	for (i = 0; i < said_n; i++)
		if (said[i].pid == pid && strcmp(said[i].stage, stage) == 0)
			return &said[i];
	return NULL;
}

static unsigned
said_count(const char *event_type)
{
	unsigned n = 0;
	size_t i;

	for (i = 0; i < said_n; i++)
		n += strcmp(said[i].event_type, event_type) == 0;
	return n;
}

static struct said *
said_resource(const char *event_type, const char *resource)
{
	size_t i;

	for (i = 0; i < said_n; i++)
		if (strcmp(said[i].event_type, event_type) == 0 &&
		    strcmp(said[i].resource, resource) == 0)
			return &said[i];
	return NULL;
}

static struct said *
said_of(const char *event_type, int64_t pid)
{
	size_t i;

	for (i = 0; i < said_n; i++)
		if (strcmp(said[i].event_type, event_type) == 0 && said[i].pid == pid)
			return &said[i];
	return NULL;
}

/* --- a region by hand --- */

static struct nwshm *shm;
static struct region region;
static struct collect *c;
static int64_t t0;

static void
setup(void)
{
	static const struct collect_opts opts = {
		.task_id = "task", .host = "here", .interval_ns = 100 * MS
	};

	said_n = 0;
	data_before_meta = false;
	if (region_new(&region) != NULL || (shm = region_map(&region)) == NULL ||
	    (c = collect_new(&region, shm, &opts, &sink)) == NULL)
		abort();
	t0 = shm->base_mono_ns;
}

static void
teardown(void)
{
	unsigned i;

	CHECK(!data_before_meta);
	if (c->tcp_fd >= 0)
		close(c->tcp_fd);
	window_clear(c);
	for (i = 0; i < NWSHM_OBJECTS; i++)
		free(c->object[i].cells);
	free(c);
	region_unmap(&region, shm);
	region_free(&region);
}

static struct nwshm_proc *
add_proc(unsigned index, int pid)
{
	struct nwshm_proc *p = &shm->proc[index];

	p->pid = pid;
	p->attach_mono_ns = t0;
	snprintf(p->name, sizeof(p->name), "prog");
	atomic_store(&p->epoch, 1);
	nwshm_used(&shm->procs_used, index);
	atomic_store(&p->state, NWSHM_LIVE);
	return p;
}

static struct nwshm_thread *
add_thread(unsigned thread, unsigned index)
{
	atomic_store(&shm->thread_owner[thread], index + 1);
	atomic_store(&shm->thread_tid[thread], 1);
	nwshm_used(&shm->threads_used, thread);
	return &shm->thread[thread];
}

static void
sum_of(struct nw_caliper_sum *s, const double *x, size_t n)
{
	size_t i;

	*s = (struct nw_caliper_sum){ .min = INFINITY, .max = -INFINITY };
	for (i = 0; i < n; i++) {
		s->sum += x[i];
		s->min = fmin(s->min, x[i]);
		s->max = fmax(s->max, x[i]);
	}
	s->mean = s->sum / (double)n;
	for (i = 0; i < n; i++)
		s->m2 += (x[i] - s->mean) * (x[i] - s->mean);
}

/* What a thread's operations leave in the bank of an epoch. */
static void
fill_bank(struct nwshm_thread *t, unsigned stage, uint32_t epoch, const double *bytes,
    const double *ns, size_t n)
{
	struct nwshm_lane *l = &t->lane[stage];
	struct nwshm_bank *b = &l->bank[epoch & 1];
	double r[16], g[16];
	size_t i;

	for (i = 0; i < n; i++) {
		r[i] = bytes[i] / ns[i];
		g[i] = ns[i] / bytes[i];
		nwshm_add(&l->bytes, (uint64_t)bytes[i]);
		nwshm_add(&t->busy_ns[stage], (uint64_t)ns[i]);
		l->hist[nw_hist_index((uint64_t)ns[i])]++;
	}
	b->n = b->n_rate = n;
	b->clamped = 0;
	sum_of(&b->v, bytes, n);
	sum_of(&b->d, ns, n);
	sum_of(&b->r, r, n);
	sum_of(&b->g, g, n);
	b->first_begin_mono_ns = t0 + epoch;
	b->last_end_mono_ns = t0 + epoch + 10;
	atomic_store(&b->epoch, epoch);
	nwshm_add(&l->ops, n);
	atomic_store(&t->ready[stage], 1);
}

/* --- tests --- */

/* Two threads as one window; the same numbers as all operations together. */
static void
test_windows(void)
{
	static const double v[] = { 100, 4096, 5, 65536, 9 }, d[] = { 1000, 2500, 700, 90000, 33 };
	struct nw_caliper_sum want;
	const struct said *s;

	setup();
	add_proc(3, getpid());
	fill_bank(add_thread(0, 3), NWSHM_DISK_READ, 1, v, d, 2);
	fill_bank(add_thread(7, 3), NWSHM_DISK_READ, 1, v + 2, d + 2, 3);
	CHECK_INT(collect_look(c, t0 + 50 * MS, 1), 1);
	CHECK(said_stage(getpid(), "disk.read") == NULL); /* not due yet */
	collect_look(c, t0 + 100 * MS, 2);
	CHECK_INT(atomic_load(&shm->proc[3].epoch), 2);
	s = said_stage(getpid(), "disk.read");
	CHECK(s != NULL);
	if (s != NULL) {
		CHECK_STR(s->event_type, "nl:tools:calipers:summary:read");
		CHECK_INT(s->w.n, 5);
		CHECK_INT(s->w.threads, 2);
		CHECK_INT(s->w.window_ns, 100 * MS);
		CHECK_INT(s->w.busy_ns, 94233);
		CHECK_INT(s->w.busy_max_ns, 90733);
		CHECK_INT(s->hist_n, 5);
		sum_of(&want, v, 5);
		CHECK_NEAR(s->w.v.mean, want.mean, 1e-12, 0);
		CHECK_NEAR(s->w.v.m2, want.m2, 1e-12, 0);
		CHECK(s->w.v.min == 5 && s->w.v.max == 65536 && s->w.v.sum == want.sum);
		sum_of(&want, d, 5);
		CHECK_NEAR(s->w.d.m2, want.m2, 1e-12, 0);
	}
	collect_look(c, t0 + 200 * MS, 3);
	CHECK(s != NULL && s->documents == 1); /* nothing happened: nothing is said */
	teardown();
}

/* The last window of a process ends when the process did, not when somebody looked. */
static void
test_exit(void)
{
	static const double v[] = { 100 }, d[] = { 1000 };
	const struct said *s;

	setup();
	add_proc(0, getpid());
	fill_bank(add_thread(0, 0), NWSHM_DISK_WRITE, 1, v, d, 1);
	atomic_store(&shm->proc[0].exit_mono_ns, t0 + 30 * MS);
	atomic_store(&shm->proc[0].state, NWSHM_ENDED);
	CHECK_INT(collect_look(c, t0 + 90 * MS, 1000 * MS), 0);
	CHECK((s = said_stage(getpid(), "disk.write")) != NULL && s->w.n == 1);
	CHECK(s != NULL && s->w.window_ns == 30 * MS && s->t_wall_ns == 940 * MS);
	teardown();
}

/* Of many processes that told their end the gone are known from one question for many; a process
 * that is still there gets a question of its own. */
static void
test_gone(void)
{
	enum { GONE = PROC_GONE_MAX + 50 };
	struct collect_sink counted = sink;
	pid_t child = fork();
	int i;

	if (child == 0)
		_exit(0);
	counted.facts = on_facts_counted;
	counted.gone = on_gone;
	setup();
	c->sink = &counted;
	add_proc(GONE, getpid());
	for (i = 0; i < GONE; i++)
		add_proc((unsigned)i, child);
	for (i = 0; i <= GONE; i++)
		atomic_store(&shm->proc[i].exit_mono_ns, t0 + 10 * MS);
	CHECK_INT(waitpid(child, NULL, 0), child);
	questions = 0;
	CHECK_INT(collect_look(c, t0 + 60 * MS, 1010 * MS), 1);
	CHECK_INT(questions, 1);
	for (i = 0; i < GONE; i++)
		CHECK_INT(atomic_load(&shm->proc[i].state), NWSHM_FREE);
	CHECK_INT(atomic_load(&shm->proc[GONE].state), NWSHM_LIVE);
	teardown();
}

/* A bank that was half written when its interval ended comes one later, and only once. */
static void
test_late_bank(void)
{
	static const double v[] = { 100, 200 }, d[] = { 1000, 2000 };
	struct nwshm_thread *t;
	const struct said *s;

	setup();
	add_proc(0, getpid());
	t = add_thread(0, 0);
	fill_bank(t, NWSHM_NET_WRITE, 1, v, d, 1);
	atomic_store(&t->lane[NWSHM_NET_WRITE].seq, 1);
	collect_look(c, t0 + 100 * MS, 1);
	CHECK((s = said_stage(getpid(), "net.write")) != NULL && s->sum.n == 0);
	CHECK_INT(atomic_load(&shm->proc[0].epoch), 2);
	collect_look(c, t0 + 200 * MS, 2); /* still in it: the interval must not end */
	CHECK_INT(atomic_load(&shm->proc[0].epoch), 2);
	atomic_store(&t->lane[NWSHM_NET_WRITE].seq, 2);
	fill_bank(t, NWSHM_NET_WRITE, 2, v, d, 2);
	collect_look(c, t0 + 300 * MS, 3);
	CHECK(s != NULL && s->sum.n == 3 && s->sum.v.sum == 400);
	collect_look(c, t0 + 400 * MS, 4);
	CHECK(s != NULL && s->sum.n == 3 && s->sum.busy_ns == 4000);
	teardown();
}

/* A writer that leaves a bank half done, and later finds its place in the epoch after the next. */
struct late_writer {
	struct nwshm_thread *t;
	struct nwshm_proc *p;
};

static void *
late_writer_body(void *arg)
{
	static const double v[] = { 1000 }, d[] = { 1 };
	struct late_writer *w = arg;

	while (atomic_load(&w->p->epoch) < 3)
		sched_yield();
	fill_bank(w->t, NWSHM_DISK_READ, 3, v, d, 1);
	return NULL;
}

/* The third epoch writes where the first did, as soon as the second has ended: the bank of the
 * first is fetched before. */
static void
test_late_bank_is_reused(void)
{
	static const double v[] = { 100, 200 }, d[] = { 1000, 2000 };
	struct late_writer w;
	const struct said *s;
	pthread_t thread;

	setup();
	w.p = add_proc(0, getpid());
	w.t = add_thread(0, 0);
	fill_bank(w.t, NWSHM_DISK_READ, 1, v, d, 2);
	atomic_store(&w.t->lane[NWSHM_DISK_READ].seq, 1);
	collect_look(c, t0 + 100 * MS, 1);
	atomic_store(&w.t->lane[NWSHM_DISK_READ].seq, 2);
	CHECK(pthread_create(&thread, NULL, late_writer_body, &w) == 0);
	collect_look(c, t0 + 200 * MS, 2); /* the writer runs while the look lets time pass */
	pthread_join(thread, NULL);
	collect_look(c, t0 + 300 * MS, 3);
	CHECK((s = said_stage(getpid(), "disk.read")) != NULL && s->sum.v.sum == 1300);
	teardown();
}

/* One receive that blocks for 250 ms is busy in all three windows it passes through; then it
 * ends. */
static void
test_unfinished(void)
{
	static const double v[] = { 10 }, d[] = { 250e6 };
	struct nwshm_thread *t;
	const struct said *s;

	setup();
	add_proc(0, getpid());
	t = add_thread(0, 0);
	atomic_store(&t->inflight, nwshm_inflight(50 * MS, NWSHM_NET_READ, NWSHM_NO_STAGE, 0));
	collect_look(c, t0 + 100 * MS, 1);
	CHECK((s = said_stage(getpid(), "net.read")) != NULL && s->w.busy_ns == 50 * MS &&
	    s->w.n == 0);
	collect_look(c, t0 + 200 * MS, 2);
	CHECK(s != NULL && s->w.busy_ns == 100 * MS);
	atomic_store(&t->inflight, 0);
	fill_bank(t, NWSHM_NET_READ, 3, v, d, 1);
	collect_look(c, t0 + 300 * MS, 3);
	CHECK(s != NULL && s->w.n == 1 && s->w.busy_ns == 100 * MS && s->sum.busy_ns == 250 * MS);
	teardown();
}

/* Hoped to write, ended because something came: what was counted for one moves to the other, and no
 * time is lost. */
static void
test_waits(void)
{
	struct nwshm_thread *t;
	const struct said *w, *r;

	setup();
	add_proc(0, getpid());
	t = add_thread(0, 0);
	atomic_store(&t->inflight, nwshm_inflight(0, NWSHM_WAIT_WRITE, 0, NWSHM_INFLIGHT_WAIT));
	collect_look(c, t0 + 100 * MS, 1);
	w = said_stage(getpid(), "net.write");
	CHECK(w != NULL && w->w.wait_ns == 100 * MS && w->w.n == 0 && w->w.busy_ns == 0);
	atomic_store(&t->inflight, 0);
	nwshm_add(&t->wait_ns[NWSHM_WAIT_READ], 180 * MS);
	nwshm_add(&t->wait_ns[NWSHM_WAIT_WRITE], 15 * MS);
	collect_look(c, t0 + 200 * MS, 2);
	r = said_stage(getpid(), "net.read");
	CHECK(r != NULL && w != NULL && r->sum.wait_ns + w->sum.wait_ns == 195 * MS);
	teardown();
}

/* A wait that hoped for no direction lasts two intervals, and ends because room came: all of the
 * wait counts then. */
static void
test_wait_without_direction(void)
{
	struct nwshm_thread *t;
	const struct said *w;

	setup();
	add_proc(0, getpid());
	t = add_thread(0, 0);
	atomic_store(&t->inflight, nwshm_inflight(0, NWSHM_WAIT_OTHER, 0, NWSHM_INFLIGHT_WAIT));
	collect_look(c, t0 + 100 * MS, 1);
	CHECK(said_stage(getpid(), "net.write") == NULL);
	atomic_store(&t->inflight, 0);
	nwshm_add(&t->wait_ns[NWSHM_WAIT_WRITE], 180 * MS);
	collect_look(c, t0 + 200 * MS, 2);
	w = said_stage(getpid(), "net.write");
	CHECK(w != NULL && w->w.wait_ns == 180 * MS);
	teardown();
}

static const struct said *
said_process(void)
{
	size_t i;

	for (i = 0; i < said_n; i++)
		if (strcmp(said[i].event_type, "nw:process") == 0)
			return &said[i];
	return NULL;
}

/* Blocked in a read, waited in poll to write: both where they passed. A helper that sleeps at a
 * pipe changes nothing. */
static void
test_pipes(void)
{
	struct nwshm_thread *t, *helper;
	const struct said *s;

	setup();
	add_proc(0, getpid());
	t = add_thread(0, 0);
	helper = add_thread(1, 0);
	atomic_store(&helper->inflight, nwshm_inflight(0, NWSHM_PIPE_READ, NWSHM_NO_STAGE, 0));
	collect_look(c, t0 + 100 * MS, 1);
	/* nothing has moved yet */
	CHECK(said_process() == NULL || said_process()->pipe_s[NWSHM_READ] == 0);
	nwshm_add(&t->pipe_bytes[NWSHM_READ], 5000);
	nwshm_add(&t->pipe_bytes[NWSHM_WRITE], 3000);
	nwshm_add(&t->busy_ns[NWSHM_PIPE_READ], 20 * MS);
	nwshm_add(&helper->pipe_bytes[NWSHM_READ], 1);
	atomic_store(
	    &t->inflight, nwshm_inflight(170 * MS, NWSHM_WAIT_PIPE_WRITE, 0, NWSHM_INFLIGHT_WAIT));
	collect_look(c, t0 + 200 * MS, 2);
	s = said_process();
	CHECK(s != NULL);
	if (s == NULL)
		goto out;
	CHECK(s->pipe_bytes[NWSHM_READ] == 5001 && s->pipe_bytes[NWSHM_WRITE] == 3000);
	CHECK_NEAR(s->pipe_s[NWSHM_READ], 0.02, 1e-9, 0);
	CHECK_NEAR(s->pipe_s[NWSHM_WRITE], 0.03, 1e-9, 0);
	atomic_store(&t->inflight, nwshm_inflight(250 * MS, NWSHM_PIPE_READ, NWSHM_NO_STAGE, 0));
	nwshm_add(&t->wait_ns[NWSHM_WAIT_PIPE_WRITE], 50 * MS);
	collect_look(c, t0 + 300 * MS, 3);
	CHECK_NEAR(s->pipe_s[NWSHM_READ], 0.05, 1e-9, 0);
	CHECK_NEAR(s->pipe_s[NWSHM_WRITE], 0.02, 1e-9, 0);
	CHECK(
	    said_stage(getpid(), "net.write") == NULL && said_stage(getpid(), "disk.read") == NULL);
	CHECK(s->pipe_bytes[NWSHM_READ] == 5001);
out:
	teardown();
}

static struct said *
said_type(const char *event_type)
{
	size_t i;

	for (i = 0; i < said_n; i++)
		if (strcmp(said[i].event_type, event_type) == 0)
			return &said[i];
	return NULL;
}

/* The steps of all threads of a process are one series, which begins with the first step. */
static void
test_steps(void)
{
	struct nwshm_thread *t, *u;
	const struct said *s;

	setup();
	add_proc(0, getpid());
	t = add_thread(0, 0);
	u = add_thread(1, 0);
	nwshm_add(&t->other_bytes[NWSHM_READ], 1);
	collect_look(c, t0 + 100 * MS, 1);
	CHECK(said_type("nw:steps") == NULL);
	nwshm_add(&t->steps, 3);
	nwshm_add(&t->step_ns[0], 40 * MS);
	nwshm_add(&t->step_ns[1], 50 * MS);
	nwshm_add(&u->steps, 1);
	nwshm_add(&u->step_ns[1], 5 * MS);
	collect_look(c, t0 + 200 * MS, 2);
	nwshm_add(&t->step_ns[0], 7 * MS);
	collect_look(c, t0 + 300 * MS, 3);
	collect_look(c, t0 + 400 * MS, 4);
	s = said_type("nw:steps");
	CHECK(s != NULL);
	if (s != NULL) {
		CHECK(s->steps == 4 && s->documents == 2);
		CHECK_NEAR(s->inside_s, 0.055, 1e-9, 0);
		CHECK_NEAR(s->between_s, 0.047, 1e-9, 0);
		CHECK_STR(s->parent, said_process()->id);
	}
	teardown();
}

/* The first thread's waits are the process's where the first thread reads from pipes itself, or
 * waits for the thread that does; of a thread that sleeps elsewhere nothing is told. */
static void
test_first(void)
{
	struct nwshm_thread *first, *reader;
	int waits;

	for (waits = 0; waits < 3; waits++) {
		setup();
		add_proc(0, getpid());
		first = add_thread(0, 0);
		reader = add_thread(1, 0);
		atomic_store(&shm->thread_tid[0], getpid());
		atomic_store(&shm->thread_tid[1], getpid() + 1);
		nwshm_add(&(waits == 2 ? first : reader)->pipe_bytes[NWSHM_READ], 5000);
		nwshm_add(&reader->busy_ns[NWSHM_PIPE_READ], 80 * MS);
		nwshm_add(&first->busy_ns[NWSHM_PIPE_READ], waits == 2 ? 30 * MS : 0);
		nwshm_add(&first->peer_ns, 4 * MS);
		nwshm_add(&first->inner_ns, waits == 1 ? 20 * MS : 0);
		collect_look(c, t0 + 100 * MS, 1);
		CHECK(said_process() != NULL);
		if (said_process() != NULL)
			CHECK_NEAR(said_process()->first_s,
			    waits == 0       ? -1
				: waits == 1 ? 0.024
					     : 0.034,
			    1e-9, 0);
		/* a helper that reads more bytes later changes nothing */
		nwshm_add(&reader->pipe_bytes[NWSHM_READ], 20000);
		nwshm_add(&first->peer_ns, 6 * MS);
		collect_look(c, t0 + 200 * MS, 2);
		if (said_process() != NULL)
			CHECK_NEAR(said_process()->first_s,
			    waits == 0       ? -1
				: waits == 1 ? 0.03
					     : 0.04,
			    1e-9, 0);
		teardown();
	}
}

static struct nwshm_object *
add_object(unsigned i, const char *path, uint64_t bytes)
{
	struct nwshm_object *o = &shm->object[i];

	o->owner = 0;
	o->kind = NWSHM_FILE;
	atomic_store(&o->refs, 1);
	snprintf(o->u.path, sizeof(o->u.path), "%s", path);
	nwshm_add(&o->bytes[NWSHM_READ], bytes);
	atomic_store(&shm->object_key[i], i);
	atomic_store(&o->state, NWSHM_LIVE);
	nwshm_used(&shm->objects_used, i);
	return o;
}

/* A thousand small files and then a large one: it has its place, the bytes of the others are all
 * there. */
static void
test_objects(void)
{
	struct nwshm_object *big, *o;
	double small_bytes = 0;
	const struct said *s;
	char path[64];
	int64_t t = t0;
	size_t k;
	int i;

	setup();
	add_proc(0, getpid());
	for (i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "/small/%d", i);
		o = add_object(NWSHM_OBJECTS_FIXED, path, 1000);
		atomic_store(&o->refs, 0);
		atomic_store(&o->state, NWSHM_ENDED);
		collect_look(c, t += 10 * MS, 1);
		collect_look(c, t += 10 * MS, 1);
		CHECK_INT(atomic_load(&o->state), NWSHM_FREE);
	}
	big = add_object(NWSHM_OBJECTS_FIXED + 5, "/tmp/.big.x7", 3 << 20);
	collect_look(c, t += 100 * MS, 1);
	CHECK((s = said_resource("nw:file", "/tmp/.big.x7")) != NULL && s->times == 1);
	snprintf(big->u.path, sizeof(big->u.path), "/tmp/big"); /* it gets its real name */
	atomic_store(&big->renames, 2);
	atomic_store(&big->size_bytes, 3 << 20);
	collect_finish(c, t += 100 * MS, 1);
	s = said_resource("nw:file", "/tmp/big");
	CHECK(s != NULL && s->times == 2 && s->size == 3 << 20 && s->bytes == 3 << 20 &&
	    s->ended == 1);
	for (k = 0; k < said_n; k++)
		if (strcmp(said[k].event_type, "nw:file") == 0 && &said[k] != s)
			small_bytes += said[k].bytes;
	CHECK(small_bytes == 1000.0 * 1000);
	CHECK(said_count("nw:file") <= COLLECT_OBJECTS_SAID + NWSHM_OBJECTS_FIXED);
	teardown();
}

/* A process closes a small file without a name. */
static void
close_small(unsigned i, unsigned owner, uint64_t ino, enum nwshm_dir dir, uint64_t bytes)
{
	struct nwshm_object *o = add_object(i, "", 0);

	o->owner = owner;
	o->ino = ino;
	nwshm_add(&o->bytes[dir], bytes);
	atomic_store(&o->refs, 0);
	atomic_store(&o->state, NWSHM_ENDED);
}

/* Small files that a process writes and another reads: a series of each, also where the reader
 * comes first in the table or the writer ends before; files of nobody are none of theirs. */
static void
test_handed(void)
{
	const struct said *of_writer, *of_reader;
	char name[64];
	int64_t t;
	int way, i;

	for (way = 0; way < 2; way++) {
		setup();
		t = t0;
		add_proc(0, getpid());
		add_proc(1, getppid());
		snprintf(name, sizeof(name), "small files of process %d", (int)getpid());
		for (i = 0; i < 50; i++) {
			close_small(
			    NWSHM_OBJECTS_FIXED + 1, 0, 100 + (unsigned)i, NWSHM_WRITE, 1000);
			if (way == 0)
				close_small(
				    NWSHM_OBJECTS_FIXED, 1, 100 + (unsigned)i, NWSHM_READ, 900);
			collect_look(c, t += 100 * MS, 1);
			collect_look(c, t += 100 * MS, 1);
		}
		CHECK_INT(atomic_load(&shm->handing), 1);
		CHECK(way == 0 || said_resource("nw:file", name) == NULL);
		for (i = 0; i < 200; i++) {
			close_small(NWSHM_OBJECTS_FIXED + 2, 1, 1000 + (unsigned)i, NWSHM_READ, 70);
			collect_look(c, t += 100 * MS, 1);
			collect_look(c, t += 100 * MS, 1);
		}
		atomic_store(&shm->proc[0].exit_mono_ns, t);
		collect_look(c, t += 100 * MS, 1);
		collect_finish(c, t += 100 * MS, 1);
		of_writer = said_resource("nw:file", name);
		CHECK(of_writer != NULL && of_writer->pid == getpid());
		CHECK(of_writer != NULL && of_writer->bytes == 50000 && of_writer->ended == 1);
		for (of_reader = said; of_reader < said + said_n; of_reader++)
			if (of_reader->pid == getppid() && strcmp(of_reader->resource, name) == 0)
				break;
		CHECK_INT(of_reader < said + said_n, way == 0);
		CHECK(way == 1 || (of_reader->bytes == 45000 && of_reader->documents >= 50));
		CHECK(said_resource("nw:file", "other files")->bytes == 200 * 70);
		teardown();
	}
}

/* Where nobody reads what another wrote, the programs are not asked for more. */
static void
test_not_handed(void)
{
	int64_t t;
	unsigned i;

	setup();
	t = t0;
	add_proc(0, getpid());
	add_proc(1, getppid());
	for (i = 0; i < 70; i++) {
		close_small(NWSHM_OBJECTS_FIXED, 0, 100 + i, NWSHM_WRITE, 1000);
		close_small(NWSHM_OBJECTS_FIXED + 1, 1, 1000 + i, NWSHM_READ, 900);
		collect_look(c, t += 100 * MS, 1);
		collect_look(c, t += 100 * MS, 1);
		CHECK_INT(atomic_load(&shm->handing), i < 63);
	}
	collect_finish(c, t += 100 * MS, 1);
	teardown();
}

/* A pipe is told once its waits are worth a series, its counts all in; a small one never. */
static void
test_pipe_series(void)
{
	struct nwshm_object *pipe, *small;
	const struct said *s;
	int64_t t = t0;

	setup();
	add_proc(0, getpid());
	pipe = add_object(NWSHM_OBJECTS_FIXED, "", 1000);
	pipe->kind = NWSHM_PIPE;
	pipe->ino = 4711;
	small = add_object(NWSHM_OBJECTS_FIXED + 1, "", 1000);
	small->kind = NWSHM_PIPE;
	small->ino = 4712;
	nwshm_add(&pipe->ns[NWSHM_READ], 10 * MS);
	collect_look(c, t += 100 * MS, 1000 * MS);
	CHECK_INT(said_count("nw:pipe"), 0);
	nwshm_add(&pipe->ns[NWSHM_READ], 50 * MS);
	collect_look(c, t += 100 * MS, 1100 * MS);
	CHECK_INT(said_count("nw:pipe"), 1);
	nwshm_add(&pipe->bytes[NWSHM_READ], 500);
	collect_finish(c, t += 100 * MS, 1200 * MS);
	s = said_resource("nw:pipe", "pipe:4711");
	CHECK(s != NULL && s->bytes == 1500 && s->documents == 2 && s->ended == 1);
	CHECK(s != NULL && fabs(s->read_s - 0.06) < 1e-9);
	CHECK_INT(said_count("nw:pipe"), 1);
	CHECK_INT(atomic_load(&pipe->state), NWSHM_FREE);
	teardown();
}

/* A wait under way counts where the wait passes, also of a process that ends in the wait; the other
 * end, of a few bytes alone and without news, is told with that wait. */
static void
test_wait_under_way(void)
{
	struct nwshm_object *waits, *gives;
	struct nwshm_thread *thread;
	const struct said *s;
	int64_t t;

	setup();
	t = t0;
	add_proc(0, getpid());
	add_proc(1, getppid());
	thread = add_thread(0, 0);
	gives = add_object(NWSHM_OBJECTS_FIXED, "", 0);
	waits = add_object(NWSHM_OBJECTS_FIXED + 1, "", 0);
	gives->kind = waits->kind = NWSHM_PIPE;
	gives->ino = waits->ino = 4711;
	gives->owner = 1;
	nwshm_add(&gives->bytes[NWSHM_WRITE], 40);
	collect_look(c, t += 100 * MS, 1000 * MS);
	CHECK_INT(said_count("nw:pipe"), 0);
	atomic_store(&thread->at_object, NWSHM_OBJECTS_FIXED + 2);
	atomic_store(
	    &thread->inflight, nwshm_inflight(100 * MS, NWSHM_PIPE_READ, NWSHM_NO_STAGE, 0));
	collect_look(c, t += 100 * MS, 1100 * MS);
	s = said_of("nw:pipe", getpid());
	CHECK(s != NULL && fabs(s->read_s - 0.1) < 1e-9 && s->t_wall_ns == 1100 * MS);
	s = said_of("nw:pipe", getppid());
	CHECK(s != NULL && s->bytes == 40);
	/* the end of the wait adds the rest alone, and another wait begins */
	nwshm_add(&waits->ns[NWSHM_READ], 150 * MS);
	atomic_store(&thread->inflight,
	    nwshm_inflight(270 * MS, NWSHM_INFLIGHT_PEER, 0, NWSHM_INFLIGHT_WAIT));
	collect_look(c, t += 100 * MS, 1200 * MS);
	s = said_of("nw:pipe", getpid());
	CHECK(s != NULL && fabs(s->read_s - 0.18) < 1e-9);
	collect_finish(c, t += 100 * MS, 1300 * MS);
	CHECK(s != NULL && fabs(s->read_s - 0.28) < 1e-9 && s->ended == 1);
	CHECK_INT(said_count("nw:pipe"), 2);
	teardown();
}

/* A semaphore with a few posts is told under its place in a file, and so are waits at mutexes and
 * conditions; waits for children only of a process that is told of anyway. */
static void
test_peer_series(void)
{
	struct nwshm_object *children, *semaphore, *mutex, *condition;
	struct nwshm_thread *thread;
	int64_t t = t0;

	setup();
	add_proc(0, getpid());
	thread = add_thread(0, 0);
	children = add_object(NWSHM_OBJECTS_FIXED, "", 0);
	children->kind = NWSHM_CHILDREN;
	nwshm_add(&children->ns[NWSHM_READ], 90 * MS);
	collect_look(c, t += 100 * MS, 1000 * MS);
	CHECK_INT(said_count("nw:pipe"), 0);
	nwshm_add(&thread->pipe_bytes[NWSHM_READ], 500000);
	nwshm_add(&children->ns[NWSHM_READ], 30 * MS);
	collect_look(c, t += 100 * MS, 1100 * MS);
	nwshm_add(&children->ns[NWSHM_READ], 30 * MS);
	collect_look(c, t += 100 * MS, 1200 * MS);
	CHECK(said_resource("nw:pipe", "children") != NULL);
	semaphore = add_object(NWSHM_OBJECTS_FIXED + 1, "", 0);
	semaphore->kind = NWSHM_SEMAPHORE;
	semaphore->ino = 4711;
	semaphore->dev = 0xa0;
	nwshm_add(&semaphore->bytes[NWSHM_WRITE], 19);
	collect_look(c, t += 100 * MS, 1300 * MS);
	CHECK_INT(said_count("nw:pipe"), 1);
	nwshm_add(&semaphore->bytes[NWSHM_WRITE], 1);
	collect_finish(c, t += 100 * MS, 1400 * MS);
	CHECK(said_resource("nw:pipe", "semaphore:4711-a0") != NULL);
	teardown();
	setup();
	add_proc(0, getpid());
	mutex = add_object(NWSHM_OBJECTS_FIXED, "", 0);
	mutex->kind = NWSHM_MUTEX;
	condition = add_object(NWSHM_OBJECTS_FIXED + 1, "", 0);
	condition->kind = NWSHM_CONDITION;
	mutex->ino = condition->ino = 4711;
	mutex->dev = condition->dev = 0xa0;
	nwshm_add(&mutex->ns[NWSHM_READ], 30 * MS);
	nwshm_add(&condition->ns[NWSHM_READ], 30 * MS);
	collect_finish(c, t += 100 * MS, 1500 * MS);
	CHECK(said_resource("nw:pipe", "mutex:4711-a0") != NULL);
	CHECK(said_resource("nw:pipe", "condition:4711-a0") != NULL);
	teardown();
}

/* Two reads of 4 kB and one of 1 MB, and a step. */
static void
add_cells(unsigned object)
{
	struct nwshm_cells *k = &shm->cells[object];
	unsigned row;

	atomic_store(&shm->object[object].cells_ready, 1);
	row = nwshm_cell_row_get(k->octave[NWSHM_READ], nw_cell_octave(4096) + 1);
	atomic_fetch_add(&k->count[NWSHM_READ][row][nw_cell_duration(1000)], 2);
	row = nwshm_cell_row_get(k->octave[NWSHM_READ], nw_cell_octave(1 << 20) + 1);
	atomic_fetch_add(&k->count[NWSHM_READ][row][nw_cell_duration(5000000)], 1);
	atomic_fetch_add(&k->steps[NWSHM_READ].n[NWSHM_STEP_STRIDED], 1);
	nwshm_add(&k->steps[NWSHM_READ].pause_ns[NWSHM_STEP_STRIDED], 250000000);
}

/* A file's cells are sent once each, as a table of sizes; those of files below notice are summed
 * up; a slot that comes free has none. */
static void
test_cells(void)
{
	static const unsigned small = NWSHM_OBJECTS_FIXED, big = NWSHM_OBJECTS_FIXED + 1;
	const struct said *s;
	int64_t t = t0;

	setup();
	add_proc(0, getpid());
	add_object(small, "", 8192);
	add_object(big, "/tmp/big", 3 << 20);
	add_cells(small);
	add_cells(big);
	collect_look(c, t += 100 * MS, 1);
	collect_look(c, t += 100 * MS, 1);
	CHECK(said_resource("nw:file", "/tmp/big") != NULL);
	CHECK(said_resource("nw:cells:read", "/tmp/big") == NULL);
	nwshm_add(&shm->object[big].bytes[NWSHM_READ], 1);
	collect_look(c, t += 100 * MS, 6000 * MS);
	CHECK((s = said_resource("nw:cells:read", "/tmp/big")) != NULL && s->ops == 3);
	add_cells(big);
	collect_finish(c, t += 100 * MS, 7000 * MS);
	CHECK(s->ops == 6 && s->strided == 2 && s->strided_pause_s == 0.5 && s->ended == 1);
	CHECK(s->of_4k == 4 && s->of_1m == 2);
	s = said_resource("nw:cells:read", "other files");
	CHECK(s != NULL && s->ops == 3 && s->strided == 1 && s->of_4k == 2);
	CHECK(said_count("nw:cells:write") == 0);
	CHECK(atomic_load(&shm->cells[big].octave[NWSHM_READ][0]) == 0 &&
	    atomic_load(&shm->object[big].cells_ready) == 1);
	teardown();
}

/* More sizes than rows: the nearest size takes the operation; durations keep their order. */
static void
test_cell_rows(void)
{
	_Atomic uint8_t octave[NWSHM_CELL_ROWS] = { 0 };
	double low, high;
	unsigned i;

	for (i = 1; i <= NWSHM_CELL_ROWS; i++)
		CHECK_INT(nwshm_cell_row_get(octave, 3 * i), i - 1);
	CHECK(nwshm_cell_row_get(octave, 3) == 0 && nwshm_cell_row_get(octave, 34) == 3);
	CHECK_INT(nwshm_cell_row_get(octave, 7), 1);
	for (i = 0; i < NW_CELL_DURATIONS; i++) {
		nw_cell_duration_bounds(i, &low, &high);
		CHECK_INT(nw_cell_duration((uint64_t)low), i);
		CHECK_INT(nw_cell_duration((uint64_t)high - 1), i);
	}
	CHECK_INT(nw_cell_octave(0), 0);
	CHECK_INT(nw_cell_octave(1), 0);
	CHECK_INT(nw_cell_octave(4096), 12);
	CHECK_INT(nw_cell_octave(4097), 13);
}

/* Killed in the middle of an update: everything counted is reported, every slot comes free. */
static void
test_killed(void)
{
	static const double v[] = { 100, 200 }, d[] = { 1000, 2000 };
	struct nwshm_thread *t;
	const struct said *s;
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	setup();
	add_proc(9, pid);
	t = add_thread(4, 9);
	fill_bank(t, NWSHM_DISK_WRITE, 1, v, d, 2);
	add_object(20, "/a", 3)->owner = 9;
	CHECK_INT(collect_look(c, t0 + 10 * MS, 1), 1);
	atomic_store(&t->lane[NWSHM_DISK_WRITE].seq, 1);
	kill(pid, SIGKILL);
	while (collect_look(c, t0 + 20 * MS, 2) > 0) /* a zombie is not alive */
		;
	s = said_stage(pid, "disk.write");
	CHECK(s != NULL && s->sum.n == 2 && s->sum.v.sum == 300 && s->ended == 1);
	CHECK_INT(atomic_load(&shm->proc[9].state), NWSHM_FREE);
	CHECK_INT(atomic_load(&shm->thread_owner[4]), 0);
	CHECK_INT(atomic_load(&shm->object[20].state), NWSHM_FREE);
	CHECK(nwshm_get(&t->lane[NWSHM_DISK_WRITE].ops) == 0 &&
	    atomic_load(&t->ready[NWSHM_DISK_WRITE]) == 1);
	waitpid(pid, NULL, 0);
	teardown();
}

/* Another process with a recycled pid is not ours. */
static void
test_recycled_pid(void)
{
	setup();
	add_proc(0, getpid())->start_ticks = 1;
	CHECK_INT(collect_look(c, t0 + 10 * MS, 1), 0);
	CHECK_INT(atomic_load(&shm->proc[0].state), NWSHM_FREE);
	teardown();
}

static void
test_procfile(void)
{
	static const char io[] =
	    "rchar: 123\nwchar: 45\nsyscr: 6\nsyscw: 7\nread_bytes: 8\nwrite_bytes: 9\n"
	    "cancelled_write_bytes: 10\n";
	struct procfile_stat st;
	struct procfile_io counts;
	uint64_t wait_ns;

	CHECK(procfile_parse_stat(
	    "12 (a) b) (c) S 7 1 1 0 -1 4 1 2 3 4 55 66 9 9 20 0 1 0 777 1000 42 9\n", &st));
	CHECK(st.state == 'S' && st.ppid == 7 && st.user_ticks == 55 && st.sys_ticks == 66);
	CHECK(st.start_ticks == 777 && st.rss_pages == 42 && st.threads == 1 &&
	    !procfile_is_over(&st));
	CHECK(procfile_parse_stat(
	    "12 (a) Z 7 1 1 0 -1 4 1 2 3 4 5 6 9 9 20 0 2 0 777 1000 42\n", &st));
	CHECK(!procfile_is_over(&st));
	st.threads = 1;
	CHECK(procfile_is_over(&st));
	CHECK(!procfile_parse_stat("12 (a) S 7", &st) && !procfile_parse_stat("", &st));
	CHECK(procfile_parse_io(io, &counts));
	CHECK(counts.rchar == 123 && counts.wchar == 45 && counts.read_bytes == 8 &&
	    counts.write_bytes == 9);
	CHECK(!procfile_parse_io("rchar: 1\n", &counts));
	CHECK(procfile_parse_schedstat("287659 3153968 1\n", &wait_ns) && wait_ns == 3153968);
	CHECK(!procfile_parse_schedstat("287659", &wait_ns) &&
	    !procfile_parse_schedstat("1 x 1", &wait_ns));
}

/* A connection that this process has; what the kernel says of it comes with its bytes. */
static void
report_connection(const struct net_addr *local, const struct net_addr *peer)
{
	struct nwshm_object *o;
	const struct said *s;
	size_t i;

	setup();
	add_proc(0, getpid());
	o = add_object(NWSHM_OBJECTS_FIXED, "", 10000);
	o->kind = NWSHM_CONN;
	o->u.conn.local = *local;
	o->u.conn.peer = *peer;
	collect_look(c, t0 + 100 * MS, 1);
	for (i = 0, s = NULL; i < said_n; i++)
		if (strcmp(said[i].event_type, "nw:connection") == 0)
			s = &said[i];
	CHECK(s != NULL && s->bytes_in == 10000 && s->rtt_s > 0 && s->dport == peer->port);
	CHECK(s != NULL && strcmp(s->dst, "127.0.0.1") == 0);
	teardown();
}

/* A connection of our own, asked for by its addresses. */
static void
test_tcp(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) },
			   b;
	struct net_addr local = { .family = AF_INET }, peer = { .family = AF_INET };
	socklen_t len = sizeof(a);
	struct tcp_sample t;
	char buf[10000] = "";
	int l = socket(AF_INET, SOCK_STREAM, 0), s = socket(AF_INET, SOCK_STREAM, 0),
	    fd = tcp_open(), peer_fd;

	if (fd < 0) {
		fprintf(stderr, "no sock_diag here: not tested\n");
		return;
	}
	CHECK(bind(l, (struct sockaddr *)&a, len) == 0 && listen(l, 1) == 0);
	CHECK(getsockname(l, (struct sockaddr *)&a, &len) == 0 &&
	    connect(s, (struct sockaddr *)&a, len) == 0);
	CHECK((peer_fd = accept(l, NULL, NULL)) >= 0 &&
	    getsockname(s, (struct sockaddr *)&b, &len) == 0);
	CHECK(write(s, buf, sizeof(buf)) == sizeof(buf) &&
	    recv(peer_fd, buf, sizeof(buf), MSG_WAITALL) == sizeof(buf));
	memcpy(local.ip, &b.sin_addr, 4);
	memcpy(peer.ip, &a.sin_addr, 4);
	local.port = ntohs(b.sin_port);
	peer.port = ntohs(a.sin_port);
	CHECK(tcp_ask(fd, &local, &peer, &t));
	CHECK(t.rtt_s > 0 && t.rtt_s < 1 && t.snd_mss > 500 && t.cwnd_bytes >= t.snd_mss &&
	    t.retrans == 0);
	CHECK(t.busy_s >= 0 && t.rwnd_limited_s == 0);
	report_connection(&local, &peer);
	close(s);
	close(peer_fd);
	close(l);
	peer.port ^= 1;
	CHECK(!tcp_ask(fd, &local, &peer, &t));
	CHECK(!tcp_ask(-1, &local, &peer, &t));
	close(fd);
}

/* A wait is the growth of the count of a thread at work. */
static void
test_starved_thread(void)
{
	struct collect_sink threads = sink;
	struct nwshm_thread *t;
	const struct said *s;
	int i;

	threads.facts = on_facts_of_threads;
	setup();
	c->sink = &threads;
	waits_now = 0;
	add_proc(0, getpid());
	t = add_thread(0, 0);
	atomic_store(&shm->thread_tid[0], 77);
	for (i = 1; i <= 6; i++) {
		const struct timespec look = { .tv_nsec = 20 * MS };

		nwshm_add(&t->other_bytes[NWSHM_READ], 1 << 20);
		waits_now += 10 * MS;
		nanosleep(&look, NULL);
		collect_look(c, t0 + i * 100 * MS, i * 100 * MS);
	}
	collect_finish(c, t0 + 700 * MS, 700 * MS);
	s = said_process();
	CHECK(s != NULL);
	/* the first look knows no threads, the second has nothing to compare */
	CHECK_NEAR(s->cpu_wait, 0.04, 1e-6, 0);
	teardown();
}

/* What arrives by a map that the kernel does not count is read of the process and of the file. */
static void
test_map(void)
{
	struct collect_sink maps = sink;
	const struct said *file;
	double sum;
	int i;

	for (maps.facts = on_facts_of_map, i = 0; i < 2; i++) {
		setup();
		c->sink = &maps;
		looks_at_map = 0;
		add_proc(0, getpid());
		(void)add_thread(0, 0);
		shm->proc[0].at_start.io_known = 1;
		atomic_store(&shm->proc[0].mapped_bytes, i == 0 ? 16 << 20 : 1000);
		collect_look(c, t0 + 100 * MS, 100 * MS);
		collect_look(c, t0 + 200 * MS, 200 * MS);
		collect_look(c, t0 + 300 * MS, 300 * MS);
		collect_look(c, t0 + 400 * MS, 400 * MS);
		collect_finish(c, t0 + 500 * MS, 500 * MS);
		file = said_resource("nw:file", "/far/file");
		CHECK(said_process() != NULL && (file != NULL) == (i == 0));
		if (file != NULL) {
			/* each look behind the first two tells of three quarters of a MiB */
			sum = (double)(looks_at_map - 2) * 3 * (1 << 18);
			CHECK(file->bytes == sum && file->ended == 1);
			CHECK(said_process()->bytes == sum + (double)(looks_at_map << 18));
		}
		teardown();
	}
}

int
main(void)
{
	test_windows();
	test_starved_thread();
	test_map();
	test_exit();
	test_gone();
	test_late_bank();
	test_late_bank_is_reused();
	test_unfinished();
	test_waits();
	test_wait_without_direction();
	test_pipes();
	test_steps();
	test_first();
	test_objects();
	test_handed();
	test_not_handed();
	test_pipe_series();
	test_wait_under_way();
	test_peer_series();
	test_cells();
	test_cell_rows();
	test_killed();
	test_recycled_pid();
	test_procfile();
	test_tcp();
	return check_done("collect");
}
