/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of boxes as people write them, and a connection that finds nobody. */
#include "host/lib/conn.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "tests/check.h"
#include "narrows/clock.h"
#include "narrows/err.h"

static const struct {
	const char *text, *host, *port;
} good[] = {
	{ "127.0.0.1/5006", "127.0.0.1", "5006" },
	{ "127.0.0.1:5007", "127.0.0.1", "5007" },
	{ "box.example.net", "box.example.net", "5006" },
	{ "box/5010", "box", "5010" },
	{ "[::1]:99", "::1", "99" },
	{ "[::1]/99", "::1", "99" },
	{ "[::1]", "::1", "5006" },
	{ "::1", "::1", "5006" },
	{ "::1/7", "::1", "7" },
	{ "box:xsp", "box", "xsp" },
	{ "tls://box.example.net", "box.example.net", "5007" },
	{ "tls://127.0.0.1/5010", "127.0.0.1", "5010" },
	{ "tls://[::1]:99", "::1", "99" },
};
static const char *const bad[] = { "", "/5006", ":5006", "box/", "box:", "[::1", "[]:1", "[::1]x",
	"a b/1", "a/b/c", "a/1:2", "tls://", "tls:///5007", "https://box" };

static void
test_addresses(void)
{
	struct conn_addr a;
	char longer[400];
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK_INT(conn_addr_parse(good[i].text, &a), NW_OK);
		CHECK_STR(a.host, good[i].host);
		CHECK_STR(a.port, good[i].port);
		CHECK_INT(a.tls, strncmp(good[i].text, "tls:", 4) == 0);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(conn_addr_parse(bad[i], &a), NW_EINVAL);
	memset(longer, 'h', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	CHECK_INT(conn_addr_parse(longer, &a), NW_EINVAL);
}

static void
test_nobody(void)
{
	struct conn_addr a;
	struct nw_frame f;
	struct conn c;
	int rc;

	conn_init(&c);
	CHECK_INT(conn_step(&c, nw_mono_ns()), NW_ECLOSED);
	CHECK_INT(conn_recv(&c, &f), NW_ECLOSED);
	CHECK_INT(conn_addr_parse("127.0.0.1/1", &a), NW_OK);
	rc = conn_connect(&c, &a, NULL, 0, 1000000000);
	while (rc == NW_OK)
		rc = conn_step(&c, nw_mono_ns());
	CHECK(c.state == CONN_CLOSED && c.fd == -1);
	CHECK_STR(c.why, "no server listens at the address");
	CHECK_INT(conn_addr_parse("127.0.0.1/no-such-service", &a), NW_OK);
	CHECK_INT(conn_connect(&c, &a, NULL, 0, 1000000000), NW_EIO);
	CHECK_INT(conn_addr_parse("tls://127.0.0.1/1", &a), NW_OK);
	CHECK_INT(conn_connect(&c, &a, NULL, 0, 1000000000), NW_EIO);
	CHECK_STR(c.why, "TLS is not offered here");
	conn_clear(&c);
}

/* Reads so many bytes at most, and checks that the blocks of whole messages carry the numbers from
 * *number on. Returns the messages. */
static unsigned
numbers_read(int fd, size_t bytes, uint32_t *number)
{
	static uint8_t buf[1 << 16];
	static size_t len;
	ssize_t n = recv(fd, buf + len, bytes < sizeof(buf) - len ? bytes : sizeof(buf) - len, 0);
	unsigned messages = 0;
	struct nw_frame f;
	struct nw_block b;
	size_t cursor, at = 0, need;
	const char *why;

	len += n > 0 ? (size_t)n : 0;
	while (nw_frame_parse(buf + at, len - at, &nw_frame_limits_default, &f, &need, &why) ==
	    NW_OK) {
		for (cursor = 0; nw_frame_next_block(&f, &cursor, &b); (*number)++)
			CHECK(b.len >= 4 && memcmp(b.data, number, 4) == 0);
		CHECK(f.n_blocks <= NW_FRAME_JOINED_BLOCKS);
		CHECK(f.n_blocks <= 1 || f.len <= NW_FRAME_JOINED_BYTES);
		messages++;
		at += f.len;
	}
	memmove(buf, buf + at, len -= at);
	return messages;
}

/* Blocks join messages of which no byte is sent yet, while a socket takes what it likes. */
static void
test_joining(void)
{
	enum { BLOCKS = 6000, ROUNDS_MAX = 10000 };
	static uint8_t data[600];
	struct nw_block b = { .type = NW_OPT_DATA, .sport = 1, .data = data };
	uint32_t queued = 0, number = 0;
	unsigned messages = 0, own = 0;
	int fd[2], small = 2048, round;
	struct conn c;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) == 0);
	setsockopt(fd[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	conn_init(&c);
	conn_adopt(&c, fd[0]);
	c.joins = true;
	for (round = 0; number < BLOCKS && round < ROUNDS_MAX && check_failed == 0; round++) {
		for (; queued < BLOCKS && conn_unsent_bytes(&c) < 9000 + queued % 7 * 2000;
		     queued++) {
			memcpy(data, &queued, sizeof(queued));
			b.len = 4 + queued * 37 % (sizeof(data) - 4);
			CHECK_INT(conn_queue(&c, 1, NW_MSG_APP_DATA, &b), NW_OK);
			if (queued % 500 == 0) { /* a message between others ends the one before */
				CHECK_INT(conn_queue(&c, 1, NW_MSG_PONG, NULL), NW_OK);
				own++;
			}
		}
		CHECK_INT(conn_step(&c, nw_mono_ns()), NW_OK);
		messages += numbers_read(fd[1], 700 + number % 1900, &number);
	}
	CHECK_INT(number, BLOCKS);
	CHECK(messages - own > BLOCKS / NW_FRAME_JOINED_BLOCKS && messages - own < BLOCKS / 4);
	conn_clear(&c);
	close(fd[1]);
}

int
main(void)
{
	test_addresses();
	test_nobody();
	test_joining();
	return check_done("conn");
}
