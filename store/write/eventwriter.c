/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/write/eventwriter.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/event.h"
#include "store/write/writesql.h"

enum {
	LARGE_BYTES = 64 << 10, /* a row of so many packed bytes is at the last level */
	LARGE_EVENTS = 16384,
	DUE_MAX = 64 /* more pairs are looked for in the file */
};

/* A row on its way to the file. */
struct event_row {
	struct event_group group;
	int64_t t0, t1, n, stored_ns;
	int level;
};

int
event_writer_init(struct event_writer *w, struct connection *c)
{
	w->c = c;
	w->look = true;
	return (w->codec = event_codec_new()) != NULL ? NW_OK : NW_ENOMEM;
}

void
event_writer_clear(struct event_writer *w)
{
	event_codec_free(w->codec);
	free(w->due);
}

/* --- writing --- */

/* Runs the statement for a new row, and once more without a forgotten session. */
static int
row_insert(struct event_writer *w, const struct event_row *r, const uint8_t *data, size_t len,
    int64_t next_session)
{
	int rc =
	    db_run(&w->c->stmts, W_EVENT_ADD, "niiiiiib", r->group.session_id, r->group.host_id,
		r->t0, r->t1, r->n, r->stored_ns, (int64_t)r->level, (const void *)data, len);

	if (rc != NW_ECONFLICT || r->group.session_id == 0 || r->group.session_id >= next_session ||
	    sqlite3_extended_errcode(w->c->db) != SQLITE_CONSTRAINT_FOREIGNKEY)
		return rc;
	return db_run(&w->c->stmts, W_EVENT_ADD, "niiiiiib", (int64_t)0, r->group.host_id, r->t0,
	    r->t1, r->n, r->stored_ns, (int64_t)r->level, (const void *)data, len);
}

/* Writes the events of a builder as a row of at least that level. */
static int
row_put(struct event_writer *w, struct nw_events *b, struct event_row *r, int64_t next_session)
{
	const uint8_t *block, *data;
	size_t len, data_len;
	int rc;

	if ((rc = nw_events_finish(b, &block, &len)) != NW_OK ||
	    (rc = event_pack(w->codec, block, len, &data, &data_len)) != NW_OK)
		return rc;
	nw_events_span(b, &r->t0, &r->t1);
	r->n = (int64_t)nw_events_count(b);
	if (r->level >= EVENT_LEVELS - 1 || data_len >= LARGE_BYTES || r->n >= LARGE_EVENTS)
		r->level = EVENT_LEVELS - 1;
	if ((rc = row_insert(w, r, data, data_len, next_session)) != NW_OK)
		return rc;
	return sizes_change(&w->c->sizes, r->group.host_id, SIZE_EVENTS, (int64_t)data_len);
}

int
event_writer_put(struct event_writer *w, const struct nw_batch *b, int64_t next_session)
{
	const struct batch_events *e;
	struct event_row r;
	int rc = NW_OK;

	for (e = b->events; rc == NW_OK && e != NULL; e = e->next) {
		r = (struct event_row){ .group = { e->session_id, e->host_id },
			.stored_ns = connection_now(w->c) };
		rc = row_put(w, e->columns, &r, next_session);
	}
	return rc;
}

void
event_writer_note(struct event_writer *w, const struct nw_batch *b)
{
	const struct batch_events *e;
	struct event_group *grown;
	size_t i;

	for (e = b->events; e != NULL && !w->look; e = e->next) {
		for (i = 0; i < w->n_due; i++)
			if (w->due[i].session_id == e->session_id &&
			    w->due[i].host_id == e->host_id)
				break;
		if (i < w->n_due)
			continue;
		if (w->n_due == w->cap_due) {
			grown = w->n_due >= DUE_MAX
			    ? NULL
			    : reallocarray(w->due, w->cap_due + 16, sizeof(*grown));
			if (grown == NULL) {
				w->look = true;
				return;
			}
			w->due = grown;
			w->cap_due += 16;
		}
		w->due[w->n_due++] = (struct event_group){ e->session_id, e->host_id };
	}
}

/* --- merging --- */

/* Rows in hand: their blocks, and how far each is taken. */
struct merge {
	struct event_row row; /* the row of the events */
	size_t n;
	struct {
		int64_t id;
		uint8_t *bytes;
		size_t cap, len, at;
		struct nw_event_block *block;
	} in[EVENT_MERGE_ROWS];
	struct nw_events *out;
};

