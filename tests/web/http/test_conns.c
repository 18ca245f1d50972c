/* SPDX-License-Identifier: BSD-3-Clause */
/* Who asks is answered, however many do not: those make room for others, and those that take too
 * long end. */
#include "web/http/conns.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

#include "narrows/clock.h"
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

static const char own_headers[] = "X-Ours: yes\r\n";

static void
start(const struct conns_limits *limits)
{
	socklen_t len = sizeof(where);
	struct evhttp_bound_socket *bound;

	base = event_base_new();
	http = evhttp_new(base);
	evhttp_set_max_headers_size(http, 4096);
	bound = evhttp_bind_socket_with_handle(http, "127.0.0.1", 0);
	conns = conns_new(base, http, bound, limits, own_headers);
	evhttp_set_gencb(http, on_request, NULL);
	CHECK_INT(
	    getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&where, &len), 0);
	CHECK_INT(conns_count(conns), 0);
}

static void
stop(void)
{
	conns_stop(conns);
	evhttp_free(http);
	CHECK_INT(conns_count(conns), 0);
	conns_free(conns);
	event_base_free(base);
}

/* From 127.0.0.last. */
static int
connect_from(uint8_t last)
{
	struct sockaddr_in from = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(0x7f000000u | last) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	CHECK_INT(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	connect(fd, (struct sockaddr *)&where, sizeof(where));
	return fd;
}

static bool
is_ended(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK) == 0;
}

static bool
is_answered(int fd)
{
	char text[256];

	return run(fd, 2000 * MS) && recv(fd, text, sizeof(text), 0) > 12 &&
	    memcmp(text, "HTTP/1.1 200", 12) == 0;
}

