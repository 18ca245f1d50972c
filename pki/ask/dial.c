/* SPDX-License-Identifier: BSD-3-Clause */
#include "pki/ask/dial.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "narrows/log.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"
#include "narrows/tls.h"

enum { TIMEOUT_S = 60, WIRE_BYTES = 32 << 10 };

struct dial {
	int fd;
	struct nw_tls *tls;       /* NULL: in clear */
	uint8_t wire[WIRE_BYTES]; /* bytes between socket and tls */
};

/* --- the socket --- */

static const char *
errno_text(void)
{
	return errno == EAGAIN || errno == EINPROGRESS ? "no answer within a minute"
						       : strerror(errno);
}

static int
wire_send(struct dial *d, const uint8_t *bytes, size_t len, const char **why)
{
	ssize_t n;

	for (; len > 0; bytes += n, len -= (size_t)n)
		if ((n = send(d->fd, bytes, len, MSG_NOSIGNAL)) < 0) {
			if (errno == EINTR) {
				n = 0;
				continue;
			}
			*why = errno_text();
			return NW_EIO;
		}
	return NW_OK;
}

static long
wire_recv(struct dial *d, void *buf, size_t cap, const char **why)
{
	ssize_t n;

	do
		n = recv(d->fd, buf, cap, 0);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return n;
	*why = errno_text();
	return NW_EIO;
}

/* Connects to the first address that accepts. */
static int
wire_connect(struct dial *d, const char *host, uint16_t port, const char **why)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_STREAM };
	const struct timeval patience = { .tv_sec = TIMEOUT_S };
	struct addrinfo *all = NULL, *a;
	char service[8];
	int rc;

	snprintf(service, sizeof(service), "%u", port);
	if ((rc = getaddrinfo(host, service, &hints, &all)) != 0) {
		*why = gai_strerror(rc);
		return NW_EIO;
	}
	for (a = all; a != NULL && d->fd < 0; a = a->ai_next) {
		if ((d->fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol)) >=
			0 &&
		    setsockopt(d->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
		    setsockopt(d->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) == 0 &&
		    connect(d->fd, a->ai_addr, a->ai_addrlen) == 0)
			break;
		*why = errno_text();
		if (d->fd >= 0)
			close(d->fd);
		d->fd = -1;
	}
	freeaddrinfo(all);
	return d->fd >= 0 ? NW_OK : NW_EIO;
}

/* --- TLS over the socket --- */

static int
tls_flush(struct dial *d, const char **why)
{
	const uint8_t *bytes;
	size_t len;
	int rc;

	while ((len = nw_tls_output(d->tls, &bytes)) > 0) {
		if ((rc = wire_send(d, bytes, len, why)) < 0)
			return rc;
		nw_tls_sent(d->tls, len);
	}
	return NW_OK;
}

/* Sends the TLS machine's output, then feeds the machine with received bytes. */
static int
tls_feed(struct dial *d, const char **why)
{
	long n;
	int rc;

	if ((rc = tls_flush(d, why)) < 0)
		return rc;
	if ((n = wire_recv(d, d->wire, sizeof(d->wire), why)) > 0) {
		nw_tls_feed(d->tls, d->wire, (size_t)n);
		return NW_OK;
	}
	if (n == 0)
		*why = "the connection broke off"; /* in TLS an end is announced */
	return n < 0 ? (int)n : NW_EPROTO;
}

static int
tls_fail(struct dial *d, const char **why)
{
	const char *unused;

	(void)tls_flush(d, &unused); /* the other side's log should know, too */
	*why = nw_tls_why(d->tls);
	return NW_EPROTO;
}

static int
tls_open(struct dial *d, struct nw_tls_ctx *ctx, const char *host, const char **why)
{
	int rc;

	if (nw_tls_new(ctx, host, &d->tls) < 0)
		fatalx("out of memory");
	while ((rc = nw_tls_handshake(d->tls)) == NW_EAGAIN)
		if ((rc = tls_feed(d, why)) < 0)
			return rc;
	return rc < 0 ? tls_fail(d, why) : tls_flush(d, why);
}

/* --- interface --- */

int
dial_open(
    const char *host, uint16_t port, struct nw_tls_ctx *ctx, struct dial **out, const char **why)
{
	struct dial *d = xcalloc(1, sizeof(*d));
	int rc;

	*why = "";
	d->fd = -1;
	if ((rc = wire_connect(d, host, port, why)) < 0 ||
	    (ctx != NULL && (rc = tls_open(d, ctx, host, why)) < 0)) {
		dial_close(d);
		return rc;
	}
	*out = d;
	return NW_OK;
}

int
dial_accept(int fd, struct nw_tls_ctx *ctx, struct dial **out, const char **why)
{
	const struct timeval patience = { .tv_sec = TIMEOUT_S };
	struct dial *d = xcalloc(1, sizeof(*d));
	int rc = NW_EIO;

	d->fd = fd;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0)
		*why = strerror(errno);
	else
		rc = tls_open(d, ctx, NULL, why);
	if (rc < 0)
		dial_close(d);
	else
		*out = d;
	return rc;
}

bool
dial_peer_pin(const struct dial *d, uint8_t pin[NW_TLS_PIN_BYTES])
{
	return d->tls != NULL && nw_tls_peer_pin(d->tls, pin);
}

void
dial_close(struct dial *d)
{
	const char *unused;

	if (d == NULL)
		return;
	if (d->tls != NULL) {
		nw_tls_close(d->tls);
		(void)tls_flush(d, &unused);
		nw_tls_free(d->tls);
	}
	if (d->fd >= 0)
		close(d->fd);
	free(d);
}

int
dial_send(struct dial *d, const void *bytes, size_t len, const char **why)
{
	const uint8_t *p = bytes;
	int rc;
	long n;

	if (d->tls == NULL)
		return wire_send(d, p, len, why);
	for (; len > 0; p += n, len -= (size_t)n) {
		if ((n = nw_tls_write(d->tls, p, len)) < 0)
			return tls_fail(d, why);
		if ((rc = tls_flush(d, why)) < 0)
			return rc;
	}
	return NW_OK;
}

long
dial_recv(struct dial *d, void *buf, size_t cap, const char **why)
{
	long n;
	int rc;

	if (d->tls == NULL)
		return wire_recv(d, buf, cap, why);
	while ((n = nw_tls_read(d->tls, buf, cap)) == NW_EAGAIN)
		if ((rc = tls_feed(d, why)) < 0)
			return rc;
	if (n > 0)
		return n;
	return n == NW_ECLOSED ? 0 : tls_fail(d, why);
}
