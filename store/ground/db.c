/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/ground/db.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "narrows/err.h"

int
db_code(int sqlite_rc)
{
	switch (sqlite_rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE: return NW_OK;
	case SQLITE_NOMEM: return NW_ENOMEM;
	case SQLITE_TOOBIG: return NW_ETOOBIG;
	case SQLITE_CONSTRAINT: return NW_ECONFLICT;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB: return NW_ECORRUPT;
	case SQLITE_MISUSE:
	case SQLITE_RANGE: return NW_EINVAL;
	}
	return NW_EIO;
}

void
db_why(sqlite3 *db, char *why, size_t size)
{
	int rc = sqlite3_extended_errcode(db), err = sqlite3_system_errno(db);

	if ((rc & 0xff) == SQLITE_FULL)
		snprintf(why, size, "disk full");
	else if ((rc & 0xff) == SQLITE_IOERR && err != 0)
		snprintf(why, size, "disk error: %s", strerror(err));
	else
		snprintf(why, size, "%s", sqlite3_errmsg(db));
}

int
db_exec(sqlite3 *db, const char *sql)
{
	return db_code(sqlite3_exec(db, sql, NULL, NULL, NULL));
}

int
db_int(sqlite3 *db, const char *sql, int64_t *out)
{
	sqlite3_stmt *st = NULL;
	int rc;

	if ((rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL)) == SQLITE_OK &&
	    (rc = sqlite3_step(st)) == SQLITE_ROW)
		*out = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? NW_ENOTFOUND : db_code(rc);
}

void
db_stmts_init(struct db_stmts *s, sqlite3 *db, const char *const *sql, size_t n)
{
	assert(n <= DB_STMTS_MAX);
	memset(s, 0, sizeof(*s));
	s->db = db;
	s->sql = sql;
}

void
db_stmts_clear(struct db_stmts *s)
{
	size_t i;

	for (i = 0; i < DB_STMTS_MAX; i++) {
		sqlite3_finalize(s->slot[i].st);
		s->slot[i].st = NULL;
	}
}

static int
bind_all(sqlite3_stmt *st, const char *types, va_list ap)
{
	const void *blob;
	const char *t;
	int64_t i;
	int n = 0, rc = SQLITE_OK;

	for (t = types; *t != '\0' && rc == SQLITE_OK; t++) {
		n++;
		switch (*t) {
		case 'i': rc = sqlite3_bind_int64(st, n, va_arg(ap, int64_t)); break;
		case 'n':
			i = va_arg(ap, int64_t);
			rc = i == 0 ? sqlite3_bind_null(st, n) : sqlite3_bind_int64(st, n, i);
			break;
		case 'd': rc = sqlite3_bind_double(st, n, va_arg(ap, double)); break;
		case 't':
			rc = sqlite3_bind_text(st, n, va_arg(ap, const char *), -1, SQLITE_STATIC);
			break;
		case 'b':
			blob = va_arg(ap, const void *);
			rc = sqlite3_bind_blob64(st, n, blob, va_arg(ap, size_t), SQLITE_STATIC);
			break;
		default: assert(!"unknown type letter");
		}
	}
	return rc;
}

static int
take(struct db_stmts *s, int which, sqlite3_stmt **out, const char *types, va_list ap)
{
	sqlite3_stmt *st = s->slot[which].st;
	int rc = SQLITE_OK;

	*out = NULL;
	if (st == NULL || s->slot[which].taken)
		rc = sqlite3_prepare_v3(
		    s->db, s->sql[which], -1, SQLITE_PREPARE_PERSISTENT, &st, NULL);
	if (rc != SQLITE_OK)
		return db_code(rc);
	if (!s->slot[which].taken) {
		s->slot[which].st = st;
		s->slot[which].taken = true;
	}
	if ((rc = bind_all(st, types, ap)) != SQLITE_OK) {
		db_give(s, which, st);
		return db_code(rc);
	}
	*out = st;
	return NW_OK;
}

int
db_take(struct db_stmts *s, int which, sqlite3_stmt **out, const char *types, ...)
{
	va_list ap;
	int rc;

	va_start(ap, types);
	rc = take(s, which, out, types, ap);
	va_end(ap);
	return rc;
}

void
db_give(struct db_stmts *s, int which, sqlite3_stmt *st)
{
	if (st == NULL)
		return;
	if (st != s->slot[which].st) {
		sqlite3_finalize(st);
		return;
	}
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	s->slot[which].taken = false;
}

int
db_get_int(struct db_stmts *s, int which, int64_t id, int64_t *out)
{
	sqlite3_stmt *st;
	int rc, step;

	if ((rc = db_take(s, which, &st, "i", id)) != NW_OK)
		return rc;
	if ((step = sqlite3_step(st)) == SQLITE_ROW)
		*out = sqlite3_column_int64(st, 0);
	db_give(s, which, st);
	return step == SQLITE_DONE ? NW_ENOTFOUND : db_code(step);
}

int
db_run(struct db_stmts *s, int which, const char *types, ...)
{
	sqlite3_stmt *st;
	va_list ap;
	int rc;

	va_start(ap, types);
	rc = take(s, which, &st, types, ap);
	va_end(ap);
	if (rc == NW_OK)
		rc = db_code(sqlite3_step(st));
	db_give(s, which, st);
	return rc;
}
