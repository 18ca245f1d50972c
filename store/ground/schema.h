/* SPDX-License-Identifier: BSD-3-Clause */
/* The schema of the file, and how to recognise a file with that schema. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <sqlite3.h>

#include "narrows/store.h"

enum { SCHEMA_APPLICATION_ID = 0x4e527773 }; /* "NRws", bytes 68 to 71 of the file, for file(1) */

extern const char *const schema_migrations[STORE_SCHEMA_VERSION];

/* Reads the version of a file: 0 for an empty file. NW_ECORRUPT: not a store. NW_EVERSION: made by
 * a newer program. */
int schema_identify(sqlite3 *db, int64_t *version, char why[STORE_WHY_BYTES]);
/* For readers: NW_OK only for a store of exactly the current version. */
int schema_check(sqlite3 *db, char why[STORE_WHY_BYTES]);

#endif
