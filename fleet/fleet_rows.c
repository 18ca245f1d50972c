/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "fleet/fleet.h"
#include "narrows/array.h"
#include "narrows/xmalloc.h"

const struct fleet_column_info fleet_columns[FLEET_COLUMNS] = {
#define COLUMN(name, type, meaning) [FLEET_##name] = { #name, FLEET_##type, meaning },
#include "fleet/fleet_columns.def"
#undef COLUMN
};

struct fleet_row *
fleet_rows_add(struct fleet_rows *r)
{
	if (!array_room(&r->row, &r->cap, r->n + 1, sizeof(*r->row)))
		abort();
	memset(&r->row[r->n], 0, sizeof(*r->row));
	return &r->row[r->n++];
}

void
fleet_rows_clear(struct fleet_rows *r)
{
	size_t i, c;

	for (i = 0; i < r->n; i++)
		for (c = 0; c < FLEET_COLUMNS; c++)
			free(r->row[i].cell[c].text);
	free(r->row);
	*r = (struct fleet_rows){ 0 };
}

void
fleet_text_set(struct fleet_row *r, enum fleet_column c, const char *text)
{
	char *copy = xstrdup(text);

	free(r->cell[c].text);
	r->cell[c] = (struct fleet_cell){ .known = copy != NULL, .text = copy };
}
