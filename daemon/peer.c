/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/peer.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <utlist.h>

#include "daemon/gate/admission.h"
#include "daemon/box.h"
#include "daemon/commit.h"
#include "daemon/conf.h"
#include "daemon/eventput.h"
#include "daemon/linefeed.h"
#include "narrows/provoked.h"
#include "daemon/origin.h"
#include "narrows/log.h"
#include "daemon/gate/sockuser.h"
#include "daemon/tlsctx.h"
#include "narrows/xmalloc.h"
#include "daemon/xsess.h"
#include "narrows/address.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/tls.h"

enum {
	/* size of a read and of a callback's work: peers take turns */
	READ_BYTES = 256 << 10,
	OUTPUT_MAX_BYTES = 256 << 10, /* bound of unread answers */
	GATHER_BYTES = 16 << 10,      /* of answers: a ping costs no call of its own */
	RECORD_BYTES = 16 << 10,      /* size of a TLS record */
	/* a pending beginning up to this size is copied in front of the next bytes */
	PENDING_COPY_MAX_BYTES = 4096,
	UNHINDERED_BYTES = 64 << 10, /* bytes of a peer that are taken without waiting */
	DRAIN_SECONDS = 2,
	PEER_BYTES = 2 << 10, /* memory of a peer without buffers */
	PEER_TLS_BYTES = 48 << 10,
	RECHECK_SECONDS = 60 /* period of the check for expired certificates */
};

enum peer_state { PEER_SECURING, PEER_HANDSHAKE, PEER_AUTHENTICATED, PEER_OPEN, PEER_DRAINING };

struct peer {
	struct guest guest; /* first: admission.c hands out victims as guests */
	struct box *box;
	struct peer *prev, *next;
	int fd;
	enum peer_state state;
	struct nw_tls *tls; /* NULL for a peer in clear */
	char address[INET6_ADDRSTRLEN];
	char name[INET6_ADDRSTRLEN + 8]; /* address/port */
	char *owner;                     /* owner of its provider ids, from SESS_OPEN on */
	uint8_t version;                 /* version of SESS_OPEN and of every answer */
	uint8_t sess_id[NW_SESS_ID_BYTES];
	struct xsess *xsess;
	bool speaks_lines;
	struct linefeed *feed; /* of a peer with lines, once the peer is allowed in */
	struct event *readable, *writable, *deadline;
	struct evbuffer *out;
	bool gathers; /* answers to the messages of a read go out together */
	uint8_t *in;  /* beginning of an incomplete message */
	size_t in_len, in_cap, need;
	size_t counted_bytes; /* part of the box's memory_bytes */
	const char *end_reason;
};

/* Scratch areas for every peer: only the net thread reads. `wire` holds the bytes below TLS. */
static uint8_t scratch[READ_BYTES], wire[READ_BYTES];

static void on_readable(evutil_socket_t fd, short what, void *arg);
static void on_writable(evutil_socket_t fd, short what, void *arg);
static void on_deadline(evutil_socket_t fd, short what, void *arg);

/* Changes the state, drawn in peer.h; no other function does. */
static void
peer_set_state(struct peer *p, enum peer_state next)
{
	log_debug("peer.state peer=%s from=%d to=%d", p->name, (int)p->state, (int)next);
	p->state = next;
}

static void
timeval_of(int64_t ns, struct timeval *tv)
{
	tv->tv_sec = (time_t)(ns / 1000000000);
	tv->tv_usec = (suseconds_t)(ns % 1000000000 / 1000);
}

