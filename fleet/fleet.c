/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/array.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"

const struct fleet_column_info fleet_columns[FLEET_COLUMNS] = {
#define COLUMN(name, type, meaning) [FLEET_##name] = { #name, FLEET_##type, meaning },
#include "fleet/fleet_columns.def"
#undef COLUMN
};

static const struct fleet_engine *const engines[] = { &engine_sqlite, &engine_file,
	&engine_clickhouse };

struct fleet {
	const struct fleet_engine *engine;
	void *e;
};

/* --- rows --- */

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

/* --- engines --- */

int
fleet_open(const struct fleet_conf *c, bool writes, struct fleet **out, char why[FLEET_WHY_BYTES])
{
	size_t i, len = strcspn(c->fleet, ":");
	struct fleet *f;
	int rc;

	*out = NULL;
	for (i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		if (strlen(engines[i]->scheme) == len &&
		    strncmp(engines[i]->scheme, c->fleet, len) == 0)
			break;
	if (i == sizeof(engines) / sizeof(engines[0])) {
		snprintf(why, FLEET_WHY_BYTES, "no engine for the fleet %.200s", c->fleet);
		return NW_EINVAL;
	}
	f = xcalloc(1, sizeof(*f));
	f->engine = engines[i];
	if ((rc = f->engine->open(c, writes, &f->e, why)) == NW_OK)
		*out = f;
	else
		free(f);
	return rc;
}

void
fleet_close(struct fleet *f)
{
	if (f == NULL)
		return;
	f->engine->close(f->e);
	free(f);
}

const struct fleet_engine *
fleet_engine_of(const struct fleet *f, void **e)
{
	*e = f->e;
	return f->engine;
}
