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
	struct net_addr a = { .family = AF_INET, .port = ntohs(at->sin_port) };

	memcpy(a.ip, &at->sin_addr, 4);
	return a;
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
	close(listening);
	close(beside);
	return check_done("test_box_peer");
}
