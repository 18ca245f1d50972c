/* SPDX-License-Identifier: BSD-3-Clause */
/* Bits packed without gaps, least significant first: bit i of a run is bit i % 8 of its byte i /
 * 8. */
#ifndef STORE_CODEC_BITS_H
#define STORE_CODEC_BITS_H

#include "store/codec/codec_bytes.h"

enum {
	BITS_BLOCK = 32, /* values per width: 32 values of any width fill whole bytes */
	/* bytes behind the last bit, for writers to overwrite and readers to load */
	BITS_SLACK_BYTES = 16
};

struct bit_writer {
	uint8_t *at;
	uint64_t held;
	unsigned n_held;
};

static inline unsigned
bits_width(uint64_t v)
{
	return v != 0 ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/* Bytes of `n` values of `width` bits. */
static inline size_t
bits_bytes(size_t n, unsigned width)
{
	return (n * width + 7) / 8;
}

/* `v` has no more than `width` bits. */
static inline void
bits_put(struct bit_writer *w, uint64_t v, unsigned width)
{
	w->held |= v << w->n_held;
	if (w->n_held + width < 64) {
		w->n_held += width;
		return;
	}
	store_le64(w->at, w->held);
	w->at += 8;
	w->held = w->n_held != 0 ? v >> (64 - w->n_held) : 0;
	w->n_held = w->n_held + width - 64;
}

/* The end of the bits written, in bytes. */
static inline uint8_t *
bits_flush(struct bit_writer *w)
{
	store_le64(w->at, w->held);
	return w->at + (w->n_held + 7) / 8;
}

/* Up to 57 bits from bit `pos` on. */
static inline uint64_t
bits_get_short(const uint8_t *p, size_t pos, unsigned width)
{
	return load_le64(p + pos / 8) >> (pos % 8) & ((UINT64_C(1) << width) - 1);
}

/* Up to 64 bits. */
static inline uint64_t
bits_get(const uint8_t *p, size_t pos, unsigned width)
{
	if (width <= 57)
		return bits_get_short(p, pos, width);
	return bits_get_short(p, pos, 32) | bits_get_short(p, pos + 32, width - 32) << 32;
}

/* The width of each block of BITS_BLOCK values; returns their bits in all. */
uint64_t blocks_measure(const uint64_t *v, uint32_t n, uint8_t *width);

/* Room: n * 8 + BITS_SLACK_BYTES. Returns the end. */
uint8_t *blocks_pack(const uint64_t *v, uint32_t n, const uint8_t *width, uint8_t *at);

/* Widths may come from hostile bytes; `in` is marked bad when widths or bytes are wrong. */
void blocks_unpack(struct byte_reader *in, const uint8_t *width, uint32_t n, uint64_t *v);

#endif
