/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bandwidth towards other hosts: bytes for a short while, to a blipp that listens for them
 * (bandwidth_sink.h); no other peer gets a byte. Peers are those of the directive `bandwidth`, and,
 * where a rule of the box has started the probe, the other ends of the connections that are
 * followed, once each.
 *
 * A probe disturbs, so none begins while this host follows connections for the box, or moves data,
 * or while the other end does: the probe waits for the end of the transfer, and an end that a rule
 * wants is given up after a quarter of an hour. A transfer that begins ends what is on its way. One
 * probe at a time.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/blipp/probe/bandwidth_sink.h"
#include "host/blipp/probe/probe.h"
#include "narrows/clock.h"
#include "narrows/err.h"

/* of connecting, of the greeting and of the answer */
#define PATIENCE_NS INT64_C(5000000000)
/* until a busy peer is asked again */
#define AGAIN_NS  INT64_C(2000000000)
#define WANTED_NS INT64_C(900000000000) /* longest wait for an end named by a rule */

enum { PEERS_MAX = 32, CHUNK_BYTES = 65536, CHUNKS_AT_ONCE = 16, LINE_BYTES = 96 };

enum field {
	BYTES_PER_S,
	BEST_BYTES_PER_S,
	BYTES,
	DURATION_S,
	RETRANSMITTED,
	REACHABLE,
	POSTPONED
};
static const struct series_field fields[] = {
	{ "bytes_per_s", "By/s", false },
	{ "best_bytes_per_s", "By/s", false },
	{ "bytes", "By", false },
	{ "duration_s", "s", false },
	{ "retransmitted", "{segment}", false },
	{ "reachable", "1", false },
	{ "postponed", "{event}", true },
};
enum { N_FIELDS = sizeof(fields) / sizeof(fields[0]) };
static const struct series_kind kind = { NW_TYPE_BANDWIDTH, "peer", fields, N_FIELDS };

struct bandwidth_peer {
	struct sockaddr_storage address;
	socklen_t address_len;
	bool seen;             /* by the configuration, or ordered and waiting */
	int64_t until_mono_ns; /* end of the wait of an ordered probe; 0: by the configuration */
	int64_t next_mono_ns;
	uint64_t postponed;
	struct series series;
};

enum phase { NOTHING, GREETING, SENDING, ANSWER };

struct bandwidth_probe {
	bool open;
	int epoll_fd;
	struct quiet quiet;
	struct bandwidth_sink sink;
	struct bandwidth_peer list[PEERS_MAX];
	size_t n;
	/* the probe on its way */
	enum phase phase;
	int fd;
	char name[SERIES_DEVICE_BYTES]; /* of the peer */
	int64_t phase_mono_ns, sent, max_bytes, max_ns;
	uint32_t retransmitted;
	char line[LINE_BYTES];
	size_t line_len;
};

/* --- peers --- */

static struct bandwidth_peer *
peer_find(struct bandwidth_probe *p, const char *name)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (strcmp(p->list[i].series.device, name) == 0)
			return &p->list[i];
	return NULL;
}

static struct bandwidth_peer *
peer_want(struct bandwidth_probe *p, const char *host, uint16_t port)
{
	struct bandwidth_peer new = { .seen = true }, *known;

	snprintf(new.series.device, sizeof(new.series.device), "%.46s/%u", host, port);
	if ((known = peer_find(p, new.series.device)) != NULL) {
		known->seen = true;
		return known;
	}
	if (p->n == PEERS_MAX || (new.address_len = peer_address(host, port, &new.address)) == 0)
		return NULL;
	p->list[p->n] = new;
	return &p->list[p->n++];
}

/* Peers of the configuration, and, until they have been looked at, the ends that a rule wants. */
static void
peers_want(struct bandwidth_probe *p, const struct report *r, int64_t now_mono_ns)
{
	char ends[PEERS_MAX][PEER_HOST_BYTES], host[PEER_HOST_BYTES];
	const char *text = r->bandwidth != NULL ? r->bandwidth->peers : NULL;
	struct bandwidth_peer *s;
	uint16_t port;
	size_t i, n;

	for (i = 0; i < p->n; i++)
		p->list[i].seen = p->list[i].until_mono_ns > now_mono_ns;
	while (peer_line_next(&text, host, &port))
		if ((s = peer_want(p, host, port)) != NULL)
			s->until_mono_ns = 0;
	n = r->ends != NULL && r->ends_for_bandwidth ? r->ends(r->ends_arg, ends, PEERS_MAX) : 0;
	for (i = 0; i < n; i++)
		if ((s = peer_want(p, ends[i], BANDWIDTH_PORT)) != NULL && s->next_mono_ns == 0)
			s->until_mono_ns = now_mono_ns + WANTED_NS;
}

