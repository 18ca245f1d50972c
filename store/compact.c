/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the tail into chunks, and from old chunks into roll-ups. What must stay true: chunks of a
 * shelf do not overlap in time, so a reader walks them one after the other.
 *
 * Rows that are newer than every chunk become a new one; when it and the small ones before it make
 * up a whole chunk, or there are many of them, they are merged. So a value is encoded about twice,
 * however slowly its layout fills. Rows that are older go into the chunk that covers their time,
 * which is written again. Where buckets meet others of the same time in doing so, they become one.
 */
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "store/codec/codec_hash.h"
#include "store/writer.h"

enum { SMALL_CHUNKS_MAX = 32, DECODED_WANTED_BYTES = CHUNK_DECODED_MAX_BYTES / 4 };

/* A chunk's worth of rows: fewer of wide ones. */
static size_t
rows_full(const struct writer *w, size_t n_columns)
{
	size_t bytes = w->limits.chunk_bytes == 0 ? DECODED_WANTED_BYTES : w->limits.chunk_bytes;
	size_t rows = bytes / (8 * (n_columns + 1));

	return rows > w->limits.chunk_rows ? w->limits.chunk_rows : rows < 2 ? 2 : rows;
}

struct span {
	int64_t id, t0, t1;
}; /* a chunk; id 0: none */

static int
chunk_find(
    struct writer *w, const struct shelf *s, enum shelf_stmt way, int64_t t, struct span *out)
{
	sqlite3_stmt *st;
	int rc, step, which = s->stmts + (int)way;

	*out = (struct span){ 0, 0, 0 };
	if ((rc = db_take(&w->stmts, which, &st, "ii", s->key, t)) != NW_OK)
		return rc;
	if ((step = sqlite3_step(st)) == SQLITE_ROW)
		*out = (struct span){ sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1),
			sqlite3_column_int64(st, 2) };
	rc = db_code(step);
	db_give(&w->stmts, which, st);
	return rc;
}

/* The small chunks at the end of a shelf, newest first, if together with n_more rows they are worth
 * a rewrite. */
static int
victims_small(struct writer *w, const struct shelf *s, size_t n_more, bool final)
{
	size_t n_rows = 0, n, full = rows_full(w, w->fresh.n_fields);
	sqlite3_stmt *st;
	int rc, step = SQLITE_DONE;

	if ((rc = db_take(&w->stmts, s->stmts + SHELF_NEWEST, &st, "ii", s->key,
		 (int64_t)SMALL_CHUNKS_MAX)) != NW_OK)
		return rc;
	while (rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW) {
		if ((n = (size_t)sqlite3_column_int64(st, 1)) >= full)
			break;
		n_rows += n;
		rc = id_list_add(&w->victims, sqlite3_column_int64(st, 0));
	}
	db_give(&w->stmts, s->stmts + SHELF_NEWEST, st);
	if (rc == NW_OK)
		rc = db_code(step);
	if (!final && n_rows + n_more < full && w->victims.n < SMALL_CHUNKS_MAX)
		w->victims.n = 0;
	return rc;
}

/*
 * Which chunks to write again with rows from..: w->victims, any order. *to: the rows that go with
 * them, those before the next chunk.
 */
static int
victims_find(struct writer *w, const struct shelf *s, size_t from, size_t *to, bool final)
{
	const struct columns *c = &w->fresh;
	struct span before, after;
	int rc;

	w->victims.n = 0;
	*to = c->n_rows;
	if ((rc = chunk_find(w, s, SHELF_BEFORE, c->t_wall_ns[from], &before)) != NW_OK ||
	    (rc = chunk_find(w, s, SHELF_AFTER, c->t_wall_ns[from], &after)) != NW_OK)
		return rc;
	if (after.id != 0) {
		*to = columns_seek(c->t_wall_ns, c->n_rows, after.t0);
		return id_list_add(&w->victims, before.id != 0 ? before.id : after.id);
	}
	if (before.id != 0 && before.t1 > c->t_wall_ns[from])
		return id_list_add(&w->victims, before.id);
	return victims_small(w, s, *to - from, final);
}

/* Decodes one victim onto the end of w->merged (add) or only counts its rows. */
static int
victim_read(struct writer *w, const struct shelf *s, int64_t id, bool add, size_t *n_rows)
{
	struct chunk_head head;
	sqlite3_stmt *st;
	int rc, step;

	if ((rc = db_take(&w->stmts, s->stmts + SHELF_DATA, &st, "i", id)) != NW_OK)
		return rc;
	if ((step = sqlite3_step(st)) != SQLITE_ROW) {
		rc = step == SQLITE_DONE ? NW_EIO : db_code(step); /* it was there a moment ago */
	} else if (!add) {
		if ((rc = chunk_read_head(sqlite3_column_blob(st, 0),
			 (size_t)sqlite3_column_bytes(st, 0), &head)) == NW_OK)
			*n_rows += head.n_rows;
	} else {
		rc = chunk_decode(w->codec, sqlite3_column_blob(st, 0),
		    (size_t)sqlite3_column_bytes(st, 0), NULL, &w->decoded);
		if (rc == NW_OK && w->decoded.is.n_columns != w->merged.n_fields)
			rc = NW_ECORRUPT;
		if (rc == NW_OK)
			rc = columns_add_rows(&w->merged, &w->decoded.is, 0, w->decoded.is.n_rows);
	}
	db_give(&w->stmts, s->stmts + SHELF_DATA, st);
	return rc;
}

