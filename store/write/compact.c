/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the tail into chunks, and from old chunks into roll-ups. Chunks of a list never overlap in
 * time, so a reader walks a list from chunk to chunk.
 *
 * Rows newer than every chunk become a new chunk. Once the new chunk and the small chunks before it
 * hold enough rows for a whole chunk, or small chunks are many, they are merged. So a value is
 * encoded about twice, however slowly its layout fills. An older row goes into the chunk that
 * covers the time of the row, and that chunk is written again. Parts of the same bucket that meet
 * in doing so are joined.
 */
#include "store/write/compact.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/array.h"
#include "narrows/err.h"
#include "store/codec/codec_hash.h"
#include "store/ground/lastrow.h"
#include "store/write/writesql.h"

enum { SMALL_CHUNKS_MAX = 32, DECODED_WANTED_BYTES = CHUNK_DECODED_MAX_BYTES / 4 };

const struct writer_limits writer_limits_default = {
	.chunk_rows = 1024,
	.tail_bytes = 16 << 20,
	.step_values = 256 << 10,
};

int
id_list_add(struct id_list *l, int64_t id)
{
	if (!array_room(&l->id, &l->cap, l->n + 1, sizeof(*l->id)))
		return NW_ENOMEM;
	l->id[l->n++] = id;
	return NW_OK;
}

int
compactor_init(
    struct compactor *k, struct connection *c, const struct writer_limits *limits_or_null)
{
	k->c = c;
	k->limits = limits_or_null == NULL ? writer_limits_default : *limits_or_null;
	return (k->codec = chunk_codec_new()) == NULL ? NW_ENOMEM : NW_OK;
}

void
compactor_clear(struct compactor *k)
{
	chunk_codec_free(k->codec);
	chunk_buf_clear(&k->chunk);
	chunk_rows_clear(&k->decoded);
	columns_clear(&k->fresh);
	columns_clear(&k->merged);
	columns_piece_clear(&k->piece);
	columns_clear(&k->joined);
	bucketer_clear(&k->bucketer);
	free(k->victims.id);
	free(k->last);
}

struct chunk_list
chunk_list_of(int64_t layout_id, int tier)
{
	if (tier == STORE_ROWS)
		return (struct chunk_list){ W_CHUNK_BEFORE, layout_id, tier };
	return (struct chunk_list){ W_ROLLUP_BEFORE, layout_id * STORE_TIERS + tier, tier };
}

/* A chunk's worth of rows: wide rows are fewer. */
static size_t
rows_full(const struct compactor *k, size_t n_columns)
{
	size_t bytes = k->limits.chunk_bytes == 0 ? DECODED_WANTED_BYTES : k->limits.chunk_bytes;
	size_t rows = bytes / (8 * (n_columns + 1));

	return rows > k->limits.chunk_rows ? k->limits.chunk_rows : rows < 2 ? 2 : rows;
}

enum { NO_CHUNK = 0 };

struct span {
	int64_t id, t0, t1; /* id of a chunk, or NO_CHUNK */
};

static int
chunk_find(struct compactor *k, const struct chunk_list *s, enum chunk_list_stmt way, int64_t t,
    struct span *out)
{
	sqlite3_stmt *st;
	int rc, step, which = s->stmts + (int)way;

	*out = (struct span){ NO_CHUNK, 0, 0 };
	if ((rc = db_take(&k->c->stmts, which, &st, "ii", s->key, t)) != NW_OK)
		return rc;
	if ((step = sqlite3_step(st)) == SQLITE_ROW)
		*out = (struct span){ sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1),
			sqlite3_column_int64(st, 2) };
	rc = db_code(step);
	db_give(&k->c->stmts, which, st);
	return rc;
}

/* Lists the small chunks at the end of a list, newest first, if a rewrite of those chunks with
 * n_more rows pays. */
static int
victims_small(struct compactor *k, const struct chunk_list *s, size_t n_more, bool final)
{
	size_t n_rows = 0, n, full = rows_full(k, k->fresh.n_fields);
	sqlite3_stmt *st;
	int rc, step = SQLITE_DONE;

	if ((rc = db_take(&k->c->stmts, s->stmts + LIST_NEWEST, &st, "ii", s->key,
		 (int64_t)SMALL_CHUNKS_MAX)) != NW_OK)
		return rc;
	while (rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW) {
		if ((n = (size_t)sqlite3_column_int64(st, 1)) >= full)
			break;
		n_rows += n;
		rc = id_list_add(&k->victims, sqlite3_column_int64(st, 0));
	}
	db_give(&k->c->stmts, s->stmts + LIST_NEWEST, st);
	if (rc == NW_OK)
		rc = db_code(step);
	if (!final && n_rows + n_more < full && k->victims.n < SMALL_CHUNKS_MAX)
		k->victims.n = 0;
	return rc;
}

