/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a column that are left out of its integers: which, and how the others close up. Lists of
 * rows ascend, and have room for n. */
#ifndef STORE_CODEC_SKIP_H
#define STORE_CODEC_SKIP_H

#include "store/codec/codec_bytes.h"

/* These fill `row` and return how many. */

/* Where a and b differ in any bit. */
uint32_t skip_different(const double *a, const double *b, uint32_t n, uint32_t *row);

/* Where y is what it was in the row before. */
uint32_t skip_repeated(const double *y, uint32_t n, uint32_t *row);

/* What lies far from all other values: infinities, NaNs, and zeros unless they are few or to be
 * kept. */
uint32_t skip_odd(const double *y, uint32_t n, bool keep_zeros, uint32_t *row);

/* Closes the gaps that skipped rows leave among n numbers of 64 bits; from and to may be the
 * same. */
void skip_squeeze(const uint32_t *row, uint32_t n_skipped, const void *from, uint32_t n, void *to);

/* Opens them again in place, with zeros. */
void skip_stretch(const uint32_t *row, uint32_t n_skipped, uint32_t n, int64_t *x);

#endif
