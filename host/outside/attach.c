/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/outside/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/lib/hostname.h"
#include "host/lib/tcpinfo.h"
#include "host/lib/uuid.h"
#include "host/outside/feed.h"
#include "host/outside/flow_look.h"
#include "host/outside/targets.h"
#include "host/outside/trace.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/lastrun.h"

enum { READ_MS = 10, STATUS_FAILED = 125, TEXT_BYTES = 256 };
#define UNDER_WAY_NS INT64_C(20000000)
#define LOST_NS      INT64_C(200000000)
/* from a signal to the end, with the work before */
#define LEAVE_NS INT64_C(500000000)

struct attached {
	struct trace *trace;
	struct feed *feed;
	int64_t under_way_mono_ns, lost_mono_ns;
};

static volatile sig_atomic_t told_to_end;

static void
on_signal(int sig)
{
	(void)sig;
	told_to_end = 1;
}

/* --- the loop --- */

static void
on_record(void *arg, const void *record, size_t bytes)
{
	feed_record(arg, record, bytes);
}

static void
on_thread(void *arg, uint32_t tid, const struct outside_thread *t)
{
	feed_under_way(arg, tid, t);
}

static void
on_proc(void *arg, uint32_t pid)
{
	struct attached *a = arg;
	uint64_t ops, bytes;

	trace_lost(a->trace, pid, &ops, &bytes);
	feed_lost(a->feed, pid, ops, bytes);
	feed_gone_check(a->feed, pid);
}

static void
step(struct attached *a)
{
	int64_t now_mono_ns;

	trace_read(a->trace, READ_MS, on_record, a->feed);
	now_mono_ns = nw_mono_ns();
	if (now_mono_ns - a->under_way_mono_ns >= UNDER_WAY_NS) {
		a->under_way_mono_ns = now_mono_ns;
		trace_threads(a->trace, on_thread, a->feed);
	}
	if (now_mono_ns - a->lost_mono_ns >= LOST_NS) {
		a->lost_mono_ns = now_mono_ns;
		feed_each(a->feed, on_proc, a);
	}
}

/* Until the last process is gone; a control group may get new ones. */
static void
watch(struct attached *a, const struct attach_opts *o)
{
	while (!told_to_end && (feed_count(a->feed) > 0 || o->group != NULL))
		step(a);
	trace_stop(a->trace);
	trace_read(a->trace, 0, on_record, a->feed);
	feed_settle(a->feed);
	feed_each(a->feed, on_proc, a);
}

/* --- processes to watch --- */

static void
on_target(void *arg, uint32_t pid)
{
	struct attached *a = arg;

	if (trace_add(a->trace, pid) == NW_OK && !feed_attach(a->feed, pid))
		trace_remove(a->trace, pid);
}

/* A second look finds processes that were made during the first. */
static const char *
targets_add(struct attached *a, const struct attach_opts *o)
{
	uint64_t group = 0;
	int i;

	if (o->ready_fd >= 0) {
		feed_expect(a->feed, o->pid);
		return trace_add(a->trace, o->pid) == NW_OK ? NULL : "no room for the process";
	}
	if (o->group != NULL && (group = targets_group_id(o->group)) == 0)
		return "no such control group";
	if (group != 0 && trace_add_group(a->trace, group) != NW_OK)
		return "too many control groups";
	for (i = 0; i < 2; i++) {
		if (o->pid != 0)
			targets_tree(o->pid, on_target, a);
		if (o->group != NULL)
			targets_group(o->group, on_target, a);
	}
	return feed_count(a->feed) > 0 || o->group != NULL ? NULL : "no such process";
}

/* --- the collector --- */

static pid_t
collector_start(struct region *region, const struct attach_opts *o, int outside_fd)
{
	struct collect_run_opts run = o->run;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	setsid(); /* a signal of the terminal ends the watching, not the sending */
	run.collect.outside = true;
	run.outside_fd = outside_fd;
	run.notice_fd = -1;
	run.complain_fd = o->quiet ? -1 : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	collect_run(region, &run);
	_exit(0);
}

