/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/probe/bandwidth_sink.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/blipp/probe/probe.h"
#include "narrows/clock.h"
#include "narrows/err.h"

#define STRETCH_NS INT64_C(100000000)

enum { READ_BYTES = 65536, READS_AT_ONCE = 16, ANSWER_BYTES = 96 };

void
bandwidth_sink_init(struct bandwidth_sink *s)
{
	memset(s, 0, sizeof(*s));
	s->listen_fd = s->fd = -1;
}

static bool
watch(int epoll_fd, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &e) == 0;
}

int
bandwidth_sink_open(struct bandwidth_sink *s, const char *address, int epoll_fd)
{
	struct sockaddr_storage ss;
	char host[PEER_HOST_BYTES];
	const int yes = 1;
	uint16_t port;
	socklen_t len;

	if (!peer_parse(address, host, &port) || (len = peer_address(host, port, &ss)) == 0)
		return NW_EINVAL;
	s->listen_fd = socket(ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->listen_fd < 0)
		return NW_EIO;
	setsockopt(s->listen_fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(s->listen_fd, (struct sockaddr *)&ss, len) < 0 || listen(s->listen_fd, 4) < 0 ||
	    !watch(epoll_fd, s->listen_fd)) {
		bandwidth_sink_close(s);
		return NW_EIO;
	}
	return NW_OK;
}

static void
connection_end(struct bandwidth_sink *s, int64_t now_mono_ns)
{
	if (s->fd < 0)
		return;
	close(s->fd);
	s->fd = -1;
	s->pause_mono_ns = now_mono_ns + BANDWIDTH_PAUSE_NS;
}

void
bandwidth_sink_close(struct bandwidth_sink *s)
{
	int saved = errno;

	connection_end(s, 0);
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	s->listen_fd = -1;
	errno = saved;
}

static void
say(int fd, const char *text)
{
	(void)!send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void
connection_take(struct bandwidth_sink *s, int epoll_fd, bool may_begin, int64_t now_mono_ns)
{
	int fd = accept4(s->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (s->fd >= 0 || now_mono_ns < s->pause_mono_ns || !may_begin || !watch(epoll_fd, fd)) {
		say(fd, BANDWIDTH_BUSY);
		close(fd);
		return;
	}
	s->fd = fd;
	s->begun_mono_ns = now_mono_ns;
	s->bytes = s->first_mono_ns = s->last_mono_ns = 0;
	s->stretch_bytes = s->stretch_mono_ns = 0;
	s->best_bytes_per_s = 0;
	say(fd, BANDWIDTH_READY);
}

static void
stretch_end(struct bandwidth_sink *s)
{
	int64_t ns = s->last_mono_ns - s->stretch_mono_ns;
	double bytes_per_s = ns > 0 ? (double)s->stretch_bytes / ((double)ns / 1e9) : 0;

	if (bytes_per_s > s->best_bytes_per_s)
		s->best_bytes_per_s = bytes_per_s;
	s->stretch_mono_ns = s->last_mono_ns;
	s->stretch_bytes = 0;
}

/* The clock begins behind the first bytes, which therefore do not count. */
static void
count(struct bandwidth_sink *s, size_t n)
{
	int64_t now_mono_ns = nw_mono_ns();

	s->last_mono_ns = now_mono_ns;
	if (s->first_mono_ns == 0) {
		s->first_mono_ns = s->stretch_mono_ns = now_mono_ns;
		return;
	}
	s->bytes += (int64_t)n;
	s->stretch_bytes += (int64_t)n;
	if (now_mono_ns - s->stretch_mono_ns >= STRETCH_NS)
		stretch_end(s);
}

static void
connection_answer(struct bandwidth_sink *s, int64_t now_mono_ns)
{
	char text[ANSWER_BYTES];

	if (s->best_bytes_per_s == 0)
		stretch_end(s);
	snprintf(text, sizeof(text), "%" PRId64 " %" PRId64 " %.0f\n", s->bytes,
	    s->last_mono_ns - s->first_mono_ns, s->best_bytes_per_s);
	say(s->fd, text);
	connection_end(s, now_mono_ns);
}

static void
connection_read(struct bandwidth_sink *s, int64_t now_mono_ns)
{
	static char bytes[READ_BYTES];
	ssize_t n = 0;
	int i;

	for (i = 0; i < READS_AT_ONCE && (n = recv(s->fd, bytes, sizeof(bytes), 0)) > 0; i++)
		count(s, (size_t)n);
	if (n == 0)
		connection_answer(s, now_mono_ns);
	else if ((n < 0 && errno != EAGAIN && errno != EINTR) || s->bytes > BANDWIDTH_BYTES_MAX)
		connection_end(s, now_mono_ns);
}

void
bandwidth_sink_ready(struct bandwidth_sink *s, int epoll_fd, bool may_begin, int64_t now_mono_ns)
{
	if (s->listen_fd >= 0)
		connection_take(s, epoll_fd, may_begin, now_mono_ns);
	if (s->fd >= 0)
		connection_read(s, now_mono_ns);
}

void
bandwidth_sink_look(struct bandwidth_sink *s, int64_t now_mono_ns)
{
	if (s->fd >= 0 && now_mono_ns - s->begun_mono_ns > BANDWIDTH_PATIENCE_NS)
		connection_end(s, now_mono_ns);
}

void
bandwidth_sink_yield(struct bandwidth_sink *s, int64_t now_mono_ns)
{
	connection_end(s, now_mono_ns);
}
