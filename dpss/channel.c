/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two locks: a reader never waits for a sender with a peer that does not read. `machine` is held
 * for the moments of the TLS machine's work, `sending` for the whole way of a message.
 */
#include "dpss/channel.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/tls.h"

enum {
	HEADER_BYTES = 6,
	IN_BYTES = 64 << 10,
	IN_BEHIND_BYTES = 4096, /* read along with long data: the next message's beginning */
	MESSAGE_S = 20,         /* for a begun message, and a second for each of these bytes */
	MESSAGE_BYTES_PER_S = 64 << 10,
	BACKLOG = 128,
	STUCK_MS = 30000 /* a peer is gone if no byte was taken for so long */
};
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

struct channel {
	int fd;
	struct nw_tls *tls; /* NULL in clear */
	pthread_mutex_t machine, sending;
	uint64_t sent_bytes; /* in clear; under `sending` */
	size_t limit;
	struct channel_sink sink;
	struct channel_large large; /* without functions: an unbounded reader */
	bool has_place;
	int64_t end_mono_ns; /* of the begun message of a bounded reader; 0: none */
	int (*on_silence)(void *arg);
	void *silence_arg;
	uint8_t *message;
	size_t message_cap;
	uint8_t in[IN_BYTES];
	size_t in_at, in_len;
};

/* --- bytes --- */

static int
send_flagged(int fd, struct iovec *iov, size_t n, int flags)
{
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = n };
	ssize_t sent;

	while (m.msg_iovlen > 0) {
		if ((sent = sendmsg(fd, &m, MSG_NOSIGNAL | flags)) < 0) {
			if (errno == EINTR)
				continue;
			return errno == EPIPE || errno == ECONNRESET ? NW_ECLOSED : NW_EIO;
		}
		while (m.msg_iovlen > 0 && (size_t)sent >= m.msg_iov->iov_len) {
			sent -= (ssize_t)m.msg_iov->iov_len;
			m.msg_iov++;
			m.msg_iovlen--;
		}
		if (m.msg_iovlen > 0) {
			m.msg_iov->iov_base = (char *)m.msg_iov->iov_base + sent;
			m.msg_iov->iov_len -= (size_t)sent;
		}
	}
	return NW_OK;
}

static int
send_all(int fd, struct iovec *iov, size_t n)
{
	return send_flagged(fd, iov, n, 0);
}

/* More bytes follow at once: both go in the same segments. */
static int
send_more(int fd, uint8_t *bytes, size_t len)
{
	struct iovec iov = { bytes, len };

	return send_flagged(fd, &iov, 1, MSG_MORE);
}

/* Sends the machine's bytes for the wire. Called with `sending` held. */
static int
tls_flush(struct channel *w)
{
	uint8_t copy[NW_TLS_OUT_MAX_BYTES];
	const uint8_t *out;
	struct iovec iov;
	size_t len;

	pthread_mutex_lock(&w->machine);
	if ((len = nw_tls_output(w->tls, &out)) > sizeof(copy))
		len = sizeof(copy);
	memcpy(copy, out, len);
	nw_tls_sent(w->tls, len);
	pthread_mutex_unlock(&w->machine);
	iov = (struct iovec){ copy, len };
	return len > 0 ? send_all(w->fd, &iov, 1) : NW_OK;
}

static int
tls_send(struct channel *w, const uint8_t *bytes, size_t len)
{
	long taken;
	int rc = NW_OK;

	while (len > 0 && rc == NW_OK) {
		pthread_mutex_lock(&w->machine);
		taken = nw_tls_write(w->tls, bytes, len);
		pthread_mutex_unlock(&w->machine);
		if (taken < 0 && taken != NW_EFULL)
			return (int)taken;
		if (taken > 0) {
			bytes += taken;
			len -= (size_t)taken;
		}
		rc = tls_flush(w);
	}
	return rc;
}