static void
peer_free(struct peer *p)
{
	struct box *box = p->box;

	xsess_close(p->xsess, p->end_reason != NULL ? p->end_reason : "end of connection");
	if (p->feed != NULL && p->in_len > 0)
		linefeed_end(p->feed, p->in, p->in_len);
	linefeed_free(p->feed);
	DL_DELETE(box->peers, p);
	admission_leave(box->admission, &p->guest);
	box->memory_bytes -= p->counted_bytes;
	counter_sub(&box->counters.connections, 1);
	if (p->readable != NULL)
		event_free(p->readable);
	if (p->writable != NULL)
		event_free(p->writable);
	if (p->deadline != NULL)
		event_free(p->deadline);
	if (p->out != NULL)
		evbuffer_free(p->out);
	nw_tls_free(p->tls);
	close(p->fd);
	free(p->in);
	free(p->owner);
	free(p);
}

static void
address_of(struct peer *p, const struct sockaddr *sa)
{
	const struct sockaddr_in6 *v6 = (const void *)sa;
	const struct sockaddr_in *v4 = (const void *)sa;

	if (sa->sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &v6->sin6_addr, p->address, sizeof(p->address));
		snprintf(p->name, sizeof(p->name), "%s/%u", p->address, ntohs(v6->sin6_port));
	} else {
		inet_ntop(AF_INET, &v4->sin_addr, p->address, sizeof(p->address));
		snprintf(p->name, sizeof(p->name), "%s/%u", p->address, ntohs(v4->sin_port));
	}
}

/* --- room --- */

/* A line provoked by the peer: of its owner where the owner is known, else of its address. */
static void
peer_log(const struct peer *p, const char *event, const char *why)
{
	provoked_warnx(&p->box->log_rate, p->owner != NULL ? p->owner : p->address,
	    "%s peer=%s why=\"%s\"", event, p->name, why);
}

/* Closes a connection to make room for another connection, or for the box. */
static void
peer_evict(struct peer *p, const char *why)
{
	counter_add(&p->box->counters.connections_evicted, 1);
	peer_log(p, "peer.evict", why);
	if (p->end_reason == NULL)
		p->end_reason = why;
	peer_free(p);
}

static bool
peer_may_enter(struct peer *p)
{
	struct guest *victim;
	const char *why;

	while (!admission_may_enter(p->box->admission, p->address, &victim, &why)) {
		if (victim == NULL) {
			counter_add(&p->box->counters.connections_refused, 1);
			peer_log(p, "peer.refuse", why);
			return false;
		}
		peer_evict((struct peer *)victim, why);
	}
	return true;
}

/* Memory of a peer beside the buffers. */
static size_t
peer_fixed_bytes(const struct peer *p)
{
	return p->tls != NULL ? PEER_TLS_BYTES : PEER_BYTES;
}

static size_t
peer_bytes(const struct peer *p)
{
	return p->counted_bytes + (p->xsess != NULL ? xsess_bytes(p->xsess) : 0);
}

/* Brings the box's sum up to date with the peer's buffers. */
static void
peer_count(struct peer *p)
{
	size_t now = peer_fixed_bytes(p) + p->in_cap + evbuffer_get_length(p->out);

	p->box->memory_bytes += now;
	p->box->memory_bytes -= p->counted_bytes;
	p->counted_bytes = now;
}

static struct peer *
peer_largest(struct box *box)
{
	struct peer *p, *largest = box->peers;

	DL_FOREACH (box->peers, p)
		if (peer_bytes(p) > peer_bytes(largest))
			largest = p;
	return largest;
}

/* Above the budget: series of absent providers go, then the connection that holds most. */
static void
memory_bound(struct box *box)
{
	while (box->memory_bytes > box->conf->max_memory_bytes / 4 * 3) {
		if (origin_forget_oldest(box))
			continue;
		if (box->peers == NULL)
			break;
		peer_evict(peer_largest(box), "max-memory");
	}
	atomic_store_explicit(
	    &box->counters.memory_used_bytes, box->memory_bytes, memory_order_relaxed);
}

/* Makes the reserve anew; while memory does not suffice, a peer is closed. */
static void
reserve_renew(struct box *box)
{
	while (xmalloc_is_short() && !xmalloc_reserve(PEER_RESERVE_BYTES)) {
		if (origin_forget_oldest(box))
			continue;
		if (box->peers == NULL)
			break;
		peer_evict(peer_largest(box), "out of memory");
	}
}

