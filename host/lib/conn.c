/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/lib/tlsfiles.h"
#include "narrows/clock.h"
#include "narrows/err.h"

enum {
	HOP_BLOCK_BYTES = 20,
	/* time without an acknowledgement from the peer's machine after which the machine is
	 * taken for gone */
	UNANSWERED_MS = 30 * 1000,
	KEEPALIVE_S = 30,
	READ_AHEAD_BYTES = 4096,
	WIRE_BYTES = 16 << 10,
	READ_MIN_BYTES = NW_FRAME_V0_HEADER /* no message is shorter */
};

/* Limits on what a box may send: small control documents. A peer that announces more is no box. */
static const struct nw_frame_limits peer_limits = { .blocks_max = 64,
	.block_max_bytes = 1 << 20,
	.message_max_bytes = 2 << 20,
	.hops_max = 0,
	.hop_depth_max = 0 };

/* --- addresses --- */

/* Numbers need no resolver, which may block for seconds: conn tries them as numbers first. */
static int
resolve(const struct conn_addr *a, struct addrinfo **out)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };

	hints.ai_flags = AI_NUMERICHOST;
	if (getaddrinfo(a->host, a->port, &hints, out) == 0)
		return NW_OK;
	hints.ai_flags = AI_ADDRCONFIG;
	return getaddrinfo(a->host, a->port, &hints, out) == 0 ? NW_OK : NW_EIO;
}

/* --- life --- */

void
conn_init(struct conn *c)
{
	memset(c, 0, sizeof(*c));
	c->fd = -1;
	c->why = "never connected";
}

void
conn_close(struct conn *c, const char *why)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	nw_tls_free(c->tls);
	c->tls = NULL;
	if (c->addrs != NULL)
		freeaddrinfo(c->addrs);
	c->addrs = c->addr = NULL;
	c->state = CONN_CLOSED;
	c->why = why;
}

void
conn_clear(struct conn *c)
{
	conn_close(c, c->why);
	nw_doc_buf_clear(&c->in);
	nw_doc_buf_clear(&c->out);
}

static int
lose(struct conn *c, int rc, const char *why)
{
	conn_close(c, why);
	return rc;
}

static void
forget_bytes(struct conn *c)
{
	c->in.len = c->out.len = 0;
	c->in_taken = c->out_sent = 0;
	c->joins = false;
	c->joined = 0;
	c->in_need = READ_MIN_BYTES;
	c->drained = false;
	c->queued_bytes = c->written_bytes = 0;
	c->sealed_bytes = c->sealed_plain_bytes = 0;
}

static void
set_options(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, UNANSWERED_MS },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_S },
	};
	size_t i;

	/* helpful, not needed: failures do not matter */
	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		setsockopt(fd, options[i].level, options[i].name, &options[i].value,
		    sizeof(options[i].value));
}

/* A silent address (a dead IPv6 route, say) gets its share of the time left, not all of the
 * time. */
static int64_t
attempt_deadline(const struct conn *c)
{
	const struct addrinfo *a;
	int64_t now = nw_mono_ns(), n = 0;

	for (a = c->addr; a != NULL; a = a->ai_next)
		n++;
	return now + (c->deadline_mono_ns - now) / n;
}

/* Starts connecting to c->addr, or to the first later address that does not fail at once. */
static int
connect_from(struct conn *c)
{
	for (; c->addr != NULL; c->addr = c->addr->ai_next) {
		c->fd = socket(c->addr->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    c->addr->ai_protocol);
		if (c->fd < 0)
			continue;
		c->attempt_mono_ns = attempt_deadline(c);
		if (connect(c->fd, c->addr->ai_addr, c->addr->ai_addrlen) == 0 ||
		    errno == EINPROGRESS)
			return NW_OK;
		close(c->fd);
		c->fd = -1;
	}
	return lose(c, NW_EIO, "no server listens at the address");
}