/* Reads end with NW_EAGAIN after so long a silence. */
static void
silence_set(struct channel *w, int ms)
{
	struct timeval limit = { ms / 1000, ms % 1000 * 1000 };

	setsockopt(w->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

static int
silence_end(struct channel *w)
{
	return w->on_silence != NULL ? w->on_silence(w->silence_arg) : NW_EAGAIN;
}

/* Waits for bytes until the begun message must be complete. */
static int
message_await(struct channel *w)
{
	int64_t left = w->end_mono_ns - nw_mono_ns();
	struct pollfd p = { .fd = w->fd, .events = POLLIN };

	if (left <= 0)
		return NW_EAGAIN;
	return poll(&p, 1, (int)(left / NS_PER_MS) + 1) < 0 && errno != EINTR ? NW_EIO : NW_OK;
}

/* At least a byte, first into out and what comes behind into w->in; *n gets the bytes in out. */
static int
receive(struct channel *w, uint8_t *out, size_t len, size_t *n)
{
	struct iovec iov[2] = { { out, len },
		{ w->in, len >= IN_BYTES / 4 ? IN_BEHIND_BYTES : sizeof(w->in) } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t got;
	int rc;

	while ((got = recvmsg(w->fd, &m, w->end_mono_ns != 0 ? MSG_DONTWAIT : 0)) < 0) {
		if (errno == EAGAIN || errno == EWOULDBLOCK) {
			rc = w->end_mono_ns != 0 ? message_await(w) : silence_end(w);
			if (rc != NW_OK)
				return rc;
		} else if (errno != EINTR) {
			break;
		}
	}
	if (got <= 0)
		return got == 0 || errno == ECONNRESET ? NW_ECLOSED : NW_EIO;
	*n = (size_t)got < len ? (size_t)got : len;
	w->in_at = 0;
	w->in_len = (size_t)got - *n;
	return NW_OK;
}

static int
read_clear(struct channel *w, uint8_t *out, size_t len)
{
	size_t n;
	int rc;

	while (len > 0) {
		if (w->in_at < w->in_len) {
			n = w->in_len - w->in_at < len ? w->in_len - w->in_at : len;
			memcpy(out, w->in + w->in_at, n);
			w->in_at += n;
		} else if ((rc = receive(w, out, len, &n)) != NW_OK) {
			return rc;
		}
		out += n;
		len -= n;
	}
	return NW_OK;
}

static int
read_tls(struct channel *w, uint8_t *out, size_t len)
{
	size_t none;
	long n;
	int rc;

	while (len > 0) {
		pthread_mutex_lock(&w->machine);
		n = nw_tls_read(w->tls, out, len);
		pthread_mutex_unlock(&w->machine);
		if (n > 0) {
			out += n;
			len -= (size_t)n;
		} else if (n != NW_EAGAIN) {
			return n == 0 ? NW_ECLOSED : (int)n;
		} else {
			if ((rc = receive(w, NULL, 0, &none)) != NW_OK)
				return rc;
			pthread_mutex_lock(&w->machine);
			nw_tls_feed(w->tls, w->in, w->in_len);
			pthread_mutex_unlock(&w->machine);
			w->in_at = w->in_len;
		}
	}
	return NW_OK;
}

static int
read_all(struct channel *w, uint8_t *out, size_t len)
{
	return w->tls != NULL ? read_tls(w, out, len) : read_clear(w, out, len);
}

/* --- messages --- */

static int
message_room(struct channel *w, size_t len)
{
	uint8_t *grown;

	if (len <= w->message_cap)
		return NW_OK;
	if ((grown = realloc(w->message, len)) == NULL)
		return NW_ENOMEM;
	w->message = grown;
	w->message_cap = len;
	return NW_OK;
}

/* Returns the memory of a large message, and then its place. */
static void
place_give(struct channel *w)
{
	if (!w->has_place)
		return;
	free(w->message);
	w->message = NULL;
	w->message_cap = 0;
	w->has_place = false;
	w->large.give(w->large.arg);
}

/* The end of a message that has begun. */
static void
message_time(struct channel *w, size_t len)
{
	if (w->large.take != NULL)
		w->end_mono_ns =
		    nw_mono_ns() + (MESSAGE_S + (int64_t)(len / MESSAGE_BYTES_PER_S)) * NS_PER_S;
}

static int
header_read(struct channel *w, uint8_t header[HEADER_BYTES])
{
	int rc;

	if ((rc = read_all(w, header, 1)) != NW_OK)
		return rc;
	message_time(w, 0);
	return read_all(w, header + 1, HEADER_BYTES - 1);
}

/* A place for a large message. Its time begins with the place. */
static int
place_take(struct channel *w, size_t len)
{
	int rc;

	if (w->large.take == NULL || len <= CHANNEL_SMALL_BYTES)
		return NW_OK;
	if ((rc = w->large.take(w->large.arg)) != NW_OK)
		return rc;
	w->has_place = true;
	message_time(w, len);
	return NW_OK;
}

/* The data of a message whose owner lends the memory. */
static int
data_read(struct channel *w, size_t len, struct channel_message *out)
{
	int rc;

	if ((out->data = w->sink.give(w->sink.arg, len)) == NULL)
		return NW_ENOMEM;
	out->data_len = len;
	if ((rc = read_all(w, out->data, len)) != NW_OK) {
		w->sink.take_back(out->data);
		out->data = NULL;
	}
	return rc;
}

static int
message_read(struct channel *w, struct channel_message *out)
{
	uint8_t header[HEADER_BYTES] = { 0 };
	struct unpacker u = unpack_of(header, sizeof(header));
	size_t len, head;
	int rc;

	out->data = NULL;
	out->data_len = 0;
	if ((rc = header_read(w, header)) != NW_OK)
		return rc;
	len = unpack_u32(&u);
	out->type = unpack_u16(&u);
	if (len > w->limit)
		return NW_EPROTO;
	head = w->sink.give != NULL && out->type == w->sink.type && len > w->sink.head_bytes
	    ? w->sink.head_bytes
	    : len;
	if ((rc = place_take(w, len)) != NW_OK || (rc = message_room(w, head)) != NW_OK)
		return rc;
	if ((rc = read_all(w, w->message, head)) == NW_OK && len > head)
		rc = data_read(w, len - head, out);
	out->contents = unpack_of(w->message, head);
	return rc;
}

int
channel_read(struct channel *w, struct channel_message *out)
{
	int rc;

	place_give(w);
	rc = message_read(w, out);
	w->end_mono_ns = 0;
	return rc == NW_EAGAIN ? NW_ECLOSED : rc;
}

void
channel_bound(struct channel *w, const struct channel_large *large)
{
	w->large = *large;
}

void
channel_on_silence(struct channel *w, int (*on_silence)(void *arg), void *arg)
{
	w->on_silence = on_silence;
	w->silence_arg = arg;
}

void
channel_sink(struct channel *w, const struct channel_sink *sink)
{
	w->sink = *sink;
}

int
channel_send_with(struct channel *w, uint16_t type, struct packer *p, const void *bytes, size_t len)
{
	struct packer header = { 0 };
	struct iovec iov[3];
	size_t i;
	int rc = NW_OK;

	pack_u32(&header, (uint32_t)(p->len + len));
	pack_u16(&header, type);
	if (header.failed || p->failed)
		rc = NW_ENOMEM;
	iov[0] = (struct iovec){ header.bytes, header.len };
	iov[1] = (struct iovec){ p->bytes, p->len };
	iov[2] = (struct iovec){ (void *)(uintptr_t)bytes, len };
	pthread_mutex_lock(&w->sending);
	if (w->tls == NULL && rc == NW_OK)
		rc = send_all(w->fd, iov, len > 0 ? 3 : 2);
	for (i = 0; w->tls != NULL && i < 3 && rc == NW_OK; i++)
		rc = tls_send(w, iov[i].iov_base, iov[i].iov_len);
	w->sent_bytes += header.len + p->len + len;
	pthread_mutex_unlock(&w->sending);
	pack_free(&header);
	pack_free(p);
	return rc;
}

int
channel_send(struct channel *w, uint16_t type, struct packer *p)
{
	return channel_send_with(w, type, p, NULL, 0);
}

int
channel_send_file(
    struct channel *w, uint16_t type, struct packer *p, int fd, uint64_t offset, size_t len)
{
	struct packer header = { 0 };
	off_t at = (off_t)offset;
	ssize_t sent = 1;
	int rc;

	pack_u32(&header, (uint32_t)(p->len + len));
	pack_u16(&header, type);
	pack_bytes(&header, p->bytes, p->len);
	pthread_mutex_lock(&w->sending);
	rc = header.failed || p->failed ? NW_ENOMEM : send_more(w->fd, header.bytes, header.len);
	w->sent_bytes += header.len;
	while (rc == NW_OK && len > 0 && sent > 0) {
		if ((sent = sendfile(w->fd, fd, &at, len)) > 0) {
			len -= (size_t)sent;
			w->sent_bytes += (size_t)sent;
		} else if (sent < 0 && errno == EINTR)
			sent = 1;
	}
	pthread_mutex_unlock(&w->sending);
	pack_free(&header);
	pack_free(p);
	return rc == NW_OK && len > 0 ? NW_EIO : rc;
}

void
channel_pace(struct channel *w, uint64_t bytes_per_s)
{
	setsockopt(w->fd, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes_per_s, sizeof(bytes_per_s));
}

bool
channel_is_clear(const struct channel *w)
{
	return w->tls == NULL;
}

bool
channel_sent(struct channel *w, uint64_t *cookie, uint64_t *n_bytes)
{
	socklen_t len = sizeof(*cookie);

	if (w->tls != NULL || getsockopt(w->fd, SOL_SOCKET, SO_COOKIE, cookie, &len) < 0)
		return false;
	pthread_mutex_lock(&w->sending);
	*n_bytes = w->sent_bytes;
	pthread_mutex_unlock(&w->sending);
	return true;
}

void
channel_limits(struct channel *w, size_t limit, int silence_ms)
{
	w->limit = limit;
	silence_set(w, silence_ms);
}

void
channel_shut(struct channel *w)
{
	shutdown(w->fd, SHUT_RDWR);
}

const char *
channel_peer_name(const struct channel *w)
{
	return w->tls != NULL ? nw_tls_peer_name(w->tls) : "";
}

static bool
is_loopback(const struct sockaddr *a)
{
	const struct sockaddr_in6 *six = (const void *)a;
	const struct sockaddr_in *four = (const void *)a;

	if (a->sa_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 24 == 127;
	return a->sa_family == AF_INET6 &&
	    (IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) ||
		(IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) && six->sin6_addr.s6_addr[12] == 127));
}

bool
channel_is_loopback(const struct channel *w)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);

	return getpeername(w->fd, (struct sockaddr *)&peer, &len) == 0 &&
	    is_loopback((const struct sockaddr *)&peer);
}