static void
merge_clear(struct merge *m)
{
	size_t i;

	for (i = 0; i < EVENT_MERGE_ROWS; i++) {
		free(m->in[i].bytes);
		nw_event_block_free(m->in[i].block);
	}
	nw_events_free(m->out);
}

/* Reads a row of the statement. */
static int
merge_take(struct event_writer *w, struct merge *m, sqlite3_stmt *st)
{
	const char *why;
	int64_t stored_ns = sqlite3_column_int64(st, 1);
	int rc;

	m->in[m->n].id = sqlite3_column_int64(st, 0);
	if (stored_ns > m->row.stored_ns)
		m->row.stored_ns = stored_ns;
	if ((m->in[m->n].block = nw_event_block_new()) == NULL)
		return NW_ENOMEM;
	if ((rc = event_unpack(w->codec, sqlite3_column_blob(st, 2),
		 (size_t)sqlite3_column_bytes(st, 2), &m->in[m->n].bytes, &m->in[m->n].cap,
		 &m->in[m->n].len)) != NW_OK)
		return rc;
	rc = nw_event_block_read(m->in[m->n].block, m->in[m->n].bytes, m->in[m->n].len, &why);
	m->n++;
	return rc == NW_EPROTO ? NW_ECORRUPT : rc;
}

static int
merge_read(struct event_writer *w, struct merge *m)
{
	sqlite3_stmt *st;
	int rc, step = SQLITE_DONE;

	if ((rc = db_take(&w->c->stmts, W_EVENT_YOUNG, &st, "nii", m->row.group.session_id,
		 m->row.group.host_id, (int64_t)m->row.level)) != NW_OK)
		return rc;
	while (rc == NW_OK && m->n < EVENT_MERGE_ROWS && (step = sqlite3_step(st)) == SQLITE_ROW)
		rc = merge_take(w, m, st);
	db_give(&w->c->stmts, W_EVENT_YOUNG, st);
	return rc == NW_OK ? db_code(step) : rc;
}

/* The input with the earliest event; m->n if all are taken. */
static size_t
merge_next(const struct merge *m)
{
	size_t i, best = m->n;
	int64_t t, earliest = 0;

	for (i = 0; i < m->n; i++) {
		if (m->in[i].at == nw_event_block_count(m->in[i].block))
			continue;
		t = nw_event_block_time(m->in[i].block, m->in[i].at);
		if (best == m->n || t < earliest) {
			best = i;
			earliest = t;
		}
	}
	return best;
}

/* Writes all events of the inputs, in rows without overlap. */
static int
merge_write(struct event_writer *w, struct merge *m)
{
	struct event_row row = m->row;
	struct nw_event e;
	size_t i;
	int rc = NW_OK;

	row.level++;
	while (rc == NW_OK && (i = merge_next(m)) < m->n) {
		nw_event_block_get(m->in[i].block, m->in[i].at, &e);
		if ((rc = nw_events_add(m->out, &e)) == NW_ETOOBIG) {
			if ((rc = row_put(w, m->out, &row, 0)) == NW_OK)
				nw_events_clear(m->out);
			row.level = m->row.level + 1;
		} else {
			m->in[i].at++;
		}
	}
	return rc == NW_OK ? row_put(w, m->out, &row, 0) : rc;
}

static int
row_drop(struct connection *c, int64_t id, int64_t host_id)
{
	int64_t bytes = 0;
	int rc = db_get_int(&c->stmts, W_EVENT_DROP, id, &bytes);

	return rc == NW_OK       ? sizes_change(&c->sizes, host_id, SIZE_EVENTS, -bytes)
	    : rc == NW_ENOTFOUND ? NW_OK
				 : rc;
}

static int
merge_apply(struct event_writer *w, struct merge *m)
{
	size_t i;
	int rc;

	if ((rc = merge_read(w, m)) != NW_OK || m->n < EVENT_MERGE_ROWS)
		return rc;
	for (i = 0; rc == NW_OK && i < m->n; i++)
		rc = row_drop(w->c, m->in[i].id, m->row.group.host_id);
	return rc == NW_OK ? merge_write(w, m) : rc;
}

/* Merges sixteen rows of a pair and level. A damaged row stays, for verify to name, and its pair
 * is merged no more until the row is gone. */
