/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What nwrun adds to the processor time of a loop that takes 10,000 small batches a second from a
 * worker, through a pipe and a semaphore in shared memory: the time of both processes, bare and
 * under nwrun in turns, and the ratio of the medians.
 */
#include <limits.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "narrows/clock.h"

enum { BATCH = 1024, PER_TICK = 10, TICKS = 2000, ROUNDS = 9, WORK = 1500, QUEUE = 64 };

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* About 10 us of decoding. */
static uint64_t
work(const unsigned char *batch)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < WORK; i++)
		sum = sum * 31 + batch[i % BATCH] + (sum >> 7);
	return sum;
}

static void
wait_until(int64_t mono_ns)
{
	struct timespec t = { mono_ns / 1000000000, mono_ns % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void
worker(int fd, sem_t *room)
{
	unsigned char batch[BATCH] = { 1 };
	int64_t begin_mono_ns = nw_mono_ns();
	int tick, i;

	for (tick = 0; tick < TICKS; tick++) {
		for (i = 0; i < PER_TICK; i++) {
			batch[0] = (unsigned char)work(batch);
			while (sem_wait(room) != 0)
				;
			if (write(fd, batch, BATCH) != BATCH)
				_exit(1);
		}
		wait_until(begin_mono_ns + (tick + 1) * INT64_C(1000000));
	}
	_exit(0);
}

static double
seconds_of(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	    (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static int
inner(void)
{
	sem_t *room = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned char batch[BATCH];
	uint64_t sum = 0;
	int fds[2], status;
	ssize_t n;

	if (room == MAP_FAILED || sem_init(room, 1, QUEUE) != 0 || pipe(fds) != 0)
		return 1;
	if (fork() == 0)
		worker(fds[1], room);
	close(fds[1]);
	while ((n = read(fds[0], batch, BATCH)) > 0) {
		sum += work(batch);
		sem_post(room);
	}
	if (wait(&status) < 0 || status != 0 || sum == 0)
		return 1;
	printf("%.6f\n", seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN));
	return 0;
}

static double
run(const char *command)
{
	FILE *from = popen(command, "r");
	double s = 0;

	if (from == NULL || fscanf(from, "%lf", &s) != 1 || pclose(from) != 0) {
		fprintf(stderr, "%s: failed\n", command);
		exit(1);
	}
	return s;
}

int
main(int argc, char *argv[])
{
	char self[PATH_MAX], bare[PATH_MAX + 64], under[2 * PATH_MAX + 64];
	double s[2][ROUNDS];
	ssize_t n;
	int i;

	if (argc == 2 && strcmp(argv[1], "inner") == 0)
		return inner();
	if ((n = readlink("/proc/self/exe", self, sizeof(self) - 1)) <= 0)
		return 1;
	self[n] = '\0';
	setenv("NARROWS_BOX", "127.0.0.1/1", 1);
	snprintf(bare, sizeof(bare), "%s inner", self);
	snprintf(under, sizeof(under), "%.*s/../../../bin/nwrun -q %s inner",
	    (int)(strrchr(self, '/') - self), self, self);
	for (i = 0; i < ROUNDS; i++) {
		s[0][i] = run(bare);
		s[1][i] = run(under);
	}
	for (i = 0; i < 2; i++)
		qsort(s[i], ROUNDS, sizeof(s[i][0]), compare);
	printf("%d batches/s: %.3f s of processor time bare, %.3f s under nwrun: %+.1f %%\n",
	    PER_TICK * 1000, s[0][ROUNDS / 2], s[1][ROUNDS / 2],
	    100 * (s[1][ROUNDS / 2] / s[0][ROUNDS / 2] - 1));
	return 0;
}
