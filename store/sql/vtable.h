/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the store's virtual tables have in common: a table that reads the database of its
 * connection and nothing else, and cursors with a reader inside the snapshot of the statement.
 * Functions return SQLite's codes unless they say otherwise.
 */
#ifndef STORE_VTABLE_H
#define STORE_VTABLE_H

#include <sqlite3.h>

#include "store/read/reader.h"

/* Begins the cursor of each table; all other bytes of a new cursor are 0. */
struct vtable_cursor {
	sqlite3_vtab_cursor base;
	const struct vtable *table;
	sqlite3 *db;
	struct store_reader *reader;
	int64_t rowid;
	bool eof; /* set by filter and next at the end of the rows; false before */
};

struct vtable {
	const char *name, *declaration;
	size_t cursor_bytes;
	int (*plan)(sqlite3_index_info *info);
	int (*open)(struct vtable_cursor *c); /* clear() follows an error, too */
	void (*clear)(struct vtable_cursor *c);
	int (*filter)(struct vtable_cursor *c, int plan, sqlite3_value **argv);
	int (*next)(struct vtable_cursor *c);
	void (*column)(const struct vtable_cursor *c, sqlite3_context *ctx, int column);
};

/* The table must last as long as the connection. */
int vtable_register(sqlite3 *db, const struct vtable *table);
/* Turns a code of the store into SQLite's, with the text as the statement's error unless memory ran
 * out or the statement was interrupted. */
int vtable_failed(struct vtable_cursor *c, int rc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The whole numbers around the bound of a time. Returns false if the bound is no number, for SQLite
 * to compare. */
bool vtable_bound(sqlite3_value *v, int64_t *low, int64_t *high);
/* NULL stays NULL. */
void vtable_text(sqlite3_context *ctx, const char *text);

#endif
