/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/write/labels.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "store/codec/codec_hash.h"
#include "store/ground/label.h"
#include "store/write/writesql.h"

enum { SLOTS = 512 };

/* A change of a count that is not written yet. */
struct slot {
	char *key; /* name and value of a label, or event type of a metric; each ends with NUL */
	size_t len;
	int64_t fieldset_id; /* 0: a label */
	int64_t change, first_id, last_id;
};

/* A key has one place, and takes the place from another key, whose change is written then. */
struct labels {
	struct slot slot[SLOTS];
};

/* A metadata whose labels change. */
struct counting {
	struct connection *c;
	int64_t meta_id, change;
};

static int
slot_write(struct connection *c, struct slot *s)
{
	const char *text = s->key;
	int rc = s->fieldset_id != 0
	    ? db_run(&c->stmts, W_METRIC_COUNT, "itiii", s->fieldset_id, text, s->change,
		  s->first_id, s->last_id)
	    : db_run(&c->stmts, W_LABEL_COUNT, "ttiii", text, text + strlen(text) + 1, s->change,
		  s->first_id, s->last_id);

	free(s->key);
	*s = (struct slot){ 0 };
	return rc;
}

static bool
is_of(const struct slot *s, const char *key, size_t len, int64_t fieldset_id)
{
	return s->key != NULL && s->fieldset_id == fieldset_id && s->len == len &&
	    memcmp(s->key, key, len) == 0;
}

/* Takes the key. */
static int
slot_add(const struct counting *k, char *key, size_t len, int64_t fieldset_id)
{
	struct slot *s =
	    &k->c->labels
		 ->slot[(hash_bytes((const uint8_t *)key, len) + (uint64_t)fieldset_id) % SLOTS];
	int rc = NW_OK;

	if (is_of(s, key, len, fieldset_id)) {
		free(key);
		s->change += k->change;
		s->first_id = k->meta_id < s->first_id ? k->meta_id : s->first_id;
		s->last_id = k->meta_id > s->last_id ? k->meta_id : s->last_id;
		return NW_OK;
	}
	if (s->key != NULL)
		rc = slot_write(k->c, s);
	*s = (struct slot){ key, len, fieldset_id, k->change, k->meta_id, k->meta_id };
	return rc;
}

static int
on_label(void *arg, const char *name, const char *value)
{
	const size_t n = strlen(name) + 1, len = n + strlen(value) + 1;
	char *key = malloc(len);

	if (key == NULL)
		return NW_ENOMEM;
	memcpy(key, name, n);
	memcpy(key + n, value, len - n);
	return slot_add(arg, key, len, 0);
}

/* The metric of one row of W_LABELS_OF_*, and the labels of its metadata once. */
static int
row_count(struct counting *k, sqlite3_stmt *st)
{
	const char *of[4];
	char *key;
	int i, rc;

	k->meta_id = sqlite3_column_int64(st, 0);
	for (i = 0; i < 4; i++)
		if ((of[i] = (const char *)sqlite3_column_text(st, i + 1)) == NULL &&
		    sqlite3_column_type(st, i + 1) != SQLITE_NULL)
			return NW_ENOMEM;
	if ((key = strdup(of[3])) == NULL)
		return NW_ENOMEM;
	rc = slot_add(k, key, strlen(key) + 1, sqlite3_column_int64(st, 5));
	return rc == NW_OK && sqlite3_column_int(st, 6) != 0
	    ? label_of_metadata(of[0], of[1], of[2], on_label, k)
	    : rc;
}

static int
labels_count(struct connection *c, int which, int64_t id, int64_t change)
{
	struct counting k = { .c = c, .change = change };
	sqlite3_stmt *st;
	int rc, step = SQLITE_DONE;

	if (c->labels == NULL && (c->labels = calloc(1, sizeof(*c->labels))) == NULL)
		return NW_ENOMEM;
	if ((rc = db_take(&c->stmts, which, &st, "i", id)) != NW_OK)
		return rc;
	while (rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW)
		rc = row_count(&k, st);
	db_give(&c->stmts, which, st);
	return rc == NW_OK ? db_code(step) : rc;
}

int
labels_flush(struct connection *c)
{
	int rc = NW_OK;
	size_t i;

	for (i = 0; rc == NW_OK && i < SLOTS && c->labels != NULL; i++)
		if (c->labels->slot[i].key != NULL)
			rc = slot_write(c, &c->labels->slot[i]);
	return rc;
}

void
labels_discard(struct connection *c)
{
	size_t i;

	for (i = 0; i < SLOTS && c->labels != NULL; i++) {
		free(c->labels->slot[i].key);
		c->labels->slot[i] = (struct slot){ 0 };
	}
}

int
labels_add_layout(struct connection *c, int64_t layout_id)
{
	return labels_count(c, W_LABELS_OF_LAYOUT, layout_id, 1);
}

int
labels_merge_sessions(struct connection *c, int64_t from, int64_t into)
{
	int rc = labels_flush(c);

	if (rc == NW_OK)
		rc = db_run(&c->stmts, W_LABEL_SESSION_MERGE, "ii", from, into);
	return rc == NW_OK ? db_run(&c->stmts, W_LABEL_SESSION_MERGED, "i", from) : rc;
}

/* Nothing waits in memory afterwards, also after a failure. */
static int
labels_drop(struct connection *c, int which, int64_t id)
{
	int rc = labels_count(c, which, id, -1);

	if (rc == NW_OK)
		rc = labels_flush(c);
	if (rc != NW_OK)
		labels_discard(c);
	return rc;
}

int
labels_drop_meta(struct connection *c, int64_t meta_id)
{
	return labels_drop(c, W_LABELS_OF_META, meta_id);
}

int
labels_drop_session(struct connection *c, int64_t session_id)
{
	return labels_drop(c, W_LABELS_OF_SESSION, session_id);
}

void
labels_free(struct labels *l)
{
	size_t i;

	for (i = 0; i < SLOTS && l != NULL; i++)
		free(l->slot[i].key);
	free(l);
}