/* Victims and rows from..to, in time order, in w->merged. */
static int
victims_merge(struct writer *w, const struct shelf *s, size_t n_columns, size_t from, size_t to)
{
	size_t i, n_rows = to - from;
	int rc = NW_OK;

	for (i = 0; rc == NW_OK && i < w->victims.n; i++)
		rc = victim_read(w, s, w->victims.id[i], false, &n_rows);
	if (rc == NW_OK)
		rc = columns_reset(&w->merged, n_columns, NULL, 0, n_rows);
	for (i = w->victims.n; rc == NW_OK && i > 0; i--)
		rc = victim_read(w, s, w->victims.id[i - 1], true, NULL);
	if (rc == NW_OK && to > from && (rc = columns_cut(&w->fresh, from, to, &w->piece)) == NW_OK)
		rc = columns_add_rows(&w->merged, &w->piece.is, 0, to - from);
	return rc == NW_OK ? columns_sort(&w->merged) : rc;
}

static int
chunk_insert(struct writer *w, const struct shelf *s, const struct chunk_columns *c)
{
	const int64_t t0 = c->t_wall_ns[0], t1 = c->t_wall_ns[c->n_rows - 1], n_rows = c->n_rows;
	size_t f;
	double *grown;

	w->moved.bytes[s->tier] += (int64_t)w->chunk.len;
	if (s->tier > 0)
		return db_run(&w->stmts, s->stmts + SHELF_ADD, "iiiib", s->key, t0, t1, n_rows,
		    (const void *)w->chunk.bytes, w->chunk.len);
	if (c->n_columns > w->cap_last) {
		if ((grown = realloc(w->last, c->n_columns * sizeof(*grown))) == NULL)
			return NW_ENOMEM;
		w->last = grown;
		w->cap_last = c->n_columns;
	}
	for (f = 0; f < c->n_columns; f++)
		w->last[f] = c->value[f][c->n_rows - 1];
	w->moved.chunk_ids = true;
	return db_run(&w->stmts, s->stmts + SHELF_ADD, "iiiibbi", s->key, t0, t1, n_rows,
	    (const void *)w->last, (size_t)c->n_columns * sizeof(double),
	    (const void *)w->chunk.bytes, w->chunk.len, w->next_chunk_id++);
}

/* One chunk, or more where the codec's limits say so. */
static int
piece_write(struct writer *w, const struct shelf *s, const struct columns *c, size_t from,
    size_t to, enum chunk_effort effort)
{
	size_t half = from + (to - from) / 2;
	int rc;

	if ((rc = columns_cut(c, from, to, &w->piece)) != NW_OK)
		return rc;
	/* a layout's chunks are alike, and so are its roll-ups of one tier, whose key says which */
	w->piece.is.kind = (uint64_t)s->key * (s->tier == 0 ? STORE_TIERS : 1);
	w->piece.is.family = w->family;
	rc = chunk_encode(w->codec, &w->piece.is, effort, &w->chunk);
	if (rc == NW_ETOOBIG && half > from) {
		rc = piece_write(w, s, c, from, half, effort);
		return rc == NW_OK ? piece_write(w, s, c, half, to, effort) : rc;
	}
	w->values_encoded += (to - from) * c->n_fields;
	return rc == NW_OK ? chunk_insert(w, s, &w->piece.is) : rc;
}

/* Rows from..to in chunks of a good size. */
static int
chunks_write(struct writer *w, const struct shelf *s, const struct columns *c, size_t from,
    size_t to, bool final)
{
	size_t n = to - from, full = rows_full(w, c->n_fields), n_pieces = n < full ? 1 : n / full,
	       i;
	enum chunk_effort effort = final || n >= full ? CHUNK_COMPACT : CHUNK_HOT;
	int rc = NW_OK;

	for (i = 0; rc == NW_OK && i < n_pieces; i++)
		rc = piece_write(
		    w, s, c, from + n * i / n_pieces, from + n * (i + 1) / n_pieces, effort);
	return rc;
}

/* Buckets in time order, some of which stand in parts: those become one. In w->folded. */
static int
parts_join(struct writer *w, const struct shelf *s, const struct columns *c)
{
	int rc;

	if ((rc = columns_reset(&w->folded, c->n_fields, NULL, 0, c->n_rows)) != NW_OK ||
	    (rc = columns_cut(c, 0, c->n_rows, &w->piece)) != NW_OK)
		return rc;
	fold_begin(&w->fold, fold_step_ns[s->tier], &w->folded, NULL, c->n_fields / STATS);
	rc = fold_rows(&w->fold, &w->piece.is, 0, c->n_rows, true);
	return rc == NW_OK ? fold_end(&w->fold) : rc;
}

