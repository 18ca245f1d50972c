/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HOST_ADDRESSES_H
#define HOST_ADDRESSES_H

#include <stddef.h>

/* This host's addresses as words, without those that every host has (loopback, link-local). Cut at
 * whole ones. */
void addresses_list(char *out, size_t cap);

#endif
