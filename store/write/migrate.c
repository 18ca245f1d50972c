/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/write/migrate.h"

#include <stdio.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "store/write/backup_file.h"
#include "store/ground/db.h"
#include "store/ground/document_sql.h"
#include "store/ground/field_in.h"
#include "store/ground/label.h"
#include "store/ground/schema.h"

int
migrate_apply(
    sqlite3 *db, const char *const *migrations, int from, int to, char why[STORE_WHY_BYTES])
{
	char stamp[96];
	int rc, v;

	if (from >= to)
		return NW_OK;
	snprintf(stamp, sizeof(stamp), "PRAGMA application_id = %d; PRAGMA user_version = %d",
	    SCHEMA_APPLICATION_ID, to);
	rc = db_exec(db, "BEGIN IMMEDIATE");
	for (v = from; rc == NW_OK && v < to; v++)
		rc = db_exec(db, migrations[v]);
	if (rc == NW_OK && (rc = db_exec(db, stamp)) == NW_OK)
		rc = db_exec(db, "COMMIT");
	if (rc == NW_OK)
		return NW_OK;
	db_why(db, why, STORE_WHY_BYTES);
	if (!sqlite3_get_autocommit(db))
		db_exec(db, "ROLLBACK");
	return rc;
}

/* Copies the file, in the place of an earlier copy. */
static int
keep(sqlite3 *db, const char *backup, char why[STORE_WHY_BYTES])
{
	const char *path = sqlite3_db_filename(db, "main");
	char cause[STORE_WHY_BYTES];
	struct backup_file f;
	int rc;

	if (path == NULL || *path == '\0')
		return NW_OK; /* a database in memory ends with the process */
	if ((rc = backup_begin(&f, path, cause, "%s", backup)) == NW_OK &&
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

/* The table of fields follows the program, not the version of the schema. */
static int
fields_update(sqlite3 *db, char why[STORE_WHY_BYTES])
{
	int rc;

	if ((rc = db_exec(db, "BEGIN IMMEDIATE")) == NW_OK &&
	    (rc = field_table_update(db)) == NW_OK)
		rc = db_exec(db, "COMMIT");
	if (rc == NW_OK)
		return NW_OK;
	db_why(db, why, STORE_WHY_BYTES);
	if (!sqlite3_get_autocommit(db))
		db_exec(db, "ROLLBACK");
	return rc;
}

int
migrate_upgrade(sqlite3 *db, char why[STORE_WHY_BYTES])
{
	int64_t version;
	int rc;

	/* Before the first page is written; without effect afterwards. */
	if ((rc = db_exec(db, "PRAGMA auto_vacuum = INCREMENTAL")) != NW_OK) {
		db_why(db, why, STORE_WHY_BYTES);
		return rc;
	}
	if (document_sql_register_pack(db) != SQLITE_OK || label_sql_register(db) != SQLITE_OK) {
		snprintf(why, STORE_WHY_BYTES, "out of memory");
		return NW_ENOMEM;
	}
	if ((rc = schema_identify(db, &version, why)) != NW_OK ||
	    (rc = migrate_apply(db, schema_migrations, (int)version, STORE_SCHEMA_VERSION, why)) !=
		NW_OK)
		return rc;
	return fields_update(db, why);
}

int
migrate_open(sqlite3 *db, const struct store_opts *opts, char why[STORE_WHY_BYTES])
{
	const char *path = sqlite3_db_filename(db, "main");
	struct store_upgrade u = { .to = STORE_SCHEMA_VERSION };
	int64_t version, begin_mono_ns = nw_mono_ns();
	char *backup;
	int rc;

	if ((rc = schema_identify(db, &version, why)) != NW_OK)
		return rc;
	if (version == 0 || version >= STORE_SCHEMA_VERSION)
		return migrate_upgrade(db, why);
	if ((backup = sqlite3_mprintf("%s.v%d.bak", path, (int)version)) == NULL) {
		snprintf(why, STORE_WHY_BYTES, "out of memory");
		return NW_ENOMEM;
	}
	u.from = (int)version;
	u.backup = backup;
	if (opts->on_upgrade != NULL)
		opts->on_upgrade(&u);
	if ((rc = keep(db, backup, why)) == NW_OK && (rc = migrate_upgrade(db, why)) == NW_OK &&
	    opts->on_upgrade != NULL) {
		u.took_ns = nw_mono_ns() - begin_mono_ns;
		opts->on_upgrade(&u);
	}
	sqlite3_free(backup);
	return rc;
}
