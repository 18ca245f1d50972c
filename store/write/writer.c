/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/write/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "store/codec/codec_hash.h"
#include "store/ground/lock.h"
#include "store/ground/original.h"
#include "store/write/labels.h"
#include "store/write/writesql.h"

/* --- opening --- */

/* Closes connections that a killed box left open: no other process writes. On a full disk the
 * connections stay open until the next start. */
static void
abandoned_close(struct writer *w)
{
	if (connection_begin(&w->c) == NW_OK)
		connection_end(&w->c, db_run(&w->c.stmts, W_XSP_ABANDONED, ""));
}

/* Everything behind the open connection. */
static int
parts_open(struct writer *w, const struct store_opts *opts, char why[STORE_WHY_BYTES])
{
	int64_t acknowledged;
	int rc;

	if ((rc = mover_load(&w->mover)) != NW_OK) {
		snprintf(why, STORE_WHY_BYTES, "cannot read the tail: %s", nw_strerror(rc));
		return rc;
	}
	acknowledged = lock_commit_get(w->c.lock_fd);
	if (acknowledged > tail_last_id(w->mover.tail))
		w->lost_commits = acknowledged - tail_last_id(w->mover.tail);
	w->forgetter = (struct forgetter){ .c = &w->c, .mover = &w->mover };
	expiry_init(&w->expiry, &w->k, &w->forgetter, &w->ceiling, opts);
	if ((rc = connection_load_sizes(&w->c)) != NW_OK ||
	    (rc = writer_next_ids(w, &w->next)) != NW_OK ||
	    (rc = ceiling_init(&w->ceiling, &w->k, &w->mover, &w->forgetter, opts->max_bytes)) !=
		NW_OK)
		db_why(w->c.db, why, STORE_WHY_BYTES);
	else
		abandoned_close(w);
	return rc;
}

int
writer_open(const char *path, const struct store_opts *opts, const struct writer_limits *limits,
    struct writer **out, char why[STORE_WHY_BYTES])
{
	struct writer *w = calloc(1, sizeof(*w));
	int rc = NW_ENOMEM;

	why[0] = '\0';
	*out = NULL;
	if (w == NULL)
		goto fail;
	w->c.lock_fd = -1;
	if ((w->documents = document_codec_new()) == NULL ||
	    (w->originals = original_codec_new()) == NULL ||
	    event_writer_init(&w->events, &w->c) != NW_OK)
		goto fail;
	if ((rc = compactor_init(&w->k, &w->c, limits)) != NW_OK ||
	    (rc = mover_init(&w->mover, &w->c, &w->k)) != NW_OK ||
	    (rc = connection_open(&w->c, path, opts, why)) != NW_OK ||
	    (rc = parts_open(w, opts, why)) != NW_OK)
		goto fail;
	*out = w;
	return NW_OK;
fail:
	if (why[0] == '\0')
		snprintf(why, STORE_WHY_BYTES, "%s", nw_strerror(rc));
	writer_close(w);
	return rc;
}

void
writer_close(struct writer *w)
{
	if (w == NULL)
		return;
	connection_close(&w->c);
	mover_clear(&w->mover);
	ceiling_clear(&w->ceiling);
	compactor_clear(&w->k);
	document_codec_free(w->documents);
	original_codec_free(w->originals);
	event_writer_clear(&w->events);
	free(w);
}

int
writer_next_ids(struct writer *w, struct store_ids *out)
{
	const struct {
		const char *sql;
		int64_t *id;
	} all[] = {
		{ "SELECT coalesce(max(id), 0) + 1 FROM host", &out->host },
		{ "SELECT coalesce(max(id), 0) + 1 FROM xsp_session", &out->xsp },
		{ "SELECT coalesce(max(id), 0) + 1 FROM session", &out->session },
		{ "SELECT coalesce(max(id), 0) + 1 FROM metadata", &out->meta },
		{ "SELECT coalesce(max(id), 0) + 1 FROM layout", &out->layout },
		{ "SELECT coalesce(max(id), 0) + 1 FROM run", &out->run },
	};
	size_t i;
	int rc = NW_OK;

	for (i = 0; rc == NW_OK && i < sizeof(all) / sizeof(all[0]); i++)
		rc = db_int(w->c.db, all[i].sql, all[i].id);
	return rc;
}