/* The name space of the process's network, where that is not ours. */
static int
net_ns_of(uint32_t pid)
{
	struct stat own, its;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/ns/net", pid);
	if (pid == 0 || stat("/proc/self/ns/net", &own) != 0 || stat(path, &its) != 0 ||
	    own.st_ino == its.st_ino)
		return -1;
	return open(path, O_RDONLY | O_CLOEXEC);
}

static const char *
describe(struct attach_opts *o)
{
	static char task[UUID_BYTES], host[HOSTNAME_BYTES], arguments[NWSHM_ARGV_BYTES],
	    name[NWSHM_NAME_BYTES];
	struct collect_opts *c = &o->run.collect;

	if (c->task_id == NULL || c->task_id[0] == '\0') {
		if (uuid_make(task) < 0)
			return "the kernel gives no random bytes";
		c->task_id = task;
	}
	c->host = hostname_get(c->host, host);
	if (o->pid != 0 &&
	    !targets_describe(o->pid, name, sizeof(name), arguments, sizeof(arguments)))
		return "no such process";
	c->root_pid = (int)o->pid;
	c->root_argv = arguments;
	c->root_name = name;
	c->net_ns_fd = net_ns_of(o->pid);
	o->run.program = c->program != NULL ? c->program
	    : o->unit != NULL               ? o->unit
	    : o->pid != 0                   ? name
					    : o->group;
	return NULL;
}

static void
note_run(const struct attach_opts *o, const char *why)
{
	struct lastrun r = { .start_wall_ns = nw_wall_ns(), .pid = (int64_t)o->pid };
	const char *task = o->run.collect.task_id;

	lastrun_text(r.task, task != NULL ? task : "unmeasured");
	lastrun_text(r.box, o->run.box);
	lastrun_text(r.why, why);
	(void)lastrun_write(&r);
}

/* --- life --- */

static const char *
check(struct attach_opts *o)
{
	static char group[PATH_MAX];
	char self[16] = "";

	if (readlink("/proc/self", self, sizeof(self) - 1) <= 0 || atoi(self) != (int)getpid())
		return "/proc shows the processes of another container: mount proc here";
	if (o->unit != NULL) {
		if (!targets_unit(o->unit, group))
			return "no such unit runs";
		o->group = group;
	}
	return NULL;
}

