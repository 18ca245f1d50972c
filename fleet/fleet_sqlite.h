/* SPDX-License-Identifier: BSD-3-Clause */
/* A fleet's tables on a SQLite connection, for engines that keep rows in such a file. Both return
 * codes of SQLite. */
#ifndef FLEET_SQLITE_H
#define FLEET_SQLITE_H

#include <sqlite3.h>

#include "fleet/fleet.h"

int fleet_sqlite_tables(sqlite3 *db);
/* All rows or none; rows of deleted sessions are passed over. */
int fleet_sqlite_put(sqlite3 *db, const struct fleet_rows *rows);
/* Deletes sessions of a site (n 0: all) with their chunks, and remembers them; deletes the site's
 * levels. */
int fleet_sqlite_remove(sqlite3 *db, const char *site, const int64_t *sessions, size_t n);
/* Deleted sessions of a site; free() *sessions. */
int fleet_sqlite_gone(sqlite3 *db, const char *site, int64_t **sessions, size_t *n);
/* As ask() of struct fleet_engine, of a file that has the site's own rows alone. */
int fleet_sqlite_ask_own(const char *path, const char *site, const char *sql, const char *parameter,
    fleet_table_fn *fn, void *arg, char why[FLEET_WHY_BYTES]);

#endif
