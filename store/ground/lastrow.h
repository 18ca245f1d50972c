/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The last row of a chunk, so that the last values need no decoding of the chunk. Packed: each
 * value as a varint of its bits with the bytes reversed (short numbers end in zeros), and a zero
 * byte behind if the length would be a multiple of eight. A multiple of eight is a row as files of
 * older versions have rows: little endian doubles.
 */
#ifndef STORE_LASTROW_H
#define STORE_LASTROW_H

#include <stddef.h>
#include <stdint.h>

/* Room for n values. */
size_t lastrow_bound(size_t n);
/* Returns the number of bytes. */
size_t lastrow_pack(const double *values, size_t n, uint8_t *out);
/* Sets the first row of n columns. NW_OK, or NW_ECORRUPT if the bytes are no row of n values. */
int lastrow_unpack(const uint8_t *bytes, size_t len, double *const *columns, size_t n);

#endif
