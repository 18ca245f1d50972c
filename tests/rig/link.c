/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A link between two network namespaces with rate, delay, loss and a queue that drops its tail, for
 * kernels without netem. Two TUN devices, one in each namespace; a thread per direction carries the
 * packets.
 *
 *	link NAMESPACE_A DEVICE_A NAMESPACE_B DEVICE_B PARAMETERS [large]
 *
 * PARAMETERS is a file of two lines, first the direction from A to B, then back:
 *
 *	RATE_MBIT DELAY_MS LOSS_PERCENT QUEUE_BYTES
 *
 * Rate 0 is no limit. SIGHUP reads the file again; SIGUSR1 prints counters, as the end does. The
 * caller gives the devices their addresses; txqueuelen should be 10000, for a TUN device gives its
 * sender no back-pressure. The MTU is 2,000 bytes at most.
 *
 * "large": TCP's segments pass in packets of up to 64 KiB, as network cards take them (GSO), which
 * carries several times the rate. Loss and the queue's end are drawn for each segment all the same:
 * a packet is cut around the segments that are gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <netinet/in.h>
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
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "narrows/clock.h"

enum {
	PACKET_MAX_BYTES = 2048,
	LARGE_MAX_BYTES = 66000, /* with the header of the device */
	VNET_BYTES = sizeof(struct virtio_net_hdr),
	SLOTS = 1 << 15,       /* packets on the way, per direction */
	LARGE_SLOTS = 1 << 13, /* the same, of large ones */
	SEGMENTS_MAX = 128,    /* of a large packet */
	BURST = 64,            /* packets read before the queue is served */
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
	uint8_t *scratch;     /* large packets are read here */
	int64_t free_mono_ns; /* time at which the link has sent all queued packets */
	uint64_t seed;
	pthread_mutex_t lock; /* of parameters */
	struct parameters parameters;
	atomic_ullong n_packets, n_bytes, n_lost, n_dropped, n_unwritten, late_ns, late_max_ns;
};

static struct lane lanes[2];
static bool is_large;
static size_t n_slots = SLOTS;
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
	struct ifreq ifr = { .ifr_flags = IFF_TUN | IFF_NO_PI | (is_large ? IFF_VNET_HDR : 0) };
	char path[256];
	int ns_fd, fd;

	snprintf(path, sizeof(path), "/run/netns/%s", ns);
	if ((ns_fd = open(path, O_RDONLY | O_CLOEXEC)) < 0 || setns(ns_fd, CLONE_NEWNET) != 0)
		die(path);
	close(ns_fd);
	if ((fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)) < 0)
		die("/dev/net/tun");
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", device);
	if (ioctl(fd, TUNSETIFF, &ifr) != 0 ||
	    (is_large && ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) != 0))
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

/* Bytes that wait in the queue. */
static double
waiting_bytes(const struct lane *l, const struct parameters *p, int64_t now)
{
	return l->free_mono_ns > now ? (double)(l->free_mono_ns - now) / 1e9 * p->rate_bit_per_s / 8
				     : 0;
}

/* Whether the link loses or drops a segment of so many bytes on the wire. */
static bool
is_gone(struct lane *l, const struct parameters *p, uint32_t wire, double waiting)
{
	bool lost = p->loss > 0 && random_share(l) < p->loss,
	     dropped = !lost && p->rate_bit_per_s > 0 && waiting + wire > (double)p->queue_bytes;

	l->n_packets++;
	l->n_bytes += wire;
	l->n_lost += lost;
	l->n_dropped += dropped;
	return lost || dropped;
}

/* Gives the packet in the free slot its time. */
static void
packet_time(struct lane *l, const struct parameters *p, size_t len, size_t wire, int64_t now)
{
	struct slot *s = &l->slots[(l->first + l->n) % n_slots];
	int64_t start = l->free_mono_ns > now ? l->free_mono_ns : now;

	if (p->rate_bit_per_s > 0)
		start += (int64_t)((double)wire * 8 / p->rate_bit_per_s * 1e9);
	l->free_mono_ns = start;
	s->len = (uint32_t)len;
	s->due_mono_ns = start + (int64_t)(p->delay_s * 1e9);
	l->n++;
}

/* --- packets of many segments --- */

struct large {
	const uint8_t *bytes;                      /* header of the device, headers, payload */
	size_t ip_len, head_len, payload, segment; /* head: of IP and TCP */
	size_t n;
	bool is_v4;
};

static uint16_t
get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static void
put16(uint8_t *at, uint32_t v)
{
	at[0] = (uint8_t)(v >> 8);
	at[1] = (uint8_t)v;
}

