/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a view of kernel events without any privilege, as a user's program would: counts records by
 * port for a time or until SIGTERM, and lowers its own rate when the kernel says that it
 * retransmits. Prints "PORT COUNT" of each destination port, and what was lost.
 * usage: viewer SOCKET VIEW SECONDS
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <narrows/magnet.h>

static unsigned long counts[65536];
static double rate = 1;
static volatile sig_atomic_t over;

static void
on_end(int sig)
{
	(void)sig;
	over = 1;
}

static int
record_count(void *arg, const struct magnet_record *r)
{
	const struct magnet_flow4 *f = (const void *)(r + 1);

	(void)arg;
	if (r->point == POINT_TCP_RETRANSMIT)
		rate /= 2;
	if (r->form == MAGNET_FLOW4)
		counts[f->dport]++;
	return 0;
}

int
main(int argc, char **argv)
{
	struct magnet_view *v;
	const char *why;
	time_t end;
	int i;

	if (argc != 4)
		return 2;
	end = time(NULL) + atoi(argv[3]);
	if (magnet_view_open(argv[1], argv[2], &v, &why) < 0) {
		fprintf(stderr, "viewer: %s\n", why);
		return 1;
	}
	signal(SIGTERM, on_end);
	puts("open");
	fflush(stdout);
	while (!over && time(NULL) < end)
		if (magnet_view_read(v, 100, record_count, NULL) < 0)
			return 1;
	magnet_view_read(v, 0, record_count, NULL); /* what came before the signal */
	for (i = 0; i < 65536; i++)
		if (counts[i] > 0)
			printf("%d %lu\n", i, counts[i]);
	printf("lost %llu\n", (unsigned long long)magnet_view_lost(v));
	magnet_view_close(v);
	return 0;
}