static const char get[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/* More from one address than it may have: the oldest of those that do not ask go, whoever comes
 * next is served. */
static void
test_one_address(void)
{
	const struct conns_limits limits = { .max = 8,
		.per_address_max = 3,
		.ask_max_ns = 60000 * MS,
		.answer_max_ns = 60000 * MS,
		.sweep_ns = 50 * MS };
	int fd[6], other, late, i;

	start(&limits);
	other = connect_from(2);
	for (i = 0; i < 6; i++) {
		fd[i] = connect_from(1);
		run(-1, 10 * MS);
	}
	CHECK_INT(conns_count(conns), 4);
	for (i = 0; i < 6; i++)
		CHECK(is_ended(fd[i]) == (i < 3));
	CHECK_INT(conns_get_stats(conns)->refused, 3);
	late = connect_from(1);
	CHECK(say(late, get) > 0);
	CHECK(is_answered(late));
	CHECK(is_ended(fd[3]) && !is_ended(fd[5]) && !is_ended(other));
	/* those that are being answered do not go: there is no room for one more */
	silent = true;
	CHECK(say(fd[4], get) > 0 && say(fd[5], get) > 0);
	run(-1, 50 * MS);
	close(late);
	late = connect_from(1);
	CHECK(say(late, get) > 0);
	run(-1, 50 * MS);
	i = connect_from(1);
	run(-1, 50 * MS);
	CHECK(is_ended(i) && !is_ended(late) && !is_ended(fd[4]) && !is_ended(fd[5]));
	silent = false;
	stop();
	for (i = 0; i < 6; i++)
		close(fd[i]);
	close(late);
	close(other);
}

/* All places taken by many addresses. */
static void
test_many_addresses(void)
{
	const struct conns_limits limits = { .max = 8,
		.per_address_max = 8,
		.ask_max_ns = 60000 * MS,
		.answer_max_ns = 60000 * MS,
		.sweep_ns = 50 * MS };
	int fd[40], late, i;

	start(&limits);
	for (i = 0; i < 40; i++)
		fd[i] = connect_from((uint8_t)(i + 1));
	run(-1, 100 * MS);
	CHECK_INT(conns_count(conns), 8);
	CHECK_INT(conns_get_stats(conns)->refused, 32);
	late = connect_from(100);
	CHECK(say(late, get) > 0);
	CHECK(is_answered(late));
	close(late);
	/* seven wait for answers and one is about to ask: the next has to wait until it has asked
	 * and gone */
	silent = true;
	for (i = 0; i < 8; i++)
		close(fd[i]);
	for (i = 32; i < 39; i++)
		say(fd[i], get);
	run(-1, 100 * MS);
	late = connect_from(100);
	run(-1, 50 * MS);
	fd[0] = connect_from(101);
	CHECK(say(fd[0], get) > 0);
	silent = false;
	CHECK(!run(fd[0], 200 * MS));
	CHECK(say(late, get) > 0);
	CHECK(is_answered(late));
	CHECK(is_answered(fd[0]));
	CHECK_INT(conns_get_stats(conns)->timeouts, 0);
	stop();
	close(late);
	close(fd[0]);
	for (i = 8; i < 40; i++)
		close(fd[i]);
}

static void
test_times(void)
{
	const struct conns_limits limits = { .max = 4,
		.per_address_max = 4,
		.ask_max_ns = 300 * MS,
		.answer_max_ns = 600 * MS,
		.sweep_ns = 50 * MS };
	char text[256];
	int fd, drip;

	start(&limits);
	drip = connect_to();
	run(-1, 50 * MS);
	CHECK(say(drip, "GET / HTTP/1.1\r\nX: ") > 0);
	run(-1, 150 * MS);
	CHECK(say(drip, "y") > 0 && !is_ended(drip));
	CHECK(run(drip, 300 * MS) && is_ended(drip));
	CHECK_INT(conns_get_stats(conns)->timeouts, 1);
	close(drip);

	/* an answer that does not come */
	silent = true;
	fd = connect_to();
	CHECK(!run(fd, 50 * MS));
	CHECK(say(fd, get) > 0);
	CHECK(!run(fd, 400 * MS));
	CHECK_INT(conns_count(conns), 1);
	CHECK(run(fd, 1000 * MS) && recv(fd, text, sizeof(text), 0) == 0);
	CHECK_INT(conns_count(conns), 0);
	CHECK_INT(conns_get_stats(conns)->timeouts, 2);
	CHECK(unanswered != NULL && evhttp_request_get_connection(unanswered) == NULL);
	evhttp_send_reply(unanswered, 200, "OK", NULL); /* to nobody: frees it */
	silent = false;
	close(fd);

	/* the server goes first */
	fd = connect_to();
	run(-1, 50 * MS);
	CHECK_INT(conns_count(conns), 1);
	stop();
	close(fd);
}

/* What evhttp answers by itself has our headers, and is the end of the connection. */
static void
test_malformed(void)
{
	static const char *const wrong[] = { "BREW / HTTP/1.1\r\nHost: x\r\n\r\n", "GET\r\n\r\n",
		"GET / SMTP\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
		"POST / HTTP/1.1\r\nExpect: wonders\r\nContent-Length: 1\r\n\r\n" };
	const struct conns_limits limits = { .max = 4,
		.per_address_max = 4,
		.ask_max_ns = 5000 * MS,
		.answer_max_ns = 5000 * MS,
		.sweep_ns = 50 * MS };
	static char big[9000], text[2048];
	size_t i, n = 0;
	ssize_t got = -1;
	int fd;

	start(&limits);
	n = (size_t)sprintf(big, "GET / HTTP/1.1\r\nX: ");
	memset(big + n, 'a', sizeof(big) - n - 1);
	for (i = 0; i <= sizeof(wrong) / sizeof(wrong[0]); i++) {
		fd = connect_to();
		CHECK(say(fd, i < sizeof(wrong) / sizeof(wrong[0]) ? wrong[i] : big) > 0);
		CHECK(run(fd, 1000 * MS));
		n = 0;
		while (
		    run(fd, 1000 * MS) && (got = recv(fd, text + n, sizeof(text) - 1 - n, 0)) > 0)
			n += (size_t)got;
		text[n] = '\0';
		CHECK(got == 0);
		CHECK(memcmp(text, "HTTP/1.", 7) == 0 && text[9] >= '4');
		CHECK(strstr(text, "\r\nX-Ours: yes\r\n") != NULL &&
		    strstr(text, "\r\n\r\n") != NULL);
		CHECK_INT(conns_get_stats(conns)->malformed, i + 1);
		close(fd);
	}
	/* "go on" is no answer */
	fd = connect_to();
	CHECK(
	    say(fd,
		"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n") >
	    0);
	CHECK(run(fd, 1000 * MS) && recv(fd, text, sizeof(text), 0) == 25 &&
	    memcmp(text, "HTTP/1.1 100 Continue\r\n\r\n", 25) == 0);
	CHECK(say(fd, "hi") == 2);
	CHECK(is_answered(fd));
	close(fd);
	CHECK_INT(conns_get_stats(conns)->malformed, i);
	stop();
}

int
main(void)
{
	test_one_address();
	test_many_addresses();
	test_times();
	test_malformed();
	return check_done("conns");
}
