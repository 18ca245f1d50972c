/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/gate/datagram.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "daemon/gate/bindlist.h"
#include "narrows/err.h"
#include "narrows/log.h"
#include "narrows/xmalloc.h"

enum { SOCKETS_MAX = 16, AT_ONCE = 32, ROUNDS = 4, RECEIVE_BUFFER_BYTES = 4 << 20 };

struct datagrams {
	struct event_base *base;
	datagram_fn *fn;
	void *arg;
	struct bindlist sockets;
	struct event *event[SOCKETS_MAX]; /* of each socket */
	size_t bytes_max;
	uint8_t *buffer; /* AT_ONCE pieces of bytes_max + 1 */
};

static void
source_read(const struct sockaddr_storage *ss, struct datagram *d, char text[INET6_ADDRSTRLEN])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const struct sockaddr_in6 *v6 = (const void *)ss;
	const struct sockaddr_in *v4 = (const void *)ss;

	if (ss->ss_family == AF_INET) {
		memcpy(d->ip, mapped, sizeof(mapped));
		memcpy(d->ip + 12, &v4->sin_addr, 4);
	} else {
		memcpy(d->ip, &v6->sin6_addr, 16);
	}
	if (memcmp(d->ip, mapped, sizeof(mapped)) == 0)
		inet_ntop(AF_INET, d->ip + 12, text, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, d->ip, text, INET6_ADDRSTRLEN);
	d->source = text;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct datagrams *d = arg;
	struct sockaddr_storage from[AT_ONCE];
	struct mmsghdr m[AT_ONCE];
	struct iovec io[AT_ONCE];
	char text[INET6_ADDRSTRLEN];
	struct datagram one;
	int round, i, n;

	(void)what;
	for (round = 0; round < ROUNDS; round++) {
		memset(m, 0, sizeof(m));
		for (i = 0; i < AT_ONCE; i++) {
			io[i].iov_base = d->buffer + (size_t)i * (d->bytes_max + 1);
			io[i].iov_len = d->bytes_max + 1;
			m[i].msg_hdr.msg_iov = &io[i];
			m[i].msg_hdr.msg_iovlen = 1;
			m[i].msg_hdr.msg_name = &from[i];
			m[i].msg_hdr.msg_namelen = sizeof(from[i]);
		}
		if ((n = recvmmsg(fd, m, AT_ONCE, MSG_DONTWAIT, NULL)) <= 0)
			return;
		for (i = 0; i < n; i++) {
			source_read(&from[i], &one, text);
			one.bytes = io[i].iov_base;
			one.len = m[i].msg_len;
			d->fn(d->arg, &one);
		}
		if (n < AT_ONCE)
			return;
	}
}

static int
socket_open(void *arg, const struct addrinfo *ai)
{
	struct datagrams *d = arg;
	int size = RECEIVE_BUFFER_BYTES;
	int fd = socket(ai->ai_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct event *event;

	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) != 0) {
		int refused = errno;

		close(fd);
		errno = refused;
		return -1;
	}
	event = event_new(d->base, fd, EV_READ | EV_PERSIST, on_readable, d);
	if (event == NULL || event_add(event, NULL) != 0)
		fatalx("events: libevent refuses");
	d->event[d->sockets.n] = event;
	return fd;
}

int
datagrams_start(struct event_base *base, const char *directive, const char *addresses,
    size_t bytes_max, datagram_fn *fn, void *arg, struct datagrams **out, char why[CONF_WHY_BYTES])
{
	struct datagrams *d = xcalloc(1, sizeof(*d));
	int rc;

	d->base = base;
	d->fn = fn;
	d->arg = arg;
	d->bytes_max = bytes_max;
	d->buffer = xcalloc(AT_ONCE, bytes_max + 1);
	d->sockets = (struct bindlist){ .directive = directive,
		.type = SOCK_DGRAM,
		.most = SOCKETS_MAX,
		.fn = socket_open,
		.arg = d };
	if ((rc = bindlist_open(&d->sockets, addresses, why)) < 0) {
		datagrams_stop(d);
		return rc;
	}
	*out = d;
	return NW_OK;
}

void
datagrams_stop(struct datagrams *d)
{
	int fd;

	if (d == NULL)
		return;
	while (d->sockets.n > 0) {
		fd = event_get_fd(d->event[--d->sockets.n]);
		event_free(d->event[d->sockets.n]);
		close(fd);
	}
	free(d->buffer);
	free(d);
}

const char *
datagrams_addresses(const struct datagrams *d)
{
	return d->sockets.addresses;
}
