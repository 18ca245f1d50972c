/* SPDX-License-Identifier: BSD-3-Clause */
/* The columns of documents that evidence is made of, found by the names of a layout's fields. */
#include "analyze/verdict/evidence/evidence_in.h"

#include <math.h>
#include <string.h>

static const struct {
	const char *name;
	size_t at;
} column_names[] = {
#define COLUMN(field) { #field, offsetof(struct columns, field) },
	NW_FIELDS_READ(COLUMN)
#undef COLUMN
};

void
columns_find(struct columns *c, const struct nw_layout_rec *l)
{
	size_t i, k;

	for (k = 0; k < sizeof(column_names) / sizeof(column_names[0]); k++) {
		int *out = (int *)(void *)((char *)c + column_names[k].at);

		*out = -1;
		for (i = 0; i < l->n_fields; i++)
			if (l->fields[i][0] == column_names[k].name[0] &&
			    strcmp(l->fields[i], column_names[k].name) == 0)
				*out = (int)i;
	}
}

double
row_cell(const struct row *r, int column)
{
	return column >= 0 ? r->b->columns[column][r->i] : NAN;
}

double
known_or_0(double v)
{
	return isfinite(v) ? v : 0;
}

void
last_known(double *out, double v)
{
	if (isfinite(v))
		*out = v;
}
