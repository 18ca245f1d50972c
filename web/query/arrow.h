/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Apache Arrow IPC streams (format version 5) of one table: columns of 64-bit integers, times,
 * doubles and dictionary-encoded names. Messages follow one another:
 *
 *	schema, then any number of (names that are new, rows), then arrow_end()
 */
#ifndef NARROWS_WEB_ARROW_H
#define NARROWS_WEB_ARROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "web/query/out_stream.h"

enum { ARROW_COLUMNS_MAX = 16 };

enum arrow_type {
	ARROW_INT64,
	ARROW_TIME, /* nanoseconds since 1970, UTC */
	ARROW_NAME, /* int32 index into the names */
	ARROW_DOUBLE
};

struct arrow_column {
	const char *name;
	enum arrow_type type;
	const void *values; /* n_rows integers of 64 or, for ARROW_NAME, 32 bits, or doubles */
};

/* Writers of one message each. They return the code of a failed `write`. */
int arrow_schema(const struct arrow_column *columns, size_t n, stream_write_fn *write, void *arg);
/* Names are numbered in the order in which they were written, from 0. */
int arrow_names(const char *const *names, size_t n, bool first, stream_write_fn *write, void *arg);
int arrow_rows(
    const struct arrow_column *columns, size_t n, size_t n_rows, stream_write_fn *write, void *arg);
int arrow_end(stream_write_fn *write, void *arg);

#endif
