/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/frame_form.h"

#include <math.h>

struct frame_columns
frame_columns(const struct query *q)
{
	struct frame_columns c = { .n = 0 };
	size_t i;

	if (q->what == QUERY_VALUES || q->what == QUERY_LAST)
		c.key[c.n++] = KEY_series_value;
	for (i = 0; q->what == QUERY_STATISTICS && i < QUERY_COLUMNS; i++)
		if (q->columns & 1U << i)
			c.key[c.n++] = query_statistics[i];
	return c;
}

bool
frame_is_missing(const struct frame *f, size_t field, size_t row)
{
	return f->n != NULL ? f->n[field][row] == 0 : isnan(f->values[field][row]);
}