/* --- committing --- */

/* Notes the ids that a record gives: ids below w->next were given once. */
static void
ids_follow(struct writer *w, const struct nw_batch *b, const struct batch_rec *r)
{
	int64_t *next = r->kind == BATCH_SESSION ? &w->next.session
	    : r->kind == BATCH_META              ? &w->next.meta
	    : r->kind == BATCH_LAYOUT            ? &w->next.layout
						 : NULL;

	if (next != NULL && b->values[r->first_value].u.i >= *next)
		*next = b->values[r->first_value].u.i + 1;
}

static int
record_bind(sqlite3_stmt *st, const struct nw_batch *b, const struct batch_rec *r)
{
	const struct batch_value *v = b->values + r->first_value;
	size_t i;
	int rc = SQLITE_OK;

	for (i = 0; rc == SQLITE_OK && i < r->n_values; i++, v++)
		switch (v->type) {
		case 'i': rc = sqlite3_bind_int64(st, (int)i + 1, v->u.i); break;
		case 'd': rc = sqlite3_bind_double(st, (int)i + 1, v->u.d); break;
		case 't':
			rc = sqlite3_bind_text64(st, (int)i + 1, (const char *)b->text + v->u.at,
			    v->len, SQLITE_STATIC, SQLITE_UTF8);
			break;
		case 'b':
			rc = sqlite3_bind_blob64(
			    st, (int)i + 1, b->text + v->u.at, v->len, SQLITE_STATIC);
			break;
		default: rc = sqlite3_bind_null(st, (int)i + 1);
		}
	return db_code(rc);
}

/* Does the record refer to a forgotten row? A reference to an id never given is a contradiction
 * instead. */
static bool
record_is_late(const struct writer *w, const struct nw_batch *b, const struct batch_rec *r,
    size_t value, int64_t next_id)
{
	const struct batch_value *v = &b->values[r->first_value + value];

	return sqlite3_extended_errcode(w->c.db) == SQLITE_CONSTRAINT_FOREIGNKEY &&
	    v->type == 'i' && v->u.i < next_id;
}

/* Steps a statement. If the statement returns a host and bytes of descriptions, the bytes count
 * for the host. */
static int
step_counted(struct writer *w, sqlite3_stmt *st)
{
	int step = sqlite3_step(st);

	if (step == SQLITE_ROW)
		return sizes_change(&w->c.sizes, sqlite3_column_int64(st, 0), SIZE_DESCRIPTIONS,
		    sqlite3_column_int64(st, 1));
	return db_code(step);
}

/* Senders may still describe a forgotten session: such a description belongs to the host alone, and
 * new layouts of a forgotten metadata to no host. */
static int
record_apply_late(
    struct writer *w, const struct nw_batch *b, const struct batch_rec *r, sqlite3_stmt *st)
{
	/* the values of nw_batch_xsp() and nw_batch_meta() */
	size_t session = r->kind == BATCH_XSP ? 2 : 1;

	if (r->kind == BATCH_LAYOUT && record_is_late(w, b, r, 1, w->next.meta)) {
		ids_follow(w, b, r); /* or the layout's rows would be a contradiction */
		return NW_OK;
	}
	if ((r->kind != BATCH_XSP && r->kind != BATCH_META) ||
	    !record_is_late(w, b, r, session, w->next.session))
		return NW_ECONFLICT;
	sqlite3_reset(st);
	if (sqlite3_bind_null(st, (int)session + 1) != SQLITE_OK)
		return NW_ENOMEM;
	return step_counted(w, st);
}

/* Binds the packed document, the last value of the record. A text that cannot be packed is no
 * document, and is left out. */
static int
document_bind(
    struct writer *w, sqlite3_stmt *st, const struct nw_batch *b, const struct batch_rec *r)
{
	const struct batch_value *v = &b->values[r->first_value + r->n_values - 1];
	const int at = (int)r->n_values;
	struct document_parts p;
	int rc;

