/* SPDX-License-Identifier: BSD-3-Clause */
/* From one version of the schema to the next: all migrations in one transaction, after a copy of
 * the file. */
#ifndef STORE_MIGRATE_H
#define STORE_MIGRATE_H

#include <sqlite3.h>

#include "narrows/store.h"

/*
 * For the writer: creates the schema in an empty file, or brings a file of an older version up to
 * date, after a copy to narrows.db.v1.bak beside the file. Calls opts->on_upgrade before and after.
 */
int migrate_open(sqlite3 *db, const struct store_opts *opts, char why[STORE_WHY_BYTES]);
/* The same without the copy, for a file that is a copy itself. */
int migrate_upgrade(sqlite3 *db, char why[STORE_WHY_BYTES]);

/* Applies migrations[from] to migrations[to - 1], SQL text each. Nothing has changed unless all of
 * them succeed. */
int migrate_apply(
    sqlite3 *db, const char *const *migrations, int from, int to, char why[STORE_WHY_BYTES]);

#endif
