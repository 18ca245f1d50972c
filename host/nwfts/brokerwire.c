/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwfts/brokerwire.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"

enum {
	WIRE_BYTES = 16 << 10,
	/* plain text of so many bytes of the wire, behind a record that was incomplete so far */
	STEP_BYTES = 2 * WIRE_BYTES + 1024,
	IN_BYTES = NW_STOMP_FRAME_MAX_BYTES + STEP_BYTES,
	OUT_BYTES = 1 << 20
};
#define MS_NS INT64_C(1000000)

struct brokerwire {
	int fd;
	struct nw_tls *tls; /* NULL: in clear */
	const char *why;
	uint8_t *in, *out; /* plain text: bytes [in_taken, in_len) and [out_sent, out_len) wait */
	size_t in_len, in_taken, out_len, out_sent;
	uint64_t received;
};

static int
lose(struct brokerwire *w, int rc, const char *why)
{
	w->why = why;
	return rc;
}

/* --- connecting --- */

/* Waits for events of the socket. Returns false behind the deadline. */
static bool
await(int fd, short events, int64_t until_mono_ns)
{
	struct pollfd p = { .fd = fd, .events = events };
	int64_t left;
	int n;

	do {
		left = (until_mono_ns - nw_mono_ns()) / MS_NS;
		n = left > 0 ? poll(&p, 1, (int)left) : 0;
	} while (n < 0 && errno == EINTR);
	return n > 0;
}

static int
socket_open(const struct addrinfo *a, int64_t until_mono_ns)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(int);
	int error = 0;

	if (fd >= 0 &&
	    (connect(fd, a->ai_addr, a->ai_addrlen) == 0 ||
		(errno == EINPROGRESS && await(fd, POLLOUT, until_mono_ns) &&
		    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0)))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int
dial_broker(const struct brokerwire_opts *o, int64_t until_mono_ns, char why[NW_TLS_WHY_BYTES])
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM }, *all, *a;
	int fd = -1;

	if (getaddrinfo(o->host, o->port, &hints, &all) != 0) {
		strcpy(why, "the host name is not known");
		return -1;
	}
	for (a = all; a != NULL && fd < 0; a = a->ai_next)
		fd = socket_open(a, until_mono_ns);
	freeaddrinfo(all);
	if (fd < 0)
		strcpy(why, "no broker listens at the address");
	return fd;
}

