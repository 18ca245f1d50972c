/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/write/labels.h"

#include "narrows/err.h"
#include "store/ground/label.h"
#include "store/write/writesql.h"

struct counting {
	struct connection *c;
	int64_t meta_id, change; /* of the number of metadata */
};

static int
on_label(void *arg, const char *name, const char *value)
{
	const struct counting *k = arg;

	return db_run(&k->c->stmts, W_LABEL_COUNT, "ttii", name, value, k->change, k->meta_id);
}

/* The labels of one row of W_LABELS_OF_*. */
static int
row_count(struct counting *k, sqlite3_stmt *st)
{
	const char *of[3];
	int i;

	k->meta_id = sqlite3_column_int64(st, 0);
	for (i = 0; i < 3; i++)
		if ((of[i] = (const char *)sqlite3_column_text(st, i + 1)) == NULL &&
		    sqlite3_column_type(st, i + 1) != SQLITE_NULL)
			return NW_ENOMEM;
	return label_of_metadata(of[0], of[1], of[2], on_label, k);
}

static int
labels_count(struct connection *c, int which, int64_t id, int64_t change)
{
	struct counting k = { .c = c, .change = change };
	sqlite3_stmt *st;
	int rc = db_take(&c->stmts, which, &st, "i", id), step = SQLITE_DONE;

	if (rc != NW_OK)
		return rc;
	while (rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW)
		rc = row_count(&k, st);
	db_give(&c->stmts, which, st);
	return rc == NW_OK ? db_code(step) : rc;
}

int
labels_add_layout(struct connection *c, int64_t layout_id, int64_t meta_id)
{
	int rc = db_run(&c->stmts, W_METRIC_NEW, "i", layout_id);

	return rc == NW_OK ? labels_count(c, W_LABELS_OF_NEW, meta_id, 1) : rc;
}

int
labels_merge_sessions(struct connection *c, int64_t from, int64_t into)
{
	int rc = db_run(&c->stmts, W_LABEL_SESSION_MERGE, "ii", from, into);

	return rc == NW_OK ? db_run(&c->stmts, W_LABEL_SESSION_MERGED, "i", from) : rc;
}

int
labels_drop_meta(struct connection *c, int64_t meta_id)
{
	int rc = labels_count(c, W_LABELS_OF_META, meta_id, -1);

	return rc == NW_OK ? db_run(&c->stmts, W_METRICS_DROP_META, "i", meta_id) : rc;
}

int
labels_drop_session(struct connection *c, int64_t session_id)
{
	int rc = labels_count(c, W_LABELS_OF_SESSION, session_id, -1);

	return rc == NW_OK ? db_run(&c->stmts, W_METRICS_DROP_SESSION, "i", session_id) : rc;
}
