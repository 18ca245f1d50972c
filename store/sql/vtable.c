/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/sql/vtable.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "narrows/err.h"
#include "store/ground/schema.h"

struct connected {
	sqlite3_vtab base;
	sqlite3 *db;
	const struct vtable *table;
};

static struct vtable_cursor *
cursor_of(sqlite3_vtab_cursor *base)
{
	return (struct vtable_cursor *)base;
}

static int
on_connect(
    sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **out, char **err)
{
	const struct vtable *table = arg;
	char why[STORE_WHY_BYTES];
	struct connected *t;
	int rc;

	(void)argc, (void)argv;
	if (schema_check(db, why) != NW_OK) {
		*err = sqlite3_mprintf("%s", why);
		return SQLITE_ERROR;
	}
	if ((rc = sqlite3_declare_vtab(db, table->declaration)) != SQLITE_OK)
		return rc;
	/* the table reads its own database, nothing else */
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	if ((t = calloc(1, sizeof(*t))) == NULL)
		return SQLITE_NOMEM;
	t->db = db;
	t->table = table;
	*out = &t->base;
	return SQLITE_OK;
}

static int
on_disconnect(sqlite3_vtab *base)
{
	free(base);
	return SQLITE_OK;
}

static int
on_plan(sqlite3_vtab *base, sqlite3_index_info *info)
{
	return ((struct connected *)base)->table->plan(info);
}

static int
on_close(sqlite3_vtab_cursor *base)
{
	struct vtable_cursor *c = cursor_of(base);

	c->table->clear(c);
	store_reader_close(c->reader);
	free(c);
	return SQLITE_OK;
}

static int
on_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	const struct connected *t = (struct connected *)base;
	struct vtable_cursor *c = calloc(1, t->table->cursor_bytes);
	int rc = SQLITE_NOMEM;

	if (c == NULL)
		return rc;
	c->table = t->table;
	c->db = t->db;
	if (reader_attach(t->db, &c->reader) != NW_OK || (rc = t->table->open(c)) != SQLITE_OK) {
		on_close(&c->base);
		return rc;
	}
	*out = &c->base;
	return SQLITE_OK;
}

static int
on_filter(sqlite3_vtab_cursor *base, int plan, const char *name, int argc, sqlite3_value **argv)
{
	struct vtable_cursor *c = cursor_of(base);

	(void)name, (void)argc;
	c->rowid = 0;
	c->eof = false;
	return c->table->filter(c, plan, argv);
}

static int
on_next(sqlite3_vtab_cursor *base)
{
	struct vtable_cursor *c = cursor_of(base);

	c->rowid++;
	return c->table->next(c);
}

static int
on_eof(sqlite3_vtab_cursor *base)
{
	return cursor_of(base)->eof;
}

static int
on_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
	struct vtable_cursor *c = cursor_of(base);

	c->table->column(c, ctx, column);
	return SQLITE_OK;
}

static int
on_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = cursor_of(base)->rowid;
	return SQLITE_OK;
}

/* Without xCreate every database has the table under the name of the module. */
static const sqlite3_module module = {
	.iVersion = 1,
	.xConnect = on_connect,
	.xDisconnect = on_disconnect,
	.xBestIndex = on_plan,
	.xOpen = on_open,
	.xClose = on_close,
	.xFilter = on_filter,
	.xNext = on_next,
	.xEof = on_eof,
	.xColumn = on_column,
	.xRowid = on_rowid,
};

int
vtable_register(sqlite3 *db, const struct vtable *table)
{
	return sqlite3_create_module_v2(db, table->name, &module, (void *)(uintptr_t)table, NULL);
}

int
vtable_failed(struct vtable_cursor *c, int rc, const char *fmt, ...)
{
	sqlite3_vtab *base = c->base.pVtab;
	va_list ap;

	if (rc == NW_ENOMEM)
		return SQLITE_NOMEM;
	if (rc == NW_EIO && sqlite3_errcode(c->db) == SQLITE_INTERRUPT)
		return SQLITE_INTERRUPT;
	sqlite3_free(base->zErrMsg);
	va_start(ap, fmt);
	base->zErrMsg = sqlite3_vmprintf(fmt, ap);
	va_end(ap);
	return rc == NW_ECORRUPT ? SQLITE_CORRUPT_VTAB : SQLITE_ERROR;
}

bool
vtable_bound(sqlite3_value *v, int64_t *low, int64_t *high)
{
	double x;

	switch (sqlite3_value_numeric_type(v)) {
	case SQLITE_INTEGER: *low = *high = sqlite3_value_int64(v); return true;
	case SQLITE_FLOAT:
		x = sqlite3_value_double(v);
		*low = x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)floor(x);
		*high = x <= -0x1p63 ? INT64_MIN : x > 0x1p62 * 1.9 ? INT64_MAX : (int64_t)ceil(x);
		return true;
	default: return false;
	}
}

void
vtable_text(sqlite3_context *ctx, const char *text)
{
	if (text != NULL)
		sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}