/* Lists in k->victims the chunks to be written again with the fresh rows from..*to. Rows from *to
 * on belong behind the next chunk. */
static int
victims_find(struct compactor *k, const struct chunk_list *s, size_t from, size_t *to, bool final)
{
	const struct columns *c = &k->fresh;
	struct span before, after;
	int rc;

	k->victims.n = 0;
	*to = c->n_rows;
	if ((rc = chunk_find(k, s, LIST_BEFORE, c->t_wall_ns[from], &before)) != NW_OK ||
	    (rc = chunk_find(k, s, LIST_AFTER, c->t_wall_ns[from], &after)) != NW_OK)
		return rc;
	if (after.id != NO_CHUNK) {
		*to = columns_seek(c->t_wall_ns, c->n_rows, after.t0);
		return id_list_add(&k->victims, before.id != NO_CHUNK ? before.id : after.id);
	}
	if (before.id != NO_CHUNK && before.t1 > c->t_wall_ns[from])
		return id_list_add(&k->victims, before.id);
	return victims_small(k, s, *to - from, final);
}

int
chunk_list_decode(struct compactor *k, const struct chunk_list *s, int64_t id)
{
	sqlite3_stmt *st;
	int rc, step;

	if ((rc = db_take(&k->c->stmts, s->stmts + LIST_DATA, &st, "i", id)) != NW_OK)
		return rc;
	if ((step = sqlite3_step(st)) == SQLITE_ROW)
		rc = chunk_decode(k->codec, sqlite3_column_blob(st, 0),
		    (size_t)sqlite3_column_bytes(st, 0), NULL, &k->decoded);
	else
		rc = step == SQLITE_DONE ? NW_EIO : db_code(step); /* the list had the chunk */
	db_give(&k->c->stmts, s->stmts + LIST_DATA, st);
	return rc;
}

static int
victim_count(struct compactor *k, const struct chunk_list *s, int64_t id, size_t *n_rows)
{
	struct chunk_head head;
	sqlite3_stmt *st;
	int rc, step;

	if ((rc = db_take(&k->c->stmts, s->stmts + LIST_DATA, &st, "i", id)) != NW_OK)
		return rc;
	if ((step = sqlite3_step(st)) != SQLITE_ROW)
		rc = step == SQLITE_DONE ? NW_EIO : db_code(step);
	else if ((rc = chunk_read_head(sqlite3_column_blob(st, 0),
		      (size_t)sqlite3_column_bytes(st, 0), &head)) == NW_OK)
		*n_rows += head.n_rows;
	db_give(&k->c->stmts, s->stmts + LIST_DATA, st);
	return rc;
}

/* Decodes a victim onto the end of k->merged. */
static int
victim_add(struct compactor *k, const struct chunk_list *s, int64_t id)
{
	int rc = chunk_list_decode(k, s, id);

	if (rc == NW_OK && k->decoded.is.n_columns != k->merged.n_fields)
		rc = NW_ECORRUPT;
	return rc == NW_OK ? columns_add_rows(&k->merged, &k->decoded.is, 0, k->decoded.is.n_rows)
			   : rc;
}

/* Victims and rows from..to, in time order, in k->merged. */
static int
victims_merge(
    struct compactor *k, const struct chunk_list *s, size_t n_columns, size_t from, size_t to)
{
	size_t i, n_rows = to - from;
	int rc = NW_OK;

	for (i = 0; rc == NW_OK && i < k->victims.n; i++)
		rc = victim_count(k, s, k->victims.id[i], &n_rows);
	if (rc == NW_OK)
		rc = columns_reset(&k->merged, n_columns, NULL, 0, n_rows);
	for (i = k->victims.n; rc == NW_OK && i > 0; i--)
		rc = victim_add(k, s, k->victims.id[i - 1]);
	if (rc == NW_OK && to > from && (rc = columns_cut(&k->fresh, from, to, &k->piece)) == NW_OK)
		rc = columns_add_rows(&k->merged, &k->piece.is, 0, to - from);
	return rc == NW_OK ? columns_sort(&k->merged) : rc;
}

/*
 * Finds the host of a list's layout, and the family. Layouts of the same event type and fields, as
 * in the next session of the same program, are likely to hold similar numbers: they are one family
 * for the codec.
 */
