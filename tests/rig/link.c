/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A link between two network namespaces with rate, delay, loss and a queue that drops its tail, for
 * kernels without netem. Two TUN devices, one in each namespace; a thread per direction carries the
 * packets.
 *
 *	link NAMESPACE_A DEVICE_A NAMESPACE_B DEVICE_B PARAMETERS
 *
 * PARAMETERS is a file of two lines, first the direction from A to B, then back:
 *
 *	RATE_MBIT DELAY_MS LOSS_PERCENT QUEUE_BYTES
 *
 * Rate 0 is no limit. SIGHUP reads the file again; SIGUSR1 prints counters, as the end does. The
 * caller gives the devices their addresses; txqueuelen should be 10000, for a TUN device gives its
 * sender no back-pressure. The MTU is 2,000 bytes at most; without
 * offloads on the devices loss is drawn per segment.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "narrows/clock.h"

enum {
	PACKET_MAX_BYTES = 2048,
	SLOTS = 1 << 15, /* packets on the way, per direction */
	BURST = 64,      /* packets read before the queue is served */
	IDLE_MS = 100
};

struct parameters {
	double rate_bit_per_s, delay_s, loss;
	uint64_t queue_bytes;
};

struct slot {
	int64_t due_mono_ns;
	uint32_t len;
	uint8_t *bytes;
};

struct lane {
	int in, out;
	struct slot *slots;
	size_t first, n;
	int64_t free_mono_ns; /* time at which the link has sent all queued packets */
	uint64_t seed;
	pthread_mutex_t lock; /* of parameters */
	struct parameters parameters;
	atomic_ullong n_packets, n_bytes, n_lost, n_dropped, n_unwritten, late_ns, late_max_ns;
};

static struct lane lanes[2];
static atomic_bool ending;

