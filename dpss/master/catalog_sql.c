/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements of the catalogue's file, and the bits of used slots. */
#include <stdarg.h>

#include "dpss/master/catalog_inside.h"
#include "narrows/err.h"

static void
bind_all(sqlite3_stmt *st, const char *types, va_list ap)
{
	int i;

	for (i = 1; *types != '\0'; i++, types++)
		if (*types == 'i')
			sqlite3_bind_int64(st, i, va_arg(ap, int64_t));
		else
			sqlite3_bind_text(st, i, va_arg(ap, const char *), -1, SQLITE_TRANSIENT);
}

/* A statement with int64_t ("i") and text ("t") parameters, ready to step; NULL on failure. */
sqlite3_stmt *
catalog_statement(struct catalog *c, const char *sql, const char *types, ...)
{
	sqlite3_stmt *st;
	va_list ap;

	if (sqlite3_prepare_v2(c->db, sql, -1, &st, NULL) != SQLITE_OK)
		return NULL;
	va_start(ap, types);
	bind_all(st, types, ap);
	va_end(ap);
	return st;
}

int
catalog_rc(int sqlite)
{
	switch (sqlite & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE: return NW_OK;
	case SQLITE_ROW: return NW_OK;
	case SQLITE_CONSTRAINT: return NW_ECONFLICT;
	case SQLITE_FULL: return NW_EFULL;
	case SQLITE_NOMEM: return NW_ENOMEM;
	default: return NW_EIO;
	}
}

/* Steps once and ends the statement, which may be NULL. */
int
catalog_run(sqlite3_stmt *st)
{
	int rc = st != NULL ? catalog_rc(sqlite3_step(st)) : NW_EIO;

	sqlite3_finalize(st);
	return rc;
}

int
catalog_execute(struct catalog *c, const char *sql)
{
	return catalog_rc(sqlite3_exec(c->db, sql, NULL, NULL, NULL));
}

void
catalog_slot_mark(struct server_use *u, uint32_t disk, uint64_t slot, bool used)
{
	struct disk_use *d = &u->disk[disk];
	uint8_t bit = (uint8_t)(1U << slot % 8);

	if (disk >= u->n_disks || slot >= d->slots || (d->bits[slot / 8] & bit) == (used ? bit : 0))
		return;
	d->bits[slot / 8] ^= bit;
	if (used)
		d->used++;
	else
		d->used--;
}
