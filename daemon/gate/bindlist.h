/* SPDX-License-Identifier: BSD-3-Clause */
/* The sockets of a directive's addresses, for every kind of socket. */
#ifndef BINDLIST_H
#define BINDLIST_H

#include <stddef.h>

#include "narrows/conftable.h"

struct addrinfo;

/* Opens a socket bound to the address. Returns the descriptor, or -1 with errno. */
typedef int bindlist_fn(void *arg, const struct addrinfo *ai);

struct bindlist {
	const char *directive;
	int type;    /* SOCK_STREAM or SOCK_DGRAM */
	size_t most; /* sockets */
	bindlist_fn *fn;
	void *arg;
	size_t n;             /* sockets so far */
	char addresses[1024]; /* "address/port" of each, parted by blanks */
};

/* Opens "host/port", several parted by blanks, or "none". After NW_EINVAL or NW_EIO, why names
 * directive and fault, and the sockets before are the caller's to close. */
int bindlist_open(struct bindlist *b, const char *addresses, char why[CONF_WHY_BYTES]);

#endif
