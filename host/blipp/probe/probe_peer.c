/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sensors towards other hosts: how long a TCP connection takes, the round trip as the kernel
 * measures it, the MTU of the path and the number of hops, and how often these two have changed.
 * Peers are those of the directive `peer`, and, where a rule of the box has started the probe, the
 * other ends of the connections that are followed: there the connection goes to port 9 (discard),
 * so that no program of the transfer hears of it; a refusal is an answer, too.
 *
 * A look opens a connection and closes it at once. Then connections with a short time to live find
 * the hops: a router that says "time exceeded" ends such a connection at once. A known number of
 * hops is confirmed by two connections, else the search goes up from 1. No data are ever sent.
 */
#include "host/blipp/probe/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/lib/conn.h"
#include "narrows/clock.h"
#include "narrows/err.h"

#define PERIOD_NS   INT64_C(9500000000)
#define PATIENCE_NS INT64_C(3000000000)
/* for a connection with a short time to live: routers may say nothing */
#define HOP_PATIENCE_NS INT64_C(500000000)

enum { PEERS_MAX = 32, TTL_MAX = 30, SILENT_MAX = 4, DISCARD_PORT = 9 };

enum field { CONNECT_MS, RTT_MS, PATH_MTU, HOPS, HOP_CHANGES, MTU_CHANGES, REACHABLE, REFUSED };
static const struct series_field fields[] = {
	{ "connect_ms", "ms", false },
	{ "rtt_ms", "ms", false },
	{ "path_mtu", "By", false },
	{ "hops", "{hop}", false },
	{ "hop_changes", "{event}", true },
	{ "mtu_changes", "{event}", true },
	{ "reachable", "1", false },
	{ "refused", "1", false },
};
enum { N_FIELDS = sizeof(fields) / sizeof(fields[0]) };
static const struct series_kind kind = { NW_TYPE_PEER, "peer", fields, N_FIELDS };

struct peer_state {
	char name[SERIES_DEVICE_BYTES];
	struct sockaddr_storage address;
	socklen_t address_len;
	bool seen;
	int fd;  /* -1: no connection is on its way */
	int ttl; /* of this connection; 0: as usual */
	int64_t begun_mono_ns, next_mono_ns;
	int hops, silent; /* known hops, 0: none; connections of this search without any answer */
	bool confirming;  /* one hop less than known is tried */
	double values[N_FIELDS];
	struct series series;
};

struct peer_probe {
	bool open;
	int epoll_fd;
	struct peer_state list[PEERS_MAX];
	size_t n;
};

/* --- peers --- */

unsigned
peer_address(const char *host, uint16_t port, struct sockaddr_storage *out)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;

	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		return sizeof(*v4);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	return inet_pton(AF_INET6, host, &v6->sin6_addr) == 1 ? sizeof(*v6) : 0;
}

static void
peer_want(struct peer_probe *p, const char *host, uint16_t port)
{
	struct peer_state new = { .fd = -1, .seen = true };
	size_t i;

	snprintf(new.name, sizeof(new.name), "%.46s/%u", host, port);
	for (i = 0; i < p->n; i++)
		if (strcmp(p->list[i].name, new.name) == 0) {
			p->list[i].seen = true;
			return;
		}
	if (p->n == PEERS_MAX || (new.address_len = peer_address(host, port, &new.address)) == 0)
		return;
	snprintf(new.series.device, sizeof(new.series.device), "%s", new.name);
	p->list[p->n++] = new;
}

bool
peer_parse(const char *text, char host[PEER_HOST_BYTES], uint16_t *port)
{
	struct sockaddr_storage unused;
	struct conn_addr a;
	char *end;
	unsigned long n;

	if (conn_addr_parse(text, &a) < 0 || a.tls || strlen(a.host) >= PEER_HOST_BYTES ||
	    peer_address(a.host, 1, &unused) == 0)
		return false;
	n = strtoul(a.port, &end, 10);
	snprintf(host, PEER_HOST_BYTES, "%.45s", a.host);
	*port = (uint16_t)n;
	return *end == '\0' && n > 0 && n <= UINT16_MAX;
}

