/* SPDX-License-Identifier: BSD-3-Clause */
/* The time column, shared by all fields of a chunk. */
#ifndef STORE_CODEC_TIME_H
#define STORE_CODEC_TIME_H

#include "store/codec/codec_column.h"

/* Any order, any values; the smaller the more regular. NW_OK or NW_ENOMEM. */
int
time_write(struct column_work *work, const int64_t *t_wall_ns, uint32_t n, struct chunk_buf *out);

/* NW_OK, NW_ENOMEM or NW_ECORRUPT. */
int time_read(struct column_work *work, struct byte_reader *in, int64_t *t_wall_ns, uint32_t n);

#endif
