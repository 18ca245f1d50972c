/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <sys/random.h>

#include "host/nwrun/collect/collect_in.h"

enum { ID_STOCK = 16 }; /* getrandom(2) gives so many bytes whole */

/* One call of the kernel makes the bytes of many ids. */
void
id_make(char out[UUID_BYTES])
{
	static uint8_t random[ID_STOCK][UUID_RANDOM_BYTES];
	static size_t left;

	if (left == 0) {
		if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
			abort();
		left = ID_STOCK;
	}
	uuid_of_random(random[--left], out);
}
