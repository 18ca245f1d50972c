/* SPDX-License-Identifier: BSD-3-Clause */
/* The far end of the bandwidth sensor takes bytes from a sender, then from nobody for a while. */
#include "host/blipp/probe/bandwidth_sink.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "narrows/err.h"
#include "tests/check.h"

enum { LINE_BYTES = 100 };
static const int64_t T0 = 1000;

/* Connects, and reads the greeting that the sink has for a sender at that time. */
static int
greeted(struct bandwidth_sink *s, int epoll_fd, int64_t now_mono_ns, char line[LINE_BYTES])
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	ssize_t n;

	CHECK(getsockname(s->listen_fd, (struct sockaddr *)&a, &len) == 0);
	CHECK(connect(fd, (struct sockaddr *)&a, len) == 0);
	bandwidth_sink_ready(s, epoll_fd, true, now_mono_ns);
	n = recv(fd, line, LINE_BYTES - 1, 0);
	line[n > 0 ? n : 0] = '\0';
	return fd;
}

/* A sink at a port that the system has chosen. */
static void
sink_listen(struct bandwidth_sink *s)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	bandwidth_sink_init(s);
	s->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	CHECK(bind(s->listen_fd, (struct sockaddr *)&a, sizeof(a)) == 0);
	CHECK(listen(s->listen_fd, 4) == 0);
}

static void
test_pause(void)
{
	int epoll_fd = epoll_create1(0), first, second;
	struct bandwidth_sink s;
	char line[LINE_BYTES];

	sink_listen(&s);
	first = greeted(&s, epoll_fd, T0, line);
	CHECK_STR(line, BANDWIDTH_READY);
	second = greeted(&s, epoll_fd, T0, line);
	CHECK_STR(line, BANDWIDTH_BUSY);
	close(second);
	bandwidth_sink_yield(&s, T0);
	CHECK(s.fd < 0 && recv(first, line, 1, 0) <= 0);
	close(first);
	close(greeted(&s, epoll_fd, T0 + BANDWIDTH_PAUSE_NS - 1, line));
	CHECK_STR(line, BANDWIDTH_BUSY);
	close(greeted(&s, epoll_fd, T0 + BANDWIDTH_PAUSE_NS, line));
	CHECK_STR(line, BANDWIDTH_READY);
	bandwidth_sink_close(&s);
	close(epoll_fd);
}

int
main(void)
{
	test_pause();
	return check_done("bandwidth_sink");
}
