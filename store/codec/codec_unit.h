/* SPDX-License-Identifier: BSD-3-Clause */
/* The common divisor of a run's differences: pages, clock ticks, milliseconds. */
#ifndef STORE_CODEC_UNIT_H
#define STORE_CODEC_UNIT_H

#include "store/codec/codec_bytes.h"

/* The largest such number; 0 if all n are equal; 1 if there is none, or the differences are too
 * wide to be divided. */
uint64_t unit_find(const int64_t *x, uint32_t n);

/* quotient[i] = (x[i] - base) / unit, for a unit from unit_find() and a base among x; negative
 * quotients wrap. */
void unit_divide(uint64_t unit, int64_t base, const int64_t *x, uint32_t n, uint64_t *quotient);

#endif