static int
merge(struct event_writer *w, struct event_group group, int level)
{
	struct merge *m = calloc(1, sizeof(*m));
	int rc = NW_ENOMEM;

	if (m == NULL)
		return NW_ENOMEM;
	m->row = (struct event_row){ .group = group, .level = level };
	if ((m->out = nw_events_new(NW_EVENT_KEPT_BYTES)) != NULL &&
	    (rc = connection_begin(w->c)) == NW_OK)
		rc = connection_end(w->c, merge_apply(w, m));
	merge_clear(m);
	free(m);
	if (rc == NW_ECORRUPT || rc == NW_ECONFLICT) {
		w->c->trouble[0] = '\0';
		return NW_OK;
	}
	return rc;
}

/* The lowest level with enough rows of a pair. */
static int
level_find(struct event_writer *w, struct event_group g, struct event_due *out)
{
	sqlite3_stmt *st;
	int rc, step;

	*out = (struct event_due){ .group = g };
	if ((rc = db_take(&w->c->stmts, W_EVENT_LEVEL, &st, "nii", g.session_id, g.host_id,
		 (int64_t)EVENT_MERGE_ROWS)) != NW_OK)
		return rc;
	if ((step = sqlite3_step(st)) == SQLITE_ROW) {
		out->found = true;
		out->level = sqlite3_column_int(st, 0);
		out->bytes = (size_t)sqlite3_column_int64(st, 1);
	}
	db_give(&w->c->stmts, W_EVENT_LEVEL, st);
	return db_code(step);
}

/* Looks in the file for pairs with rows to merge. */
static int
due_look(struct event_writer *w)
{
	struct event_group *grown = reallocarray(w->due, DUE_MAX, sizeof(*grown));
	sqlite3_stmt *st;
	int rc, step = SQLITE_DONE;

	if (grown == NULL)
		return NW_ENOMEM;
	w->due = grown;
	w->cap_due = DUE_MAX;
	if ((rc = db_take(&w->c->stmts, W_EVENT_GROUPS, &st, "ii", (int64_t)EVENT_MERGE_ROWS,
		 (int64_t)DUE_MAX)) != NW_OK)
		return rc;
	for (w->n_due = 0; w->n_due < DUE_MAX && (step = sqlite3_step(st)) == SQLITE_ROW;)
		w->due[w->n_due++] = (struct event_group){ sqlite3_column_int64(st, 0),
			sqlite3_column_int64(st, 1) };
	db_give(&w->c->stmts, W_EVENT_GROUPS, st);
	w->look = w->n_due == DUE_MAX;
	return db_code(step);
}

int
event_writer_find(struct event_writer *w, struct event_due *out)
{
	int rc = NW_OK;

	*out = (struct event_due){ 0 };
	if (w->n_due == 0 && w->look)
		rc = due_look(w);
	while (rc == NW_OK && w->n_due > 0 && !out->found) {
		rc = level_find(w, w->due[w->n_due - 1], out);
		if (!out->found)
			w->n_due--;
	}
	return rc;
}

int
event_writer_merge(struct event_writer *w, const struct event_due *due)
{
	struct event_due again;
	int rc = merge(w, due->group, due->level);

	if (rc == NW_OK && level_find(w, due->group, &again) == NW_OK && again.found &&
	    again.level == due->level && again.bytes == due->bytes)
		event_writer_skip(w);
	return rc;
}

void
event_writer_skip(struct event_writer *w)
{
	if (w->n_due > 0)
		w->n_due--;
}

/* --- deleting --- */

int
event_writer_oldest(
    struct connection *c, int64_t host_id, int64_t stored_before_ns, struct event_old *out)
{
	int which = host_id < 0 ? W_EVENT_OLDEST : W_EVENT_OLDEST_OF, rc, step;
	sqlite3_stmt *st;

	*out = (struct event_old){ 0 };
	if ((rc = db_take(&c->stmts, which, &st, host_id < 0 ? "i" : "ii", stored_before_ns,
		 host_id)) != NW_OK)
		return rc;
	if ((step = sqlite3_step(st)) == SQLITE_ROW)
		*out = (struct event_old){ true, sqlite3_column_int64(st, 0),
			sqlite3_column_int64(st, 1) };
	db_give(&c->stmts, which, st);
	return db_code(step);
}

int
event_writer_drop(struct connection *c, const struct event_old *row)
{
	return row_drop(c, row->id, row->host_id);
}
