/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address and port of one end of a connection. An IPv4 address within IPv6 (::ffff:192.0.2.1) is an
 * IPv4 address here, because one kernel table has it so and another does not.
 */
#ifndef HOST_NET_ADDR_H
#define HOST_NET_ADDR_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

struct net_addr {
	uint16_t family, port; /* AF_*, host order */
	uint8_t ip[16];        /* network order; IPv4 in the first four */
};

/* ip: four bytes of AF_INET, else sixteen, in network order. port: host order. */
static inline void
net_addr_set(struct net_addr *out, int family, const void *ip, uint16_t port)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *from = (const uint8_t *)ip;

	memset(out, 0, sizeof(*out));
	out->port = port;
	if (family == AF_INET6 && memcmp(from, mapped, sizeof(mapped)) == 0) {
		family = AF_INET;
		from += sizeof(mapped);
	}
	out->family = (uint16_t)family;
	memcpy(out->ip, from, family == AF_INET ? 4 : 16);
}

/* Returns false, with family 0, for a socket of another family than the internet's. */
static inline bool
net_addr_of_socket(struct net_addr *out, const struct sockaddr_storage *from)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;

	memset(out, 0, sizeof(*out));
	if (from->ss_family == AF_INET)
		net_addr_set(out, AF_INET, &v4->sin_addr, ntohs(v4->sin_port));
	else if (from->ss_family == AF_INET6)
		net_addr_set(out, AF_INET6, &v6->sin6_addr, ntohs(v6->sin6_port));
	return out->family != 0;
}

/* Reads a number of an address, without a name and without a port. */
static inline bool
net_addr_parse(struct net_addr *out, const char *text, uint16_t port)
{
	const int family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET;
	uint8_t ip[16];

	memset(out, 0, sizeof(*out));
	if (inet_pton(family, text, ip) != 1)
		return false;
	net_addr_set(out, family, ip, port);
	return true;
}

static inline bool
net_addr_is_loopback(const struct net_addr *a)
{
	static const uint8_t one[16] = { [15] = 1 };

	return a->family == AF_INET ? a->ip[0] == 127 : memcmp(a->ip, one, sizeof(one)) == 0;
}

static inline bool
net_addr_is_same(const struct net_addr *a, const struct net_addr *b)
{
	return a->family == b->family && a->port == b->port &&
	    memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}

#endif
