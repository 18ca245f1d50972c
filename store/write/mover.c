/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/write/mover.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "store/write/writesql.h"

/*
 * Half of the longest stay of a row in the tail, where a row takes four times its bytes in a chunk.
 * Chunks of the few rows of such a time cost little, and are merged (compact.c).
 */
static const int64_t tail_stay_ns = INT64_C(150000000000);
/* An idle writer moves rows that came in bulk at once: at least so many bytes, and so many of each
 * layout. Fewer wait for more, for a chunk of a row is longer than the row. */
enum { IDLE_BYTES = 1 << 20, IDLE_LAYOUT_BYTES = 4 << 10 };

int
mover_init(struct mover *m, struct connection *c, struct compactor *k)
{
	m->c = c;
	m->k = k;
	m->mark_wall_ns = connection_now(c);
	return (m->tail = tail_new(k->limits.chunk_rows)) == NULL ? NW_ENOMEM : NW_OK;
}

void
mover_clear(struct mover *m)
{
	tail_free(m->tail);
	free(m->seals.id);
	free(m->finals.id);
}

int
mover_load(struct mover *m)
{
	struct tail_layout *l, *next;
	sqlite3_stmt *st = NULL;
	int64_t after;
	uint8_t *blob;
	int rc, step = SQLITE_DONE, len;

	tail_clear(m->tail);
	rc = db_take(&m->c->stmts, W_TAIL_ALL, &st, "");
	while (rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW) {
		len = sqlite3_column_bytes(st, 1);
		if ((blob = malloc(len == 0 ? 1 : (size_t)len)) == NULL) {
			rc = NW_ENOMEM;
			break;
		}
		if (len > 0)
			memcpy(blob, sqlite3_column_blob(st, 1), (size_t)len);
		rc = tail_add(m->tail, sqlite3_column_int64(st, 0), blob, (size_t)len);
	}
	db_give(&m->c->stmts, W_TAIL_ALL, st);
	if (rc == NW_OK && step != SQLITE_DONE)
		rc = db_code(step);
	for (l = tail_oldest(m->tail); rc == NW_OK && l != NULL; l = next) {
		next = l->newer;
		if ((rc = db_get_int(&m->c->stmts, W_LAYOUT_TAIL_AFTER, l->id, &after)) == NW_OK)
			tail_forget(m->tail, l->id, after);
		else if (rc == NW_ENOTFOUND)
			rc = NW_ECORRUPT;
	}
	m->next_tail_id = tail_last_id(m->tail) + 1;
	m->stale = rc != NW_OK;
	return rc;
}

/* Lists the layouts of sealed sessions. */
static int
seals_expand(struct mover *m)
{
	sqlite3_stmt *st;
	size_t n = m->finals.n;
	int rc, step = SQLITE_DONE;

	while (m->seals.n > 0) {
		if ((rc = db_take(&m->c->stmts, W_LAYOUTS_OF_SESSION, &st, "i",
			 m->seals.id[m->seals.n - 1])) != NW_OK)
			return rc;
		while (rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW)
			rc = id_list_add(&m->finals, sqlite3_column_int64(st, 0));
		db_give(&m->c->stmts, W_LAYOUTS_OF_SESSION, st);
		if (rc == NW_OK && step != SQLITE_DONE)
			rc = db_code(step);
		if (rc != NW_OK) {
			m->finals.n = n;
			return rc;
		}
		n = m->finals.n;
		m->seals.n--;
	}
	return NW_OK;
}

struct move {
	size_t n_finals;        /* taken from the end of m->finals */
	struct id_list layouts; /* the layouts moved out of the tail */
};

static int
move_one(struct mover *m, struct move *v, int64_t layout_id, bool final)
{
	struct tail_layout *l = tail_find(m->tail, layout_id);
	int rc;

	if (l != NULL && l->moving)
		return NW_OK;
	if ((rc = compact_layout(m->k, l, layout_id, final)) != NW_OK || l == NULL)
		return rc;
	if ((rc = db_run(&m->c->stmts, W_LAYOUT_MOVED, "ii", layout_id, tail_last_id(m->tail))) !=
		NW_OK ||
	    (rc = id_list_add(&v->layouts, layout_id)) != NW_OK)
		return rc;
	l->moving = true;
	return NW_OK;
}

/* Finds the first layout from l on without moving rows: of all staying rows, its rows are the
 * oldest in the tail. */
static struct tail_layout *
staying(struct tail_layout *l)
{
	while (l != NULL && l->moving)
		l = l->newer;
	return l;
}

/* Marks rows that stay long because their sender says little: such rows hold every later blob in
 * the tail, and keep sessions from being forgotten. */