/* --- life --- */

/* False without memory. */
static bool
peer_events_make(struct peer *p, bool tls)
{
	struct event_base *base = p->box->base;

	if (tls && (p->tls = tlsctx_accept(p->box->tlsctx, TLSCTX_XSP)) == NULL)
		return false;
	p->readable = event_new(base, p->fd, EV_READ | EV_PERSIST, on_readable, p);
	p->writable = event_new(base, p->fd, EV_WRITE, on_writable, p);
	p->deadline = event_new(base, -1, 0, on_deadline, p);
	p->out = evbuffer_new();
	return p->readable != NULL && p->writable != NULL && p->deadline != NULL && p->out != NULL;
}

static void
socket_set(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
}

static void lines_begin(struct peer *p);

void
peer_accept(struct box *box, int fd, const struct sockaddr *sa, enum peer_port port)
{
	bool tls = port == PEER_XSP_TLS || port == PEER_LINES_TLS;
	struct peer *p = calloc(1, sizeof(*p));
	struct timeval tv;

	if (p == NULL) {
		counter_add(&box->counters.connections_refused, 1);
		close(fd);
		return;
	}
	p->box = box;
	p->fd = fd;
	p->need = 1;
	p->state = tls ? PEER_SECURING : PEER_HANDSHAKE;
	p->speaks_lines = port == PEER_LINES || port == PEER_LINES_TLS;
	address_of(p, sa);
	if (!peer_may_enter(p)) {
		close(fd);
		free(p);
		return;
	}
	admission_enter(box->admission, p->address, &p->guest);
	DL_APPEND(box->peers, p);
	counter_add(&box->counters.connections_total, 1);
	counter_add(&box->counters.connections, 1);
	if (!peer_events_make(p, tls)) {
		peer_evict(p, "out of memory");
		return;
	}
	socket_set(fd);
	peer_count(p);
	timeval_of(box->conf->handshake_timeout_ns, &tv);
	event_add(p->deadline, &tv);
	if (!box->stopping)
		event_add(p->readable, NULL);
	if (p->speaks_lines && !tls)
		lines_begin(p);
	memory_bound(box);
}

/* --- output --- */

/* Seals the next record when the last record is sent. */
static size_t
sealed_output(struct peer *p, const uint8_t **bytes)
{
	size_t len = nw_tls_output(p->tls, bytes), plain = evbuffer_get_length(p->out);
	long n;

	if (len > 0)
		return len;
	if (plain > RECORD_BYTES)
		plain = RECORD_BYTES;
	if (plain > 0 &&
	    (n = nw_tls_write(p->tls, evbuffer_pullup(p->out, (ev_ssize_t)plain), plain)) > 0)
		evbuffer_drain(p->out, (size_t)n);
	else if (p->state == PEER_DRAINING)
		nw_tls_close(p->tls);
	return nw_tls_output(p->tls, bytes);
}

/* Writes waiting output to the socket. Returns 0 when nothing waits. */
static ssize_t
output_some(struct peer *p)
{
	const uint8_t *bytes;
	ssize_t n;
	size_t len;

	if (p->tls == NULL)
		return evbuffer_get_length(p->out) > 0 ? evbuffer_write(p->out, p->fd) : 0;
	if ((len = sealed_output(p, &bytes)) == 0)
		return 0;
	if ((n = send(p->fd, bytes, len, MSG_NOSIGNAL)) > 0)
		nw_tls_sent(p->tls, (size_t)n);
	return n;
}

static void
output_try(struct peer *p)
{
	const uint8_t *bytes;
	ssize_t n;

	while ((n = output_some(p)) > 0)
		continue;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		event_add(p->writable, NULL);
	else if (n < 0) { /* the connection is gone, and the next read ends the peer */
		evbuffer_drain(p->out, evbuffer_get_length(p->out));
		if (p->tls != NULL)
			nw_tls_sent(p->tls, nw_tls_output(p->tls, &bytes));
	} else if (p->state == PEER_DRAINING)
		shutdown(p->fd, SHUT_WR);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	output_try(arg);
}

