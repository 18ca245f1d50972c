/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a column without integers: which rows are skipped, and how the rest closes up. Lists of
 * rows ascend, and have room for n. */
#ifndef STORE_CODEC_SKIP_H
#define STORE_CODEC_SKIP_H

#include "store/codec/codec_bytes.h"

/* These functions fill `row` and return the number of rows. */

/* Where a and b differ in any bit. */
uint32_t skip_different(const double *a, const double *b, uint32_t n, uint32_t *row);

/* Rows of y equal to the row before. */
uint32_t skip_repeated(const double *y, uint32_t n, uint32_t *row);

/* Rows far from all other values: infinities, NaNs, and zeros unless zeros are few or kept on
 * request. */
uint32_t skip_odd(const double *y, uint32_t n, bool keep_zeros, uint32_t *row);

/* Closes the gaps of skipped rows among n numbers of 64 bits; from and to may be the same. */
void skip_squeeze(const uint32_t *row, uint32_t n_skipped, const void *from, uint32_t n, void *to);

/* Opens the gaps again in place, with zeros. */
void skip_stretch(const uint32_t *row, uint32_t n_skipped, uint32_t n, int64_t *x);

#endif
