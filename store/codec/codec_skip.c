/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of rows are made without branches: the loop writes each row at the next free place, and
 * moves the place on only behind a skipped row. */
#include "store/codec/codec_skip.h"

#include "store/codec/codec_number.h"

enum { ZEROS_WORTH_SKIPPING = 4 };

void
skip_squeeze(const uint32_t *row, uint32_t n_skipped, const void *from, uint32_t n, void *to)
{
	const uint64_t *in = from;
	uint64_t *out = to;
	uint32_t i, begin = 0, rows;

	for (i = 0; i <= n_skipped; i++) {
		rows = (i < n_skipped ? row[i] : n) - begin;
		memmove(out, in + begin, rows * sizeof(*out));
		out += rows;
		begin += rows + 1;
	}
}

/* From the end on, so that no row is overwritten before the row has moved. */
void
skip_stretch(const uint32_t *row, uint32_t n_skipped, uint32_t n, int64_t *x)
{
	uint32_t i = n_skipped, end = n, rows;

	while (i > 0) {
		i--;
		rows = end - row[i] - 1;
		memmove(x + row[i] + 1, x + row[i] - i, rows * sizeof(*x));
		x[row[i]] = 0;
		end = row[i];
	}
}

/* Zeros, infinities and NaNs: twice the bits, less 1, are above the bits of all other numbers. */
static inline bool
is_odd(double v)
{
	return (number_bits(v) << 1) - 1 >= (UINT64_C(0x7ff) << 53) - 1;
}

uint32_t
skip_different(const double *a, const double *b, uint32_t n, uint32_t *row)
{
	uint32_t *at = row, i;

	if (memcmp(a, b, n * sizeof(*a)) == 0)
		return 0;
	for (i = 0; i < n; i++) {
		*at = i;
		at += number_bits(a[i]) != number_bits(b[i]);
	}
	return (uint32_t)(at - row);
}

uint32_t
skip_repeated(const double *y, uint32_t n, uint32_t *row)
{
	uint32_t *at = row, i;

	for (i = 1; i < n; i++) {
		*at = i;
		at += number_bits(y[i]) == number_bits(y[i - 1]);
	}
	return (uint32_t)(at - row);
}

uint32_t
skip_odd(const double *y, uint32_t n, bool keep_zeros, uint32_t *row)
{
	uint32_t *at = row, odd = 0, zeros = 0, i;

	for (i = 0; i < n; i++)
		odd += is_odd(y[i]);
	if (odd == 0)
		return 0;
	for (i = 0; i < n; i++)
		zeros += y[i] == 0;
	keep_zeros |= zeros < ZEROS_WORTH_SKIPPING;
	for (i = 0; i < n; i++) {
		*at = i;
		at += is_odd(y[i]) && (y[i] != 0 || !keep_zeros);
	}
	return (uint32_t)(at - row);
}