static void
frame_send(
    struct peer *p, uint8_t version, uint16_t type, const struct nw_block *blocks, uint16_t n)
{
	long len = nw_frame_write(NULL, 0, version, type, p->sess_id, blocks, n);
	struct evbuffer_iovec v;

	if (len < 0 || p->speaks_lines)
		return;
	if (evbuffer_get_length(p->out) + (size_t)len > OUTPUT_MAX_BYTES) {
		p->end_reason = "does not read its answers";
		shutdown(p->fd, SHUT_RDWR);
		return;
	}
	if (evbuffer_reserve_space(p->out, len, &v, 1) != 1) {
		p->end_reason = "out of memory";
		shutdown(p->fd, SHUT_RDWR);
		return;
	}
	nw_frame_write(v.iov_base, (size_t)len, version, type, p->sess_id, blocks, n);
	v.iov_len = (size_t)len;
	evbuffer_commit_space(p->out, &v, 1);
	if (!p->gathers || evbuffer_get_length(p->out) >= GATHER_BYTES)
		output_try(p);
}

/* Sends an APP_DATA block for the XSP session. */
static void
on_send(void *arg, uint16_t opt, const uint8_t *data, size_t len)
{
	struct nw_block b = { .type = opt, .sport = 0, .data = data, .len = len };
	struct peer *p = arg;

	if (p->state == PEER_OPEN)
		frame_send(p, p->version, NW_MSG_APP_DATA, &b, 1);
}

static void
nack_send(struct peer *p, const char *why)
{
	uint8_t text[4 + NW_NACK_TEXT_MAX_BYTES];
	struct nw_block b = { .type = NW_BLOCK_NACK, .data = text };

	b.len = nw_nack_write(text, sizeof(text), why);
	frame_send(p, p->version, NW_MSG_SESS_NACK, &b, 1);
}

/* Stops writing and reads to the end: closing at once would turn unread input into a reset, and a
 * reset can destroy the answer. */
static void
peer_drain(struct peer *p, const char *reason)
{
	struct timeval tv = { DRAIN_SECONDS, 0 };

	if (p->state == PEER_DRAINING)
		return;
	p->end_reason = reason;
	peer_set_state(p, PEER_DRAINING);
	p->in_len = 0;
	event_add(p->deadline, &tv);
	output_try(p);
}

/* Refuses with a NACK, then reads to the end. The peer lives until the loop returns to it. */
static void
peer_fail(struct peer *p, int code, const char *why)
{
	if (p->state == PEER_DRAINING)
		return;
	peer_log(p, "peer.reject", why);
	log_debug("peer.reject peer=%s code=\"%s\"", p->name, nw_strerror(code));
	nack_send(p, why);
	peer_drain(p, why);
}

/* The XSP session asks for the end of the connection. */
static void
on_fail(void *arg, int code, const char *why)
{
	peer_fail(arg, code, why);
}

static void
frame_fail(struct peer *p, int code, const char *why)
{
	counter_add(&p->box->counters.rejected_frames, 1);
	peer_fail(p, code, why);
}

/* Ends a connection for a fault of TLS or the certificate: a line in the log, and an alert if TLS
 * has one. */
static void
tls_refuse(struct peer *p, const char *why)
{
	if (p->state == PEER_DRAINING)
		return;
	counter_add(&p->box->counters.rejected_tls, 1);
	provoked_warnx(&p->box->log_rate, p->address,
	    "peer.reject peer=%s certificate=\"%s\" why=\"%s\"", p->name, nw_tls_peer_name(p->tls),
	    why);
	peer_drain(p, why);
}

