/* SPDX-License-Identifier: BSD-3-Clause */
/* The entry of narrows_sqlite.so: `.load narrows_sqlite` in sqlite3, load_extension() in R, Python
 * and others. */
#include "store/sql/extension.h"

#include "store/sql/sqlmodule.h"

SQLITE_EXTENSION_INIT1

enum { SQLITE_NEEDED = 3038000 }; /* the store's views need json_each() */

int sqlite3_extension_init(sqlite3 *db, char **err, const sqlite3_api_routines *api);

__attribute__((visibility("default"))) int
sqlite3_extension_init(sqlite3 *db, char **err, const sqlite3_api_routines *api)
{
	SQLITE_EXTENSION_INIT2(api)
	if (sqlite3_libversion_number() < SQLITE_NEEDED) {
		*err = sqlite3_mprintf(
		    "narrows needs SQLite 3.38 or newer, this is %s", sqlite3_libversion());
		return SQLITE_ERROR;
	}
	return sqlmodule_register(db, err);
}