static void
peers_sweep(struct bandwidth_probe *p, struct report *r)
{
	size_t i, kept = 0;

	for (i = 0; i < p->n; i++) {
		if (!p->list[i].seen && strcmp(p->list[i].series.device, p->name) != 0) {
			series_end(&p->list[i].series, r);
			continue;
		}
		if (kept != i)
			p->list[kept] = p->list[i];
		kept++;
	}
	p->n = kept;
}

/* --- a probe on its way --- */

static void
probe_end(struct bandwidth_probe *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	p->phase = NOTHING;
	p->name[0] = '\0';
}

static void
phase_begin(struct bandwidth_probe *p, enum phase phase)
{
	struct epoll_event e = { .events = phase == SENDING ? EPOLLOUT : EPOLLIN,
		.data.fd = p->fd };

	p->phase = phase;
	p->phase_mono_ns = nw_mono_ns();
	p->line_len = 0;
	(void)epoll_ctl(p->epoll_fd, EPOLL_CTL_MOD, p->fd, &e);
}

/* The peer says busy, or does not answer as a blipp does: another time. */
static void
probe_postpone(struct bandwidth_probe *p)
{
	struct bandwidth_peer *s = peer_find(p, p->name);

	if (s != NULL) {
		s->postponed++;
		s->next_mono_ns = nw_mono_ns() + AGAIN_NS;
	}
	probe_end(p);
}

static void
probe_result(struct bandwidth_probe *p, const double *values, struct report *r)
{
	struct bandwidth_peer *s = peer_find(p, p->name);
	double all[N_FIELDS];

	if (s != NULL) {
		memcpy(all, values, sizeof(all));
		all[POSTPONED] = (double)s->postponed;
		s->until_mono_ns = 0; /* an ordered probe is over */
		(void)series_send(&s->series, &kind, r, all);
	}
	probe_end(p);
}

/* A peer that has greeted as a blipp is there, even if nothing tells a rate. */
static void
probe_failed(struct bandwidth_probe *p, struct report *r)
{
	const double reachable = p->phase == SENDING || p->phase == ANSWER ? 1 : 0;

	probe_result(p, (const double[N_FIELDS]){ NAN, NAN, NAN, NAN, NAN, reachable, 0 }, r);
}

/* "16711680 130271244 142606336" */
static void
answer_take(struct bandwidth_probe *p, struct report *r)
{
	int64_t bytes, ns;
	double best;

	if (sscanf(p->line, "%" SCNd64 " %" SCNd64 " %lf", &bytes, &ns, &best) != 3 || bytes < 0 ||
	    bytes > p->sent || ns <= 0 || !(best >= 0)) {
		probe_failed(p, r);
		return;
	}
	probe_result(p,
	    (const double[N_FIELDS]){ (double)bytes / ((double)ns / 1e9), best, (double)p->sent,
		(double)ns / 1e9, p->retransmitted, 1, 0 },
	    r);
}