static void
on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct peer *p = arg;

	(void)fd;
	(void)what;
	if (p->state != PEER_DRAINING) {
		counter_add(&p->box->counters.timeouts, 1);
		p->end_reason =
		    p->state == PEER_OPEN ? "idle for too long" : "handshake took too long";
		peer_log(p, "peer.timeout", p->end_reason);
	}
	peer_free(p);
}

/* --- messages --- */

static void
auth_take(struct peer *p, const struct nw_frame *f)
{
	char name[NW_AUTH_NAME_BYTES + 1];
	const char *why = NULL;
	int rc;

	p->version = f->version;
	memcpy(p->sess_id, f->sess_id, sizeof(p->sess_id));
	if ((rc = nw_auth_parse(f, name, &why)) < 0) {
		frame_fail(p, rc, why);
		return;
	}
	if (strcasecmp(name, "ANON") != 0) {
		counter_add(&p->box->counters.rejected_auth, 1);
		peer_fail(p, NW_EUNSUPPORTED, "only authentication ANON is offered here");
		return;
	}
	peer_set_state(p, PEER_AUTHENTICATED);
}

/* The owner of the peer's provider ids: certificate, user on this machine, or address. */
static void
owner_find(struct peer *p)
{
	uint32_t uid;

	free(p->owner);
	if (p->tls != NULL)
		p->owner = xasprintf("host:%s", nw_tls_peer_name(p->tls));
	else if (address_is_loopback(p->address) && sockuser_get(p->fd, &uid))
		p->owner = xasprintf("user:%u", uid);
	else
		p->owner = xasprintf("addr:%s", p->address);
}

/* Returns false if the box is full, after an answer to the peer. */
static bool
peer_may_open(struct peer *p)
{
	struct guest *victim;
	const char *why;

	while (!admission_may_open(p->box->admission, &p->guest, &victim, &why)) {
		if (victim == NULL) {
			counter_add(&p->box->counters.connections_refused, 1);
			peer_fail(p, NW_EFULL, "the box has too many connections");
			return false;
		}
		peer_evict((struct peer *)victim, why);
	}
	return true;
}

static void
open_take(struct peer *p, const struct nw_frame *f)
{
	struct nw_open open;
	const char *why = NULL;
	struct timeval tv;
	int rc;

	p->version = f->version;
	if ((rc = nw_open_parse(f, &p->box->limits, &open, &why)) < 0) {
		frame_fail(p, rc, why);
		return;
	}
	memcpy(p->sess_id, open.sess_id, sizeof(p->sess_id));
	if (open.id_differs)
		log_info("peer.open peer=%s note=\"header and hop block name different sessions; "
			 "the latter counts\"",
		    p->name);
	if (open.n_native > 0) { /* hops of other kinds are ignored, as by the original */
		counter_add(&p->box->counters.rejected_frames, 1);
		peer_fail(p, NW_EUNSUPPORTED, "forwarding to further hops is not supported");
		return;
	}
	if (!peer_may_open(p))
		return;
	admission_open(p->box->admission, &p->guest);
	owner_find(p);
	p->xsess = xsess_open(p->box,
	    &(struct xsess_wire){ .name = p->name,
		.address = p->address,
		.certified_name = p->tls != NULL ? nw_tls_peer_name(p->tls) : NULL,
		.certified_addresses = p->tls != NULL ? nw_tls_peer_addresses(p->tls) : NULL,
		.owner = p->owner,
		.send = on_send,
		.fail = on_fail,
		.arg = p },
	    p->sess_id);
	peer_set_state(p, PEER_OPEN);
	timeval_of(p->box->conf->idle_timeout_ns, &tv);
	event_add(p->deadline, &tv);
	frame_send(p, p->version, NW_MSG_SESS_ACK, NULL, 0);
}