static void
tail_look(struct mover *m, bool idle)
{
	int64_t now = connection_now(m->c), since = now - m->mark_wall_ns;

	if (idle && tail_bytes(m->tail) >= IDLE_BYTES &&
	    tail_bytes(m->tail) / IDLE_LAYOUT_BYTES >= tail_layouts(m->tail))
		m->due_id = tail_last_id(m->tail);
	if (since >= 0 && since < tail_stay_ns)
		return;
	m->due_id = m->mark_id;
	m->mark_id = tail_last_id(m->tail);
	m->mark_wall_ns = now;
}

static bool
tail_is_due(const struct mover *m)
{
	const struct tail_layout *l = tail_oldest(m->tail);

	return l != NULL &&
	    (tail_bytes(m->tail) > m->k->limits.tail_bytes || l->recs[0].blob_id <= m->due_id);
}

/* Moves sealed layouts first, then full layouts, then rows that have been in the tail too long. */
static int
move_some(struct mover *m, struct move *v)
{
	/* Compaction has fallen behind: ingest waits for the transaction. */
	size_t max =
	    tail_bytes(m->tail) > 2 * m->k->limits.tail_bytes ? SIZE_MAX : m->k->limits.step_values;
	int64_t excess = tail_excess_id(m->tail, m->k->limits.tail_bytes);
	int64_t last = excess > m->due_id ? excess : m->due_id;
	struct tail_layout *l;
	size_t at = 0;
	int rc = NW_OK;

	m->k->values_encoded = 0;
	while (rc == NW_OK && m->k->values_encoded < max && v->n_finals < m->finals.n) {
		v->n_finals++;
		rc = move_one(m, v, m->finals.id[m->finals.n - v->n_finals], true);
	}
	while (
	    rc == NW_OK && m->k->values_encoded < max && (l = tail_next_full(m->tail, &at)) != NULL)
		rc = move_one(m, v, l->id, false);
	l = tail_oldest(m->tail);
	while (rc == NW_OK && m->k->values_encoded < max && (l = staying(l)) != NULL &&
	    l->recs[0].blob_id <= last)
		rc = move_one(m, v, l->id, false);
	return rc;
}

/* Drops blobs without rows that count. The blobs before *first_kept leave memory after the
 * commit. */
static int
tail_shorten(struct mover *m, int64_t *first_kept)
{
	const struct tail_layout *l = staying(tail_oldest(m->tail));
	int64_t last = tail_last_id(m->tail);
	int rc;

	*first_kept = l == NULL ? last : l->recs[0].blob_id;
	rc = db_run(&m->c->stmts, W_TAIL_TRIM, "i", *first_kept);
	if (rc == NW_OK && l == NULL)
		rc = db_run(&m->c->stmts, W_TAIL_EMPTY, "i", last);
	return rc;
}

int
mover_step(struct mover *m)
{
	struct move v = { 0 };
	struct tail_layout *l;
	int64_t first_kept = 0;
	size_t i;
	int rc;

	if ((rc = connection_begin(m->c)) != NW_OK)
		return rc;
	if ((rc = move_some(m, &v)) == NW_OK)
		rc = tail_shorten(m, &first_kept);
	rc = connection_end(m->c, rc);
	for (i = 0; i < v.layouts.n; i++)
		if (rc == NW_OK)
			tail_forget(m->tail, v.layouts.id[i], tail_last_id(m->tail));
		else if ((l = tail_find(m->tail, v.layouts.id[i])) != NULL)
			l->moving = false;
	if (rc == NW_OK) {
		m->finals.n -= v.n_finals;
		/* The newest blob may stay in memory although its rows are gone from the file. */
		tail_trim(m->tail, first_kept);
		m->c->pages_freed = true;
	}
	free(v.layouts.id);
	return rc;
}

int
mover_step_oldest(struct mover *m)
{
	int64_t first = tail_first_id(m->tail);
	int rc;

	if (tail_oldest(m->tail) == NULL)
		return WRITER_DONE;
	m->due_id = first > m->due_id ? first : m->due_id;
	rc = mover_step(m);
	return rc == NW_OK ? WRITER_MORE : rc;
}

void
mover_add(struct mover *m, uint8_t *blob, size_t len)
{
	if (tail_add(m->tail, m->next_tail_id, blob, len) != NW_OK)
		m->stale = true;
	m->next_tail_id++;
}

/* A lost seal costs space, not data. */
void
mover_seal(struct mover *m, int64_t session_id)
{
	id_list_add(&m->seals, session_id);
}

int
mover_look(struct mover *m, bool idle, bool *due)
{
	size_t at = 0;
	int rc = seals_expand(m);

	if (rc != NW_OK)
		return rc;
	tail_look(m, idle);
	*due = m->finals.n > 0 || tail_next_full(m->tail, &at) != NULL || tail_is_due(m);
	return NW_OK;
}