static int
queue_handshake(struct conn *c, const uint8_t *hops, size_t hops_len)
{
	static const uint8_t anon[NW_AUTH_NAME_BYTES] = "ANON";
	const struct nw_block auth = {
		.type = NW_BLOCK_AUTH_TYP, .sport = 1, .data = anon, .len = sizeof(anon)
	};
	struct nw_block open = {
		.type = NW_BLOCK_HOP, .sport = 1, .len = HOP_BLOCK_BYTES + hops_len
	};
	uint8_t *payload = malloc(open.len);
	int rc = NW_ENOMEM;

	if (payload == NULL)
		return rc;
	nw_open_write(payload, c->sess_id);
	if (hops_len > 0)
		memcpy(payload + HOP_BLOCK_BYTES, hops, hops_len);
	open.data = payload;
	if ((rc = conn_queue(c, 1, NW_MSG_AUTH_TYPE, &auth)) == NW_OK)
		rc = conn_queue(c, 1, NW_MSG_SESS_OPEN, &open);
	free(payload);
	return rc;
}

static int
prepare_tls(struct conn *c, const struct conn_addr *a)
{
	char why[NW_TLS_WHY_BYTES] = "TLS is not offered here";
	struct nw_tls_ctx *ctx = NULL;
	int rc = NW_EUNSUPPORTED;

	if (c->files != NULL && (rc = tlsfiles_load(c->files, &ctx, why)) == NW_OK)
		rc = nw_tls_new(ctx, a->host, &c->tls);
	nw_tls_ctx_release(ctx);
	if (rc == NW_OK)
		return rc;
	memcpy(c->refusal, why, sizeof(c->refusal));
	return lose(c, NW_EIO, c->refusal);
}

int
conn_connect(struct conn *c, const struct conn_addr *a, const uint8_t *hops, size_t hops_len,
    int64_t timeout_ns)
{
	int rc;

	conn_close(c, "not connected yet");
	forget_bytes(c);
	if (getrandom(c->sess_id, sizeof(c->sess_id), 0) != (ssize_t)sizeof(c->sess_id))
		return lose(c, NW_EIO, "no random numbers");
	if ((rc = queue_handshake(c, hops, hops_len)) < 0)
		return lose(c, rc, "out of memory");
	if (a->tls && (rc = prepare_tls(c, a)) < 0)
		return rc;
	if (resolve(a, &c->addrs) < 0)
		return lose(c, NW_EIO, "the host name is not known");
	c->addr = c->addrs;
	/* the lookup has a time limit of its own */
	c->deadline_mono_ns = nw_mono_ns() + timeout_ns;
	c->state = CONN_CONNECTING;
	return connect_from(c);
}

void
conn_adopt(struct conn *c, int fd)
{
	conn_close(c, "replaced");
	forget_bytes(c);
	c->fd = fd;
	c->state = CONN_OPEN;
}

/* --- bytes --- */

static int
buf_reserve(struct nw_doc_buf *b, size_t cap)
{
	uint8_t *data;

	if (cap <= b->cap)
		return NW_OK;
	if (cap < 2 * b->cap)
		cap = 2 * b->cap;
	if ((data = realloc(b->data, cap)) == NULL)
		return NW_ENOMEM;
	b->data = data;
	b->cap = cap;
	return NW_OK;
}

/* Moves the unsent bytes to the begin of the buffer. A message of which bytes are sent, or sealed,
 * is complete. */
static void
out_compact(struct conn *c)
{
	if (c->out_sent == 0)
		return;
	if (c->out_sent > c->joined_at)
		c->joined = 0;
	c->joined_at -= c->joined > 0 ? c->out_sent : 0;
	memmove(c->out.data, c->out.data + c->out_sent, c->out.len - c->out_sent);
	c->out.len -= c->out_sent;
	c->out_sent = 0;
}

