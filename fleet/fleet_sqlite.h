/* SPDX-License-Identifier: BSD-3-Clause */
/* A fleet's tables on a SQLite connection: of a file, or in memory for engines without SQL.
 * SQLite's codes unless stated. */
#ifndef FLEET_SQLITE_H
#define FLEET_SQLITE_H

#include <sqlite3.h>

#include "fleet/fleet.h"

int fleet_sqlite_functions(sqlite3 *db);
int fleet_sqlite_tables(sqlite3 *db);
/* All rows or none. */
int fleet_sqlite_put(sqlite3 *db, const struct fleet_row *rows, size_t n);
int fleet_sqlite_put_site(sqlite3 *db, const struct fleet_site *s);
/* NW_*: as an engine's ask and report. */
int fleet_sqlite_ask(sqlite3 *db, const char *sql, const char *parameter, fleet_table_fn *fn,
    void *arg, char why[FLEET_WHY_BYTES]);
const char *fleet_sqlite_report(enum fleet_report which);

#endif