	if (v->type != 't')
		return NW_OK;
	rc = document_pack(w->documents, (const char *)b->text + v->u.at, v->len, &p);
	if (rc == NW_ENOMEM)
		return rc;
	if (rc != NW_OK)
		return db_code(sqlite3_bind_null(st, at));
	if ((rc = sqlite3_bind_blob64(st, at, p.text, p.text_len, SQLITE_STATIC)) == SQLITE_OK &&
	    p.numbers_len > 0)
		rc = sqlite3_bind_blob64(st, at + 1, p.numbers, p.numbers_len, SQLITE_STATIC);
	return db_code(rc);
}

/* Binds the packed metadata as received, the last value of the record. */
static int
original_bind(
    struct writer *w, sqlite3_stmt *st, const struct nw_batch *b, const struct batch_rec *r)
{
	const struct batch_value *v = &b->values[r->first_value + r->n_values - 1];
	struct original_bytes packed;
	int rc;

	if (v->type != 'b')
		return NW_OK;
	if ((rc = original_pack(w->originals, (struct original_bytes){ b->text + v->u.at, v->len },
		 &packed)) != NW_OK)
		return rc;
	return db_code(
	    sqlite3_bind_blob64(st, (int)r->n_values, packed.bytes, packed.len, SQLITE_STATIC));
}

/* Stores the names of a new layout's fields, if missing. */
static int
fieldset_add(struct writer *w, const struct nw_batch *b, const struct batch_rec *r)
{
	const struct batch_value *v = &b->values[r->first_value + 2];
	sqlite3_stmt *st;
	int rc;

	if (v->type != 't')
		return NW_ECONFLICT;
	if ((rc = db_take(&w->c.stmts, W_FIELDSET_ADD, &st, "")) != NW_OK)
		return rc;
	if ((rc = db_code(sqlite3_bind_text64(st, 1, (const char *)b->text + v->u.at, v->len,
		 SQLITE_STATIC, SQLITE_UTF8))) == NW_OK)
		rc = db_code(sqlite3_step(st));
	db_give(&w->c.stmts, W_FIELDSET_ADD, st);
	return rc;
}

/* Lists of labels follow new layouts and joined sessions. */
static int
labels_follow(struct writer *w, const struct nw_batch *b, const struct batch_rec *r)
{
	const struct batch_value *v = &b->values[r->first_value];

	if (r->kind == BATCH_LAYOUT)
		return labels_add_layout(&w->c, v[0].u.i);
	return r->kind == BATCH_MERGE_META ? labels_merge_sessions(&w->c, v[0].u.i, v[1].u.i)
					   : NW_OK;
}

/* A connection is recorded with every batch, and keeps its host, session and provider nearly
 * always. *done is false if the record needs more than new numbers in its row. */
static int
xsp_update(struct writer *w, const struct nw_batch *b, const struct batch_rec *r, bool *done)
{
	sqlite3_stmt *st;
	int rc;

	if ((rc = db_take(&w->c.stmts, W_XSP_UPDATE, &st, "")) != NW_OK)
		return rc;
	if ((rc = record_bind(st, b, r)) == NW_OK)
		rc = db_code(sqlite3_step(st));
	*done = rc == NW_OK && sqlite3_changes(w->c.db) > 0;
	db_give(&w->c.stmts, W_XSP_UPDATE, st);
	return rc;
}

static int
record_run(struct writer *w, const struct nw_batch *b, const struct batch_rec *r)
{
	sqlite3_stmt *st;
	bool done = false;
	int rc;

	if (r->kind == BATCH_XSP && ((rc = xsp_update(w, b, r, &done)) != NW_OK || done))
		return rc;
	if (r->kind == BATCH_LAYOUT && (rc = fieldset_add(w, b, r)) != NW_OK)
		return rc;
	if ((rc = db_take(&w->c.stmts, (int)r->kind, &st, "")) != NW_OK)
		return rc;
	rc = record_bind(st, b, r);
	if (rc == NW_OK && r->kind == BATCH_RESULT)
		rc = document_bind(w, st, b, r);
	if (rc == NW_OK && r->kind == BATCH_META)
		rc = original_bind(w, st, b, r);
	if (rc == NW_OK && (rc = step_counted(w, st)) == NW_ECONFLICT)
		rc = record_apply_late(w, b, r, st);
	db_give(&w->c.stmts, (int)r->kind, st);
	return rc == NW_OK ? labels_follow(w, b, r) : rc;
}

