/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/counter.h"

#include <string.h>

const struct counter_row counter_rows[] = {
#define X(name, section, kind, words) \
	{ #name, words, NW_COUNTER_##section, NW_COUNTER_##kind, offsetof(struct nw_counts, name) },
	NW_COUNTERS(X)
#undef X
};
const size_t counter_rows_count = sizeof(counter_rows) / sizeof(counter_rows[0]);

const char *
counter_unit(const struct counter_row *row)
{
	static const char unit[] = "_bytes";
	size_t len = strlen(row->name);

	return len > sizeof(unit) && strcmp(row->name + len - sizeof(unit) + 1, unit) == 0 ? "bytes"
											   : "";
}
