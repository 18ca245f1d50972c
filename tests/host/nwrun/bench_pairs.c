/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What nwrun adds to calls of 4 kB, as interleaved pairs inside one process: batches of calls by
 * name, which nwrun.so replaces, in turns with batches of libc's own functions. Bare, both are the
 * same, and the difference is the error of the measurement.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "narrows/clock.h"

enum { BLOCK = 4096, FILE_BYTES = 8 << 20, ROUNDS = 3000, CALLS = 32, WHATS = 4 };
static const char *const whats[WHATS] = { "read, tmpfs", "write, tmpfs", "pipe, both ends",
	"loopback, both ends" };

static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_write)(int, const void *, size_t);
static char block[BLOCK];

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static int
make_file(void)
{
	char path[] = "/dev/shm/bench_pairs.XXXXXX";
	int fd = mkstemp(path), i;

	must(fd >= 0, path);
	unlink(path);
	for (i = 0; i < FILE_BYTES / BLOCK; i++)
		must(write(fd, block, BLOCK) == BLOCK, path);
	return fd;
}

/* A pipe that a child has had leads to somebody else, as far as nwrun.so can tell. */
static void
make_pipe(int fds[2])
{
	must(pipe(fds) == 0, "pipe");
	if (fork() == 0)
		_exit(0);
	wait(NULL);
}

static void
make_connection(int fds[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	must(bind(listener, (struct sockaddr *)&a, len) == 0 && listen(listener, 1) == 0 &&
		getsockname(listener, (struct sockaddr *)&a, &len) == 0,
	    "listen");
	fds[1] = socket(AF_INET, SOCK_STREAM, 0);
	must(connect(fds[1], (struct sockaddr *)&a, len) == 0, "connect");
	fds[0] = accept(listener, NULL, NULL);
	must(fds[0] >= 0, "accept");
	close(listener);
}

/* Calls of a kind, by libc's own functions or by name. */
static void
calls(int what, const int fds[2], int real)
{
	int i;

	for (i = 0; i < CALLS; i++) {
		if (what != 0 &&
		    (real ? real_write(fds[1], block, BLOCK) : write(fds[1], block, BLOCK)) !=
			BLOCK)
			abort();
		if (what != 1 &&
		    (real ? real_read(fds[0], block, BLOCK) : read(fds[0], block, BLOCK)) != BLOCK)
			abort();
	}
}

static void
measure(int what, const int fds[2], double median_ns[2])
{
	static double ns[2][ROUNDS];
	int64_t begin_mono_ns;
	int round, k, real;

	for (round = 0; round < ROUNDS; round++)
		for (k = 0; k < 2; k++) {
			real = k ^ (round & 1);
			/* no batch finds the blocks of the batch before in the caches */
			if (what < 2)
				lseek(fds[what], (round * 2 + k) % 60 * CALLS * BLOCK, SEEK_SET);
			begin_mono_ns = nw_mono_ns();
			calls(what, fds, real);
			ns[real][round] = (double)(nw_mono_ns() - begin_mono_ns) / CALLS;
		}
	for (k = 0; k < 2; k++) {
		qsort(ns[k], ROUNDS, sizeof(ns[k][0]), compare);
		median_ns[k] = ns[k][ROUNDS / 2];
	}
}

static int
inner(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	int file = make_file(), fds[WHATS][2] = { { file, file }, { file, file } }, what;
	double ns[2];

	must(libc != NULL, "libc.so.6");
	*(void **)&real_read = dlsym(libc, "read");
	*(void **)&real_write = dlsym(libc, "write");
	make_pipe(fds[2]);
	make_connection(fds[3]);
	for (what = 0; what < WHATS; what++) {
		measure(what, fds[what], ns);
		printf("%-22s %8.0f %8.1f %7.1f %%\n", whats[what], ns[1], ns[0] - ns[1],
		    100 * (ns[0] / ns[1] - 1));
	}
	return 0;
}

int
main(int argc, char *argv[])
{
	char self[PATH_MAX], command[2 * PATH_MAX + 64];
	ssize_t n;

	if (argc == 2 && strcmp(argv[1], "inner") == 0)
		return inner();
	if ((n = readlink("/proc/self/exe", self, sizeof(self) - 1)) <= 0)
		return 1;
	self[n] = '\0';
	setenv("NARROWS_BOX", "127.0.0.1/1", 1);
	printf("%-22s %8s %8s\nbare\n", "ns per 4 kB", "libc's", "added");
	fflush(stdout);
	snprintf(command, sizeof(command), "%s inner", self);
	if (system(command) != 0)
		return 1;
	printf("under nwrun\n");
	fflush(stdout);
	snprintf(command, sizeof(command), "%.*s/../../../bin/nwrun -q %s inner",
	    (int)(strrchr(self, '/') - self), self, self);
	return system(command) != 0;
}