static void
app_data_take(struct peer *p, const struct nw_frame *f)
{
	struct nw_block b;
	const char *why = NULL;
	size_t cursor = 0;
	int rc;

	while (nw_frame_next_block(f, &cursor, &b)) {
		if ((rc = xsess_block(p->xsess, b.type, b.data, b.len, &why)) < 0) {
			frame_fail(p, rc, why != NULL ? why : nw_strerror(rc));
			return;
		}
		if (p->state != PEER_OPEN)
			return;
	}
}

/* Refuses a request and keeps the session: the original answers such requests, and its clients wait
 * for the answer. */
static void
request_refuse(struct peer *p, const char *why)
{
	counter_add(&p->box->counters.rejected_frames, 1);
	nack_send(p, why);
}

static void
open_message(struct peer *p, const struct nw_frame *f)
{
	switch (f->type) {
	case NW_MSG_APP_DATA: app_data_take(p, f); break;
	case NW_MSG_SESS_OPEN:
	case NW_MSG_PONG:
	case NW_MSG_SLAB_INFO:
	case NW_MSG_INF_DATA: break; /* nothing to do, as the original */
	case NW_MSG_NET_PATH: request_refuse(p, "network paths are not managed here"); break;
	case NW_MSG_DATA_CHAN: request_refuse(p, "no data channels here"); break;
	default: frame_fail(p, NW_EPROTO, "message type not expected in a session");
	}
}

static void
message_take(struct peer *p, const struct nw_frame *f)
{
	counter_add(&p->box->counters.frames, 1);
	if (f->type == NW_MSG_PING) {
		memcpy(p->sess_id, p->state == PEER_OPEN ? p->sess_id : f->sess_id,
		    sizeof(p->sess_id));
		frame_send(p, f->version, NW_MSG_PONG, NULL, 0);
	} else if (f->type == NW_MSG_SESS_CLOSE) {
		peer_drain(p, "closed by the peer");
		/* the session ends now, whenever the socket does */
		xsess_close(p->xsess, p->end_reason);
		p->xsess = NULL;
	} else if (p->state == PEER_OPEN)
		open_message(p, f);
	else if (p->state == PEER_HANDSHAKE && f->type == NW_MSG_AUTH_TYPE)
		auth_take(p, f);
	else if (p->state == PEER_AUTHENTICATED && f->type == NW_MSG_SESS_OPEN)
		open_take(p, f);
	else
		frame_fail(p, NW_EPROTO, "message type not expected before a session");
}

/* Takes whole messages off the front. Returns bytes consumed; p->need says when to come back. */
static size_t
messages_take(struct peer *p, const uint8_t *buf, size_t len)
{
	struct nw_frame f;
	const char *why = NULL;
	size_t at = 0;
	int rc;

	while (at < len && p->state != PEER_DRAINING) {
		const struct nw_frame_limits *lim =
		    p->state == PEER_OPEN ? &p->box->limits : &nw_frame_limits_preauth;

		rc = nw_frame_parse(buf + at, len - at, lim, &f, &p->need, &why);
		if (rc == NW_EAGAIN)
			return at;
		if (rc < 0) {
			frame_fail(p, rc, why);
			break;
		}
		at += f.len;
		message_take(p, &f);
	}
	p->need = 1;
	return p->state == PEER_DRAINING ? len : at;
}

/* --- input --- */

/* False without memory: the peer is being drained then. */
static bool
input_reserve(struct peer *p, size_t cap)
{
	uint8_t *grown;

	if (cap <= p->in_cap)
		return true;
	if ((grown = realloc(p->in, cap)) == NULL) {
		peer_fail(p, NW_ENOMEM, "out of memory");
		return false;
	}
	p->in = grown;
	p->in_cap = cap;
	return true;
}

static void
input_drop(struct peer *p)
{
	free(p->in);
	p->in = NULL;
	p->in_len = p->in_cap = 0;
}

static void
input_keep(struct peer *p, const uint8_t *rest, size_t len)
{
	if (len == 0 || !input_reserve(p, len)) {
		input_drop(p);
		return;
	}
	memmove(p->in, rest, len);
	p->in_len = len;
}