static int
record_apply(struct writer *w, const struct nw_batch *b, const struct batch_rec *r)
{
	bool counted = r->kind == BATCH_RESULT || r->kind == BATCH_DROP_RESULT;
	int64_t id = b->values[r->first_value].u.i;
	int rc = NW_OK;

	if (r->kind == BATCH_SEAL)
		return NW_OK; /* takes effect after the commit */
	if (counted)
		rc = connection_count_result(&w->c, id, -1);
	if (rc == NW_OK)
		rc = record_run(w, b, r);
	return rc == NW_OK && counted ? connection_count_result(&w->c, id, 1) : rc;
}

/* Takes marked rows out of the batch. */
static void
rows_squeeze(struct writer *w, struct nw_batch *b)
{
	const struct tail_rec *rec;
	size_t at, bytes, kept = 0;

	for (at = 0; at < b->rows_len; at += bytes) {
		rec = (const void *)(b->rows + at);
		bytes = tail_rec_bytes(rec->n_rows, rec->n_fields, rec->hist_len);
		if (rec->layout_id == 0) {
			w->late_rows += rec->n_rows;
			b->n_rows -= rec->n_rows;
			b->n_samples -= (uint64_t)rec->n_rows * rec->n_fields;
			continue;
		}
		memmove(b->rows + kept, rec, bytes);
		kept += bytes;
	}
	b->late_len += b->rows_len - kept;
	b->rows_len = kept;
}

/*
 * Do the rows fit their layouts? A layout that is new to the tail is looked up. Rows of a forgotten
 * layout are taken out of the batch.
 */
static int
rows_check(struct writer *w, struct nw_batch *b)
{
	const struct tail_layout *l;
	struct tail_rec *rec;
	int64_t n_fields;
	bool late = false;
	size_t at;
	int rc;

	for (at = 0; at < b->rows_len;
	     at += tail_rec_bytes(rec->n_rows, rec->n_fields, rec->hist_len)) {
		rec = (void *)(b->rows + at);
		if ((l = tail_find(w->mover.tail, rec->layout_id)) != NULL) {
			n_fields = l->n_fields;
		} else if ((rc = db_get_int(&w->c.stmts, W_LAYOUT_FIELDS, rec->layout_id,
				&n_fields)) == NW_ENOTFOUND &&
		    rec->layout_id < w->next.layout) {
			rec->layout_id = 0;
			late = true;
			continue;
		} else if (rc != NW_OK) {
			return rc == NW_ENOTFOUND ? NW_ECONFLICT : rc;
		}
		if (n_fields != rec->n_fields)
			return NW_ECONFLICT;
	}
	if (late)
		rows_squeeze(w, b);
	return NW_OK;
}

/* Applies all of a batch or nothing. A batch of rows alone has nothing to undo. */
static int
batch_apply(struct writer *w, struct nw_batch *b)
{
	size_t i, n_journal = w->c.sizes.n_journal;
	int rc = NW_OK;

	if (b->n_recs == 0 && b->events == NULL)
		return rows_check(w, b);
	if ((rc = db_run(&w->c.stmts, W_SAVE, "")) != NW_OK)
		return rc;
	for (i = 0; rc == NW_OK && i < b->n_recs; i++)
		rc = record_apply(w, b, &b->recs[i]);
	if (rc == NW_OK)
		rc = labels_flush(&w->c);
	if (rc == NW_OK && (rc = rows_check(w, b)) == NW_OK)
		rc = event_writer_put(&w->events, b, w->next.session);
	if (rc != NW_OK) {
		sizes_undo(&w->c.sizes, n_journal);
		labels_discard(&w->c);
	}
	if (rc != NW_OK && !sqlite3_get_autocommit(w->c.db) &&
	    db_run(&w->c.stmts, W_UNDO, "") != NW_OK)
		return NW_EIO;
	return sqlite3_get_autocommit(w->c.db) || db_run(&w->c.stmts, W_KEEP, "") != NW_OK ? NW_EIO
											   : rc;
}

