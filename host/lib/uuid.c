/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/uuid.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "narrows/err.h"

void
uuid_of_random(const uint8_t random[UUID_RANDOM_BYTES], char out[UUID_BYTES])
{
	uint8_t r[UUID_RANDOM_BYTES];

	memcpy(r, random, sizeof(r));
	r[6] = (r[6] & 0x0f) | 0x40; /* the version */
	r[8] = (r[8] & 0x3f) | 0x80; /* the variant */
	snprintf(out, UUID_BYTES,
	    "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", r[0], r[1],
	    r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12], r[13], r[14],
	    r[15]);
}

int
uuid_make(char out[UUID_BYTES])
{
	uint8_t r[UUID_RANDOM_BYTES];

	if (getrandom(r, sizeof(r), 0) != (ssize_t)sizeof(r))
		return NW_EIO;
	uuid_of_random(r, out);
	return NW_OK;
}