bool
peer_line_next(const char **text, char host[PEER_HOST_BYTES], uint16_t *port)
{
	char line[PEER_HOST_BYTES + 16];
	size_t n;

	while (*text != NULL && **text != '\0') {
		n = strcspn(*text, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)n, *text);
		*text += n + ((*text)[n] == '\n');
		if (peer_parse(line, host, port))
			return true;
	}
	return false;
}

static void
peers_want(struct peer_probe *p, const struct report *r)
{
	char ends[PEERS_MAX][PEER_HOST_BYTES], host[PEER_HOST_BYTES];
	const char *text = r->peers;
	uint16_t port;
	size_t i, n;

	while (peer_line_next(&text, host, &port))
		peer_want(p, host, port);
	n = r->ends != NULL && r->ends_for_peer ? r->ends(r->ends_arg, ends, PEERS_MAX) : 0;
	for (i = 0; i < n; i++)
		peer_want(p, ends[i], DISCARD_PORT);
}

static void
attempt_end(struct peer_state *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static void
peers_sweep(struct peer_probe *p, struct report *r)
{
	size_t i, kept = 0;

	for (i = 0; i < p->n; i++) {
		if (!p->list[i].seen) {
			attempt_end(&p->list[i]);
			series_end(&p->list[i].series, r);
			continue;
		}
		p->list[i].seen = false;
		if (kept != i)
			p->list[kept] = p->list[i];
		kept++;
	}
	p->n = kept;
}

/* --- one connection --- */

static void attempt_over(struct peer_probe *p, struct peer_state *s, int error, struct report *r);

/* The number of the peer goes with the event: peers move in the list between looks only while no
 * event is on its way, and the name is compared. */
static void
attempt_begin(struct peer_probe *p, struct peer_state *s, int ttl, struct report *r)
{
	struct epoll_event e = { .events = EPOLLOUT };
	bool v6 = s->address.ss_family == AF_INET6;
	const int yes = 1;

	s->ttl = ttl;
	s->begun_mono_ns = nw_mono_ns();
	s->fd = socket(s->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->fd < 0) {
		attempt_over(p, s, errno, r);
		return;
	}
	setsockopt(s->fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVERR : IP_RECVERR, &yes,
	    sizeof(yes));
	if (ttl != 0)
		setsockopt(s->fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_UNICAST_HOPS : IP_TTL,
		    &ttl, sizeof(ttl));
	e.data.fd = s->fd;
	if (epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, s->fd, &e) < 0)
		attempt_over(p, s, errno, r);
	else if (connect(s->fd, (struct sockaddr *)&s->address, s->address_len) == 0)
		attempt_over(p, s, 0, r);
	else if (errno != EINPROGRESS)
		attempt_over(p, s, errno, r);
}

static void
look_end(struct peer_state *s, struct report *r)
{
	if (s->hops != 0)
		s->values[HOPS] = s->hops;
	(void)series_send(&s->series, &kind, r, s->values);
}

static void
path_mtu_note(struct peer_state *s)
{
	bool v6 = s->address.ss_family == AF_INET6;
	double before = s->values[PATH_MTU];
	socklen_t len = sizeof(int);
	int mtu;

	if (getsockopt(s->fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU : IP_MTU, &mtu, &len) <
	    0)
		return;
	s->values[PATH_MTU] = mtu;
	if (before > 0 && before != mtu)
		s->values[MTU_CHANGES]++;
}

