/* SPDX-License-Identifier: BSD-3-Clause */
/* The address of a box, as people write one. */
#ifndef HOST_CONN_ADDR_H
#define HOST_CONN_ADDR_H

#include <stdbool.h>

#define CONN_ADDR_WHY "not an address: write 192.0.2.1/5006 or tls://box.example.net"

enum { CONN_HOST_BYTES = 254, CONN_PORT_BYTES = 32 };

struct conn_addr {
	char host[CONN_HOST_BYTES];
	char port[CONN_PORT_BYTES];
	bool tls;
};

/* Parses "host/port", "host:port", "[v6]:port", "v6/port", or "tls://" and any of these. The
 * port is 5006 by default, 5007 for TLS. NW_EINVAL. */
int conn_addr_parse(const char *text, struct conn_addr *out);

#endif
