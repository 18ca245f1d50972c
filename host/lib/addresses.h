/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HOST_ADDRESSES_H
#define HOST_ADDRESSES_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

/* Lists this host's addresses as words, without the addresses of every host (loopback,
 * link-local). A word that does not fit is left out. */
void addresses_list(char *out, size_t cap);
/* The interface with the address. Returns false without such an interface. */
bool addresses_interface(const char *address, char out[IF_NAMESIZE]);

#endif