/* Within one machine there is no network to be fair to. Where BBR is the system's choice, its
 * timers cost more than the data do, and stay for good once a connection has begun; connections
 * take the choice of their listening socket. */
static void
pacing_avoid(int fd, const struct sockaddr *a)
{
	if (is_loopback(a))
		setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
}

/* --- beginning and end --- */

/* The handshake, within timeout_ms altogether. */
static int
handshake(struct channel *w, int timeout_ms)
{
	int64_t end = nw_mono_ns() + timeout_ms * NS_PER_MS, left;
	size_t none;
	int rc;

	for (;;) {
		rc = nw_tls_handshake(w->tls);
		if (tls_flush(w) != NW_OK)
			return NW_EIO;
		if (rc != NW_EAGAIN)
			return rc;
		if ((left = (end - nw_mono_ns()) / NS_PER_MS) <= 0)
			return NW_EAGAIN;
		silence_set(w, (int)left + 1);
		if ((rc = receive(w, NULL, 0, &none)) != NW_OK)
			return rc;
		nw_tls_feed(w->tls, w->in, w->in_len);
		w->in_at = w->in_len;
	}
}

static int
channel_new(int fd, struct nw_tls_ctx *tls, const char *name, int timeout_ms, struct channel **out)
{
	struct channel *w = calloc(1, sizeof(*w));
	int rc = NW_OK;

	if (w == NULL) {
		close(fd);
		return NW_ENOMEM;
	}
	w->fd = fd;
	w->limit = CHANNEL_SMALL_BYTES;
	pthread_mutex_init(&w->machine, NULL);
	pthread_mutex_init(&w->sending, NULL);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &(unsigned){ STUCK_MS }, sizeof(unsigned));
	if (tls != NULL && (rc = nw_tls_new(tls, name, &w->tls)) == NW_OK)
		rc = handshake(w, timeout_ms);
	silence_set(w, 0);
	if (rc != NW_OK) {
		channel_free(w);
		return rc;
	}
	*out = w;
	return NW_OK;
}

