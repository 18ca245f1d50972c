/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/textout.h"

#include <string.h>

#include "narrows/err.h"
#include "narrows/format.h"

void
textout_begin(struct textout *o, stream_write_fn *write, void *arg)
{
	o->write = write;
	o->write_arg = arg;
	o->n_bytes = 0;
}

int
textout_flush(struct textout *o)
{
	size_t len = o->len;

	o->len = 0;
	return len > 0 ? o->write(o->write_arg, o->text, len) : NW_OK;
}

int
textout_put(struct textout *o, const char *text, size_t len)
{
	int rc;

	if (len == 0)
		return NW_OK; /* the text may be NULL */
	o->n_bytes += len;
	if (len > sizeof(o->text) - o->len) {
		if ((rc = textout_flush(o)) != NW_OK)
			return rc;
		if (len > sizeof(o->text))
			return o->write(o->write_arg, text, len);
	}
	memcpy(o->text + o->len, text, len);
	o->len += len;
	return NW_OK;
}

int
textout_puts(struct textout *o, const char *text)
{
	return textout_put(o, text, strlen(text));
}

int
textout_exact(struct textout *o, double v)
{
	char text[FMT_EXACT_ROOM];

	return textout_put(o, text, fmt_exact_put(text, v));
}