/* Lines need no greeting: the connection is open as soon as the peer is known. */
static void
lines_begin(struct peer *p)
{
	const char *certified = p->tls != NULL ? nw_tls_peer_name(p->tls) : NULL;
	struct linefeed_sender sender = { .name = p->name, .address = p->address };
	struct timeval tv;

	if (!peer_may_open(p))
		return;
	admission_open(p->box->admission, &p->guest);
	owner_find(p);
	sender.owner = p->owner;
	sender.certified = p->tls != NULL ? nw_tls_peer_addresses(p->tls) : NULL;
	sender.host = certified != NULL ? certified : p->address;
	if ((p->feed = linefeed_new(p->box, &sender)) == NULL) {
		peer_fail(p, NW_ENOMEM, "out of memory");
		return;
	}
	peer_set_state(p, PEER_OPEN);
	timeval_of(p->box->conf->idle_timeout_ns, &tv);
	event_add(p->deadline, &tv);
}

/* Takes whole messages and keeps the rest (nothing of a draining peer). len is a copy: a message
 * that ends the exchange clears in_len. */
static void
input_take(struct peer *p, const uint8_t *buf, size_t len)
{
	size_t used = p->feed != NULL ? linefeed_take(p->feed, buf, len)
	    : len >= p->need          ? messages_take(p, buf, len)
				      : 0;

	input_keep(p, buf + used, p->state == PEER_DRAINING ? 0 : len - used);
}

/* Plain text from the socket, or from TLS. Returns as recv() does. */
static ssize_t
bytes_get(struct peer *p, uint8_t *buf, size_t cap)
{
	long n;

	if (p->tls == NULL)
		return recv(p->fd, buf, cap, 0);
	if ((n = nw_tls_read(p->tls, buf, cap)) >= 0)
		return n;
	errno = n == NW_EAGAIN ? EAGAIN : ECONNABORTED;
	return n == NW_ECLOSED ? 0 : -1;
}

/* Reads once. Input is parsed in scratch, behind a short pending beginning; a long message grows in
 * its own memory. */
static ssize_t
input_read(struct peer *p)
{
	size_t want, len = p->in_len;
	ssize_t n;

	if (len <= PENDING_COPY_MAX_BYTES) {
		if (len > 0)
			memcpy(scratch, p->in, len);
		if ((n = bytes_get(p, scratch + len, sizeof(scratch) - len)) <= 0)
			return n;
		input_take(p, scratch, len + (size_t)n);
		return n;
	}
	/* The limits of the state bound p->need. Memory grows with the received bytes, not with
	 * the announced length. */
	want = p->need > p->in_len ? p->need - p->in_len : 1;
	if (want > p->in_len)
		want = p->in_len;
	if (want < 4096)
		want = 4096;
	if (!input_reserve(p, p->in_len + want)) {
		errno = EAGAIN;
		return -1;
	}
	if ((n = bytes_get(p, p->in + p->in_len, p->in_cap - p->in_len)) <= 0)
		return n;
	p->in_len += (size_t)n;
	input_take(p, p->in, p->in_len);
	return n;
}

static void
securing_go_on(struct peer *p)
{
	int rc = nw_tls_handshake(p->tls);

	if (rc == NW_OK) {
		p->state = PEER_HANDSHAKE;
		log_debug("peer.secure peer=%s certificate=%s", p->name, nw_tls_peer_name(p->tls));
		if (p->speaks_lines)
			lines_begin(p);
	} else if (rc != NW_EAGAIN)
		tls_refuse(p, nw_tls_why(p->tls));
	output_try(p);
}

/* Reads the socket once and takes all plain text of these bytes: TLS has `wire` only on loan. */
static ssize_t
sealed_read(struct peer *p)
{
	ssize_t n = recv(p->fd, wire, sizeof(wire), 0), k = -1;

	if (n <= 0)
		return n;
	nw_tls_feed(p->tls, wire, (size_t)n);
	if (p->state == PEER_SECURING)
		securing_go_on(p);
	if (p->state == PEER_SECURING)
		return n;
	errno = EAGAIN;
	while (p->state != PEER_DRAINING && (k = input_read(p)) > 0)
		continue;
	if (k < 0 && errno != EAGAIN)
		tls_refuse(p, nw_tls_why(p->tls));
	return k == 0 ? 0 : n;
}

