/* SPDX-License-Identifier: BSD-3-Clause */
/* Random names for providers, series and tasks. */
#ifndef HOST_UUID_H
#define HOST_UUID_H

#include <stdint.h>

enum { UUID_BYTES = 37, UUID_RANDOM_BYTES = 16 };

/* Writes a random UUID (RFC 4122, version 4) as text. NW_EIO: the kernel gives no random bytes. */
int uuid_make(char out[UUID_BYTES]);
/* The same from 16 random bytes, used for no other id. */
void uuid_of_random(const uint8_t random[UUID_RANDOM_BYTES], char out[UUID_BYTES]);

#endif