int
shelf_drop(struct writer *w, const struct shelf *s, int64_t id)
{
	int64_t bytes = 0;
	int rc = db_get_int(&w->stmts, s->stmts + SHELF_DROP, id, &bytes);

	if (rc == NW_OK)
		w->moved.bytes[s->tier] -= bytes;
	return rc;
}

/* Writes rows from..to and what they have to be merged with. */
static int
group_write(
    struct writer *w, const struct shelf *s, size_t n_columns, size_t from, size_t to, bool final)
{
	const struct columns *c = &w->merged;
	size_t i;
	int rc;

	if (w->victims.n > 0) {
		rc = victims_merge(w, s, n_columns, from, to);
		/* A damaged chunk stays where it is, for verify to name; new rows do not suffer
		 * from it. */
		if (rc == NW_ECORRUPT || rc == NW_EVERSION)
			w->victims.n = 0;
		else if (rc != NW_OK)
			return rc;
	}
	if (w->victims.n == 0)
		return chunks_write(w, s, &w->fresh, from, to, final);
	for (i = 0, rc = NW_OK; rc == NW_OK && i < w->victims.n; i++)
		rc = shelf_drop(w, s, w->victims.id[i]);
	if (rc == NW_OK && s->tier > 0) {
		rc = parts_join(w, s, c);
		c = &w->folded;
	}
	/* Roll-ups come in small pieces that stay for long: what has been merged once is worth the
	 * effort. */
	return rc == NW_OK ? chunks_write(w, s, c, 0, c->n_rows, final || s->tier > 0) : rc;
}

/* Layouts whose event type and fields are the same are likely to hold the like: those of one
 * program's next session. */
static int
family_find(struct writer *w, const struct shelf *s)
{
	sqlite3_stmt *st;
	int rc, step;

	w->family = 0;
	if ((rc = db_take(&w->stmts, W_LAYOUT_NAMES, &st, "i",
		 s->tier == 0 ? s->key : s->key / STORE_TIERS)) != NW_OK)
		return rc;
	if ((step = sqlite3_step(st)) == SQLITE_ROW)
		w->family =
		    hash_bytes(sqlite3_column_text(st, 0), (size_t)sqlite3_column_bytes(st, 0)) +
		    (uint64_t)s->tier;
	db_give(&w->stmts, W_LAYOUT_NAMES, st);
	return db_code(step);
}

int
shelf_put(struct writer *w, const struct shelf *s, size_t n_columns, bool final)
{
	size_t from, to;
	int rc = family_find(w, s);

	for (from = 0; rc == NW_OK && from < w->fresh.n_rows; from = to)
		if ((rc = victims_find(w, s, from, &to, final)) == NW_OK)
			rc = group_write(w, s, n_columns, from, to, final);
	return rc;
}

/* All rows of the layout in the tail, in time order, in w->fresh. */
static int
fresh_gather(struct writer *w, const struct tail_layout *l)
{
	size_t i;
	int rc;

	rc = columns_reset(&w->fresh, l->n_fields, NULL, 0, l->n_rows);
	for (i = 0; rc == NW_OK && i < l->n_recs; i++)
		rc = columns_add_rec(&w->fresh, l->recs[i].rec);
	return rc == NW_OK ? columns_sort(&w->fresh) : rc;
}

/* A sealed layout whose rows are all in chunks: the small ones at its end become one. */
static int
tidy(struct writer *w, const struct shelf *s)
{
	int64_t n_fields;
	int rc;

	w->victims.n = 0;
	if ((rc = db_get_int(&w->stmts, W_LAYOUT_FIELDS, s->key, &n_fields)) != NW_OK)
		return rc == NW_ENOTFOUND ? NW_OK : rc; /* forgotten since it was listed */
	if (n_fields <= 0 || n_fields > TAIL_FIELDS_MAX)
		return NW_OK;
	if ((rc = columns_reset(&w->fresh, (size_t)n_fields, NULL, 0, 0)) != NW_OK ||
	    (rc = victims_small(w, s, 0, true)) != NW_OK || w->victims.n == 0 ||
	    (rc = family_find(w, s)) != NW_OK)
		return rc;
	return group_write(w, s, (size_t)n_fields, 0, 0, true);
}

int
compact_layout(struct writer *w, int64_t layout_id, bool final)
{
	const struct tail_layout *l = tail_find(w->tail, layout_id);
	const struct shelf s = { .stmts = W_CHUNK_BEFORE, .key = layout_id };
	int rc;

	if (l == NULL)
		return final ? tidy(w, &s) : NW_OK;
	rc = fresh_gather(w, l);
	return rc == NW_OK ? shelf_put(w, &s, l->n_fields, final) : rc;
}
