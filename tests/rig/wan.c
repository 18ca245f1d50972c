/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A wide-area network on one machine: servers with network interfaces of one rate, a switch whose
 * output towards the client has a rate and a buffer that drops its tail, and a delay. One TUN
 * device, "wan0", in each network namespace; the last namespace is the client's.
 *
 *	wan PARAMETERS LOG PORTS NAMESPACE=ADDRESS ... CLIENT_NAMESPACE=ADDRESS
 *
 * PARAMETERS is a line: INTERFACE_MBIT OUTPUT_MBIT DELAY_MS BUFFER_BYTES. SIGHUP reads the file
 * again; SIGUSR1 prints the counters, as the end does. Each packet that the buffer has no room for
 * is an event in LOG, in the common format:
 *
 *	SWITCH_DROP; switch; seconds; nanoseconds; server number; packet bytes; bytes in the buffer
 *
 * PORTS is a file with the switch's counters as the objects that switches answer to SNMP: port N is
 * the Nth server's, the last is the client's, whose output drops. tests/snmp_agent.py answers from
 * the file, which is a new one ten times a second and at each printing of the counters.
 *
 * The switch is one of cells, as ATM switches were: a packet arrives cell by cell at the rate of
 * the server's interface, the cells of all servers share the buffer, and a packet of which one cell
 * found no room is lost whole, though its other cells take room and time.
 *
 * Times are virtual: cells enter the buffer in the order of the times at which the interfaces would
 * have sent them, however late this program runs. The delay counts in both directions; the way back
 * has no other limit.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "narrows/clock.h"

enum {
	HOSTS_MAX = 16,
	PACKET_BYTES = 9216,
	SLOTS = 4096,
	BURST = 32,
	PORTS_NS = 100000000,
	IDLE_NS = 100000000,
	CELL_BYTES = 48
};

struct parameters {
	double interface_bit_per_s, output_bit_per_s;
	int64_t delay_ns;
	uint64_t buffer_bytes;
};

struct packet {
	int64_t t_mono_ns; /* of the next cell at the switch, or of all at the receiver */
	int64_t cell_ns;
	size_t len, arrived; /* arrived: bytes at the switch */
	double
	    found_bytes; /* what was in the buffer when a cell found no room; 0: all found room */
	uint8_t bytes[PACKET_BYTES];
};

/* Packets in the order of their times. */
struct lane {
	struct packet *slots;
	size_t first, n;
	int64_t free_mono_ns; /* when the interface has sent everything */
};

struct host {
	int fd;
	uint32_t address; /* network byte order */
	struct lane out, in;
	uint64_t n_sent, n_dropped, dropped_bytes;
	uint64_t octets_in, octets_out; /* of the switch's port */
};

static struct host hosts[HOSTS_MAX]; /* the last is the client */
static size_t n_hosts;
static struct parameters now_is;
static int64_t output_free_mono_ns;
static FILE *drops;
static const char *ports_path;
static int64_t begin_mono_ns, ports_mono_ns; /* ports_mono_ns: when the file is due again */