static void
signals_take(void)
{
	struct sigaction end = { .sa_handler = on_signal };

	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGHUP, &end, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void
tell_begun(const struct attach_opts *o, const struct attached *a)
{
	if (o->verbose)
		fprintf(stderr, "nwrun: task %s, %zu processes%s\n", o->run.collect.task_id,
		    feed_count(a->feed),
		    trace_has_uring(a->trace) ? "" : ", without requests of io_uring");
	if (o->ready_fd < 0)
		return;
	if (write(o->ready_fd, "+", 1) != 1)
		told_to_end = 1;
	close(o->ready_fd);
}

const char *
attach_prepare(struct attach_ready *r)
{
	static char why_trace[TRACE_WHY_BYTES];
	const char *why;

	*r = (struct attach_ready){ .region.fd = -1 };
	if (trace_open(&r->trace, why_trace) != NW_OK)
		return why_trace;
	if ((why = region_new(&r->region)) != NULL)
		attach_ready_clear(r);
	return why;
}

void
attach_ready_clear(struct attach_ready *r)
{
	trace_close(r->trace);
	region_free(&r->region);
	r->trace = NULL;
}

struct moved {
	const struct attach_opts *opts;
	int64_t bytes;
};

static void
on_connection(void *arg, struct flow *flow)
{
	const struct moved *m = arg;
	const struct net_addr *only = m->opts->only_peer;
	unsigned fds_left = UINT_MAX;

	if (flow->last.peer.family == only->family &&
	    memcmp(flow->last.peer.ip, only->ip, sizeof(only->ip)) == 0 &&
	    flow_is_held(m->opts->pid, flow->last.inode, &fds_left))
		flows_take(flow, 0);
}

static void
on_taken(void *arg, struct flow *flow)
{
	struct moved *m = arg;

	if (flow->state == FLOW_TAKEN)
		m->bytes += (int64_t)flow->last.moved_bytes + flow->last.queued_bytes;
}

/* Bytes that the process has written to the peer and read from the peer so far. The second look is
 * at the process's connections alone, and so ends before many more bytes move. */
static uint64_t
moved_before(const struct attach_opts *o)
{
	static const struct flows_limits every_connection = { .quiet_ns = INT64_MAX };
	struct moved m = { .opts = o };
	struct flows *flows;
	int fd;

	if ((fd = tcpinfo_open()) < 0)
		return 0;
	flows = flows_new(&every_connection);
	if (flow_look(fd, flows, 1, true)) {
		flows_each(flows, on_connection, &m);
		(void)flow_look(fd, flows, 1, false);
		flows_each(flows, on_taken, &m);
	}
	flows_free(flows);
	close(fd);
	return m.bytes > 0 ? (uint64_t)m.bytes : 0;
}

/* Everything is there: the collector first, so that a watch always has a reader. */
static const char *
attach_and_watch(struct attach_opts *o, struct attached *a, int alive_fd, pid_t *collector)
{
	static char why_trace[TRACE_WHY_BYTES];
	const char *why;

	if ((a->feed = feed_new(&o->ready->region)) == NULL)
		return "no memory for the shared file";
	feed_only_peer(a->feed, o->only_peer);
	if (trace_begin(a->trace, why_trace) != NW_OK)
		return why_trace;
	if (o->only_peer != NULL) {
		o->run.collect.bytes_before = moved_before(o);
		on_target(a, o->pid); /* counts from here on; the tree below takes longer to find */
	}
	if ((why = targets_add(a, o)) != NULL)
		return why;
	fcntl(alive_fd, F_SETFD, 0);
	if ((*collector = collector_start(&o->ready->region, o, alive_fd)) < 0)
		return "no collector could be started";
	tell_begun(o, a);
	watch(a, o);
	return NULL;
}

/* After a signal the collector may go on alone: a box may be slow, or away. */
static void
collector_await(pid_t collector)
{
	int64_t told_mono_ns = 0, now_mono_ns;

	while (waitpid(collector, NULL, WNOHANG) == 0) {
		now_mono_ns = nw_mono_ns();
		if (told_to_end && told_mono_ns == 0)
			told_mono_ns = now_mono_ns;
		if (told_mono_ns != 0 && now_mono_ns - told_mono_ns >= LEAVE_NS)
			return;
		poll(NULL, 0, READ_MS);
	}
}

static const char *
attach_with_collector(struct attach_opts *o)
{
	struct attached a = { .trace = o->ready->trace };
	int alive[2] = { -1, -1 };
	pid_t collector = -1;
	const char *why;

	if (pipe2(alive, O_CLOEXEC) != 0)
		return "no pipe could be made";
	why = attach_and_watch(o, &a, alive[0], &collector);
	feed_free(a.feed);
	trace_stop(a.trace);
	close(alive[0]);
	close(alive[1]);
	if (o->run.verdict_fd > 2)
		close(o->run.verdict_fd);
	if (collector > 0)
		collector_await(collector);
	return why;
}

int
attach_run(struct attach_opts *o)
{
	static struct attach_ready own;
	const char *why;

	signals_take();
	if ((why = check(o)) == NULL && (why = describe(o)) == NULL && o->ready == NULL &&
	    (why = attach_prepare(&own)) == NULL)
		o->ready = &own;
	if (why == NULL) {
		if (o->only_peer == NULL)
			note_run(o, NULL);
		why = attach_with_collector(o);
	}
	if (o->ready != NULL)
		attach_ready_clear(o->ready);
	if (why == NULL)
		return 0;
	if (o->only_peer == NULL)
		note_run(o, why);
	if (o->ready_fd >= 0)
		dprintf(o->ready_fd, "-%s", why); /* nwrun has the last word */
	else
		fprintf(stderr, "nwrun: %s: nothing is measured\n", why);
	return STATUS_FAILED;
}
