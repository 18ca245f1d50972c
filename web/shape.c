/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of an export on its way out, and questions that all shapes ask of an export. */
#include "web/shape.h"

#include <string.h>

#include "narrows/err.h"
#include "narrows/csv.h"

int
shape_flush(struct export *x)
{
	size_t len = x->out_len;

	x->out_len = 0;
	return len > 0 ? x->write(x->write_arg, x->out, len) : NW_OK;
}

int
shape_put(struct export *x, const char *text, size_t len)
{
	int rc;

	x->slice_bytes += len;
	if (len > sizeof(x->out) - x->out_len) {
		if ((rc = shape_flush(x)) < 0)
			return rc;
		if (len > sizeof(x->out))
			return x->write(x->write_arg, text, len);
	}
	memcpy(x->out + x->out_len, text, len);
	x->out_len += len;
	return NW_OK;
}

int
shape_puts(struct export *x, const char *text)
{
	return shape_put(x, text, strlen(text));
}

int
shape_end_line(struct export *x)
{
	return x->opts.crlf ? shape_put(x, "\r\n", 2) : shape_put(x, "\n", 1);
}

unsigned
shape_cell_how(const struct export *x)
{
	return x->opts.safe_text ? CSV_SAFE : 0;
}

int64_t
shape_t0(const struct export *x, const struct walk_meta *m)
{
	return x->opts.t0_wall_ns > m->t0_wall_ns ? x->opts.t0_wall_ns : m->t0_wall_ns;
}

int64_t
shape_t1(const struct export *x, const struct walk_meta *m)
{
	return x->opts.t1_wall_ns < m->t1_wall_ns ? x->opts.t1_wall_ns : m->t1_wall_ns;
}
