/* SPDX-License-Identifier: BSD-3-Clause */
/* The file's schema: made, recognised, brought up to date. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <sqlite3.h>

#include "narrows/store.h"

enum { SCHEMA_APPLICATION_ID = 0x4e527773 };   /* "NRws", bytes 68 to 71 of the file, for file(1) */

/* For the writer: creates the schema in an empty file, climbs from an older version. */
int schema_open(sqlite3 *db, char why[STORE_WHY_BYTES]);
/* For readers: NW_OK only for a store of exactly this version. */
int schema_check(sqlite3 *db, char why[STORE_WHY_BYTES]);

#endif
