/* SPDX-License-Identifier: BSD-3-Clause */
/* Growing buffers and variable-length integers. */
#include "store/codec/codec_bytes.h"

#include <stdlib.h>

int
buf_reserve(struct chunk_buf *out, size_t more)
{
	uint8_t *bytes;
	size_t cap;

	if (more <= out->cap - out->len)
		return NW_OK;
	if (more > SIZE_MAX / 4 - out->len)
		return NW_ETOOBIG;
	cap = out->len + more;
	cap += cap / 2;
	if ((bytes = realloc(out->bytes, cap)) == NULL)
		return NW_ENOMEM;
	out->bytes = bytes;
	out->cap = cap;
	return NW_OK;
}

void
write_varint(struct chunk_buf *out, uint64_t v)
{
	while (v >= 0x80) {
		write_u8(out, (uint8_t)(v | 0x80));
		v >>= 7;
	}
	write_u8(out, (uint8_t)v);
}

/* Accepts only the shortest spelling, up to the tenth byte, whose upper bits would fall off. */
uint64_t
read_varint(struct byte_reader *in)
{
	uint64_t v = 0;
	uint8_t b;
	int i;

	for (i = 0; i < VARINT_MAX_BYTES; i++) {
		b = read_u8(in);
		v |= (uint64_t)(b & 0x7f) << (7 * i);
		if (b < 0x80) {
			if (i == VARINT_MAX_BYTES - 1 && b > 1)
				break;
			return v;
		}
	}
	in->bad = true;
	return 0;
}
