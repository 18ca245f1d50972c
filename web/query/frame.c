/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/frame.h"

#include <math.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/format.h"

struct frame_columns
frame_columns(const struct query *q)
{
	struct frame_columns c = { .n = 0 };
	size_t i;

	if (q->what == QUERY_VALUES || q->what == QUERY_LAST)
		c.name[c.n++] = "value";
	for (i = 0; q->what == QUERY_STATISTICS && i < QUERY_COLUMNS; i++)
		if (q->columns & 1U << i)
			c.name[c.n++] = query_statistics[i];
	return c;
}

bool
frame_is_missing(const struct frame *f, size_t field, size_t row)
{
	return f->n != NULL ? f->n[field][row] == 0 : isnan(f->values[field][row]);
}

int
frame_flush(struct frame_out *o)
{
	size_t len = o->len;

	o->len = 0;
	return len > 0 ? o->write(o->write_arg, o->text, len) : NW_OK;
}

int
frame_put(struct frame_out *o, const char *text, size_t len)
{
	int rc;

	o->n_bytes += len;
	if (len > sizeof(o->text) - o->len) {
		if ((rc = frame_flush(o)) != NW_OK)
			return rc;
		if (len > sizeof(o->text))
			return o->write(o->write_arg, text, len);
	}
	memcpy(o->text + o->len, text, len);
	o->len += len;
	return NW_OK;
}

int
frame_put_exact(struct frame_out *o, double v)
{
	char text[FMT_EXACT_ROOM];

	return frame_put(o, text, fmt_exact_put(text, v));
}

int
frame_puts(struct frame_out *o, const char *text)
{
	return frame_put(o, text, strlen(text));
}