/* Adds a block of application data to the message before; false: to a message of its own. */
static bool
block_join(struct conn *c, const struct nw_block *block)
{
	size_t len = c->out.len - c->joined_at;
	long joined;

	if (!c->joins || c->joined == 0 || c->joined == NW_FRAME_JOINED_BLOCKS ||
	    (joined = nw_frame_append(NULL, len, 0, block)) > NW_FRAME_JOINED_BYTES ||
	    buf_reserve(&c->out, c->joined_at + (size_t)joined) < 0)
		return false;
	nw_frame_append(c->out.data + c->joined_at, len, (size_t)joined, block);
	c->joined++;
	c->out.len = c->joined_at + (size_t)joined;
	c->queued_bytes += (uint64_t)joined - len;
	return true;
}

int
conn_queue(struct conn *c, uint8_t version, uint16_t type, const struct nw_block *block)
{
	uint16_t n = block != NULL;
	long len = nw_frame_write(NULL, 0, version, type, c->sess_id, block, n);
	bool data = version == 1 && type == NW_MSG_APP_DATA && n > 0;

	if (len < 0)
		return (int)len;
	out_compact(c);
	if (data && block_join(c, block))
		return NW_OK;
	if (buf_reserve(&c->out, c->out.len + (size_t)len) < 0)
		return NW_ENOMEM;
	nw_frame_write(c->out.data + c->out.len, (size_t)len, version, type, c->sess_id, block, n);
	c->joined_at = c->out.len;
	c->joined = data;
	c->out.len += (size_t)len;
	c->queued_bytes += (uint64_t)len;
	return NW_OK;
}

/* Bytes for the socket: plain text, or the TLS record made of a part of the text. Returns 0 when
 * nothing waits. */
static size_t
next_bytes(struct conn *c, const uint8_t **bytes)
{
	size_t plain = c->out.len - c->out_sent;
	long n;

	*bytes = plain > 0 ? c->out.data + c->out_sent : NULL;
	if (c->tls == NULL)
		return plain;
	if (c->sealed_bytes == 0 && plain > 0 && c->state != CONN_SECURING &&
	    (n = nw_tls_write(c->tls, *bytes, plain)) > 0) {
		c->out_sent += (size_t)n;
		c->sealed_plain_bytes = (size_t)n;
	}
	return c->sealed_bytes = nw_tls_output(c->tls, bytes);
}

static void
note_sent(struct conn *c, size_t n)
{
	if (c->tls == NULL) {
		c->out_sent += n;
		c->written_bytes += n;
		return;
	}
	nw_tls_sent(c->tls, n);
	c->sealed_bytes -= n;
	if (c->sealed_bytes == 0) { /* only a whole record is of use to the peer */
		c->written_bytes += c->sealed_plain_bytes;
		c->sealed_plain_bytes = 0;
	}
}

