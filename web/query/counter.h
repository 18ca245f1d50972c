/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of narrows/counters.h as a table. */
#ifndef COUNTER_H
#define COUNTER_H

#include <stddef.h>

#include "narrows/counters.h"

struct counter_row {
	const char *name, *words;
	enum nw_counter_section section;
	enum nw_counter_kind kind;
	size_t offset; /* in struct nw_counts */
};

extern const struct counter_row counter_rows[];
extern const size_t counter_rows_count;

static inline uint64_t
counter_value(const struct counter_row *row, const struct nw_counts *counts)
{
	return *(const uint64_t *)((const char *)counts + row->offset);
}

/* "bytes" of a counter whose name ends so, else "". */
const char *counter_unit(const struct counter_row *row);

#endif
