/* SPDX-License-Identifier: BSD-3-Clause */
/* Random names for providers, series and tasks. */
#ifndef HOST_UUID_H
#define HOST_UUID_H

enum { UUID_BYTES = 37 };

/* Writes a random UUID (RFC 4122, version 4) as text. NW_EIO: the kernel gives no random bytes. */
int uuid_make(char out[UUID_BYTES]);

#endif
