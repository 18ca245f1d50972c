/* SPDX-License-Identifier: BSD-3-Clause */
/* Address and port of one end of a connection. */
#ifndef HOST_NET_ADDR_H
#define HOST_NET_ADDR_H

#include <stdint.h>

struct net_addr {
	uint16_t family, port; /* AF_*, host order */
	uint8_t ip[16];        /* network order; IPv4 in the first four */
};

#endif