void
channel_free(struct channel *w)
{
	if (w == NULL)
		return;
	close(w->fd);
	nw_tls_free(w->tls);
	place_give(w);
	pthread_mutex_destroy(&w->machine);
	pthread_mutex_destroy(&w->sending);
	free(w->message);
	free(w);
}

int
channel_accept(int fd, struct nw_tls_ctx *tls, int timeout_ms, struct channel **out)
{
	return channel_new(fd, tls, NULL, timeout_ms, out);
}

/* connect() with an end; the socket stays blocking. */
static int
connect_within(int fd, const struct addrinfo *at, int timeout_ms)
{
	struct timeval limit = { timeout_ms / 1000, timeout_ms % 1000 * 1000 }, none = { 0, 0 };
	int rc;

	pacing_avoid(fd, at->ai_addr);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	rc = connect(fd, at->ai_addr, at->ai_addrlen);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
	return rc;
}

static int
addresses(const char *host, uint16_t port, int flags, struct addrinfo **out, char *why)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags };
	char service[8];
	int rc;

	snprintf(service, sizeof(service), "%u", (unsigned)port);
	if ((rc = getaddrinfo(host, service, &hints, out)) != 0) {
		snprintf(why, CHANNEL_WHY_BYTES, "%.100s: %s", host, gai_strerror(rc));
		return NW_EIO;
	}
	return NW_OK;
}

