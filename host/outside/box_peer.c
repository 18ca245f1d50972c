/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/outside/box_peer.h"

#include <sys/socket.h>

/* An agent has a few descriptors, and opens those to the box among the first. */
enum { DESCRIPTORS = 256 };

bool
box_peer_is(const struct net_addr *peer)
{
	int fd;

	for (fd = 0; fd < DESCRIPTORS; fd++) {
		struct sockaddr_storage at = { .ss_family = AF_UNSPEC };
		socklen_t len = sizeof(at);
		struct net_addr its;

		if (getpeername(fd, (struct sockaddr *)&at, &len) == 0 &&
		    net_addr_of_socket(&its, &at) && net_addr_is_same(&its, peer))
			return true;
	}
	return false;
}
