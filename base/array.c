/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_MIN = 16 };

bool
array_room(void *array, size_t *cap, size_t n, size_t size)
{
	size_t want = *cap == 0 ? ROOM_MIN : *cap;
	void *old, *grown;

	if (n <= *cap)
		return true;
	/* the capacity is below 2 n: neither it nor its bytes overflow */
	if (size == 0 || n > SIZE_MAX / 4 / size)
		return false;
	while (want < n)
		want *= 2;
	memcpy(&old, array, sizeof(old));
	if ((grown = reallocarray(old, want, size)) == NULL)
		return false;
	memcpy(array, &grown, sizeof(grown));
	*cap = want;
	return true;
}