int
channel_connect(const char *host, uint16_t port, struct nw_tls_ctx *tls, int timeout_ms,
    struct channel **out, char why[CHANNEL_WHY_BYTES])
{
	struct addrinfo *all = NULL, *at;
	int fd = -1, rc;

	if ((rc = addresses(host, port, AI_ADDRCONFIG, &all, why)) != NW_OK)
		return rc;
	for (at = all; at != NULL && fd < 0; at = at->ai_next) {
		if ((fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, 0)) >= 0 &&
		    connect_within(fd, at, timeout_ms) < 0) {
			snprintf(why, CHANNEL_WHY_BYTES, "%.100s/%u: %s", host, (unsigned)port,
			    strerror(errno));
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(all);
	if (fd < 0)
		return NW_EIO;
	if ((rc = channel_new(fd, tls, host, timeout_ms, out)) != NW_OK)
		snprintf(why, CHANNEL_WHY_BYTES, "%.100s/%u: TLS: %s", host, (unsigned)port,
		    nw_strerror(rc));
	return rc;
}

static uint16_t
port_of(int fd)
{
	struct sockaddr_storage own;
	socklen_t len = sizeof(own);

	if (getsockname(fd, (struct sockaddr *)&own, &len) < 0)
		return 0;
	return ntohs(own.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&own)->sin6_port
					       : ((struct sockaddr_in *)&own)->sin_port);
}

int
channel_listen(
    const char *host, uint16_t port, int *fd, uint16_t *port_used, char why[CHANNEL_WHY_BYTES])
{
	struct addrinfo *all = NULL;
	int s, rc;

	if ((rc = addresses(host, port, AI_PASSIVE, &all, why)) != NW_OK)
		return rc;
	s = socket(all->ai_family, all->ai_socktype | SOCK_CLOEXEC, 0);
	if (s >= 0) {
		setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
		pacing_avoid(s, all->ai_addr);
	}
	if (s < 0 || bind(s, all->ai_addr, all->ai_addrlen) < 0 || listen(s, BACKLOG) < 0) {
		snprintf(
		    why, CHANNEL_WHY_BYTES, "%.100s/%u: %s", host, (unsigned)port, strerror(errno));
		rc = NW_EIO;
	}
	freeaddrinfo(all);
	if (rc != NW_OK) {
		if (s >= 0)
			close(s);
		return rc;
	}
	*fd = s;
	*port_used = port_of(s);
	return NW_OK;
}

static void
port_set(struct sockaddr_storage *a, uint16_t port)
{
	if (a->ss_family == AF_INET6)
		((struct sockaddr_in6 *)a)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)a)->sin_port = htons(port);
}

int
channel_datagrams_at(const struct channel *w, int *fd, uint16_t *port)
{
	struct sockaddr_storage own;
	socklen_t len = sizeof(own);

	if (getsockname(w->fd, (struct sockaddr *)&own, &len) < 0)
		return NW_EIO;
	port_set(&own, 0);
	if ((*fd = socket(own.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0)) < 0)
		return NW_EIO;
	if (bind(*fd, (struct sockaddr *)&own, len) < 0) {
		close(*fd);
		return NW_EIO;
	}
	*port = port_of(*fd);
	return NW_OK;
}

int
channel_datagrams(const struct channel *w, uint16_t port, int *fd)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	uint16_t own;
	int rc;

	if ((rc = channel_datagrams_at(w, fd, &own)) != NW_OK)
		return rc;
	if (getpeername(w->fd, (struct sockaddr *)&peer, &len) == 0) {
		port_set(&peer, port);
		if (connect(*fd, (struct sockaddr *)&peer, len) == 0)
			return NW_OK;
	}
	close(*fd);
	return NW_EIO;
}
