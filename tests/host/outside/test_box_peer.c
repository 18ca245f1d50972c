/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections to the box are told from those to other ports of the same machine. */
#include "host/outside/box_peer.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/check.h"

static int
listener_open(struct sockaddr_in *at)
{
	socklen_t len = sizeof(*at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*at = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	CHECK(bind(fd, (struct sockaddr *)at, sizeof(*at)) == 0 && listen(fd, 1) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)at, &len) == 0);
	return fd;
}

static struct net_addr
addr_of(const struct sockaddr_in *at)
{
	struct net_addr a;

	net_addr_set(&a, AF_INET, &at->sin_addr, ntohs(at->sin_port));
	return a;
}

/* A connection of a socket of IPv6 to an address of IPv4. */
static int
connect_by_ipv6(const struct sockaddr_in *to)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_port = to->sin_port };
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	at.sin6_addr.s6_addr[10] = at.sin6_addr.s6_addr[11] = 0xff;
	memcpy(at.sin6_addr.s6_addr + 12, &to->sin_addr, 4);
	if (fd >= 0) /* this machine has IPv6 */
		CHECK(connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
	return fd;
}

int
main(void)
{
	struct sockaddr_in box, other;
	int listening = listener_open(&box), beside = listener_open(&other);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct net_addr to_box = addr_of(&box), to_other = addr_of(&other), six = to_box;

	CHECK(!box_peer_is(&to_box));
	CHECK(connect(fd, (struct sockaddr *)&box, sizeof(box)) == 0);
	CHECK(box_peer_is(&to_box));
	CHECK(!box_peer_is(&to_other));
	six.family = AF_INET6;
	CHECK(!box_peer_is(&six));
	close(fd);
	CHECK(!box_peer_is(&to_box));
	if ((fd = connect_by_ipv6(&other)) >= 0) {
		CHECK(box_peer_is(&to_other));
		close(fd);
	}
	close(listening);
	close(beside);
	return check_done("test_box_peer");
}
