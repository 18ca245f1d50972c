/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers good and bad to one question: what is whole arrives whole, what is not is refused,
 * whatever the server says. */
#include "pki/ask/httpask.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"
#include "narrows/err.h"

static char asked[2048]; /* what the server was sent */

/* A server for one connection: reads the question, says `answer` in pieces, and closes. */
static pid_t
serve(const char *answer, size_t len, uint16_t *port, int *heard)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd, pipes[2];
	socklen_t at_len = sizeof(at);
	char in[2048];
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	CHECK(bind(listener, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(listener, 1) == 0 &&
	    getsockname(listener, (struct sockaddr *)&at, &at_len) == 0 && pipe(pipes) == 0);
	*port = ntohs(at.sin_port);
	*heard = pipes[0];
	fflush(NULL);
	if ((pid = fork()) != 0) {
		close(listener);
		close(pipes[1]);
		return pid;
	}
	fd = accept(listener, NULL, NULL);
	while (n < sizeof(in) && memmem(in, n, "\r\n\r\n", 4) == NULL &&
	    (got = read(fd, in + n, sizeof(in) - n)) > 0)
		n += (size_t)got;
	got = write(pipes[1], in, n);
	for (n = 0; n < len; n += (size_t)got)
		if ((got = send(fd, answer + n, len - n > 700 ? 700 : len - n, MSG_NOSIGNAL)) < 0)
			break;
	close(fd);
	_exit(0);
}

struct body {
	char text[256];
	size_t len;
	int rc;
};

static int
on_data(void *arg, const char *data, size_t len)
{
	struct body *b = arg;
	size_t n = len < sizeof(b->text) - 1 - b->len ? len : sizeof(b->text) - 1 - b->len;

	memcpy(b->text + b->len, data, n);
	b->len += n;
	b->text[b->len] = '\0';
	return b->rc;
}

static int
get(const char *answer, size_t len, const char *body, struct body *b, int *status,
    char why[HTTPASK_WHY_BYTES])
{
	char base[64];
	uint16_t port;
	int heard, rc;
	ssize_t n;
	pid_t pid = serve(answer, len, &port, &heard);

	b->len = 0;
	b->text[0] = '\0';
	*status = 0;
	snprintf(base, sizeof(base), "http://127.0.0.1:%u/", port);
	rc = httpask(&(struct httpask){ .base = base, .path = "/x?y=1", .body = body }, on_data, b,
	    status, why);
	n = read(heard, asked, sizeof(asked) - 1);
	asked[n > 0 ? n : 0] = '\0';
	close(heard);
	waitpid(pid, NULL, 0);
	return rc;
}

#define OK      "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"

/* Answers, and what is made of each. */
static const struct {
	const char *answer;
	int rc, status;
	const char *body, *why;
} answers[] = {
	{ OK "Content-Length: 5\r\n\r\nhello", NW_OK, 200, "hello", NULL },
	{ OK "content-LENGTH:5\r\n\r\nhello, and more", NW_OK, 200, "hello", NULL },
	{ "HTTP/1.0 404 Not Found\r\n\r\nno such", NW_OK, 404, "no such", NULL },
	{ "HTTP/1.1 503 \nContent-Length: 1\n\nx", NW_OK, 503, "x", NULL },
	{ "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", NW_OK, 304, "", NULL },
	{ OK "Content-Length: 0\r\n\r\n", NW_OK, 200, "", NULL },
	{ CHUNKED "5\r\nhello\r\n0\r\n\r\n", NW_OK, 200, "hello", NULL },
	{ CHUNKED "1;name=value\r\nh\r\n4 \r\nello\r\n000\r\nTrailer: x\r\n\r\n", NW_OK, 200,
	    "hello", NULL },
	{ CHUNKED "A\r\n0123456789\r\n0\r\n", NW_OK, 200, "0123456789", NULL },
	/* what is not whole */
	{ "", NW_EPROTO, 0, "", "breaks off" },
	{ "HTTP/1.1 200", NW_EPROTO, 0, "", "breaks off" },
	{ OK "Content-Length: 6\r\n\r\nhello", NW_EPROTO, 200, "hello", "breaks off" },
	{ OK "Content-Length: 6\r\n", NW_EPROTO, 200, "", "breaks off" },
	{ CHUNKED "5\r\nhello\r\n", NW_EPROTO, 200, "hello", "breaks off" },
	{ CHUNKED "5\r\nhel", NW_EPROTO, 200, "hel", "breaks off" },
	{ CHUNKED "fffffffffffffff\r\nx", NW_EPROTO, 200, "x", "breaks off" },
	/* what is wrong */
	{ "SSH-2.0-OpenSSH_9.2\r\n", NW_EPROTO, 0, "", "not HTTP" },
	{ "HTTP/2 200\r\n\r\n", NW_EPROTO, 0, "", "not HTTP" },
	{ "HTTP/1.1 99 x\r\n\r\n", NW_EPROTO, 99, "", "not HTTP" },
	{ OK "no colon\r\n\r\n", NW_EPROTO, 200, "", "header" },
	{ OK "Content-Length: -1\r\n\r\n", NW_EPROTO, 200, "", "length" },
	{ OK "Content-Length: 5x\r\n\r\nhello", NW_EPROTO, 200, "", "length" },
	{ OK "Content-Length: 99999999999999999999\r\n\r\nhello", NW_EPROTO, 200, "", "length" },
	{ OK "Transfer-Encoding: gzip\r\n\r\nhello", NW_EPROTO, 200, "", "encoding" },
	{ CHUNKED "x\r\nhello\r\n0\r\n\r\n", NW_EPROTO, 200, "", "chunk" },
	{ CHUNKED "-5\r\nhello\r\n0\r\n\r\n", NW_EPROTO, 200, "", "chunk" },
	{ CHUNKED "4\r\nhello\r\n0\r\n\r\n", NW_EPROTO, 200, "hell", "longer" },
};

