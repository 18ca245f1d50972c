/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/frame.h"

#include <string.h>

#include "narrows/err.h"

const struct frame_columns frame_columns[QUERY_WHATS] = {
	[QUERY_VALUES] = { 1, { "value" }, { "values" } },
	[QUERY_LAST] = { 1, { "value" }, { "values" } },
	[QUERY_STATISTICS] = { 6, { "n", "sum", "mean", "min", "max", "sd" },
	    { "n", "sum", "mean", "min", "max", "sd" } },
};

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
frame_puts(struct frame_out *o, const char *text)
{
	return frame_put(o, text, strlen(text));
}
