/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows at the times the box's clock had. What two hosts measured is compared window by window:
 * where the box knows that a host's clock was ahead of its own, and by how much, that is taken off.
 */
#ifndef HOSTTIME_H
#define HOSTTIME_H

#include "narrows/store.h"

/* store_rows(), or with fields store_rows_of(), from t0 to t1 of the box's clock. ahead_ns 0 costs
 * nothing. */
int
hosttime_rows(struct store_reader *r, int64_t layout_id, const uint32_t *fields, size_t n_fields,
    int64_t t0_wall_ns, int64_t t1_wall_ns, int64_t ahead_ns, store_block_fn *fn, void *arg);

/*
 * What to take off, from an offset and what it may be wrong by, in seconds: nothing if it may be
 * nothing, is not known, or is below what windows tell apart.
 */
int64_t hosttime_ahead_ns(double offset_s, double bound_s);

#endif
