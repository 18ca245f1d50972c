/* SPDX-License-Identifier: BSD-3-Clause */
/* How the chunk codecs put numbers into bytes: little endian; variable-length integers of 7 bits
 * per byte with the least significant group first; signed integers folded so that small magnitudes
 * are short. A reader never passes its end: a missing byte reads as zero and marks the reader bad,
 * and the caller asks for the mark once, at the end of a piece. */
#ifndef STORE_CODEC_BYTES_H
#define STORE_CODEC_BYTES_H

#include <string.h>

#include "store/codec/chunk.h"

enum { VARINT_MAX_BYTES = 10 };

struct byte_reader {
	const uint8_t *at, *end;
	bool bad;
};

/* 0, -1, 1, -2, ... become 0, 1, 2, 3, ... */
static inline uint64_t
fold_sign(int64_t v)
{
	return ((uint64_t)v << 1) ^ (0 - ((uint64_t)v >> 63));
}

static inline int64_t
unfold_sign(uint64_t v)
{
	return (int64_t)((v >> 1) ^ (0 - (v & 1)));
}

/* Differences of 64-bit values wrap, which C defines for unsigned numbers only. */
static inline int64_t
wrap_sub(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline int64_t
wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline uint32_t
load_le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t
load_le64(const uint8_t *p)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
#else
	return (uint64_t)load_le32(p) | (uint64_t)load_le32(p + 4) << 32;
#endif
}

static inline void
store_le64(uint8_t *p, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	memcpy(p, &v, sizeof(v));
#else
	int i;

	for (i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> (8 * i));
#endif
}

static inline size_t
reader_left(const struct byte_reader *in)
{
	return (size_t)(in->end - in->at);
}

/* `n` bytes on loan, or NULL and bad. */
static inline const uint8_t *
read_bytes(struct byte_reader *in, size_t n)
{
	const uint8_t *p = in->at;

	if (in->bad || n > reader_left(in)) {
		in->bad = true;
		return NULL;
	}
	in->at += n;
	return p;
}

static inline uint8_t
read_u8(struct byte_reader *in)
{
	const uint8_t *p = read_bytes(in, 1);

	return p != NULL ? *p : 0;
}

uint64_t read_varint(struct byte_reader *in);

static inline int64_t
read_signed(struct byte_reader *in)
{
	return unfold_sign(read_varint(in));
}

/* Makes room for `more` bytes behind out->len; the writers below then need no check. */
int buf_reserve(struct chunk_buf *out, size_t more);

/* Into reserved room: at most VARINT_MAX_BYTES. */
void write_varint(struct chunk_buf *out, uint64_t v);

static inline void
write_u8(struct chunk_buf *out, uint8_t v)
{
	out->bytes[out->len++] = v;
}

static inline void
write_signed(struct chunk_buf *out, int64_t v)
{
	write_varint(out, fold_sign(v));
}

static inline void
write_bytes(struct chunk_buf *out, const void *p, size_t n)
{
	if (n > 0)
		memcpy(out->bytes + out->len, p, n);
	out->len += n;
}

#endif
