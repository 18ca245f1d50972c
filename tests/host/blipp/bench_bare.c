/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of /proc cost by themselves: opened once, read whole from their start, and every
 * decimal number in them parsed, no more. It is the yardstick of tests/bench_blipp.py.
 *
 *     bench_bare                        the usual files, 500 rounds: processor time of a round
 *     bench_bare SECONDS FILE ...       once at every whole second, for so long
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { FILES_MAX = 256, ROUNDS = 500, TEXT_BYTES = 4 << 20 };

static const char *const usual[] = { "/proc/stat", "/proc/loadavg", "/proc/meminfo", "/proc/vmstat",
	"/proc/diskstats", "/proc/net/dev", "/proc/net/snmp", "/proc/net/netstat",
	"/proc/net/snmp6", "/proc/net/sockstat", "/proc/net/softnet_stat" };

static char *text;
static volatile uint64_t sum;

/* Every decimal number of the text. */
static size_t
numbers_parse(size_t len)
{
	size_t i = 0, n = 0;
	uint64_t v, all = 0;

	while (i < len) {
		if (text[i] < '0' || text[i] > '9') {
			i++;
			continue;
		}
		for (v = 0; i < len && text[i] >= '0' && text[i] <= '9'; i++)
			v = 10 * v + (uint64_t)(text[i] - '0');
		all += v;
		n++;
	}
	sum += all;
	return n;
}

static size_t
file_read(int fd)
{
	size_t len = 0;
	ssize_t n;

	while (len < TEXT_BYTES && (n = pread(fd, text + len, TEXT_BYTES - len, (off_t)len)) > 0) {
		len += (size_t)n;
		if (n < 2048)
			break; /* the last portion, as blipp sees it */
	}
	return numbers_parse(len);
}

static int64_t
cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void
second_wait(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec++;
	ts.tv_nsec = 0;
	while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &ts, NULL) == EINTR)
		continue;
}

int
main(int argc, char **argv)
{
	const char *const *paths = argc > 2 ? (const char *const *)argv + 2 : usual;
	size_t n_paths = argc > 2 ? (size_t)argc - 2 : sizeof(usual) / sizeof(usual[0]), n = 0, i;
	size_t rounds = argc > 2 ? strtoul(argv[1], NULL, 10) : ROUNDS, k, numbers = 0;
	int fds[FILES_MAX];
	int64_t begin;

	text = malloc(TEXT_BYTES);
	for (i = 0; i < n_paths && n < FILES_MAX; i++)
		if ((fds[n] = open(paths[i], O_RDONLY | O_CLOEXEC)) >= 0)
			n++;
	begin = cpu_ns();
	for (k = 0; text != NULL && k < rounds; k++) {
		if (argc > 2)
			second_wait();
		for (i = numbers = 0; i < n; i++)
			numbers += file_read(fds[i]);
	}
	printf("bare: %zu files, %zu numbers, %.1f us of processor time a round\n", n, numbers,
	    (double)(cpu_ns() - begin) / 1e3 / (double)(rounds > 0 ? rounds : 1));
	free(text);
	return 0;
}
