/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sender that adapts to what its kernel says: datagrams go to a receiver that is too slow, and
 * each time that the kernel drops some of them the sender halves its rate. It reads the kernel's
 * events without any privilege. Prints "RATE_FIRST RATE_LAST DROPS_FIRST_HALF DROPS_SECOND_HALF".
 *
 * usage: pacer SOCKET VIEW PORT SECONDS
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <narrows/magnet.h>

enum { RATE_FIRST = 20000, RATE_MIN = 10, RECEIVED_PER_S = 1000 };

static unsigned port;
static struct sockaddr_in to;
static volatile int over;

static double
now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void *
receive(void *arg)
{
	struct timespec pause = { 0, 1000000000 / RECEIVED_PER_S };
	int s = *(int *)arg;
	char b[200];

	while (!over) {
		(void)recv(s, b, sizeof(b), MSG_DONTWAIT);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static int
drop_count(void *arg, const struct magnet_record *r)
{
	const struct magnet_flow4 *f = (const void *)(r + 1);
	unsigned long *drops = arg;

	*drops += r->point == POINT_PACKET_DROP && r->form == MAGNET_FLOW4 && f->dport == port;
	return 0;
}

/* Sends for a tenth of a second, then looks what the kernel dropped; returns the next rate. */
static double
step(int s, struct magnet_view *v, double rate, unsigned long *drops)
{
	double begin = now_s();
	unsigned long lost = 0;
	int sent = 0;

	while (now_s() - begin < 0.1)
		if (sent < (now_s() - begin) * rate)
			sent += send(s, "datagram", 8, 0) == 8;
	(void)magnet_view_read(v, 0, drop_count, &lost);
	*drops += lost;
	return lost > 0 && rate > RATE_MIN ? rate / 2 : rate;
}

int
main(int argc, char **argv)
{
	int r = socket(AF_INET, SOCK_DGRAM, 0), s = socket(AF_INET, SOCK_DGRAM, 0), small = 4096;
	double begin, rate = RATE_FIRST, seconds;
	unsigned long drops[2] = { 0, 0 };
	struct magnet_view *v;
	const char *why = "";
	pthread_t receiver;

	if (argc != 5)
		return 2;
	port = (unsigned)atoi(argv[3]);
	seconds = atof(argv[4]);
	to = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
	setsockopt(r, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	if (magnet_view_open(argv[1], argv[2], &v, &why) < 0 ||
	    bind(r, (const struct sockaddr *)&to, sizeof(to)) != 0 ||
	    connect(s, (const struct sockaddr *)&to, sizeof(to)) != 0)
		return fprintf(stderr, "pacer: %s\n", why), 1;
	pthread_create(&receiver, NULL, receive, &r);
	begin = now_s();
	while (now_s() - begin < seconds)
		rate = step(s, v, rate, &drops[now_s() - begin > seconds / 2]);
	over = 1;
	pthread_join(receiver, NULL);
	printf("%d %.0f %lu %lu\n", RATE_FIRST, rate, drops[0], drops[1]);
	magnet_view_close(v);
	return 0;
}
