/* SPDX-License-Identifier: BSD-3-Clause */
/* The store's use of SQLite: result codes to ours, statements prepared once, values bound by a
 * format string. A struct db_stmts belongs to one connection and so to one thread at a time. */
#ifndef STORE_DB_H
#define STORE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DB_STMTS_MAX = 128 };

struct db_stmts {
	sqlite3 *db;
	const char *const *sql; /* by number */
	struct {
		sqlite3_stmt *st;
		bool taken;
	} slot[DB_STMTS_MAX];
};

int db_code(int sqlite_rc); /* NW_OK for SQLITE_OK, _ROW and _DONE */
/* Why the last call on db failed, for a person: "disk full", ... Fits any buffer. */
void db_why(sqlite3 *db, char *why, size_t size);

int db_exec(sqlite3 *db, const char *sql);
/* The first column of the first row. NW_ENOTFOUND without a row. */
int db_int(sqlite3 *db, const char *sql, int64_t *out);

void db_stmts_init(struct db_stmts *s, sqlite3 *db, const char *const *sql, size_t n);
void db_stmts_clear(struct db_stmts *s); /* before sqlite3_close() */

/*
 * Takes a statement, reset and with values bound: i int64_t, n int64_t with 0 as NULL, d double
 * with NaN as NULL, t text, b blob and its size_t length. Text and blobs stay the caller's and must
 * live until db_give(), which follows each db_take(). A statement taken twice at a time is prepared
 * a second time, so callbacks may use their reader.
 */
int db_take(struct db_stmts *s, int which, sqlite3_stmt **out, const char *types, ...);
void db_give(struct db_stmts *s, int which, sqlite3_stmt *st);
/* The first column of the first row for one id. NW_ENOTFOUND without a row. */
int db_get_int(struct db_stmts *s, int which, int64_t id, int64_t *out);
/* Take, one step, give. NW_OK also when there is no row. */
int db_run(struct db_stmts *s, int which, const char *types, ...);

#endif
