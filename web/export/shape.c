/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions of all shapes to an export. */
#include "web/export/shape.h"

#include "narrows/csv.h"

int
shape_end_line(struct export *x)
{
	return x->opts.crlf ? textout_put(&x->out, "\r\n", 2) : textout_put(&x->out, "\n", 1);
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