static int
layout_look(struct compactor *k, const struct chunk_list *s)
{
	int64_t layout_id = s->tier == STORE_ROWS ? s->key : s->key / STORE_TIERS;
	sqlite3_stmt *st;
	int rc, step;

	if (k->layout_id != layout_id) {
		if ((rc = db_take(&k->c->stmts, W_LAYOUT_NAMES, &st, "i", layout_id)) != NW_OK)
			return rc;
		k->layout_id = 0; /* until all of the layout is known */
		k->names = 0;
		k->host_id = HOST_UNKNOWN;
		if ((step = sqlite3_step(st)) == SQLITE_ROW) {
			k->names = hash_bytes(
			    sqlite3_column_text(st, 0), (size_t)sqlite3_column_bytes(st, 0));
			k->host_id = sqlite3_column_int64(st, 1);
		}
		db_give(&k->c->stmts, W_LAYOUT_NAMES, st);
		if ((rc = db_code(step)) != NW_OK)
			return rc;
		k->layout_id = layout_id;
	}
	k->family = k->names == 0 ? 0 : k->names + (uint64_t)s->tier;
	return NW_OK;
}

static int
chunk_insert(struct compactor *k, const struct chunk_list *s, const struct chunk_columns *c)
{
	const int64_t t0 = c->t_wall_ns[0], t1 = c->t_wall_ns[c->n_rows - 1], n_rows = c->n_rows;
	size_t f, last_len;
	uint8_t *grown;
	int rc;

	if ((rc = sizes_change(&k->c->sizes, k->host_id, s->tier, (int64_t)k->chunk.len)) != NW_OK)
		return rc;
	if (s->tier > 0)
		return db_run(&k->c->stmts, s->stmts + LIST_ADD, "iiiib", s->key, t0, t1, n_rows,
		    (const void *)k->chunk.bytes, k->chunk.len);
	if (c->n_columns > k->cap_last) {
		if ((grown = realloc(k->last,
			 c->n_columns * sizeof(double) + lastrow_bound(c->n_columns))) == NULL)
			return NW_ENOMEM;
		k->last = grown;
		k->cap_last = c->n_columns;
	}
	for (f = 0; f < c->n_columns; f++)
		memcpy(k->last + f * sizeof(double), &c->value[f][c->n_rows - 1], sizeof(double));
	grown = k->last + c->n_columns * sizeof(double);
	last_len = lastrow_pack((const double *)(const void *)k->last, c->n_columns, grown);
	k->c->chunk_ids = true;
	return db_run(&k->c->stmts, s->stmts + LIST_ADD, "iiiibbi", s->key, t0, t1, n_rows,
	    (const void *)grown, last_len, (const void *)k->chunk.bytes, k->chunk.len,
	    k->c->next_chunk_id++);
}

/* Writes a chunk, or several where the codec has limits. */
static int
piece_write(struct compactor *k, const struct chunk_list *s, const struct columns *c, size_t from,
    size_t to, enum chunk_effort effort)
{
	size_t half = from + (to - from) / 2;
	int rc;

	if ((rc = columns_cut(c, from, to, &k->piece)) != NW_OK)
		return rc;
	/* The codec remembers the best form of a kind. The chunks of a layout are a kind, and so
	 * are the layout's roll-ups of a tier. */
	k->piece.is.kind = (uint64_t)s->key * (s->tier == 0 ? STORE_TIERS : 1);
	k->piece.is.family = k->family;
	rc = chunk_encode(k->codec, &k->piece.is, effort, &k->chunk);
	if (rc == NW_ETOOBIG && half > from) {
		rc = piece_write(k, s, c, from, half, effort);
		return rc == NW_OK ? piece_write(k, s, c, half, to, effort) : rc;
	}
	k->values_encoded += (to - from) * c->n_fields;
	return rc == NW_OK ? chunk_insert(k, s, &k->piece.is) : rc;
}

/* Writes rows from..to in chunks of a good size. */
static int
chunks_write(struct compactor *k, const struct chunk_list *s, const struct columns *c, size_t from,
    size_t to, bool final)
{
	size_t n = to - from, full = rows_full(k, c->n_fields), n_pieces = n < full ? 1 : n / full,
	       i;
	enum chunk_effort effort = final || n >= full ? CHUNK_COMPACT : CHUNK_HOT;
	int rc = NW_OK;

	for (i = 0; rc == NW_OK && i < n_pieces; i++)
		rc = piece_write(
		    k, s, c, from + n * i / n_pieces, from + n * (i + 1) / n_pieces, effort);
	return rc;
}

