/* SPDX-License-Identifier: BSD-3-Clause */
/* Two locks on the door: the file is opened for reading only, and an authorizer refuses statements
 * other than reads. The second lock is for files beside the store, as in VACUUM INTO or ATTACH. */
#include "narrows/sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "store/read/reader.h"
#include "store/sql/sqlmodule.h"

struct store_sql {
	struct store_reader *reader; /* gives the connection */
	const char **names;
	struct store_cell *cells;
	size_t cap;
};

/* Returns true for PRAGMAs with an argument and without a change. */
static bool
only_tells(const char *pragma)
{
	static const char *const tells[] = { "table_info", "table_xinfo", "table_list",
		"index_info", "index_xinfo", "index_list", "foreign_key_list", "foreign_key_check",
		"integrity_check", "quick_check" };
	size_t i;

	for (i = 0; i < sizeof(tells) / sizeof(tells[0]); i++)
		if (sqlite3_stricmp(pragma, tells[i]) == 0)
			return true;
	return false;
}

static int
on_authorize(
    void *arg, int action, const char *a, const char *b, const char *database, const char *view)
{
	(void)arg, (void)database, (void)view;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
	case SQLITE_TRANSACTION:
	case SQLITE_SAVEPOINT: return SQLITE_OK;
	case SQLITE_FUNCTION:
		return sqlite3_stricmp(b, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
	case SQLITE_UPDATE: /* SQLite asks for this when a virtual table declares itself */
		return strcmp(a, "sqlite_master") == 0 ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_PRAGMA: return b == NULL || only_tells(a) ? SQLITE_OK : SQLITE_DENY;
	}
	return SQLITE_DENY;
}

int
store_sql_open(const char *path, struct store_sql **out, char why[STORE_WHY_BYTES])
{
	struct store_sql *s = *out = calloc(1, sizeof(*s));
	char *err = NULL;
	int rc;

	snprintf(why, STORE_WHY_BYTES, "out of memory");
	if (s == NULL)
		return NW_ENOMEM;
	if ((rc = store_reader_open(path, &s->reader, why)) == NW_OK &&
	    ((rc = db_code(sqlmodule_register(s->reader->db, &err))) != NW_OK ||
		(rc = db_code(sqlite3_db_config(
		     s->reader->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL))) != NW_OK ||
		(rc = db_code(sqlite3_set_authorizer(s->reader->db, on_authorize, NULL))) != NW_OK))
		snprintf(why, STORE_WHY_BYTES, "%s", err != NULL ? err : nw_strerror(rc));
	sqlite3_free(err);
	if (rc == NW_OK)
		return NW_OK;
	store_sql_close(s);
	*out = NULL;
	return rc;
}

void
store_sql_close(struct store_sql *s)
{
	if (s == NULL)
		return;
	store_reader_close(s->reader);
	free(s->names);
	free(s->cells);
	free(s);
}

void
store_sql_interrupt(struct store_sql *s)
{
	sqlite3_interrupt(s->reader->db);
}

bool
store_sql_complete(const char *text)
{
	return sqlite3_complete(text) != 0;
}

static int
room(struct store_sql *s, size_t n)
{
	void *grown;

	if (n <= s->cap)
		return NW_OK;
	if ((grown = realloc(s->names, n * sizeof(*s->names))) == NULL)
		return NW_ENOMEM;
	s->names = grown;
	if ((grown = realloc(s->cells, n * sizeof(*s->cells))) == NULL)
		return NW_ENOMEM;
	s->cells = grown;
	s->cap = n;
	return NW_OK;
}

static struct store_cell
cell(sqlite3_stmt *st, int column)
{
	struct store_cell c = { .type = CELL_NULL };

	switch (sqlite3_column_type(st, column)) {
	case SQLITE_INTEGER:
		c.type = CELL_INT;
		c.i = sqlite3_column_int64(st, column);
		break;
	case SQLITE_FLOAT:
		c.type = CELL_REAL;
		c.d = sqlite3_column_double(st, column);
		break;
	case SQLITE_TEXT:
		c.type = CELL_TEXT;
		c.bytes = (const char *)sqlite3_column_text(st, column);
		c.len = (size_t)sqlite3_column_bytes(st, column);
		break;
	case SQLITE_BLOB:
		c.type = CELL_BLOB;
		c.bytes = sqlite3_column_blob(st, column);
		c.len = (size_t)sqlite3_column_bytes(st, column);
		break;
	}
	if (c.bytes == NULL)
		c.bytes = "";
	return c;
}

static int
statement_run(struct store_sql *s, sqlite3_stmt *st, store_sql_fn *fn, void *arg)
{
	size_t n = (size_t)sqlite3_column_count(st), i;
	int step, rc;

	if ((rc = room(s, n)) != NW_OK)
		return rc;
	for (i = 0; i < n; i++)
		s->names[i] = sqlite3_column_name(st, (int)i);
	if (n > 0 && fn(arg, n, s->names, NULL) != 0)
		return NW_ECLOSED;
	while ((step = sqlite3_step(st)) == SQLITE_ROW) {
		for (i = 0; i < n; i++)
			s->cells[i] = cell(st, (int)i);
		if (fn(arg, n, s->names, s->cells) != 0)
			return NW_ECLOSED;
	}
	return step == SQLITE_DONE              ? NW_OK
	    : (step & 0xff) == SQLITE_INTERRUPT ? NW_ECLOSED
						: NW_EINVAL;
}

int
store_sql_run(
    struct store_sql *s, const char *text, store_sql_fn *fn, void *arg, char why[STORE_WHY_BYTES])
{
	sqlite3 *db = s->reader->db;
	sqlite3_stmt *st;
	int rc = NW_OK;

	why[0] = '\0';
	while (rc == NW_OK && *text != '\0') {
		st = NULL;
		if (sqlite3_prepare_v2(db, text, -1, &st, &text) != SQLITE_OK)
			rc = NW_EINVAL;
		else if (st != NULL) /* not only a comment */
			rc = statement_run(s, st, fn, arg);
		if (rc == NW_EINVAL) {
			snprintf(why, STORE_WHY_BYTES, "%s%s", sqlite3_errmsg(db),
			    (sqlite3_errcode(db) & 0xff) == SQLITE_AUTH
				? ": here the store is only read"
				: "");
			if ((rc = db_code(sqlite3_errcode(db))) != NW_ENOMEM && rc != NW_ECORRUPT)
				rc = NW_EINVAL;
		} else if (rc != NW_OK) {
			snprintf(why, STORE_WHY_BYTES, "%s",
			    rc == NW_ECLOSED ? "interrupted" : nw_strerror(rc));
		}
		sqlite3_finalize(st);
	}
	return rc;
}

int
store_sql_ask(
    const char *path, const char *text, store_sql_fn *fn, void *arg, char why[STORE_SQL_WHY_BYTES])
{
	char reason[STORE_WHY_BYTES] = "";
	struct store_sql *s;
	int rc = store_sql_open(path, &s, reason);

	if (rc == NW_OK)
		rc = store_sql_run(s, text, fn, arg, reason);
	store_sql_close(s);
	if (rc < 0)
		snprintf(why, STORE_SQL_WHY_BYTES, "%.200s: %.250s", path, reason);
	return rc;
}
