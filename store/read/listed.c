/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of labels, of their values and of metrics, from the tables that count them. */
#include <string.h>

#include "narrows/err.h"
#include "store/read/reader.h"

static int
ended(struct store_reader *r, int which, sqlite3_stmt *st, int rc, int step)
{
	db_give(&r->stmts, which, st);
	return rc > 0 ? NW_OK : rc < 0 ? rc : db_code(step);
}

/* Hands the first column of each row to fn, and gives the statement back. */
static int
texts(struct store_reader *r, int which, sqlite3_stmt *st, store_text_fn *fn, void *arg)
{
	int rc = NW_OK, step = SQLITE_DONE;

	while (rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW)
		rc = fn(arg, (const char *)sqlite3_column_text(st, 0));
	return ended(r, which, st, rc, step);
}

int
store_label_names(struct store_reader *r, size_t limit, store_text_fn *fn, void *arg)
{
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_LABEL_NAMES, &st, "i", (int64_t)limit);

	return rc == NW_OK ? texts(r, R_LABEL_NAMES, st, fn, arg) : rc;
}

int
store_label_values(
    struct store_reader *r, const char *name, size_t limit, store_text_fn *fn, void *arg)
{
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_LABEL_VALUES, &st, "ti", name, (int64_t)limit);

	return rc == NW_OK ? texts(r, R_LABEL_VALUES, st, fn, arg) : rc;
}

int
store_series_ids(struct store_reader *r, size_t limit, store_text_fn *fn, void *arg)
{
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_SERIES_IDS, &st, "i", (int64_t)limit);

	return rc == NW_OK ? texts(r, R_SERIES_IDS, st, fn, arg) : rc;
}

int
store_metrics(struct store_reader *r, struct store_metric_place *after, size_t limit,
    store_metric_fn *fn, void *arg)
{
	struct nw_metric_rec m;
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_METRICS, &st, "ii", after->rowid, (int64_t)limit);
	int step = SQLITE_DONE;

	if (rc != NW_OK)
		return rc;
	while (rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW) {
		after->rowid = sqlite3_column_int64(st, 0);
		m = (struct nw_metric_rec){ .event_type = (const char *)sqlite3_column_text(st, 1),
			.fields_json = (const char *)sqlite3_column_text(st, 2),
			.span = { sqlite3_column_int64(st, 3), sqlite3_column_int64(st, 4) } };
		rc = fn(arg, &m);
	}
	return ended(r, R_METRICS, st, rc, step);
}

int
store_label_span(
    struct store_reader *r, const char *name, const char *value, struct store_span *span)
{
	struct store_span is = { 1, 0 };
	sqlite3_stmt *st;
	int rc = db_take(&r->stmts, R_LABEL_SPAN, &st, "tt", name, value), step;

	if (rc != NW_OK)
		return rc;
	if ((step = sqlite3_step(st)) == SQLITE_ROW)
		is =
		    (struct store_span){ sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1) };
	if (is.first > span->first)
		span->first = is.first;
	if (is.last < span->last)
		span->last = is.last;
	return ended(r, R_LABEL_SPAN, st, NW_OK, step);
}