static uint32_t
fold(uint32_t sum)
{
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* False: the packet is of one segment, or of another kind than TCP over IP. */
static bool
large_read(struct large *g, const uint8_t *bytes, size_t len)
{
	struct virtio_net_hdr h;
	const uint8_t *ip = bytes + VNET_BYTES;

	memcpy(&h, bytes, sizeof(h));
	if ((h.gso_type & ~VIRTIO_NET_HDR_GSO_ECN) == VIRTIO_NET_HDR_GSO_NONE || h.gso_size == 0 ||
	    len < VNET_BYTES + 60)
		return false;
	g->is_v4 = ip[0] >> 4 == 4;
	g->bytes = bytes;
	g->ip_len = g->is_v4 ? (size_t)(ip[0] & 15) * 4 : 40;
	g->head_len = g->ip_len + (size_t)(ip[g->ip_len + 12] >> 4) * 4;
	if (ip[g->is_v4 ? 9 : 6] != IPPROTO_TCP || VNET_BYTES + g->head_len >= len)
		return false;
	g->payload = len - VNET_BYTES - g->head_len;
	g->segment = h.gso_size;
	g->n = (g->payload + g->segment - 1) / g->segment;
	return g->n > 1;
}

/* The header of IPv4 with another length and number. */
static void
ip_set(const struct large *g, uint8_t *ip, size_t len, size_t first)
{
	uint32_t sum = 0;
	size_t i;

	if (!g->is_v4) {
		put16(ip + 4, (uint32_t)(len - g->ip_len));
		return;
	}
	put16(ip + 2, (uint32_t)len);
	put16(ip + 4, get16(ip + 4) + (uint32_t)first);
	put16(ip + 10, 0);
	for (i = 0; i < g->ip_len; i += 2)
		sum += get16(ip + i);
	put16(ip + 10, ~fold(sum));
}

/* Queues the segments first to last (exclusive) as one packet. The sum of TCP is that of the
 * pseudo-header, which has the length. */
static void
large_queue(struct lane *l, const struct parameters *p, const struct large *g, size_t first,
    size_t last, int64_t now)
{
	uint8_t *to = l->slots[(l->first + l->n) % n_slots].bytes, *ip = to + VNET_BYTES,
		*tcp = ip + g->ip_len;
	const size_t from = first * g->segment,
		     end = last * g->segment < g->payload ? last * g->segment : g->payload,
		     len = g->head_len + end - from;
	struct virtio_net_hdr h;
	uint32_t seq, old_len = (uint32_t)(g->head_len - g->ip_len + g->payload);

	if (first == last)
		return;
	memcpy(&h, g->bytes, sizeof(h));
	h.hdr_len = (uint16_t)g->head_len;
	if (last - first == 1) {
		h.gso_type = VIRTIO_NET_HDR_GSO_NONE;
		h.gso_size = 0;
	}
	memcpy(to, &h, sizeof(h));
	memcpy(ip, g->bytes + VNET_BYTES, g->head_len);
	memcpy(ip + g->head_len, g->bytes + VNET_BYTES + g->head_len + from, end - from);
	ip_set(g, ip, len, first);
	seq = ((uint32_t)get16(tcp + 4) << 16 | get16(tcp + 6)) + (uint32_t)from;
	put16(tcp + 4, seq >> 16);
	put16(tcp + 6, seq);
	if (last < g->n)
		tcp[13] &= (uint8_t)~0x09; /* FIN, PSH */
	if (first > 0)
		tcp[13] &= (uint8_t)~0x80; /* CWR */
	put16(tcp + 16,
	    fold((uint32_t)get16(tcp + 16) + (~old_len & 0xffff) + (uint32_t)(len - g->ip_len)));
	packet_time(l, p, VNET_BYTES + len, (last - first) * g->head_len + end - from, now);
}

/* A packet ends behind the segments that are left between two that are gone. */
static void
large_take(struct lane *l, const struct parameters *p, const struct large *g, int64_t now)
{
	size_t s, first = 0, wire = g->head_len + g->segment;
	double ahead = waiting_bytes(l, p, now);

	for (s = 0; s < g->n; s++, ahead += (double)wire)
		if (is_gone(l, p, (uint32_t)wire, ahead)) {
			large_queue(l, p, g, first, s, now);
			first = s + 1;
			ahead -= (double)wire;
		}
	large_queue(l, p, g, first, g->n, now);
}

/* Takes the packet in the scratch of the lane or in the free slot. */
static void
packet_take(struct lane *l, const struct parameters *p, size_t len, int64_t now)
{
	uint8_t *slot = l->slots[(l->first + l->n) % n_slots].bytes;
	size_t wire = is_large ? len - VNET_BYTES : len;
	struct large g;

	if (is_large && large_read(&g, l->scratch, len)) {
		large_take(l, p, &g, now);
		return;
	}
	if (is_gone(l, p, (uint32_t)wire, waiting_bytes(l, p, now)))
		return;
	if (is_large)
		memcpy(slot, l->scratch, len);
	packet_time(l, p, len, wire, now);
}

/* --- the way through --- */

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
		l->first = (l->first + 1) % n_slots;
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
	for (i = 0; i < BURST && l->n + SEGMENTS_MAX < n_slots; i++) {
		if (is_large)
			len = read(l->in, l->scratch, LARGE_MAX_BYTES);
		else
			len = read(
			    l->in, l->slots[(l->first + l->n) % n_slots].bytes, PACKET_MAX_BYTES);
		if (len <= (is_large ? VNET_BYTES : 0))
			return i > 0;
		packet_take(l, &p, (size_t)len, nw_mono_ns());
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
		p.events = l->n + SEGMENTS_MAX < n_slots ? POLLIN : 0;
		ppoll(&p, 1, &wait, NULL);
	}
	return NULL;
}

/* --- main --- */

/* Memory of slots is taken when they are used. */
static void
lane_init(struct lane *l, int in, int out, uint64_t seed)
{
	const size_t each = is_large ? LARGE_MAX_BYTES : PACKET_MAX_BYTES;
	uint8_t *bytes = mmap(NULL, n_slots * each, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t i;

	l->in = in;
	l->out = out;
	l->seed = seed;
	pthread_mutex_init(&l->lock, NULL);
	if (bytes == MAP_FAILED || (l->slots = calloc(n_slots, sizeof(*l->slots))) == NULL ||
	    (l->scratch = malloc(LARGE_MAX_BYTES)) == NULL)
		die("memory");
	for (i = 0; i < n_slots; i++)
		l->slots[i].bytes = bytes + i * each;
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

	if (argc != 6 && (argc != 7 || strcmp(argv[6], "large") != 0)) {
		fprintf(stderr, "usage: link NS_A DEVICE_A NS_B DEVICE_B PARAMETERS [large]\n");
		return 2;
	}
	is_large = argc == 7;
	if (is_large)
		n_slots = LARGE_SLOTS;
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