static ssize_t
peer_read(struct peer *p)
{
	if (p->state == PEER_DRAINING) {
		input_drop(p);
		return recv(p->fd, scratch, sizeof(scratch), 0);
	}
	return p->tls != NULL ? sealed_read(p) : input_read(p);
}

/* Keeps errno, which belongs to the read. */
static void
answers_flush(struct peer *p)
{
	int err = errno;

	output_try(p);
	errno = err;
}

/* Do the owner's documents on the way to the store keep the peer waiting? A peer that sent little
 * is always read, so that the end of a short connection frees its place at once. */
static bool
peer_waits(const struct peer *p)
{
	return p->state == PEER_OPEN && p->owner != NULL &&
	    (p->xsess == NULL || p->xsess->bytes > UNHINDERED_BYTES) &&
	    commit_is_owner_full(p->box->commit, p->owner);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct peer *p = arg;
	struct box *box = p->box;
	struct timeval tv;
	ssize_t n;

	(void)fd;
	(void)what;
	if (peer_waits(p)) {
		event_del(p->readable); /* until peer_resume_all() */
		return;
	}
	p->gathers = true;
	n = peer_read(p);
	p->gathers = false;
	if (evbuffer_get_length(p->out) > 0)
		answers_flush(p);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		if (n < 0 && p->end_reason == NULL)
			p->end_reason = "connection error";
		peer_free(p);
		return;
	}
	if (xmalloc_is_short()) { /* a request of the peer took the reserve */
		peer_evict(p, "out of memory");
		reserve_renew(box);
		return;
	}
	if (p->state == PEER_OPEN) {
		timeval_of(box->conf->idle_timeout_ns, &tv);
		event_add(p->deadline, &tv);
	}
	peer_count(p);
	memory_bound(box); /* may free p */
}

/* --- all peers --- */

void
peer_tick(struct box *box)
{
	static unsigned ticks;
	int64_t now = nw_wall_ns();
	struct peer *p, *tmp;
	const char *why;

	reserve_renew(box);
	if (box->tlsctx == NULL)
		return;
	if (tlsctx_tick(box->tlsctx, now))
		event_speakers_read(box);
	else if (++ticks % RECHECK_SECONDS != 0)
		return;
	DL_FOREACH_SAFE(box->peers, p, tmp)
	if (p->tls != NULL && nw_tls_is_open(p->tls) &&
	    (why = tlsctx_objection(box->tlsctx, p->tls, now)) != NULL)
		tls_refuse(p, why);
}

void
peer_pause_all(struct box *box)
{
	struct peer *p;

	counter_add(&box->counters.paused_reads, 1);
	DL_FOREACH (box->peers, p)
		event_del(p->readable);
}

void
peer_tell_store_error(struct box *box)
{
	struct peer *p;

	DL_FOREACH (box->peers, p)
		if (p->state == PEER_OPEN && p->xsess != NULL)
			xsess_tell_store_error(p->xsess);
}

void
peer_resume_all(struct box *box)
{
	struct peer *p;

	if (box->stopping)
		return;
	DL_FOREACH (box->peers, p)
		event_add(p->readable, NULL);
}

void
peer_drain_all(struct box *box)
{
	struct peer *p, *tmp;
	int reads;

	DL_FOREACH_SAFE(box->peers, p, tmp)
	{
		for (reads = 0; reads < 64 && p->state == PEER_OPEN; reads++)
			if (peer_read(p) <= 0)
				break;
		if (p->end_reason == NULL)
			p->end_reason = "the box stops";
		peer_free(p);
	}
}