/* Joins the parts of buckets, in time order, into k->joined. */
static int
parts_join(struct compactor *k, const struct chunk_list *s, const struct columns *c)
{
	int rc;

	if ((rc = columns_reset(&k->joined, c->n_fields, NULL, 0, c->n_rows)) != NW_OK ||
	    (rc = columns_cut(c, 0, c->n_rows, &k->piece)) != NW_OK)
		return rc;
	bucketer_begin(&k->bucketer, tier_step_ns[s->tier], &k->joined, NULL, c->n_fields / STATS);
	rc = bucketer_add(&k->bucketer, &k->piece.is, 0, c->n_rows, true);
	return rc == NW_OK ? bucketer_end(&k->bucketer) : rc;
}

int
chunk_list_drop(struct compactor *k, const struct chunk_list *s, int64_t id)
{
	int64_t bytes = 0;
	int rc = layout_look(k, s);

	if (rc == NW_OK)
		rc = db_get_int(&k->c->stmts, s->stmts + LIST_DROP, id, &bytes);
	return rc == NW_OK ? sizes_change(&k->c->sizes, k->host_id, s->tier, -bytes) : rc;
}

/* Writes rows from..to merged with the victims. */
static int
group_write(struct compactor *k, const struct chunk_list *s, size_t n_columns, size_t from,
    size_t to, bool final)
{
	const struct columns *c = &k->merged;
	size_t i;
	int rc;

	if (k->victims.n > 0) {
		rc = victims_merge(k, s, n_columns, from, to);
		/* A damaged chunk stays where it is, for verify to name; new rows go into chunks
		 * of their own. */
		if (rc == NW_ECORRUPT || rc == NW_EVERSION)
			k->victims.n = 0;
		else if (rc != NW_OK)
			return rc;
	}
	if (k->victims.n == 0)
		return chunks_write(k, s, &k->fresh, from, to, final);
	for (i = 0, rc = NW_OK; rc == NW_OK && i < k->victims.n; i++)
		rc = chunk_list_drop(k, s, k->victims.id[i]);
	if (rc == NW_OK && s->tier > 0) {
		rc = parts_join(k, s, c);
		c = &k->joined;
	}
	/* Roll-ups come in small pieces and stay for long: the first merge takes the full
	 * effort. */
	return rc == NW_OK ? chunks_write(k, s, c, 0, c->n_rows, final || s->tier > 0) : rc;
}

int
chunk_list_put(struct compactor *k, const struct chunk_list *s, size_t n_columns, bool final)
{
	size_t from, to;
	int rc = layout_look(k, s);

	for (from = 0; rc == NW_OK && from < k->fresh.n_rows; from = to)
		if ((rc = victims_find(k, s, from, &to, final)) == NW_OK)
			rc = group_write(k, s, n_columns, from, to, final);
	return rc;
}

/* All rows of the layout in the tail, in time order, in k->fresh. */
static int
fresh_gather(struct compactor *k, const struct tail_layout *l)
{
	size_t i;
	int rc;

	rc = columns_reset(&k->fresh, l->n_fields, NULL, 0, l->n_rows);
	for (i = 0; rc == NW_OK && i < l->n_recs; i++)
		rc = columns_add_rec(&k->fresh, l->recs[i].rec);
	return rc == NW_OK ? columns_sort(&k->fresh) : rc;
}

/* Merges the small chunks at the end of a sealed layout, whose rows are all in chunks. */
static int
tidy(struct compactor *k, const struct chunk_list *s)
{
	int64_t n_fields;
	int rc;

	k->victims.n = 0;
	if ((rc = db_get_int(&k->c->stmts, W_LAYOUT_FIELDS, s->key, &n_fields)) != NW_OK)
		return rc == NW_ENOTFOUND ? NW_OK : rc; /* the session is forgotten */
	if (n_fields <= 0 || n_fields > TAIL_FIELDS_MAX)
		return NW_OK;
	if ((rc = columns_reset(&k->fresh, (size_t)n_fields, NULL, 0, 0)) != NW_OK ||
	    (rc = victims_small(k, s, 0, true)) != NW_OK || k->victims.n == 0 ||
	    (rc = layout_look(k, s)) != NW_OK)
		return rc;
	return group_write(k, s, (size_t)n_fields, 0, 0, true);
}

int
compact_layout(struct compactor *k, const struct tail_layout *l, int64_t layout_id, bool final)
{
	const struct chunk_list s = chunk_list_of(layout_id, STORE_ROWS);
	int rc;

	if (l == NULL)
		return final ? tidy(k, &s) : NW_OK;
	rc = fresh_gather(k, l);
	return rc == NW_OK ? chunk_list_put(k, &s, l->n_fields, final) : rc;
}
