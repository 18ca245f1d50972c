/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What nwrun adds to a call: one-byte reads of a file (measured), through a pipe and back (two
 * calls, timed) and of /dev/zero (only counted); a mutex of the process, and one that it shares,
 * free and back (two calls); bare and under nwrun in turns, beside two clock reads, below which no
 * timing can go.
 */
#include "narrows/clock.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCHES = 31, CALLS = 20000, ROUNDS = 5, WHATS = 7 };
static const char *const whats[WHATS] = { "two clock reads", "pread of a file", "read of /dev/zero",
	"fwrite of a byte", "pipe, both ways", "private mutex", "shared mutex" };

static pthread_mutex_t private_mutex = PTHREAD_MUTEX_INITIALIZER, *shared_mutex;

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

/* Of this thread: what else the machine does is not our cost. */
static int64_t
cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void
take(pthread_mutex_t *m)
{
	if (pthread_mutex_lock(m) != 0 || pthread_mutex_unlock(m) != 0)
		abort();
}

static pthread_mutex_t *
shared_make(void)
{
	pthread_mutex_t *m =
	    mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t a;

	if (m == MAP_FAILED || pthread_mutexattr_init(&a) != 0 ||
	    pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED) != 0 ||
	    pthread_mutex_init(m, &a) != 0)
		exit(1);
	return m;
}

static void
do_calls(int what, int file, int zero, FILE *stream, const int pipes[2])
{
	volatile int64_t t;
	char c;
	int i;

	for (i = 0; i < CALLS; i++)
		switch (what) {
		case 0:
			t = nw_mono_ns();
			t = nw_mono_ns();
			(void)t;
			break;
		case 1:
			if (pread(file, &c, 1, 0) != 1)
				abort();
			break;
		case 2:
			if (read(zero, &c, 1) != 1)
				abort();
			break;
		case 3:
			if (fwrite("x", 1, 1, stream) != 1)
				abort();
			break;
		case 4:
			if (write(pipes[1], "x", 1) != 1 || read(pipes[0], &c, 1) != 1)
				abort();
			break;
		case 5: take(&private_mutex); break;
		case 6: take(shared_mutex); break;
		}
}

/* Prints ns per call for each. */
static int
inner(void)
{
	char name[] = "/tmp/bench_preload.XXXXXX";
	int file = mkstemp(name), zero = open("/dev/zero", O_RDONLY), pipes[2], what, b;
	FILE *stream = fopen("/dev/null", "w");
	double ns[BATCHES];
	int64_t t;

	if (file < 0 || zero < 0 || stream == NULL || write(file, "x", 1) != 1 || pipe(pipes) != 0)
		return 1;
	if (fork() == 0) /* now the pipe leads to somebody */
		_exit(0);
	wait(NULL);
	unlink(name);
	shared_mutex = shared_make();
	for (what = 0; what < WHATS; what++) {
		for (b = 0; b < BATCHES; b++) {
			t = cpu_ns();
			do_calls(what, file, zero, stream, pipes);
			ns[b] = (double)(cpu_ns() - t) / CALLS;
		}
		printf("%.2f ", median(ns, BATCHES));
	}
	printf("\n");
	fclose(stream);
	return 0;
}

static void
run(const char *nwrun, const char *self, double out[WHATS])
{
	char command[2 * PATH_MAX + 16];
	FILE *p;
	int i;

	snprintf(command, sizeof(command), "%s %s inner 2>/dev/null", nwrun, self);
	if ((p = popen(command, "r")) == NULL)
		exit(1);
	for (i = 0; i < WHATS; i++)
		if (fscanf(p, "%lf", &out[i]) != 1)
			exit(1);
	pclose(p);
}

int
main(int argc, char *argv[])
{
	double bare[ROUNDS][WHATS], with[ROUNDS][WHATS], a[ROUNDS], b[ROUNDS], clocks = 0, added;
	char self[PATH_MAX], nwrun[PATH_MAX + 16];
	ssize_t n;
	int what, i;

	if (argc == 2 && strcmp(argv[1], "inner") == 0)
		return inner();
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n <= 0)
		return 1;
	self[n] = '\0';
	snprintf(nwrun, sizeof(nwrun), "%.*s/../../../bin/nwrun", (int)(strrchr(self, '/') - self),
	    self);
	setenv("NARROWS_BOX", "127.0.0.1/1", 1);
	for (i = 0; i < ROUNDS; i++) {
		run("", self, bare[i]);
		run(nwrun, self, with[i]);
	}
	printf("%-20s %9s %9s %9s %18s\n", "ns per call", "bare", "nwrun", "added",
	    "/ two clock reads");
	for (what = 0; what < WHATS; what++) {
		for (i = 0; i < ROUNDS; i++) {
			a[i] = bare[i][what];
			b[i] = with[i][what];
		}
		added = median(b, ROUNDS) - median(a, ROUNDS);
		if (what == 0)
			clocks = median(a, ROUNDS);
		printf("%-20s %9.1f %9.1f %9.1f %18.2f\n", whats[what], median(a, ROUNDS),
		    median(b, ROUNDS), added, added / clocks);
	}
	return 0;
}