static int
output_send(struct brokerwire *w)
{
	const uint8_t *bytes;
	size_t len;
	ssize_t n;

	while ((len = nw_tls_output(w->tls, &bytes)) > 0) {
		n = send(w->fd, bytes, len, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return errno == EAGAIN ? NW_EAGAIN
					       : lose(w, NW_ECLOSED, "the broker closed");
		nw_tls_sent(w->tls, n > 0 ? (size_t)n : 0);
	}
	return NW_OK;
}

/* Feeds TLS from the socket. NW_EAGAIN: nothing came. */
static int
input_feed(struct brokerwire *w, uint8_t wire[WIRE_BYTES])
{
	ssize_t n = recv(w->fd, wire, WIRE_BYTES, 0);

	if (n > 0) {
		nw_tls_feed(w->tls, wire, (size_t)n);
		w->received += (size_t)n;
		return NW_OK;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return NW_EAGAIN;
	return lose(w, NW_ECLOSED, "the broker closed the connection");
}

static int
plain_read(struct brokerwire *w)
{
	long n;

	while ((n = nw_tls_read(w->tls, w->in + w->in_len, IN_BYTES - w->in_len)) > 0)
		w->in_len += (size_t)n;
	return n == NW_EAGAIN ? NW_OK : lose(w, (int)n, nw_tls_why(w->tls));
}

static int
secure(struct brokerwire *w, int64_t until_mono_ns)
{
	uint8_t wire[WIRE_BYTES];
	int rc;

	while ((rc = nw_tls_handshake(w->tls)) == NW_EAGAIN) {
		if ((rc = output_send(w)) < 0 && rc != NW_EAGAIN)
			return rc;
		if (!await(w->fd, rc == NW_EAGAIN ? POLLIN | POLLOUT : POLLIN, until_mono_ns))
			return lose(w, NW_EIO, "the broker did not answer in time");
		if ((rc = input_feed(w, wire)) < 0 && rc != NW_EAGAIN)
			return rc;
	}
	if (rc < 0) {
		(void)output_send(w);
		return lose(w, rc, nw_tls_why(w->tls));
	}
	rc = plain_read(w); /* the bytes on loan end here */
	return rc == NW_OK && output_send(w) == NW_ECLOSED ? NW_ECLOSED : rc;
}

int
brokerwire_open(const struct brokerwire_opts *o, int64_t timeout_ns, struct brokerwire **out,
    char why[NW_TLS_WHY_BYTES])
{
	const struct nw_tls_opts tls = {
		.ca_path = o->ca_file, .cert_path = o->cert_file, .key_path = o->key_file
	};
	const int64_t until = nw_mono_ns() + timeout_ns;
	struct brokerwire *w = xcalloc(1, sizeof(*w));
	struct nw_tls_ctx *ctx = NULL;
	int rc = NW_OK;

	w->in = xcalloc(1, IN_BYTES);
	w->out = xcalloc(1, OUT_BYTES);
	w->why = "";
	w->fd = -1;
	if (o->tls && (rc = nw_tls_ctx_new(&tls, &ctx, why)) == NW_OK)
		rc = nw_tls_new(ctx, o->host, &w->tls);
	nw_tls_ctx_release(ctx);
	if (rc == NW_OK && (w->fd = dial_broker(o, until, why)) < 0)
		rc = NW_EIO;
	if (rc == NW_OK && w->tls != NULL && (rc = secure(w, until)) < 0)
		strncpy(why, w->why, NW_TLS_WHY_BYTES - 1)[NW_TLS_WHY_BYTES - 1] = '\0';
	if (rc == NW_OK)
		*out = w;
	else
		brokerwire_close(w);
	return rc;
}

void
brokerwire_close(struct brokerwire *w)
{
	if (w == NULL)
		return;
	if (w->fd >= 0)
		close(w->fd);
	nw_tls_free(w->tls);
	free(w->in);
	free(w->out);
	free(w);
}

int
brokerwire_fd(const struct brokerwire *w)
{
	return w->fd;
}

/* --- bytes --- */

static bool
has_output(const struct brokerwire *w)
{
	const uint8_t *bytes;

	return w->out_sent < w->out_len || (w->tls != NULL && nw_tls_output(w->tls, &bytes) > 0);
}

short
brokerwire_events(const struct brokerwire *w)
{
	return has_output(w) ? POLLIN | POLLOUT : POLLIN;
}

static int
out_step(struct brokerwire *w)
{
	long n;
	int rc;

	while (w->out_sent < w->out_len) {
		if (w->tls != NULL) {
			if ((rc = output_send(w)) < 0)
				return rc == NW_EAGAIN ? NW_OK : rc;
			n = nw_tls_write(w->tls, w->out + w->out_sent, w->out_len - w->out_sent);
			if (n == NW_EFULL)
				return NW_OK;
			if (n < 0)
				return lose(w, (int)n, nw_tls_why(w->tls));
		} else {
			n = send(
			    w->fd, w->out + w->out_sent, w->out_len - w->out_sent, MSG_NOSIGNAL);
			if (n < 0 && errno == EAGAIN)
				return NW_OK;
			if (n < 0 && errno != EINTR)
				return lose(w, NW_ECLOSED, "the broker closed the connection");
			n = n > 0 ? n : 0;
		}
		w->out_sent += (size_t)n;
	}
	w->out_len = w->out_sent = 0;
	rc = w->tls != NULL ? output_send(w) : NW_OK;
	return rc == NW_EAGAIN ? NW_OK : rc;
}

static int
in_step(struct brokerwire *w)
{
	uint8_t wire[WIRE_BYTES];
	ssize_t n;
	int rc;

	if (w->tls != NULL) {
		/* the bytes are on loan until all of them are plain text: there must be room */
		while (
		    IN_BYTES - w->in_len >= STEP_BYTES && (rc = input_feed(w, wire)) != NW_EAGAIN)
			if (rc < 0 || (rc = plain_read(w)) < 0)
				return rc;
		return NW_OK;
	}
	if (w->in_len == IN_BYTES)
		return NW_OK;
	n = recv(w->fd, w->in + w->in_len, IN_BYTES - w->in_len, 0);
	if (n > 0) {
		w->in_len += (size_t)n;
		w->received += (size_t)n;
	}
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return NW_OK;
	return lose(w, NW_ECLOSED, "the broker closed the connection");
}

int
brokerwire_step(struct brokerwire *w)
{
	int rc;

	if (w->in_taken > 0) {
		memmove(w->in, w->in + w->in_taken, w->in_len - w->in_taken);
		w->in_len -= w->in_taken;
		w->in_taken = 0;
	}
	rc = in_step(w);
	return rc < 0 ? rc : out_step(w);
}

/* Moves the waiting bytes to the front. Returns the room behind them. */
static size_t
room(struct brokerwire *w)
{
	memmove(w->out, w->out + w->out_sent, w->out_len - w->out_sent);
	w->out_len -= w->out_sent;
	w->out_sent = 0;
	return OUT_BYTES - w->out_len;
}

int
brokerwire_send(struct brokerwire *w, const char *command, const char *const *pairs)
{
	size_t cap = room(w);
	long n = nw_stomp_write(command, pairs, (char *)w->out + w->out_len, cap);

	if (n < 0)
		return lose(w, (int)n, "the broker takes no acknowledgements");
	w->out_len += (size_t)n;
	return out_step(w);
}

int
brokerwire_beat(struct brokerwire *w)
{
	if (room(w) == 0)
		return lose(w, NW_ETOOBIG, "the broker takes no signs of life");
	w->out[w->out_len++] = '\n';
	return out_step(w);
}

int
brokerwire_frame(struct brokerwire *w, struct nw_stomp_frame *out)
{
	const char *why = "";
	size_t took;
	int rc = nw_stomp_cut(w->in + w->in_taken, w->in_len - w->in_taken, out, &took, &why);

	w->in_taken += took;
	return rc == NW_OK || rc == NW_EAGAIN ? rc : lose(w, rc, why);
}

uint64_t
brokerwire_received(const struct brokerwire *w)
{
	return w->received;
}

const char *
brokerwire_why(const struct brokerwire *w)
{
	return w->why;
}