/* The rows of all applied batches in a row: malloc'ed, or the rows of the only batch with rows. */
struct tail_blob {
	uint8_t *bytes;
	size_t len;
	struct nw_batch *only;
};

static int
rows_gather(struct nw_batch *list, struct tail_blob *out)
{
	struct nw_batch *b;
	size_t n = 0;
	uint8_t *p;

	*out = (struct tail_blob){ 0 };
	for (b = list; b != NULL; b = b->next)
		if (b->rc == NW_OK && b->rows_len > 0) {
			out->only = b;
			out->len += b->rows_len;
			n++;
		}
	if (n < 2) {
		out->bytes = n == 0 ? NULL : out->only->rows;
		return NW_OK;
	}
	out->only = NULL;
	if ((p = out->bytes = malloc(out->len)) == NULL)
		return NW_ENOMEM;
	for (b = list; b != NULL; b = b->next)
		if (b->rc == NW_OK && b->rows_len > 0) {
			memcpy(p, b->rows, b->rows_len);
			p += b->rows_len;
		}
	return NW_OK;
}

static int
rows_write(struct writer *w, const struct tail_blob *blob)
{
	if (blob->len == 0)
		return NW_OK;
	return db_run(&w->c.stmts, W_TAIL_ADD, "ibi", w->mover.next_tail_id,
	    (const void *)blob->bytes, blob->len, (int64_t)hash_bytes(blob->bytes, blob->len));
}

/* Gives the rows to the tail: the batch loses them, and the memory reserved for more rows is
 * returned. */
static uint8_t *
blob_take(struct tail_blob *blob)
{
	uint8_t *fitted;

	if (blob->only == NULL)
		return blob->bytes;
	blob->only->rows = NULL;
	fitted = realloc(blob->bytes, blob->len);
	return fitted != NULL ? fitted : blob->bytes;
}

/* After the commit: memory follows the file. */
static void
committed(struct writer *w, const struct nw_batch *list, struct tail_blob *blob)
{
	const struct nw_batch *b;
	size_t i;

	w->commits++;
	for (b = list; b != NULL; b = b->next) {
		if (b->rc != NW_OK) {
			w->failed_batches++;
			continue;
		}
		w->batches++;
		w->rows += b->n_rows;
		w->samples += b->n_samples;
		w->event_count += b->n_events;
		event_writer_note(&w->events, b);
		for (i = 0; i < b->n_recs; i++) {
			ids_follow(w, b, &b->recs[i]);
			if (b->recs[i].kind == BATCH_SEAL)
				mover_seal(&w->mover, b->values[b->recs[i].first_value].u.i);
		}
	}
	if (blob->len > 0)
		mover_add(&w->mover, blob_take(blob), blob->len);
}

int
writer_commit(struct writer *w, struct nw_batch *list)
{
	struct tail_blob blob = { 0 };
	struct nw_batch *b;
	size_t bytes = 0;
	int rc;

	for (b = list; b != NULL; b = b->next)
		bytes += nw_batch_bytes(b);
	rc = w->mover.stale ? mover_load(&w->mover) : NW_OK;
	if (rc == NW_OK)
		rc = ceiling_make_room_to_commit(&w->ceiling, bytes);
	if (rc == NW_OK && (rc = connection_begin(&w->c)) == NW_OK) {
		for (b = list; b != NULL && rc == NW_OK; b = b->next) {
			b->rc = batch_apply(w, b);
			if (b->rc == NW_EIO || b->rc == NW_ENOMEM || b->rc == NW_ECORRUPT)
				rc = b->rc; /* not a fault of the batch */
		}
		if (rc == NW_OK && (rc = rows_gather(list, &blob)) == NW_OK)
			rc = rows_write(w, &blob);
		rc = connection_end(&w->c, rc);
	}
	if (rc == NW_OK) {
		committed(w, list, &blob);
		lock_commit_set(w->c.lock_fd, tail_last_id(w->mover.tail));
		return NW_OK;
	}
	if (w->c.trouble[0] == '\0') /* the fault came before the transaction */
		connection_note_trouble(&w->c, rc);
	if (blob.only == NULL)
		free(blob.bytes);
	for (b = list; b != NULL; b = b->next)
		b->rc = rc;
	return rc;
}
