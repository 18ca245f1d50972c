/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of the storage system as bytes: integers big endian, texts with a length of 16 bits.
 *
 * A packer grows its buffer and remembers a failure; an unpacker never reads beyond its bytes and
 * remembers the attempt. Callers ask once, at the end.
 */
#ifndef NARROWS_DPSS_PACK_H
#define NARROWS_DPSS_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct packer {
	uint8_t *bytes; /* on the heap; the owner calls pack_free() */
	size_t len, cap;
	bool failed; /* no memory, or a text too long */
};

void pack_u8(struct packer *p, uint8_t v);
void pack_u16(struct packer *p, uint16_t v);
void pack_u32(struct packer *p, uint32_t v);
void pack_u64(struct packer *p, uint64_t v);
void pack_text(struct packer *p, const char *text);
void pack_bytes(struct packer *p, const void *bytes, size_t len);
void pack_free(struct packer *p);

struct unpacker {
	const uint8_t *at;
	size_t left;
	bool failed; /* the message is shorter than its contents */
};

struct unpacker unpack_of(const void *bytes, size_t len);
uint8_t unpack_u8(struct unpacker *u);
uint16_t unpack_u16(struct unpacker *u);
uint32_t unpack_u32(struct unpacker *u);
uint64_t unpack_u64(struct unpacker *u);
/* A text of at most cap - 1 bytes without NUL; "" after a failure. */
void unpack_text(struct unpacker *u, char *out, size_t cap);
/* NULL after a failure; the bytes belong to the message. */
const uint8_t *unpack_bytes(struct unpacker *u, size_t len);
/* How many entries of at least entry_bytes each the rest can hold: a bound for a peer's count. */
bool unpack_has(struct unpacker *u, uint64_t n, size_t entry_bytes);
/* NW_OK when all bytes were read and none were missing, else NW_EPROTO. */
int unpack_end(const struct unpacker *u);

#endif
