/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/migrate.h"

#include <stdio.h>

#include "narrows/err.h"
#include "store/backup.h"
#include "store/db.h"
#include "store/schema.h"

int
migrate_climb(sqlite3 *db, const char *const *ladder, int from, int to, char why[STORE_WHY_BYTES])
{
	char stamp[96];
	int rc, v;

	if (from >= to)
		return NW_OK;
	snprintf(stamp, sizeof(stamp), "PRAGMA application_id = %d; PRAGMA user_version = %d",
	    SCHEMA_APPLICATION_ID, to);
	rc = db_exec(db, "BEGIN IMMEDIATE");
	for (v = from; rc == NW_OK && v < to; v++)
		rc = db_exec(db, ladder[v]);
	if (rc == NW_OK && (rc = db_exec(db, stamp)) == NW_OK)
		rc = db_exec(db, "COMMIT");
	if (rc == NW_OK)
		return NW_OK;
	db_why(db, why, STORE_WHY_BYTES);
	if (!sqlite3_get_autocommit(db))
		db_exec(db, "ROLLBACK");
	return rc;
}

int
migrate_keep(sqlite3 *db, int version, char why[STORE_WHY_BYTES])
{
	const char *path = sqlite3_db_filename(db, "main");
	char cause[STORE_WHY_BYTES];
	struct backup_file f;
	int rc;

	if (path == NULL || *path == '\0')
		return NW_OK; /* in memory: nobody expects it to stay */
	if ((rc = backup_begin(&f, path, cause, "%s.v%d.bak", path, version)) == NW_OK &&
	    (rc = backup_copy(&f, db, NULL, cause)) == NW_OK)
		rc = backup_publish(&f, true, cause);
	if (rc != NW_OK)
		snprintf(why, STORE_WHY_BYTES,
		    "made by an older narrows, and no copy can be made before it is brought up to"
		    " date: %.100s",
		    cause);
	backup_end(&f);
	return rc;
}
