/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows at the times of the box's clock. Measurements of two hosts are compared window by window, so
 * a known lead of a host's clock over the box's clock is subtracted.
 */
#ifndef HOSTTIME_H
#define HOSTTIME_H

#include "narrows/store.h"

/* store_rows(), or with fields store_rows_of(), from t0 to t1 of the box's clock. An ahead_ns of 0
 * costs nothing. */
int
hosttime_rows(struct store_reader *r, int64_t layout_id, const uint32_t *fields, size_t n_fields,
    int64_t t0_wall_ns, int64_t t1_wall_ns, int64_t ahead_ns, store_block_fn *fn, void *arg);

/*
 * The lead to subtract, from an offset and its bound in seconds: 0 if the offset is unknown, within
 * its bound, or too short to matter between windows.
 */
int64_t hosttime_ahead_ns(double offset_s, double bound_s);

#endif
