/* SPDX-License-Identifier: BSD-3-Clause */
/* The user of a loopback connection: over IPv4, over IPv6 if present, and of no TCP socket. */
#include "daemon/gate/sockuser.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/check.h"

static void
test_family(const struct sockaddr *any, socklen_t len)
{
	int listener = socket(any->sa_family, SOCK_STREAM, 0), client, server;
	struct sockaddr_storage ss;
	uint32_t uid = 77777;

	if (listener < 0 || bind(listener, any, len) != 0 || listen(listener, 1) != 0) {
		CHECK(any->sa_family == AF_INET6); /* a machine without IPv6 */
		close(listener);
		return;
	}
	CHECK_INT(getsockname(listener, (struct sockaddr *)&ss, &len), 0);
	client = socket(any->sa_family, SOCK_STREAM, 0);
	CHECK_INT(connect(client, (struct sockaddr *)&ss, len), 0);
	server = accept(listener, NULL, NULL);
	CHECK(sockuser_get(server, &uid));
	CHECK_INT(uid, getuid());
	close(server);
	close(client);
	close(listener);
}

int
main(void)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	uint32_t uid;
	int pair[2];

	test_family((struct sockaddr *)&v4, sizeof(v4));
	test_family((struct sockaddr *)&v6, sizeof(v6));
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	CHECK(!sockuser_get(pair[0], &uid));
	CHECK(!sockuser_get(-1, &uid));
	return check_done("test_sockuser");
}