/* Reads up to the end of the line: 1 whole, 0 not yet, -1 never. */
static int
line_read(struct bandwidth_probe *p)
{
	ssize_t n = recv(p->fd, p->line + p->line_len, LINE_BYTES - 1 - p->line_len, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -1;
	p->line_len += (size_t)n;
	p->line[p->line_len] = '\0';
	return strchr(p->line, '\n') != NULL ? 1 : p->line_len == LINE_BYTES - 1 ? -1 : 0;
}

static void
greeting_take(struct bandwidth_probe *p, struct report *r)
{
	int rc = line_read(p);

	if (rc == 0)
		return;
	if (rc == 1 && strcmp(p->line, BANDWIDTH_READY) == 0)
		phase_begin(p, SENDING);
	else if (rc == 1 && strcmp(p->line, BANDWIDTH_BUSY) == 0)
		probe_postpone(p);
	else
		probe_failed(p, r);
}

static void
sending_end(struct bandwidth_probe *p)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	if (getsockopt(p->fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0)
		p->retransmitted = info.tcpi_total_retrans;
	shutdown(p->fd, SHUT_WR);
	phase_begin(p, ANSWER);
}

static void
bytes_send(struct bandwidth_probe *p, struct report *r)
{
	static char chunk[CHUNK_BYTES]; /* not const: the zeros take no room in the program */
	ssize_t n = 0;
	int i;

	for (i = 0; i < CHUNKS_AT_ONCE && p->sent < p->max_bytes; i++) {
		n = send(p->fd, chunk, sizeof(chunk), MSG_NOSIGNAL);
		if (n < 0)
			break;
		p->sent += n;
	}
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		probe_failed(p, r);
	else if (p->sent >= p->max_bytes || nw_mono_ns() - p->phase_mono_ns >= p->max_ns)
		sending_end(p);
}

static void
probe_go_on(struct bandwidth_probe *p, struct report *r)
{
	switch (p->phase) {
	case GREETING: greeting_take(p, r); break;
	case SENDING: bytes_send(p, r); break;
	case ANSWER:
		switch (line_read(p)) {
		case 1: answer_take(p, r); break;
		case -1: probe_failed(p, r); break;
		}
		break;
	case NOTHING: break;
	}
}

static void
probe_begin(struct bandwidth_probe *p, struct bandwidth_peer *s, struct report *r)
{
	struct epoll_event e = { .events = EPOLLIN };

	snprintf(p->name, sizeof(p->name), "%s", s->series.device);
	p->max_bytes = r->bandwidth->bytes;
	p->max_ns = r->bandwidth->time_ns;
	p->sent = 0;
	p->retransmitted = 0;
	p->fd = socket(s->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	e.data.fd = p->fd;
	if (p->fd < 0 || epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, p->fd, &e) < 0 ||
	    (connect(p->fd, (struct sockaddr *)&s->address, s->address_len) < 0 &&
		errno != EINPROGRESS))
		probe_failed(p, r);
	else
		phase_begin(p, GREETING);
}

/* --- the probe --- */

/* The answer to a probe whose bytes are on a slow way comes when the last byte has come. */
static int64_t
phase_patience_ns(const struct bandwidth_probe *p)
{
	return p->phase == SENDING ? p->max_ns
	    : p->phase == ANSWER   ? PATIENCE_NS + p->max_ns
				   : PATIENCE_NS;
}

static void
look_at_time(struct bandwidth_probe *p, struct report *r, int64_t now_mono_ns)
{
	if (p->phase == NOTHING || now_mono_ns - p->phase_mono_ns < phase_patience_ns(p))
		return;
	if (p->phase == SENDING)
		sending_end(p);
	else
		probe_failed(p, r);
}

/* A sink that cannot listen is said once, at the first look; probes go on without the sink. */
static int
probe_open(struct bandwidth_probe *p, struct report *r)
{
	int rc;

	if (p->open)
		return NW_OK;
	if ((p->epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0)
		return NW_EIO;
	bandwidth_sink_init(&p->sink);
	p->fd = -1;
	p->open = true;
	if (r->bandwidth == NULL || r->bandwidth->listen == NULL ||
	    (rc = bandwidth_sink_open(&p->sink, r->bandwidth->listen, p->epoll_fd)) == NW_OK)
		return NW_OK;
	if (rc == NW_EIO)
		r->why = strerror(errno);
	return NW_ECONFLICT;
}

static void
transfers_yield(struct bandwidth_probe *p, int64_t now_mono_ns)
{
	if (p->phase != NOTHING)
		probe_postpone(p);
	bandwidth_sink_yield(&p->sink, now_mono_ns);
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	int64_t now_mono_ns = nw_mono_ns();
	struct bandwidth_probe *p = state;
	size_t i;
	int rc;

	if ((rc = probe_open(p, r)) < 0)
		return rc;
	peers_want(p, r, now_mono_ns);
	peers_sweep(p, r);
	if (p->n == 0 && p->sink.listen_fd < 0)
		return NW_OK;
	if (r->transfers)
		transfers_yield(p, now_mono_ns);
	if ((rc = quiet_look(&p->quiet, buf, now_mono_ns)) < 0)
		return rc;
	bandwidth_sink_look(&p->sink, now_mono_ns);
	look_at_time(p, r, now_mono_ns);
	for (i = 0; i < p->n && p->phase == NOTHING; i++) {
		if (now_mono_ns < p->list[i].next_mono_ns || r->bandwidth == NULL)
			continue;
		if (r->transfers || !quiet_is(&p->quiet) || p->sink.fd >= 0) {
			p->list[i].postponed += p->quiet.known;
			continue;
		}
		p->list[i].next_mono_ns = now_mono_ns + r->bandwidth->every_ns;
		probe_begin(p, &p->list[i], r);
	}
	return NW_OK;
}

static int
fd(const void *state)
{
	const struct bandwidth_probe *p = state;

	return p->open ? p->epoll_fd : -1;
}

static void
ready(void *state, struct report *r)
{
	struct bandwidth_probe *p = state;
	struct epoll_event events[4];
	int n = epoll_wait(p->epoll_fd, events, 4, 0), i;
	bool own = false;

	for (i = 0; i < n; i++)
		own |= p->phase != NOTHING && events[i].data.fd == p->fd;
	if (own)
		probe_go_on(p, r);
	if (n > own)
		bandwidth_sink_ready(&p->sink, p->epoll_fd,
		    !r->transfers && p->phase == NOTHING && quiet_is(&p->quiet), nw_mono_ns());
}

static void
clear(void *state)
{
	struct bandwidth_probe *p = state;

	if (!p->open)
		return;
	probe_end(p);
	bandwidth_sink_close(&p->sink);
	procfs_close(&p->quiet.file);
	close(p->epoll_fd);
}

const struct probe probe_bandwidth = {
	.name = "bandwidth",
	.source = "send(2)",
	.event_type = NW_TYPE_BANDWIDTH,
	.kinds = { &kind },
	.state_bytes = sizeof(struct bandwidth_probe),
	.sample = sample,
	.clear = clear,
	.fd = fd,
	.ready = ready,
};
