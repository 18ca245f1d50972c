/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections above the limit wait, and those that take too long end, so that everybody is answered in the end. */
#include "web/conns.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

#include "narrows/caliper.h"
#include "tests/check.h"

#define MS INT64_C(1000000)

static struct event_base *base;
static struct evhttp *http;
static struct conns *conns;
static struct sockaddr_in where;
static bool silent;
static struct evhttp_request *unanswered;

static void
on_request(struct evhttp_request *req, void *arg)
{
	(void)arg;
	conns_asked(conns, req);
	if (silent)
		unanswered = req;
	else {
		evhttp_add_header(evhttp_request_get_output_headers(req), "Connection", "close");
		evhttp_send_reply(req, 200, "OK", NULL);
	}
}

/* Runs the server for a while, at most until fd has something to read. */
static bool
run(int fd, int64_t for_ns)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int64_t end = nw_mono_ns() + for_ns;

	while (nw_mono_ns() < end) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		if (fd >= 0 && poll(&pfd, 1, 0) > 0)
			return true;
		poll(NULL, 0, 1);
	}
	return false;
}

static int
connect_to(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	connect(fd, (struct sockaddr *)&where, sizeof(where));
	return fd;
}

static ssize_t
say(int fd, const char *text)
{
	return send(fd, text, strlen(text), MSG_NOSIGNAL);
}

int
main(void)
{
	const struct conns_limits limits = { .max = 4, .ask_max_ns = 300 * MS, .answer_max_ns = 600 * MS, .sweep_ns = 50 * MS };
	struct evhttp_bound_socket *bound;
	socklen_t len = sizeof(where);
	int fd[8], late, i;
	char text[256];
	int64_t start;

	base = event_base_new();
	http = evhttp_new(base);
	bound = evhttp_bind_socket_with_handle(http, "127.0.0.1", 0);
	conns = conns_new(base, http, bound, &limits);
	evhttp_set_gencb(http, on_request, NULL);
	CHECK_INT(getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&where, &len), 0);
	CHECK_INT(conns_count(conns), 0);

	/* four that drip their header, four that wait for a place */
	for (i = 0; i < 8; i++)
		fd[i] = connect_to();
	start = nw_mono_ns();
	run(-1, 100 * MS);
	CHECK_INT(conns_count(conns), 4);
	for (i = 0; i < 4; i++)
		CHECK(say(fd[i], "GET / HTTP/1.1\r\nX: ") > 0);
	late = connect_to();
	run(-1, 20 * MS);
	CHECK(say(late, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") > 0);
	run(-1, 100 * MS);
	CHECK_INT(conns_count(conns), 4);
	/* the first are ended for being late, then the next four, then it is this one's turn */
	CHECK(run(late, 3000 * MS));
	CHECK(nw_mono_ns() - start > 2 * 300 * MS - 100 * MS);
	CHECK(recv(late, text, sizeof(text), 0) > 12 && memcmp(text, "HTTP/1.1 200", 12) == 0);
	CHECK(run(fd[0], 100 * MS) && recv(fd[0], text, sizeof(text), 0) == 0);
	for (i = 0; i < 8; i++)
		close(fd[i]);
	close(late);
	run(-1, 150 * MS);
	CHECK_INT(conns_count(conns), 0);

	/* an answer that does not come, and one that may take its time */
	silent = true;
	fd[0] = connect_to();
	CHECK(!run(fd[0], 50 * MS));
	CHECK(say(fd[0], "GET / HTTP/1.1\r\nHost: x\r\n\r\n") > 0);
	CHECK(!run(fd[0], 400 * MS));
	CHECK_INT(conns_count(conns), 1);
	CHECK(run(fd[0], 1000 * MS) && recv(fd[0], text, sizeof(text), 0) == 0);
	CHECK_INT(conns_count(conns), 0);
	CHECK(unanswered != NULL && evhttp_request_get_connection(unanswered) == NULL);
	evhttp_send_reply(unanswered, 200, "OK", NULL);  /* to nobody: frees it */
	close(fd[0]);

	/* the server goes first */
	fd[0] = connect_to();
	run(-1, 50 * MS);
	CHECK_INT(conns_count(conns), 1);
	conns_stop(conns);
	evhttp_free(http);
	CHECK_INT(conns_count(conns), 0);
	conns_free(conns);
	event_base_free(base);
	close(fd[0]);
	return check_done("test_conns");
}