static int
write_some(struct conn *c)
{
	const uint8_t *bytes;
	size_t len;
	ssize_t n;

	while ((len = next_bytes(c, &bytes)) > 0) {
		n = send(c->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK
			    ? NW_OK
			    : lose(c, NW_ECLOSED, "the peer closed while we wrote");
		note_sent(c, (size_t)n);
	}
	return NW_OK;
}

/* Writes all bytes that TLS has made, so that TLS may get new ones. Returns bytes, or as recv(). */
static ssize_t
take_plain(struct conn *c)
{
	size_t before = c->in.len;
	long n;

	do {
		if (buf_reserve(&c->in, c->in.len + READ_AHEAD_BYTES) < 0) {
			errno = ENOMEM;
			return -1;
		}
		if ((n = nw_tls_read(c->tls, c->in.data + c->in.len, c->in.cap - c->in.len)) > 0)
			c->in.len += (size_t)n;
	} while (n > 0);
	if (c->in.len > before)
		return (ssize_t)(c->in.len - before);
	errno = n == NW_EAGAIN ? EAGAIN : EPROTO;
	return n == NW_ECLOSED ? 0 : -1;
}

/* One read into `in`, with the results of recv(). */
static ssize_t
read_some(struct conn *c)
{
	uint8_t wire[WIRE_BYTES];
	size_t room = (c->exact ? c->in_need : c->in.cap) - c->in.len;
	ssize_t n;

	if (c->tls == NULL) {
		if ((n = recv(c->fd, c->in.data + c->in.len, room, MSG_DONTWAIT)) > 0)
			c->in.len += (size_t)n;
		c->drained = n >= 0 && (size_t)n < room;
		return n;
	}
	/* the end may lie behind the bytes of the last read */
	if ((n = take_plain(c)) >= 0 || errno != EAGAIN)
		return n;
	if ((n = recv(c->fd, wire, sizeof(wire), MSG_DONTWAIT)) <= 0)
		return n;
	nw_tls_feed(c->tls, wire, (size_t)n);
	return take_plain(c);
}

/* A port for TLS closes the connection of a peer that speaks in clear without a word. */
static const char *
closed_why(const struct conn *c, ssize_t n)
{
	if (c->state == CONN_OPENING && c->tls == NULL && c->in.len == 0)
		return "the peer closed before its first word: a port for TLS needs tls:// before "
		       "its address";
	return n == 0 ? "the peer closed" : "the connection broke";
}

/* Fills `in` to at least in_need. NW_OK: the bytes are there. */
static int
read_needed(struct conn *c)
{
	ssize_t n;

	if (buf_reserve(&c->in,
		c->exact || c->in_need > READ_AHEAD_BYTES ? c->in_need : READ_AHEAD_BYTES) < 0)
		return lose(c, NW_ENOMEM, "out of memory");
	while (c->in.len < c->in_need) {
		if (c->drained)
			return NW_EAGAIN;
		n = read_some(c);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return NW_EAGAIN;
		if (n < 0 && errno == EPROTO)
			return lose(c, NW_EPROTO, nw_tls_why(c->tls));
		if (n <= 0)
			return lose(c, NW_ECLOSED, closed_why(c, n));
	}
	return NW_OK;
}

static int
recv_frame(struct conn *c, struct nw_frame *out)
{
	const char *why = "";
	int rc;

	if (c->in_taken > 0) {
		memmove(c->in.data, c->in.data + c->in_taken, c->in.len - c->in_taken);
		c->in.len -= c->in_taken;
		c->in_taken = 0;
		c->in_need = READ_MIN_BYTES;
	}
	for (;;) {
		if ((rc = read_needed(c)) < 0)
			return rc;
		rc = nw_frame_parse(c->in.data, c->in.len, &peer_limits, out, &c->in_need, &why);
		if (rc == NW_OK) {
			c->in_taken = out->len;
			return NW_OK;
		}
		if (rc != NW_EAGAIN)
			return lose(c, rc, why);
	}
}

int
conn_recv(struct conn *c, struct nw_frame *out)
{
	return c->state == CONN_OPEN  ? recv_frame(c, out)
	    : c->state == CONN_CLOSED ? NW_ECLOSED
				      : NW_EAGAIN;
}

/* --- steps --- */

static int
finish_connect(struct conn *c, int64_t now_mono_ns)
{
	struct pollfd pfd = { .fd = c->fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int error = 0, ready = poll(&pfd, 1, 0);

	if (ready == 0 && (c->addr->ai_next == NULL || now_mono_ns < c->attempt_mono_ns))
		return NW_EAGAIN;
	if (ready != 0 && getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 &&
	    error == 0) {
		set_options(c->fd);
		freeaddrinfo(c->addrs);
		c->addrs = c->addr = NULL;
		c->state = c->tls != NULL ? CONN_SECURING : CONN_OPENING;
		return NW_OK;
	}
	close(c->fd);
	c->fd = -1;
	c->addr = c->addr->ai_next;
	return connect_from(c) < 0 ? NW_ECLOSED : NW_EAGAIN;
}

/* The handshake, as far as the socket goes. */
static int
finish_secure(struct conn *c)
{
	uint8_t wire[WIRE_BYTES];
	ssize_t n = 1;
	int rc, sent;

	while ((rc = nw_tls_handshake(c->tls)) == NW_EAGAIN && n > 0) {
		if ((sent = write_some(c)) < 0)
			return sent;
		if ((n = recv(c->fd, wire, sizeof(wire), MSG_DONTWAIT)) > 0)
			nw_tls_feed(c->tls, wire, (size_t)n);
	}
	if (rc == NW_OK) {
		c->state = CONN_OPENING;
		n = take_plain(c); /* bytes that came with the end of the handshake */
		return n >= 0 || errno == EAGAIN ? NW_OK : lose(c, NW_EPROTO, nw_tls_why(c->tls));
	}
	if (rc != NW_EAGAIN) {
		/* the alert that tells the peer our refusal, if the socket takes it at once */
		(void)write_some(c);
		return lose(c, NW_EPROTO, nw_tls_why(c->tls));
	}
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return NW_EAGAIN;
	return lose(c, NW_ECLOSED, "the peer closed during the TLS handshake");
}

static const char *
refusal_text(struct conn *c, const struct nw_frame *f)
{
	const uint8_t *text;
	const char *why;
	size_t len, i;

	if (nw_token_parse(f, &text, &len, &why) < 0 || len == 0)
		return "the peer refused the session";
	if (len >= sizeof(c->refusal))
		len = sizeof(c->refusal) - 1;
	for (i = 0; i < len; i++)
		c->refusal[i] = text[i] >= 0x20 && text[i] < 0x7f ? (char)text[i] : '?';
	c->refusal[len] = '\0';
	return c->refusal;
}

static int
finish_open(struct conn *c)
{
	struct nw_frame f;
	int rc = recv_frame(c, &f);

	if (rc < 0)
		return rc;
	if (f.type == NW_MSG_SESS_NACK)
		return lose(c, NW_ECLOSED, refusal_text(c, &f));
	if (f.type != NW_MSG_SESS_ACK)
		return lose(c, NW_EPROTO, "the peer answered the open with something else");
	c->state = CONN_OPEN;
	return NW_OK;
}

int
conn_step(struct conn *c, int64_t now_mono_ns)
{
	int rc = NW_OK;

	c->drained = false;
	if (c->state == CONN_CLOSED)
		return NW_ECLOSED;
	if (c->state == CONN_CONNECTING)
		rc = finish_connect(c, now_mono_ns);
	if (rc == NW_OK && c->state == CONN_SECURING)
		rc = finish_secure(c);
	if (rc == NW_OK)
		rc = write_some(c);
	if (rc == NW_OK && c->state == CONN_OPENING)
		rc = finish_open(c);
	if (rc == NW_EAGAIN)
		rc = now_mono_ns < c->deadline_mono_ns
		    ? NW_OK
		    : lose(c, NW_ECLOSED, "the peer did not answer in time");
	return rc;
}

int64_t
conn_deadline(const struct conn *c)
{
	switch (c->state) {
	case CONN_CONNECTING: return c->attempt_mono_ns;
	case CONN_SECURING:
	case CONN_OPENING: return c->deadline_mono_ns;
	case CONN_CLOSED:
	case CONN_OPEN: break;
	}
	return INT64_MAX;
}

short
conn_events(const struct conn *c)
{
	switch (c->state) {
	case CONN_CLOSED: return 0;
	case CONN_CONNECTING: return POLLOUT;
	case CONN_SECURING: return c->sealed_bytes > 0 ? POLLIN | POLLOUT : POLLIN;
	case CONN_OPENING:
	case CONN_OPEN: break;
	}
	return conn_unsent_bytes(c) > 0 ? POLLIN | POLLOUT : POLLIN;
}
