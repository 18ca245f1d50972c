/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What watching from outside adds to system calls: calls of a process alone, while another process
 * is watched, and while the process itself is watched, in turns; and what the watcher spends on a
 * record, and on a look at the host's connections. Processor time of the thread, medians.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/lib/tcpinfo.h"
#include "host/outside/feed.h"
#include "host/outside/flow_look.h"
#include "host/outside/trace.h"

enum { ROUNDS = 9, CALLS = 30000, STATES = 3, WHATS = 3, READ_MS = 10 };
static const char *const whats[WHATS] = { "getppid, never recorded", "pread of a byte of a file",
	"read of /dev/zero" };

static int64_t
cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
median(double *x, size_t n)
{
	qsort(x, n, sizeof(*x), compare);
	return x[n / 2];
}

/* --- the process that makes the calls --- */

static double
batch(unsigned what, int file, int zero)
{
	int64_t begin_ns = cpu_ns();
	char byte;
	int i;

	for (i = 0; i < CALLS; i++)
		if ((what == 0          ? syscall(SYS_getppid)
			    : what == 1 ? pread(file, &byte, 1, 0)
					: read(zero, &byte, 1)) < 0)
			_exit(1);
	return (double)(cpu_ns() - begin_ns) / CALLS;
}

static void
serve(int from, int to)
{
	int file = open("/proc/self/exe", O_RDONLY), zero = open("/dev/zero", O_RDONLY);
	double ns[WHATS];
	unsigned what;
	char go;

	while (read(from, &go, 1) == 1) {
		for (what = 0; what < WHATS; what++)
			ns[what] = batch(what, file, zero);
		if (write(to, ns, sizeof(ns)) != sizeof(ns))
			_exit(1);
	}
	_exit(0);
}

/* --- the watcher --- */

struct watcher {
	struct feed *feed;
	uint64_t records;
};

static void
on_record(void *arg, const void *record, size_t bytes)
{
	struct watcher *w = arg;

	w->records++;
	feed_record(w->feed, record, bytes);
}

/* Has the calls made, and reads records meanwhile; the reading costs *reader_ns a record. */
static bool
measure(int to, int from, struct trace *t, struct feed *feed, double ns[WHATS], double *reader_ns)
{
	struct watcher w = { .feed = feed };
	int64_t begin_ns = cpu_ns();
	ssize_t n;

	if (write(to, "g", 1) != 1)
		return false;
	while ((n = read(from, ns, WHATS * sizeof(*ns))) < 0 && errno == EAGAIN)
		if (t != NULL)
			trace_read(t, READ_MS, on_record, &w);
		else
			usleep(READ_MS * 1000);
	if (t != NULL)
		trace_read(t, 0, on_record, &w);
	if (w.records > 0)
		*reader_ns = (double)(cpu_ns() - begin_ns) / (double)w.records;
	return n == (ssize_t)(WHATS * sizeof(*ns));
}

/* One state: 0 alone, 1 another is watched, 2 watched. */
static bool
round_of(unsigned state, pid_t pid, int to, int from, double ns[WHATS], double *reader_ns)
{
	char why[TRACE_WHY_BYTES] = "";
	struct region region = { .fd = -1 };
	struct trace *t = NULL;
	struct feed *feed = NULL;
	bool ok = state == 0;

	if (state > 0 && region_new(&region) == NULL && trace_open(&t, why) == 0 &&
	    trace_begin(t, why) == 0 && (feed = feed_new(&region)) != NULL) {
		uint32_t watched = (uint32_t)(state == 2 ? pid : getppid());

		ok = trace_add(t, watched) == 0 && feed_attach(feed, watched);
	}
	ok = ok && measure(to, from, t, feed, ns, reader_ns);
	feed_free(feed);
	trace_close(t);
	region_free(&region);
	if (why[0] != '\0')
		printf("not measured: %s\n", why);
	return ok;
}

static void
report(double all[WHATS][STATES][ROUNDS])
{
	double alone, other, own;
	unsigned what;

	printf("%-28s %10s %22s %14s\n", "ns of processor time", "alone", "+ another is watched",
	    "+ watched");
	for (what = 0; what < WHATS; what++) {
		alone = median(all[what][0], ROUNDS);
		other = median(all[what][1], ROUNDS);
		own = median(all[what][2], ROUNDS);
		printf(
		    "%-28s %10.0f %22.0f %14.0f\n", whats[what], alone, other - alone, own - alone);
	}
}

static void
report_look(void)
{
	static const struct flows_limits limits = { .bytes = UINT64_MAX };
	struct flows *f = flows_new(&limits);
	int fd = tcpinfo_open(), i;
	int64_t begin_ns = cpu_ns();

	for (i = 0; i < 100; i++)
		(void)flow_look(fd, f, i, true);
	printf("a look at all connections: %.0f us\n", (double)(cpu_ns() - begin_ns) / 1e5);
	flows_free(f);
	close(fd);
}

int
main(void)
{
	static double all[WHATS][STATES][ROUNDS];
	double ns[WHATS], reader_ns[ROUNDS] = { 0 }, unused;
	int to[2], from[2];
	unsigned round, state, what;
	pid_t pid;

	if (pipe(to) != 0 || pipe(from) != 0 || (pid = fork()) < 0)
		return 1;
	if (pid == 0) {
		close(to[1]);
		serve(to[0], from[1]);
	}
	fcntl(from[0], F_SETFL, O_NONBLOCK);
	for (round = 0; round < ROUNDS; round++)
		for (state = 0; state < STATES; state++) {
			if (!round_of(state, pid, to[1], from[0], ns,
				state == 2 ? &reader_ns[round] : &unused))
				return 0;
			for (what = 0; what < WHATS; what++)
				all[what][state][round] = ns[what];
		}
	report(all);
	printf("the watcher, for a record: %.0f ns\n", median(reader_ns, ROUNDS));
	report_look();
	close(to[1]);
	waitpid(pid, NULL, 0);
	return 0;
}
