/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UDP sockets of the net thread. Each turn of the loop reads a bounded number of datagrams, so that
 * a flood leaves the other events their turns; what comes faster is dropped by the kernel.
 */
#ifndef DATAGRAM_H
#define DATAGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "narrows/conftable.h"

struct datagrams;
struct event_base;

struct datagram {
	const char *source; /* numeric address of the sender, IPv4 in IPv6 as IPv4 */
	uint8_t ip[16];     /* the same; IPv4 as ::ffff:0:0/96 */
	const uint8_t *bytes;
	size_t len;
};

/* Called for each datagram; everything is on loan. */
typedef void datagram_fn(void *arg, const struct datagram *d);

/* Opens the addresses ("host/port", parted by blanks, or "none"). A longer datagram than bytes_max
 * is cut to bytes_max + 1 bytes. After NW_EINVAL or NW_EIO, why names directive and fault. */
int datagrams_start(struct event_base *base, const char *directive, const char *addresses,
    size_t bytes_max, datagram_fn *fn, void *arg, struct datagrams **out, char why[CONF_WHY_BYTES]);
/* Accepts NULL. */
void datagrams_stop(struct datagrams *d);
/* "address/port" of each socket, parted by blanks; on loan. */
const char *datagrams_addresses(const struct datagrams *d);

#endif
