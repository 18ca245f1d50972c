/* SPDX-License-Identifier: BSD-3-Clause */
/* FNV-1a, 64 bits (Fowler, Noll, Vo): a hash for tables and for telling versions apart, not against
 * an adversary. */
#ifndef NARROWS_FNV_H
#define NARROWS_FNV_H

#include <stddef.h>
#include <stdint.h>

#define FNV_BEGIN UINT64_C(0xcbf29ce484222325) /* the hash of no bytes */
#define FNV_PRIME UINT64_C(0x100000001b3)

static inline uint64_t
fnv_byte(uint64_t h, uint8_t byte)
{
	return (h ^ byte) * FNV_PRIME;
}

static inline uint64_t
fnv_bytes(uint64_t h, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	while (len-- > 0)
		h = fnv_byte(h, *p++);
	return h;
}

/* Without the NUL. */
static inline uint64_t
fnv_text(uint64_t h, const char *text)
{
	while (*text != '\0')
		h = fnv_byte(h, (uint8_t)*text++);
	return h;
}

#endif
