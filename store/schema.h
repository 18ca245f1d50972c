/* SPDX-License-Identifier: BSD-3-Clause */
/* The file's schema: made, recognised, brought up to date. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <sqlite3.h>

#include "narrows/store.h"

enum { SCHEMA_APPLICATION_ID = 0x4e527773 }; /* "NRws", bytes 68 to 71 of the file, for file(1) */

/* What file is this? *version is 0 for an empty one. NW_ECORRUPT: not a store. NW_EVERSION: a newer
 * one. */
int schema_identify(sqlite3 *db, int64_t *version, char why[STORE_WHY_BYTES]);
/*
 * For the writer: creates the schema in an empty file, climbs from an older version, of which a
 * copy stays beside the file: narrows.db.v1.bak.
 */
int schema_open(sqlite3 *db, char why[STORE_WHY_BYTES]);
/* The same of a file that is a copy itself. */
int schema_upgrade(sqlite3 *db, char why[STORE_WHY_BYTES]);
/* For readers: NW_OK only for a store of exactly this version. */
int schema_check(sqlite3 *db, char why[STORE_WHY_BYTES]);

#endif