static void
die(const char *what)
{
	fprintf(stderr, "wan: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* --- parameters and devices --- */

static bool
parameters_read(const char *path)
{
	double interface, output, delay;
	unsigned long long buffer;
	FILE *f = fopen(path, "re");
	int n = f != NULL ? fscanf(f, "%lf %lf %lf %llu", &interface, &output, &delay, &buffer) : 0;

	if (f != NULL)
		fclose(f);
	if (n != 4 || !(interface > 0) || !(output > 0) || !(delay >= 0))
		return false;
	now_is =
	    (struct parameters){ interface * 1e6, output * 1e6, (int64_t)(delay * 1e6), buffer };
	return true;
}

static void
lane_new(struct lane *l)
{
	if ((l->slots = malloc(SLOTS * sizeof(*l->slots))) == NULL)
		die("memory");
}

/* "NAMESPACE=ADDRESS"; the caller gives the device its address and MTU. */
static void
host_open(struct host *h, char *text)
{
	struct ifreq ifr = { .ifr_flags = IFF_TUN | IFF_NO_PI, .ifr_name = "wan0" };
	char path[256], *at = strchr(text, '=');
	int ns;

	if (at == NULL || inet_pton(AF_INET, at + 1, &h->address) != 1)
		die(text);
	*at = '\0';
	snprintf(path, sizeof(path), "/run/netns/%s", text);
	if ((ns = open(path, O_RDONLY | O_CLOEXEC)) < 0 || setns(ns, CLONE_NEWNET) != 0)
		die(path);
	close(ns);
	if ((h->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)) < 0 ||
	    ioctl(h->fd, TUNSETIFF, &ifr) != 0)
		die("/dev/net/tun");
	lane_new(&h->out);
	lane_new(&h->in);
}

/* --- packets --- */

static struct packet *
lane_free_slot(struct lane *l)
{
	return l->n < SLOTS ? &l->slots[(l->first + l->n) % SLOTS] : NULL;
}

static struct packet *
lane_head(struct lane *l)
{
	return l->n > 0 ? &l->slots[l->first] : NULL;
}

static void
lane_pop(struct lane *l)
{
	l->first = (l->first + 1) % SLOTS;
	l->n--;
}

/* --- the switch's ports --- */

static void
port_print(FILE *f, size_t number, const struct host *h, uint64_t dropped)
{
	static const char ports[] = "1.3.6.1.2.1.2.2.1", more[] = "1.3.6.1.2.1.31.1.1.1";

	fprintf(f, "%s.6.%zu counter64 %" PRIu64 "\n", more, number, h->octets_in);
	fprintf(f, "%s.10.%zu counter64 %" PRIu64 "\n", more, number, h->octets_out);
	fprintf(f, "%s.15.%zu gauge32 %.0f\n", more, number, now_is.output_bit_per_s / 1e6);
	fprintf(f, "%s.1.%zu text port%zu\n", more, number, number);
	fprintf(f, "%s.13.%zu counter32 0\n%s.14.%zu counter32 0\n", ports, number, ports, number);
	fprintf(f, "%s.19.%zu counter32 %" PRIu64 "\n", ports, number, dropped & UINT32_MAX);
	fprintf(f, "%s.20.%zu counter32 0\n", ports, number);
}

static void
ports_write(int64_t now)
{
	char part[1024];
	uint64_t dropped = 0;
	size_t i;
	FILE *f;

	ports_mono_ns = now + PORTS_NS;
	snprintf(part, sizeof(part), "%s.part", ports_path);
	if ((f = fopen(part, "we")) == NULL)
		die(part);
	fprintf(f, "1.3.6.1.2.1.1.3.0 timeticks %" PRId64 "\n", (now - begin_mono_ns) / 10000000);
	for (i = 0; i < n_hosts; i++) {
		port_print(f, i + 1, &hosts[i], i + 1 == n_hosts ? dropped : 0);
		dropped += hosts[i].n_dropped;
	}
	if (fclose(f) != 0 || rename(part, ports_path) != 0)
		die(ports_path);
}

/* --- packets on their way --- */

static void
packet_put(struct lane *l, const struct packet *p, int64_t t_mono_ns)
{
	struct packet *to = lane_free_slot(l);

	if (to == NULL)
		return;
	to->t_mono_ns = t_mono_ns;
	to->len = p->len;
	memcpy(to->bytes, p->bytes, p->len);
	l->n++;
}

static bool
packet_read(struct host *h, struct packet *to)
{
	ssize_t n = read(h->fd, to->bytes, sizeof(to->bytes));

	to->len = n > 0 ? (size_t)n : 0;
	return n >= 20 && to->bytes[0] >> 4 == 4;
}

/* What a server's kernel has sent goes through the interface, one packet after the other. */
static void
server_take(struct host *h, int64_t now)
{
	struct packet *p;
	int i;

	for (i = 0; i < BURST && (p = lane_free_slot(&h->out)) != NULL && packet_read(h, p); i++) {
		if (h->out.free_mono_ns < now)
			h->out.free_mono_ns = now;
		p->cell_ns = (int64_t)(CELL_BYTES * 8e9 / now_is.interface_bit_per_s);
		p->t_mono_ns = h->out.free_mono_ns + p->cell_ns;
		p->arrived = 0;
		p->found_bytes = 0;
		h->out.free_mono_ns += (int64_t)((double)p->len * 8e9 / now_is.interface_bit_per_s);
		h->out.n++;
	}
}

static void
client_take(struct host *client, int64_t now)
{
	struct packet p;
	uint32_t to;
	size_t k;
	int i;

	for (i = 0; i < BURST && packet_read(client, &p); i++) {
		memcpy(&to, p.bytes + 16, sizeof(to));
		client->octets_in += p.len;
		for (k = 0; k + 1 < n_hosts; k++)
			if (hosts[k].address == to)
				packet_put(&hosts[k].in, &p, now + now_is.delay_ns);
	}
}

static void
drop_log(size_t server, const struct packet *p)
{
	int64_t wall = nw_wall_ns() + p->t_mono_ns - nw_mono_ns();

	fprintf(drops, "SWITCH_DROP; switch; %" PRId64 "; %09" PRId64 "; %zu; %zu; %.0f\n",
	    wall / 1000000000, wall % 1000000000, server + 1, p->len, p->found_bytes);
}

static void
packet_end(size_t server, struct packet *p)
{
	struct host *h = &hosts[server];

	h->n_sent++;
	h->octets_in += p->len;
	if (p->found_bytes > 0) {
		h->n_dropped++;
		h->dropped_bytes += p->len;
		drop_log(server, p);
	} else {
		packet_put(&hosts[n_hosts - 1].in, p, output_free_mono_ns + now_is.delay_ns);
	}
	lane_pop(&h->out);
}

static void
cell_pass(size_t server)
{
	struct packet *p = lane_head(&hosts[server].out);
	int64_t start = output_free_mono_ns > p->t_mono_ns ? output_free_mono_ns : p->t_mono_ns;
	double queued = (double)(start - p->t_mono_ns) / 8e9 * now_is.output_bit_per_s;
	size_t len = p->len - p->arrived < CELL_BYTES ? p->len - p->arrived : CELL_BYTES;

	if (queued + (double)len > (double)now_is.buffer_bytes)
		p->found_bytes = queued;
	else
		output_free_mono_ns =
		    start + (int64_t)((double)len * 8e9 / now_is.output_bit_per_s);
	p->arrived += len;
	if (p->arrived == p->len)
		packet_end(server, p);
	else
		p->t_mono_ns += p->cell_ns;
}

/* The cells that have arrived by now, in the order of arrival: a later one cannot come before. */
static void
switch_run(int64_t now)
{
	size_t i, best;

	do {
		for (i = 0, best = n_hosts; i + 1 < n_hosts; i++)
			if (hosts[i].out.n > 0 && lane_head(&hosts[i].out)->t_mono_ns <= now &&
			    (best == n_hosts ||
				lane_head(&hosts[i].out)->t_mono_ns <
				    lane_head(&hosts[best].out)->t_mono_ns))
				best = i;
		if (best < n_hosts)
			cell_pass(best);
	} while (best < n_hosts);
}

static void
host_deliver(struct host *h, int64_t now)
{
	struct packet *p;

	for (; (p = lane_head(&h->in)) != NULL && p->t_mono_ns <= now; lane_pop(&h->in)) {
		if (write(h->fd, p->bytes, p->len) < 0 && errno == EAGAIN)
			return;
		h->octets_out += p->len;
	}
}

static int64_t
next_event(int64_t now)
{
	int64_t next = now + IDLE_NS;
	size_t i;

	for (i = 0; i < n_hosts; i++) {
		if (hosts[i].in.n > 0 && lane_head(&hosts[i].in)->t_mono_ns < next)
			next = lane_head(&hosts[i].in)->t_mono_ns;
		if (hosts[i].out.n > 0 && lane_head(&hosts[i].out)->t_mono_ns < next)
			next = lane_head(&hosts[i].out)->t_mono_ns;
	}
	return next;
}

/* --- main --- */

static void
counters_print(void)
{
	size_t i;

	ports_write(nw_mono_ns());
	for (i = 0; i + 1 < n_hosts; i++)
		printf("server=%zu packets=%" PRIu64 " dropped=%" PRIu64 " dropped_bytes=%" PRIu64
		       "\n",
		    i + 1, hosts[i].n_sent, hosts[i].n_dropped, hosts[i].dropped_bytes);
	fflush(stdout);
	fflush(drops);
}

/* False: the end. */
static bool
signal_serve(int fd, const char *path)
{
	struct signalfd_siginfo s;

	if (read(fd, &s, sizeof(s)) != (ssize_t)sizeof(s))
		return true;
	if (s.ssi_signo == SIGUSR1)
		counters_print();
	else if (s.ssi_signo == SIGHUP && !parameters_read(path))
		fprintf(stderr, "wan: %s: not four numbers\n", path);
	return s.ssi_signo == SIGUSR1 || s.ssi_signo == SIGHUP;
}

static void
carry(int signals, const char *path)
{
	struct pollfd p[HOSTS_MAX + 1] = { { .fd = signals, .events = POLLIN } };
	struct timespec wait;
	int64_t now, left;
	size_t i;

	for (i = 0; i < n_hosts; i++)
		p[i + 1] = (struct pollfd){ .fd = hosts[i].fd, .events = POLLIN };
	for (;;) {
		now = nw_mono_ns();
		for (i = 0; i + 1 < n_hosts; i++)
			server_take(&hosts[i], now);
		client_take(&hosts[n_hosts - 1], now);
		switch_run(now);
		for (i = 0; i < n_hosts; i++)
			host_deliver(&hosts[i], now);
		if (now >= ports_mono_ns)
			ports_write(now);
		left = next_event(now) - nw_mono_ns();
		wait = (struct timespec){ 0, left > 0 ? left : 0 };
		if (ppoll(p, n_hosts + 1, &wait, NULL) > 0 && (p[0].revents & POLLIN) != 0 &&
		    !signal_serve(signals, path))
			return;
	}
}

int
main(int argc, char **argv)
{
	const struct sched_param urgent = { .sched_priority = 20 };
	sigset_t set;
	int i, signals;

	if (argc < 6 || argc - 4 > HOSTS_MAX) {
		fprintf(stderr,
		    "usage: wan PARAMETERS LOG PORTS NAMESPACE=ADDRESS ... CLIENT=ADDRESS\n");
		return 2;
	}
	if (!parameters_read(argv[1])) {
		fprintf(stderr, "wan: %s: not four numbers\n", argv[1]);
		return 1;
	}
	if ((drops = fopen(argv[2], "ae")) == NULL)
		die(argv[2]);
	setvbuf(drops, NULL, _IOLBF, 0);
	ports_path = argv[3];
	begin_mono_ns = nw_mono_ns();
	for (i = 4; i < argc; i++)
		host_open(&hosts[n_hosts++], argv[i]);
	prctl(PR_SET_TIMERSLACK, 1);
	sched_setscheduler(0, SCHED_FIFO, &urgent); /* as good as the rights allow */
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if ((signals = signalfd(-1, &set, SFD_CLOEXEC)) < 0)
		die("signals");
	puts("ready");
	fflush(stdout);
	carry(signals, argv[1]);
	counters_print();
	return fclose(drops) == 0 ? 0 : 1;
}
