/* SPDX-License-Identifier: BSD-3-Clause */
/* A fleet's tables on a SQLite connection, for engines that keep rows in such a file. Both return
 * codes of SQLite. */
#ifndef FLEET_SQLITE_H
#define FLEET_SQLITE_H

#include <sqlite3.h>

#include "fleet/fleet.h"

int fleet_sqlite_tables(sqlite3 *db);
/* All rows or none. */
int fleet_sqlite_put(sqlite3 *db, const struct fleet_row *rows, size_t n);

#endif