static void
die(const char *what)
{
	fprintf(stderr, "link: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* --- devices and parameters --- */

static int
device_open(const char *ns, const char *device)
{
	struct ifreq ifr = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	char path[256];
	int ns_fd, fd;

	snprintf(path, sizeof(path), "/run/netns/%s", ns);
	if ((ns_fd = open(path, O_RDONLY | O_CLOEXEC)) < 0 || setns(ns_fd, CLONE_NEWNET) != 0)
		die(path);
	close(ns_fd);
	if ((fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)) < 0)
		die("/dev/net/tun");
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", device);
	if (ioctl(fd, TUNSETIFF, &ifr) != 0)
		die(device);
	return fd;
}

/* False: the file is not of two lines of four numbers; the lanes are unchanged. */
static bool
parameters_read(const char *path)
{
	double mbit[2], ms[2], percent[2];
	unsigned long long queue[2];
	FILE *f = fopen(path, "re");
	int i, n = 0;

	for (i = 0; f != NULL && i < 2; i++)
		n += fscanf(f, "%lf %lf %lf %llu", &mbit[i], &ms[i], &percent[i], &queue[i]);
	if (f != NULL)
		fclose(f);
	if (n != 8)
		return false;
	for (i = 0; i < 2; i++) {
		pthread_mutex_lock(&lanes[i].lock);
		lanes[i].parameters =
		    (struct parameters){ mbit[i] * 1e6, ms[i] / 1e3, percent[i] / 100, queue[i] };
		pthread_mutex_unlock(&lanes[i].lock);
	}
	return true;
}

/* --- packets --- */

/* Uniform in [0, 1): xorshift64*. */
static double
random_share(struct lane *l)
{
	l->seed ^= l->seed >> 12;
	l->seed ^= l->seed << 25;
	l->seed ^= l->seed >> 27;
	return (double)(l->seed * 2685821657736338717u >> 11) * 0x1p-53;
}

/* Gives the packet in the free slot its time, or drops it. */
static void
packet_queue(struct lane *l, const struct parameters *p, uint32_t len, int64_t now)
{
	struct slot *s = &l->slots[(l->first + l->n) % SLOTS];
	int64_t start = l->free_mono_ns > now ? l->free_mono_ns : now;
	double waiting_bytes = (double)(start - now) / 1e9 * p->rate_bit_per_s / 8;

	l->n_packets++;
	l->n_bytes += len;
	if (p->loss > 0 && random_share(l) < p->loss) {
		l->n_lost++;
		return;
	}
	if (p->rate_bit_per_s > 0 && waiting_bytes + len > (double)p->queue_bytes) {
		l->n_dropped++;
		return;
	}
	if (p->rate_bit_per_s > 0)
		start += (int64_t)(len * 8 / p->rate_bit_per_s * 1e9);
	l->free_mono_ns = start;
	s->len = len;
	s->due_mono_ns = start + (int64_t)(p->delay_s * 1e9);
	l->n++;
}

/* A packet behind a later one, after a change of delay, waits for its turn: no reordering. */
static void
packets_deliver(struct lane *l, int64_t now)
{
	struct slot *s;
	uint64_t late;

	for (; l->n > 0 && (s = &l->slots[l->first])->due_mono_ns <= now; l->n--) {
		if (write(l->out, s->bytes, s->len) < 0)
			l->n_unwritten++;
		late = (uint64_t)(now - s->due_mono_ns);
		l->late_ns += late;
		if (late > l->late_max_ns)
			l->late_max_ns = late;
		l->first = (l->first + 1) % SLOTS;
	}
}

static bool
packets_take(struct lane *l)
{
	struct parameters p;
	ssize_t len;
	int i;

	pthread_mutex_lock(&l->lock);
	p = l->parameters;
	pthread_mutex_unlock(&l->lock);
	for (i = 0; i < BURST && l->n < SLOTS; i++) {
		len = read(l->in, l->slots[(l->first + l->n) % SLOTS].bytes, PACKET_MAX_BYTES);
		if (len <= 0)
			return i > 0;
		packet_queue(l, &p, (uint32_t)len, nw_mono_ns());
	}
	return true;
}

static void *
lane_run(void *arg)
{
	struct lane *l = arg;
	struct timespec wait;
	struct pollfd p = { .fd = l->in };
	int64_t now, left;

	prctl(PR_SET_TIMERSLACK, 1);
	while (!ending) {
		now = nw_mono_ns();
		packets_deliver(l, now);
		if (packets_take(l))
			continue;
		left = l->n > 0 ? l->slots[l->first].due_mono_ns - nw_mono_ns()
				: INT64_C(1000000) * IDLE_MS;
		if (left <= 0)
			continue;
		if (left > INT64_C(1000000) * IDLE_MS)
			left = INT64_C(1000000) * IDLE_MS;
		wait = (struct timespec){ left / 1000000000, left % 1000000000 };
		p.events = l->n < SLOTS ? POLLIN : 0;
		ppoll(&p, 1, &wait, NULL);
	}
	return NULL;
}

/* --- main --- */

static void
lane_init(struct lane *l, int in, int out, uint64_t seed)
{
	uint8_t *bytes = malloc((size_t)SLOTS * PACKET_MAX_BYTES);
	size_t i;

	l->in = in;
	l->out = out;
	l->seed = seed;
	pthread_mutex_init(&l->lock, NULL);
	if (bytes == NULL || (l->slots = calloc(SLOTS, sizeof(*l->slots))) == NULL)
		die("memory");
	for (i = 0; i < SLOTS; i++)
		l->slots[i].bytes = bytes + i * PACKET_MAX_BYTES;
}

static void
counters_print(void)
{
	unsigned long long carried;
	struct lane *l;
	int i;

	for (i = 0; i < 2; i++) {
		l = &lanes[i];
		carried = l->n_packets - l->n_lost - l->n_dropped;
		printf("%s packets=%llu bytes=%llu lost=%llu dropped=%llu unwritten=%llu "
		       "late_us=%.0f late_max_us=%.0f\n",
		    i == 0 ? "a-b" : "b-a", l->n_packets, l->n_bytes, l->n_lost, l->n_dropped,
		    l->n_unwritten, carried > 0 ? (double)l->late_ns / 1e3 / (double)carried : 0,
		    (double)l->late_max_ns / 1e3);
	}
	fflush(stdout);
}

static void
signals_serve(const sigset_t *set, const char *path)
{
	int sig;

	while (sigwait(set, &sig) == 0 && (sig == SIGHUP || sig == SIGUSR1)) {
		if (sig == SIGUSR1)
			counters_print();
		else if (!parameters_read(path))
			fprintf(stderr, "link: %s: not two lines of four numbers\n", path);
	}
}

int
main(int argc, char **argv)
{
	const struct sched_param urgent = { .sched_priority = 20 };
	pthread_t thread[2];
	sigset_t set;
	int a, b, i;

	if (argc != 6) {
		fprintf(stderr, "usage: link NS_A DEVICE_A NS_B DEVICE_B PARAMETERS\n");
		return 2;
	}
	a = device_open(argv[1], argv[2]);
	b = device_open(argv[3], argv[4]);
	lane_init(&lanes[0], a, b, 88172645463325252u);
	lane_init(&lanes[1], b, a, 1181783497276652981u);
	if (!parameters_read(argv[5])) {
		fprintf(stderr, "link: %s: not two lines of four numbers\n", argv[5]);
		return 1;
	}
	sched_setscheduler(0, SCHED_FIFO, &urgent); /* as good as the rights allow */
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (i = 0; i < 2; i++)
		if ((errno = pthread_create(&thread[i], NULL, lane_run, &lanes[i])) != 0)
			die("thread");
	puts("ready");
	fflush(stdout);
	signals_serve(&set, argv[5]);
	ending = true;
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	counters_print();
	return 0;
}
