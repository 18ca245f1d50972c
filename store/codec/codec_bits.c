/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of 32 values, each with a width of its own: an outlier widens a single block. */
#include "store/codec/codec_bits.h"

static inline uint32_t
block_rows(uint32_t n, uint32_t first)
{
	return n - first < BITS_BLOCK ? n - first : BITS_BLOCK;
}

/* Inlined with a constant number of rows, this loop becomes vector code, as do the row loops
 * below. */
static inline uint64_t
join(const uint64_t *v, uint32_t rows)
{
	uint64_t all = 0;
	uint32_t i;

	for (i = 0; i < rows; i++)
		all |= v[i];
	return all;
}

uint64_t
blocks_measure(const uint64_t *v, uint32_t n, uint8_t *width)
{
	uint64_t n_bits = 0;
	uint32_t first;

	for (first = 0; first + BITS_BLOCK <= n; first += BITS_BLOCK) {
		*width = (uint8_t)bits_width(join(v + first, BITS_BLOCK));
		n_bits += BITS_BLOCK * (uint64_t)*width++;
	}
	if (first < n) {
		*width = (uint8_t)bits_width(join(v + first, n - first));
		n_bits += (uint64_t)(n - first) * *width;
	}
	return n_bits;
}

uint8_t *
blocks_pack(const uint64_t *v, uint32_t n, const uint8_t *width, uint8_t *at)
{
	struct bit_writer w = { at, 0, 0 };
	uint32_t first, rows, i;

	for (first = 0; first < n; first += BITS_BLOCK, width++) {
		rows = block_rows(n, first);
		for (i = 0; *width > 0 && i < rows; i++)
			bits_put(&w, v[first + i], *width);
	}
	return bits_flush(&w);
}

static void
block_unpack(const uint8_t *p, uint32_t rows, unsigned width, uint64_t *v)
{
	uint32_t i;

	if (width == 0)
		memset(v, 0, rows * sizeof(*v));
	else if (width <= 57)
		for (i = 0; i < rows; i++)
			v[i] = bits_get_short(p, (size_t)i * width, width);
	else
		for (i = 0; i < rows; i++)
			v[i] = bits_get(p, (size_t)i * width, width);
}

void
blocks_unpack(struct byte_reader *in, const uint8_t *width, uint32_t n, uint64_t *v)
{
	uint8_t tail[BITS_BLOCK * 8 + BITS_SLACK_BYTES] = { 0 };
	const uint8_t *p;
	uint32_t first, rows;
	size_t len;

	for (first = 0; first < n; first += BITS_BLOCK, width++) {
		rows = block_rows(n, first);
		len = bits_bytes(rows, *width);
		if (*width > 64 || (p = read_bytes(in, len)) == NULL) {
			in->bad = true;
			return;
		}
		if (reader_left(in) < BITS_SLACK_BYTES) {
			memcpy(tail, p, len);
			p = tail;
		}
		block_unpack(p, rows, *width, v + first);
	}
}
