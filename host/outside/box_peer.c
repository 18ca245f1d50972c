/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/outside/box_peer.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/* An agent has a few descriptors, and opens those to the box among the first. */
enum { DESCRIPTORS = 256 };

static bool
is_at(const struct sockaddr_storage *at, const struct net_addr *peer)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)at;
	const struct sockaddr_in *four = (const struct sockaddr_in *)at;

	if (at->ss_family != peer->family)
		return false;
	if (at->ss_family == AF_INET)
		return ntohs(four->sin_port) == peer->port &&
		    memcmp(&four->sin_addr, peer->ip, sizeof(four->sin_addr)) == 0;
	return at->ss_family == AF_INET6 && ntohs(six->sin6_port) == peer->port &&
	    memcmp(&six->sin6_addr, peer->ip, sizeof(six->sin6_addr)) == 0;
}

bool
box_peer_is(const struct net_addr *peer)
{
	int fd;

	for (fd = 0; fd < DESCRIPTORS; fd++) {
		struct sockaddr_storage at = { .ss_family = AF_UNSPEC };
		socklen_t len = sizeof(at);

		if (getpeername(fd, (struct sockaddr *)&at, &len) == 0 && is_at(&at, peer))
			return true;
	}
	return false;
}