static void
test_answers(void)
{
	char why[HTTPASK_WHY_BYTES];
	struct body b = { .rc = NW_OK };
	int rc, status;
	size_t i;

	for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		rc = get(answers[i].answer, strlen(answers[i].answer), NULL, &b, &status, why);
		CHECK_INT(rc, answers[i].rc);
		CHECK_INT(status, answers[i].status);
		CHECK_STR(b.text, answers[i].body);
		CHECK(answers[i].why == NULL || strstr(why, answers[i].why) != NULL);
		if (rc != answers[i].rc)
			fprintf(stderr, "%s: %s\n", answers[i].answer, why);
	}
	CHECK(strstr(asked, "GET /x?y=1 HTTP/1.1\r\nHost: 127.0.0.1:") == asked);
	CHECK(strstr(asked, "\r\nConnection: close\r\n") != NULL);
	CHECK_INT(
	    get(OK "Content-Length: 0\r\n\r\n", sizeof(OK) + 20, "what is sent", &b, &status, why),
	    NW_OK);
	CHECK(strstr(asked, "POST /x?y=1 HTTP/1.1\r\n") == asked &&
	    strstr(asked, "\r\nContent-Length: 12\r\n") != NULL);
	b.rc = NW_EIO; /* nowhere to write it */
	CHECK_INT(
	    get(CHUNKED "5\r\nhello\r\n0\r\n\r\n", sizeof(CHUNKED) + 14, NULL, &b, &status, why),
	    NW_EIO);
}

/* Heads without end. */
static void
test_floods(void)
{
	static char big[400000];
	char why[HTTPASK_WHY_BYTES];
	struct body b = { .rc = NW_OK };
	size_t n, i;
	int status;

	n = (size_t)sprintf(big, OK "X: ");
	memset(big + n, 'a', sizeof(big) - n);
	CHECK_INT(get(big, sizeof(big), NULL, &b, &status, why), NW_EPROTO);
	CHECK(strstr(why, "too long") != NULL);
	for (n = (size_t)sprintf(big, OK), i = 0; i < 1000; i++)
		n += (size_t)sprintf(big + n, "X-%zu: y\r\n", i);
	CHECK_INT(get(big, n, NULL, &b, &status, why), NW_EPROTO);
	CHECK(strstr(why, "too many") != NULL);
}

static void
test_addresses(void)
{
	static const struct {
		const char *base;
		int rc;
		const char *why;
	} cases[] = {
		{ "", NW_EINVAL, "not an address" },
		{ "http://", NW_EINVAL, "not an address" },
		{ "http://a b:1", NW_EINVAL, "not an address" },
		{ "127.0.0.1:65536", NW_EINVAL, "not an address" },
		{ "ftp://127.0.0.1:1", NW_EINVAL, "not an address" },
		{ "http://127.0.0.1:1/path", NW_EINVAL, "not an address" },
		{ "127.0.0.1/1", NW_EIO, "refused" },
		{ "http://127.0.0.1:1/", NW_EIO, "refused" },
		{ "https://127.0.0.1:1/", NW_EINVAL, "/nonexistent/ca.crt" },
		{ "http://[::1]:1", NW_EIO, "" },
		{ "http://no.such.host.invalid:1", NW_EIO, "" },
	};
	char why[HTTPASK_WHY_BYTES];
	size_t i;
	int status, rc;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rc = httpask(
		    &(struct httpask){
			.base = cases[i].base, .ca_path = "/nonexistent/ca.crt", .path = "/" },
		    on_data, NULL, &status, why);
		CHECK_INT(rc, cases[i].rc);
		CHECK(why[0] != '\0' && strstr(why, cases[i].why) != NULL);
		if (rc != cases[i].rc)
			fprintf(stderr, "%s: %s\n", cases[i].base, why);
	}
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	alarm(60);
	test_answers();
	test_floods();
	test_addresses();
	return check_done("httpask");
}
