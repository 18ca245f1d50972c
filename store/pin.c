/* SPDX-License-Identifier: BSD-3-Clause */
/* Pinning, from any process: SQLite lets another connection write a row that the writer's memory
 * does not hold, and the writer asks the file each time before rows go. */
#include <stdio.h>

#include "narrows/err.h"
#include "store/db.h"
#include "store/schema.h"

enum { PIN_BUSY_TIMEOUT_MS = 10000 };

static int
pin_write(sqlite3 *db, int64_t session_id, bool pinned)
{
	static const char *const sql[] = { "UPDATE session SET pinned = ?2 WHERE id = ?1" };
	struct db_stmts stmts;
	int rc;

	db_stmts_init(&stmts, db, sql, 1);
	rc = db_run(&stmts, 0, "ii", session_id, (int64_t)pinned);
	db_stmts_clear(&stmts);
	return rc == NW_OK && sqlite3_changes(db) == 0 ? NW_ENOTFOUND : rc;
}

int
store_pin(const char *path, int64_t session_id, bool pinned, char why[STORE_WHY_BYTES])
{
	sqlite3 *db = NULL;
	int rc;

	why[0] = '\0';
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK) {
		snprintf(
		    why, STORE_WHY_BYTES, "%s", db == NULL ? "out of memory" : sqlite3_errmsg(db));
		sqlite3_close(db);
		return NW_EIO;
	}
	sqlite3_busy_timeout(db, PIN_BUSY_TIMEOUT_MS);
	if ((rc = schema_check(db, why)) == NW_OK) {
		rc = pin_write(db, session_id, pinned);
		if (rc == NW_ENOTFOUND)
			snprintf(why, STORE_WHY_BYTES, "no such session");
		else if (rc != NW_OK)
			db_why(db, why, STORE_WHY_BYTES);
	}
	sqlite3_close(db);
	return rc;
}
