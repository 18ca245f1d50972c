/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/fleet.h"
#include "narrows/array.h"
#include "narrows/xmalloc.h"

static const struct fleet_column_info session_columns[] = {
#define SESSION(name, type, meaning) { #name, FLEET_##type, meaning },
#include "fleet/fleet_columns.def"
};
static const struct fleet_column_info level_columns[] = {
#define LEVEL(name, type, meaning) { #name, FLEET_##type, meaning },
#include "fleet/fleet_columns.def"
};
static const struct fleet_column_info chunk_columns[] = {
#define CHUNK(name, type, meaning) { #name, FLEET_##type, meaning },
#include "fleet/fleet_columns.def"
};
const struct fleet_table fleet_tables[FLEET_TABLES] = {
	[FLEET_SESSIONS] = { "session", "one row for each session", session_columns, FLEET_COLUMNS,
	    FLEET_session + 1, FLEET_judged_ns, FLEET_start_ns, true },
	[FLEET_LEVELS] = { "level", "one row for each route, program and hour or day",
	    level_columns, LEVEL_COLUMNS, LEVEL_start_ns + 1, LEVEL_judged_ns, LEVEL_start_ns,
	    false },
	[FLEET_CHUNKS] = { "chunk", "rows measured for a session", chunk_columns, CHUNK_COLUMNS,
	    CHUNK_number + 1, CHUNK_judged_ns, CHUNK_start_ns, true },
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
fleet_rows_drop(struct fleet_rows *r)
{
	size_t c;

	r->n--;
	for (c = 0; c < FLEET_COLUMNS; c++)
		free(r->row[r->n].cell[c].text);
}

void
fleet_rows_clear(struct fleet_rows *r)
{
	while (r->n > 0)
		fleet_rows_drop(r);
	free(r->row);
	*r = (struct fleet_rows){ .table = r->table };
}

void
fleet_text_set(struct fleet_row *r, size_t column, const char *text)
{
	char *copy = xstrdup(text);

	free(r->cell[column].text);
	r->cell[column] = (struct fleet_cell){ .known = copy != NULL, .text = copy };
}

void
fleet_int_set(struct fleet_row *r, size_t column, int64_t v)
{
	r->cell[column] = (struct fleet_cell){ .known = true, .i = v };
}

void
fleet_real_set(struct fleet_row *r, size_t column, double v)
{
	r->cell[column] = (struct fleet_cell){ .known = isfinite(v), .d = isfinite(v) ? v : 0 };
}

void
fleet_bytes_set(struct fleet_row *r, size_t column, const void *bytes, size_t len)
{
	char *copy = xmalloc(len + 1);

	memcpy(copy, bytes, len);
	free(r->cell[column].text);
	r->cell[column] = (struct fleet_cell){ .known = true, .text = copy, .len = len };
}