/* The first connection of a look. */
static void
first_over(struct peer_probe *p, struct peer_state *s, int error, struct report *r)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	s->values[REFUSED] = error == ECONNREFUSED;
	s->values[REACHABLE] = error == 0 || error == ECONNREFUSED;
	s->values[CONNECT_MS] = s->values[RTT_MS] = s->values[HOPS] = NAN;
	if (s->values[REACHABLE] == 0) {
		s->hops = 0;
		attempt_end(s);
		look_end(s, r);
		return;
	}
	s->values[CONNECT_MS] = (double)(nw_mono_ns() - s->begun_mono_ns) / 1e6;
	s->values[RTT_MS] = s->values[CONNECT_MS];
	if (error == 0) {
		path_mtu_note(s);
		if (getsockopt(s->fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0)
			s->values[RTT_MS] = info.tcpi_rtt / 1e3;
	}
	attempt_end(s);
	s->silent = 0;
	s->confirming = s->hops > 1;
	attempt_begin(p, s, s->hops > 1 ? s->hops - 1 : 1, r);
}

/* A connection with a short time to live has reached the peer, or not. */
static void
hop_over(struct peer_probe *p, struct peer_state *s, int error, struct report *r)
{
	bool reached = error == 0 || error == ECONNREFUSED;
	int ttl = s->ttl, before = s->hops;

	attempt_end(s);
	s->silent += error == ETIMEDOUT;
	if (s->confirming && reached) { /* nearer than before: search anew */
		s->confirming = false;
		attempt_begin(p, s, 1, r);
		return;
	}
	s->confirming = false;
	if (!reached && ttl < TTL_MAX && s->silent < SILENT_MAX) {
		attempt_begin(p, s, ttl + 1, r);
		return;
	}
	s->hops = reached ? ttl : 0;
	if (before != 0 && s->hops != 0 && s->hops != before)
		s->values[HOP_CHANGES]++;
	look_end(s, r);
}

static void
attempt_over(struct peer_probe *p, struct peer_state *s, int error, struct report *r)
{
	if (s->ttl == 0)
		first_over(p, s, error, r);
	else
		hop_over(p, s, error, r);
}

/* --- the probe --- */

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	int64_t now_mono_ns = nw_mono_ns();
	struct peer_probe *p = state;
	struct peer_state *s;
	size_t i;

	(void)buf;
	if (!p->open && (p->epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0)
		return NW_EIO;
	p->open = true;
	peers_want(p, r);
	peers_sweep(p, r);
	for (i = 0; i < p->n; i++) {
		s = &p->list[i];
		if (s->fd >= 0 &&
		    now_mono_ns - s->begun_mono_ns >= (s->ttl == 0 ? PATIENCE_NS : HOP_PATIENCE_NS))
			attempt_over(p, s, ETIMEDOUT, r);
		if (s->fd >= 0 || now_mono_ns < s->next_mono_ns)
			continue;
		s->next_mono_ns = now_mono_ns + PERIOD_NS;
		attempt_begin(p, s, 0, r);
	}
	return NW_OK;
}

static int
fd(const void *state)
{
	const struct peer_probe *p = state;

	return p->open ? p->epoll_fd : -1;
}

static void
ready(void *state, struct report *r)
{
	struct peer_probe *p = state;
	struct epoll_event events[PEERS_MAX];
	int n = epoll_wait(p->epoll_fd, events, PEERS_MAX, 0), i, error;
	socklen_t len = sizeof(error);
	size_t k;

	for (i = 0; i < n; i++)
		for (k = 0; k < p->n; k++) {
			if (p->list[k].fd != events[i].data.fd)
				continue;
			error = 0;
			if (getsockopt(events[i].data.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
				error = errno;
			attempt_over(p, &p->list[k], error, r);
			break;
		}
}

static void
clear(void *state)
{
	struct peer_probe *p = state;
	size_t i;

	for (i = 0; i < p->n; i++)
		attempt_end(&p->list[i]);
	if (p->open)
		close(p->epoll_fd);
}

const struct probe probe_peer = {
	.name = "peer",
	.source = "connect(2)",
	.event_type = NW_TYPE_PEER,
	.kinds = { &kind },
	.state_bytes = sizeof(struct peer_probe),
	.sample = sample,
	.clear = clear,
	.fd = fd,
	.ready = ready,
};
