/* SPDX-License-Identifier: BSD-3-Clause */
/* The number that an SQL query finds in a file. */
#ifndef SQLCOUNT_H
#define SQLCOUNT_H

#include <stdint.h>

#include <sqlite3.h>

#include "tests/check.h"

static inline int64_t
sqlcount(const char *path, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	int64_t n = -1;

	CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
	CHECK_INT(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return n;
}

#endif
