/* SPDX-License-Identifier: BSD-3-Clause */
/* From one version of the schema to the next: all rungs in one transaction, with a copy of what was
 * there before. */
#ifndef STORE_MIGRATE_H
#define STORE_MIGRATE_H

#include <sqlite3.h>

#include "narrows/store.h"

/* ladder[v] is the SQL from version v to v + 1. Nothing has changed unless all of it has. */
int
migrate_climb(sqlite3 *db, const char *const *ladder, int from, int to, char why[STORE_WHY_BYTES]);
/* A copy beside the file, FILE.vN.bak, in the place of an earlier one. */
int migrate_keep(sqlite3 *db, int version, char why[STORE_WHY_BYTES]);

#endif
