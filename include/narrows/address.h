/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses as people write them: a host and a port. No lookup, no allocation. */
#ifndef NARROWS_ADDRESS_H
#define NARROWS_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

enum { ADDRESS_HOST_BYTES = 256 };

/* Splits "host/port" or "host:port", where an IPv6 host may stand in brackets. NW_EINVAL: the text
 * has another form. */
int address_parse(const char *text, char host[ADDRESS_HOST_BYTES], uint16_t *port);
/* True for 127.0.0.0/8, ::1 and the name "localhost". */
bool address_is_loopback(const char *host);
/* Whether a name or an address is in a list by blanks, in any case of its letters. The word "any"
 * in the list stands for all. */
bool address_is_listed(const char *host, const char *list);

#endif
