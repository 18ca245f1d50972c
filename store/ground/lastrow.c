/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/ground/lastrow.h"

#include <string.h>

#include "store/codec/codec_bytes.h"
#include "store/codec/codec_number.h"

size_t
lastrow_bound(size_t n)
{
	return n * VARINT_MAX_BYTES + 1;
}

size_t
lastrow_pack(const double *values, size_t n, uint8_t *out)
{
	struct chunk_buf buf = { .bytes = out };
	size_t i;

	for (i = 0; i < n; i++)
		write_varint(&buf, __builtin_bswap64(number_bits(values[i])));
	if (buf.len % sizeof(double) == 0)
		write_u8(&buf, 0);
	return buf.len;
}

int
lastrow_unpack(const uint8_t *bytes, size_t len, double *const *columns, size_t n)
{
	struct byte_reader in = { bytes, bytes + len, false };
	size_t i;

	for (i = 0; i < n && len % sizeof(double) != 0; i++)
		columns[i][0] = number_from_bits(__builtin_bswap64(read_varint(&in)));
	if (len % sizeof(double) == 0) {
		if (len != n * sizeof(double))
			return NW_ECORRUPT;
		for (i = 0; i < n; i++)
			columns[i][0] = number_from_bits(load_le64(bytes + i * sizeof(double)));
		return NW_OK;
	}
	if (reader_left(&in) == 1 && (in.at - bytes) % (long)sizeof(double) == 0)
		in.bad |= read_u8(&in) != 0;
	return in.bad || reader_left(&in) != 0 ? NW_ECORRUPT : NW_OK;
}
