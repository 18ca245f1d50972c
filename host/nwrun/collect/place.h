/* SPDX-License-Identifier: BSD-3-Clause */
/* The resources behind files and connections, by the names that blipp(8) gives them. */
#ifndef HOST_PLACE_H
#define HOST_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/lib/net_addr.h"

enum { PLACE_BYTES = 64 };

/* The whole block device of a file by its file system's number, as in nwshm.h: the major number in
 * the upper half. False where there is none: the file lies in memory, on a network, or in a file
 * system that hides its devices. One thread at a time may ask. */
bool place_of_file(uint64_t dev, char out[PLACE_BYTES]);
/* The same by the number of the device, whose directories are below `dev`: /sys/dev/block. */
bool place_of_device(const char *dev, dev_t number, char out[PLACE_BYTES]);
/* The network interface that has the address. */
bool place_of_address(const struct net_addr *a, char out[PLACE_BYTES]);

#endif
