/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is everything in the file what it claims to be? SQLite's own checks, then ours: every chunk decodes and agrees with
 * its row and its layout, chunks of a layout do not overlap, every tail blob is a run of records of known layouts.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "narrows/err.h"
#include "store/reader.h"

static int fault(char why[STORE_WHY_BYTES], const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int
fault(char why[STORE_WHY_BYTES], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, STORE_WHY_BYTES, fmt, ap);
	va_end(ap);
	return NW_ECORRUPT;
}

/* A PRAGMA that answers with faults: the first row other than `good` is one. */
static int
pragma_check(struct store_reader *r, const char *sql, const char *good, char why[STORE_WHY_BYTES])
{
	sqlite3_stmt *st = NULL;
	const char *text;
	int rc = NW_OK, step;

	if ((step = sqlite3_prepare_v2(r->db, sql, -1, &st, NULL)) == SQLITE_OK &&
	    (step = sqlite3_step(st)) == SQLITE_ROW) {
		text = (const char *)sqlite3_column_text(st, 0);
		if (good == NULL || text == NULL || strcmp(text, good) != 0)
			rc = fault(why, "%s: %s", sql, text == NULL ? "fault" : text);
	}
	sqlite3_finalize(st);
	if (rc == NW_OK && (rc = db_code(step)) != NW_OK)
		db_why(r->db, why, STORE_WHY_BYTES);
	return rc;
}

struct neighbour { int64_t layout_id, t1; };

static int
chunk_check(struct store_reader *r, sqlite3_stmt *st, struct neighbour *before, char why[STORE_WHY_BYTES])
{
	const long long id = sqlite3_column_int64(st, 0);
	const int64_t layout_id = sqlite3_column_int64(st, 1), t0 = sqlite3_column_int64(st, 2),
	    t1 = sqlite3_column_int64(st, 3), n_fields = sqlite3_column_int64(st, 7);
	const struct chunk_columns *c = &r->decoded.is;
	const uint8_t *last = sqlite3_column_blob(st, 5);
	size_t i;
	int rc;

	rc = chunk_decode(r->codec, sqlite3_column_blob(st, 6), (size_t)sqlite3_column_bytes(st, 6), NULL, &r->decoded);
	if (rc == NW_ENOMEM)
		return rc;
	if (rc != NW_OK)
		return fault(why, "chunk %lld: %s", id, nw_strerror(rc));
	if (sqlite3_column_type(st, 7) == SQLITE_NULL || c->n_columns != n_fields)
		return fault(why, "chunk %lld: %u columns, its layout says otherwise", id, c->n_columns);
	if (c->n_rows == 0 || c->n_rows != sqlite3_column_int64(st, 4) || c->t_wall_ns[0] != t0 ||
	    c->t_wall_ns[c->n_rows - 1] != t1)
		return fault(why, "chunk %lld: rows or times are not what its row says", id);
	for (i = 1; i < c->n_rows; i++)
		if (c->t_wall_ns[i] < c->t_wall_ns[i - 1])
			return fault(why, "chunk %lld: not in time order", id);
	if ((size_t)sqlite3_column_bytes(st, 5) != c->n_columns * sizeof(double))
		return fault(why, "chunk %lld: no last row", id);
	for (i = 0; i < c->n_columns; i++)
		if (memcmp(last + 8 * i, &c->value[i][c->n_rows - 1], sizeof(double)) != 0)
			return fault(why, "chunk %lld: another last row", id);
	if (before->layout_id == layout_id && t0 < before->t1)
		return fault(why, "chunk %lld: overlaps the one before it", id);
	*before = (struct neighbour){ layout_id, t1 };
	return NW_OK;
}

static int
chunks_check(struct store_reader *r, char why[STORE_WHY_BYTES])
{
	struct neighbour before = { 0, 0 };
	sqlite3_stmt *st;
	int rc, step = SQLITE_DONE;

	if ((rc = db_take(&r->stmts, R_CHUNKS_ALL, &st, "")) != NW_OK)
		return rc;
	while (rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW)
		rc = chunk_check(r, st, &before, why);
	db_give(&r->stmts, R_CHUNKS_ALL, st);
	return rc == NW_OK ? db_code(step) : rc;
}

static int
tail_check(struct store_reader *r, char why[STORE_WHY_BYTES])
{
	const struct tail_layout *l;
	int64_t n_fields;
	int rc;

	tail_clear(r->tail);
	if ((rc = reader_load_tail(r)) == NW_ECORRUPT)
		return fault(why, "tail: a blob is not a run of records");
	for (l = tail_oldest(r->tail); rc == NW_OK && l != NULL; l = l->newer) {
		if ((rc = db_get_int(&r->stmts, R_LAYOUT, l->id, &n_fields)) != NW_OK && rc != NW_ENOTFOUND)
			return rc;
		if (rc == NW_ENOTFOUND || n_fields != l->n_fields)
			return fault(why, "tail: rows of layout %lld, which does not have %u fields", (long long)l->id,
			    l->n_fields);
	}
	return rc;
}

int
store_verify(struct store_reader *r, char why[STORE_WHY_BYTES])
{
	int rc;

	why[0] = '\0';
	if (r->in_rows)
		return NW_EINVAL;
	if ((rc = reader_pin(r)) != NW_OK)
		return rc;
	if ((rc = pragma_check(r, "PRAGMA integrity_check(1)", "ok", why)) == NW_OK &&
	    (rc = pragma_check(r, "PRAGMA foreign_key_check", NULL, why)) == NW_OK &&
	    (rc = chunks_check(r, why)) == NW_OK)
		rc = tail_check(r, why);
	if (rc != NW_OK && why[0] == '\0')
		snprintf(why, STORE_WHY_BYTES, "%s", nw_strerror(rc));
	return reader_unpin(r, rc);
}
