/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows as a Parquet file, to a stream, in one pass: a row group for each call, a data page (version
 * 1) for each column, plain values compressed by Zstandard. Times are INT64 nanoseconds UTC; every
 * column may be null. Format: https://parquet.apache.org/docs/file-format/
 */
#ifndef FLEET_PARQUET_H
#define FLEET_PARQUET_H

#include "fleet/fleet.h"

enum { PARQUET_GROUP_BYTES = 64 << 20 }; /* of text in a row group, about: pages are below 2 GiB */

struct parquet;
/* The stream stays the caller's, and is at its begin. */
struct parquet *parquet_begin(FILE *f, enum fleet_table_id table);
/* Rows of the table. NW_ETOOBIG, NW_ENOMEM; NW_EIO also for the stream's error. */
int parquet_group(struct parquet *p, const struct fleet_rows *rows);
/* Writes the end, unless a group failed, and frees p. NW_EIO, ... */
int parquet_end(struct parquet *p);

#endif
