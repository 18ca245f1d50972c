/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading rows: the chunks of a layout in order of time, merged with the layout's rows of the tail.
 * A reader keeps the tail in memory and reads only new blobs, so a call costs as much as the call
 * returns. A reader also keeps decoded columns: a later call for another column or another few
 * minutes of the same chunk does not pay for times, checksum and bytes again. A call for all
 * columns bypasses the cache, and no call fills more than a part of the cache, so that a long scan
 * needs constant memory and leaves other columns in the cache.
 */
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "store/ground/lastrow.h"
#include "store/read/merge.h"

enum { CACHE_FILL_BYTES = 2 << 20 }; /* most bytes cached by a call */

struct query {
	struct store_reader *r;
	int64_t layout_id, t0, t1;
	size_t n_fields;
	const uint32_t *columns; /* NULL: all */
	size_t n_columns;
	size_t fresh_at, fresh_end; /* rows of r->fresh still to come */
	store_block_fn *fn;
	void *arg;
	const int64_t *bucket_ns; /* length of the buckets in hand; NULL for rows */
	int64_t last_t;           /* time of the row found by last_of_rollups() */
	bool caching;
	size_t cache_filled; /* bytes cached by the call in hand */
};

int
reader_load_tail(struct store_reader *r)
{
	sqlite3_stmt *st;
	int64_t first, last;
	uint8_t *blob;
	size_t len;
	int rc, step;

	if ((rc = db_take(&r->stmts, R_TAIL_ENDS, &st, "")) != NW_OK)
		return rc;
	step = sqlite3_step(st);
	first = sqlite3_column_int64(st, 0);
	last = sqlite3_column_int64(st, 1);
	db_give(&r->stmts, R_TAIL_ENDS, st);
	if (step != SQLITE_ROW)
		return db_code(step);
	tail_trim(r->tail, first == 0 ? INT64_MAX : first);
	if (last <= tail_last_id(r->tail))
		return NW_OK;
	if ((rc = db_take(&r->stmts, R_TAIL_NEWER, &st, "i", tail_last_id(r->tail))) != NW_OK)
		return rc;
	while (rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW) {
		len = (size_t)sqlite3_column_bytes(st, 1);
		if ((blob = malloc(len + 1)) == NULL) {
			rc = NW_ENOMEM;
			break;
		}
		if (len > 0)
			memcpy(blob, sqlite3_column_blob(st, 1), len);
		rc = tail_add(r->tail, sqlite3_column_int64(st, 0), blob, len);
	}
	db_give(&r->stmts, R_TAIL_NEWER, st);
	if (rc == NW_OK && step != SQLITE_DONE)
		rc = db_code(step);
	if (rc != NW_OK)
		tail_clear(r->tail);
	return rc;
}

/* --- blocks --- */

static int
block_room(struct store_reader *r, size_t n_fields, size_t n_rows)
{
	void *p;

	if (n_fields > r->cap_value) {
		if ((p = realloc(r->value, n_fields * sizeof(*r->value))) == NULL)
			return NW_ENOMEM;
		r->value = p;
		r->cap_value = n_fields;
	}
	if (n_rows > r->cap_hist) {
		if ((p = realloc(r->hist, n_rows * sizeof(*r->hist))) == NULL)
			return NW_ENOMEM;
		r->hist = p;
		if ((p = realloc(r->hist_len, n_rows * sizeof(*r->hist_len))) == NULL)
			return NW_ENOMEM;
		r->hist_len = p;
		r->cap_hist = n_rows;
	}
	return NW_OK;
}

/* Rows from..to of c to the callback. */
static int
emit(const struct query *q, const struct chunk_columns *c, size_t from, size_t to)
{
	struct store_reader *r = q->r;
	struct store_block b = { .n_rows = to - from,
		.n_fields = q->n_fields,
		.t_wall_ns = c->t_wall_ns + from,
		.bucket_ns = q->bucket_ns == NULL ? 0 : *q->bucket_ns };
	bool hists = c->attachment_end != NULL && q->columns == NULL, any = false;
	size_t f, i, start;
	int rc;

	if (from >= to)
		return NW_OK;
	if ((rc = block_room(r, q->n_fields, hists ? to - from : 0)) != NW_OK)
		return rc;
	for (f = 0; f < q->n_fields; f++)
		r->value[f] = c->value[f] == NULL ? NULL : c->value[f] + from;
	b.columns = r->value;
	for (i = from; hists && i < to; i++) {
		start = i == 0 ? 0 : c->attachment_end[i - 1];
		r->hist_len[i - from] = c->attachment_end[i] - start;
		r->hist[i - from] = r->hist_len[i - from] == 0 ? NULL : c->attachment + start;
		any = any || r->hist_len[i - from] > 0;
	}
	b.hist = any ? r->hist : NULL;
	b.hist_len = any ? r->hist_len : NULL;
	return q->fn(q->arg, &b);
}

static int
emit_fresh(struct query *q, size_t to)
{
	struct store_reader *r = q->r;
	int rc;

	if (q->fresh_at >= to)
		return NW_OK;
	if ((rc = columns_cut(&r->fresh, q->fresh_at, to, &r->piece)) != NW_OK)
		return rc;
	rc = emit(q, &r->piece.is, 0, to - q->fresh_at);
	q->fresh_at = to;
	return rc;
}

/* Rows i..j of a decoded chunk together with fresh rows up to `to`. */
static int
emit_merged(struct query *q, const struct chunk_columns *c, size_t i, size_t j, size_t to)
{
	struct store_reader *r = q->r;
	size_t n = j - i + to - q->fresh_at;
	int rc;

	if ((rc = columns_reset(&r->merged, q->n_fields, q->columns, q->n_columns, n)) != NW_OK ||
	    (rc = columns_add_rows(&r->merged, c, i, j)) != NW_OK ||
	    (rc = columns_cut(&r->fresh, q->fresh_at, to, &r->piece)) != NW_OK ||
	    (rc = columns_add_rows(&r->merged, &r->piece.is, 0, to - q->fresh_at)) != NW_OK ||
	    (rc = columns_sort(&r->merged)) != NW_OK ||
	    (rc = columns_cut(&r->merged, 0, n, &r->piece)) != NW_OK)
		return rc;
	q->fresh_at = to;
	return emit(q, &r->piece.is, 0, n);
}

/* --- chunks --- */

/* Columns decoded in earlier snapshots stay valid: a chunk does not change, and its id is never
 * used again. But a borrowed connection may write anything, so its columns are not kept. */
static int
cache_begin(struct query *q)
{
	struct store_reader *r = q->r;
	void *grown;

	if (r->borrowed || q->columns == NULL)
		return NW_OK;
	if (q->n_fields > r->cap_cached) {
		if ((grown = realloc(r->cached, q->n_fields * sizeof(*r->cached))) == NULL)
			return NW_ENOMEM;
		r->cached = grown;
		r->cap_cached = q->n_fields;
	}
	q->caching = true;
	return NW_OK;
}

/* Makes a chunk of cached columns; false unless all wanted columns are in the cache. */
static bool
chunk_recall(struct query *q, int64_t id, struct chunk_columns *out)
{
	struct store_reader *r = q->r;
	uint32_t n_rows = 0, n;
	size_t i;

	if (!q->caching || (out->t_wall_ns = cache_get(r->cache, id, CACHE_TIMES, &n_rows)) == NULL)
		return false;
	memset(r->cached, 0, q->n_fields * sizeof(*r->cached));
	for (i = 0; i < q->n_columns; i++)
		if ((r->cached[q->columns[i]] = cache_get(r->cache, id, q->columns[i], &n)) ==
			NULL ||
		    n != n_rows)
			return false;
	out->n_rows = n_rows;
	out->n_columns = (uint32_t)q->n_fields;
	out->value = r->cached;
	return true;
}

static void
chunk_keep(struct query *q, int64_t id, const struct chunk_columns *c)
{
	struct cache *cache = q->r->cache;
	size_t bytes = (q->n_columns + 1) * c->n_rows * sizeof(double), i;

	if (!q->caching || bytes > CACHE_FILL_BYTES - q->cache_filled)
		return;
	q->cache_filled += bytes;
	cache_put(cache, id, CACHE_TIMES, c->t_wall_ns, c->n_rows);
	for (i = 0; i < q->n_columns; i++)
		cache_put(cache, id, q->columns[i], c->value[q->columns[i]], c->n_rows);
}

/* Decodes a chunk, and caches its columns after the checksum matched. */
static int
chunk_read(struct query *q, int64_t id)
{
	struct chunk_want want = { .times = true,
		.attachments = q->columns == NULL,
		.columns = q->columns,
		.n_columns = (uint32_t)q->n_columns };
	struct store_reader *r = q->r;
	sqlite3_stmt *st;
	int rc, step;

	if ((rc = db_take(&r->stmts, R_CHUNK_DATA, &st, "i", id)) != NW_OK)
		return rc;
	if ((step = sqlite3_step(st)) == SQLITE_ROW)
		rc = chunk_decode(r->codec, sqlite3_column_blob(st, 0),
		    (size_t)sqlite3_column_bytes(st, 0), &want, &r->decoded);
	else
		/* the index lists the chunk */
		rc = step == SQLITE_DONE ? NW_ECORRUPT : db_code(step);
	db_give(&r->stmts, R_CHUNK_DATA, st);
	if (rc != NW_OK)
		return rc == NW_ENOTFOUND ? NW_ECORRUPT : rc;
	if (r->decoded.is.n_columns != q->n_fields)
		return NW_ECORRUPT;
	chunk_keep(q, id, &r->decoded.is);
	return NW_OK;
}

static int
chunk_emit(struct query *q, int64_t id)
{
	const struct columns *fresh = &q->r->fresh;
	const struct chunk_columns *c = &q->r->decoded.is;
	struct chunk_columns recalled = { 0 };
	size_t i, j, to;
	int rc;

	if (chunk_recall(q, id, &recalled))
		c = &recalled;
	else if ((rc = chunk_read(q, id)) != NW_OK)
		return rc;
	i = columns_seek(c->t_wall_ns, c->n_rows, q->t0);
	j = columns_seek(c->t_wall_ns, c->n_rows, q->t1);
	if (i >= j)
		return NW_OK;
	to = columns_seek(fresh->t_wall_ns, q->fresh_end, c->t_wall_ns[i]);
	if ((rc = emit_fresh(q, to)) != NW_OK)
		return rc;
	to = columns_seek(fresh->t_wall_ns, q->fresh_end, c->t_wall_ns[j - 1]);
	return to > q->fresh_at ? emit_merged(q, c, i, j, to) : emit(q, c, i, j);
}

/* --- a query --- */

/* Gathers the layout's rows of the tail with t0 <= t < t1, in time order. */
static int
fresh_gather(struct query *q, int64_t tail_after)
{
	struct store_reader *r = q->r;
	const struct tail_layout *l;
	size_t i;
	int rc;

	tail_forget(r->tail, q->layout_id, tail_after);
	l = tail_find(r->tail, q->layout_id);
	if (l != NULL && l->n_fields != q->n_fields)
		return NW_ECORRUPT;
	rc = columns_reset(
	    &r->fresh, q->n_fields, q->columns, q->n_columns, l == NULL ? 0 : l->n_rows);
	for (i = 0; rc == NW_OK && l != NULL && i < l->n_recs; i++)
		if (l->recs[i].rec->n_rows > 1 ||
		    (tail_rec_times(l->recs[i].rec)[0] >= q->t0 &&
			tail_rec_times(l->recs[i].rec)[0] < q->t1))
			rc = columns_add_rec(&r->fresh, l->recs[i].rec);
	if (rc == NW_OK)
		rc = columns_sort(&r->fresh);
	q->fresh_at = columns_seek(r->fresh.t_wall_ns, r->fresh.n_rows, q->t0);
	q->fresh_end = columns_seek(r->fresh.t_wall_ns, r->fresh.n_rows, q->t1);
	return rc;
}

static int
layout_find(struct store_reader *r, int64_t layout_id, size_t *n_fields, int64_t *tail_after)
{
	sqlite3_stmt *st;
	int rc, step;

	if ((rc = db_take(&r->stmts, R_LAYOUT, &st, "i", layout_id)) != NW_OK)
		return rc;
	if ((step = sqlite3_step(st)) == SQLITE_ROW) {
		*n_fields = (size_t)sqlite3_column_int64(st, 0);
		*tail_after = sqlite3_column_int64(st, 1);
		if (*n_fields == 0 || *n_fields > TAIL_FIELDS_MAX)
			rc = NW_ECORRUPT;
	} else {
		rc = step == SQLITE_DONE ? NW_ENOTFOUND : db_code(step);
	}
	db_give(&r->stmts, R_LAYOUT, st);
	return rc;
}

/* Finds the layout, checks the columns, gathers its rows in the tail. */
static int
query_begin(struct query *q)
{
	int64_t tail_after = 0;
	size_t i;
	int rc;

	if ((rc = layout_find(q->r, q->layout_id, &q->n_fields, &tail_after)) != NW_OK)
		return rc;
	for (i = 0; q->columns != NULL && i < q->n_columns; i++)
		if (q->columns[i] >= q->n_fields)
			return NW_EINVAL;
	if ((rc = reader_load_tail(q->r)) != NW_OK)
		return rc;
	return fresh_gather(q, tail_after);
}

/* The usual case: no row of the stretch was rolled up. */
static int
chunks_run(struct query *q)
{
	struct store_reader *r = q->r;
	sqlite3_stmt *st;
	int rc, step = SQLITE_DONE;

	if ((rc = cache_begin(q)) != NW_OK ||
	    (rc = db_take(&r->stmts, R_CHUNKS, &st, "iii", q->layout_id, q->t0, q->t1)) != NW_OK)
		return rc;
	while (rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW)
		rc = chunk_emit(q, sqlite3_column_int64(st, 0));
	if (rc == NW_OK)
		rc = db_code(step);
	db_give(&r->stmts, R_CHUNKS, st);
	return rc == NW_OK ? emit_fresh(q, q->fresh_end) : rc;
}

/* Does a statement have a row? */
static int
has_row(struct store_reader *r, int which, const struct query *q, bool *yes)
{
	sqlite3_stmt *st;
	int rc, step;

	rc = q == NULL ? db_take(&r->stmts, which, &st, "")
		       : db_take(&r->stmts, which, &st, "iii", q->layout_id, q->t0, q->t1);
	if (rc != NW_OK)
		return rc;
	step = sqlite3_step(st);
	*yes = step == SQLITE_ROW;
	db_give(&r->stmts, which, st);
	return db_code(step);
}

static int
on_merged(void *arg, const struct columns *c, size_t from, size_t to)
{
	struct query *q = arg;
	int rc;

	if ((rc = columns_cut(c, from, to, &q->r->piece)) != NW_OK)
		return rc;
	return emit(q, &q->r->piece.is, 0, to - from);
}

static int
query_run(struct query *q)
{
	struct merge b = { .r = q->r,
		.layout_id = q->layout_id,
		.t0 = q->t0,
		.t1 = q->t1,
		.fields = q->columns,
		.n_wanted = q->n_columns,
		.fn = on_merged,
		.arg = q };
	bool rolled = false;
	int rc;

	if ((rc = query_begin(q)) != NW_OK ||
	    (rc = has_row(q->r, R_ROLLUP_ANY, NULL, &rolled)) != NW_OK ||
	    (rolled && (rc = has_row(q->r, R_ROLLUP_NEWEST, q, &rolled)) != NW_OK))
		return rc;
	if (!rolled)
		return chunks_run(q);
	b.n_fields = q->n_fields;
	b.fresh_at = q->fresh_at;
	b.fresh_end = q->fresh_end;
	q->bucket_ns = &b.bucket_ns;
	rc = merge_run(&b);
	q->bucket_ns = NULL;
	return rc;
}

/* The reader's file stays as it is while the query runs. */
static int
query_pinned(struct query *q, int (*run)(struct query *q))
{
	int rc;

	if (q->r->in_rows)
		return NW_EINVAL;
	if ((rc = reader_pin(q->r)) != NW_OK)
		return rc;
	q->r->in_rows = true;
	rc = reader_unpin(q->r, run(q));
	q->r->in_rows = false;
	return rc > 0 ? NW_OK : rc;
}

int
store_rows_of(struct store_reader *r, int64_t layout_id, const uint32_t *columns, size_t n_columns,
    int64_t t0_wall_ns, int64_t t1_wall_ns, store_block_fn *fn, void *arg)
{
	struct query q = { .r = r,
		.layout_id = layout_id,
		.t0 = t0_wall_ns,
		.t1 = t1_wall_ns,
		.columns = columns,
		.n_columns = n_columns,
		.fn = fn,
		.arg = arg };

	return query_pinned(&q, query_run);
}

int
store_rows(struct store_reader *r, int64_t layout_id, int64_t t0_wall_ns, int64_t t1_wall_ns,
    store_block_fn *fn, void *arg)
{
	return store_rows_of(r, layout_id, NULL, 0, t0_wall_ns, t1_wall_ns, fn, arg);
}

/* --- the newest row --- */

/* Finds the newest of the layout's rows in the tail; of rows with the same time the last to
 * arrive. */
static const struct tail_rec *
tail_newest(const struct tail_layout *l, size_t *row)
{
	const struct tail_rec *newest = NULL;
	int64_t t = INT64_MIN;
	size_t i, n;

	for (i = 0; l != NULL && i < l->n_recs; i++)
		for (n = 0; n < l->recs[i].rec->n_rows; n++)
			if (tail_rec_times(l->recs[i].rec)[n] >= t) {
				newest = l->recs[i].rec;
				t = tail_rec_times(newest)[n];
				*row = n;
			}
	return newest;
}

/* Keeps the last row of each block in r->merged, for r->value. */
static int
on_last_kept(void *arg, const struct store_block *b)
{
	struct query *q = arg;
	struct store_reader *r = q->r;
	size_t f;
	int rc;

	if ((rc = columns_reset(&r->merged, b->n_fields, NULL, 0, 1)) != NW_OK)
		return rc;
	for (f = 0; f < b->n_fields; f++) {
		r->merged.value[f][0] = b->columns[f][b->n_rows - 1];
		r->value[f] = r->merged.value[f];
	}
	q->last_t = b->t_wall_ns[b->n_rows - 1];
	return 0;
}

/* Where the newest row is gone: the end of the newest roll-up. */
static int
last_of_rollups(struct query *q)
{
	struct query newest = *q;
	int64_t t0;
	int rc;

	if ((rc = db_get_int(&q->r->stmts, R_ROLLUP_LAST, q->layout_id, &t0)) != NW_OK)
		return rc;
	newest.t0 = t0;
	newest.t1 = INT64_MAX;
	newest.columns = NULL;
	newest.fn = on_last_kept;
	newest.arg = q;
	q->last_t = INT64_MIN;
	if ((rc = query_run(&newest)) != NW_OK || q->last_t == INT64_MIN)
		return rc == NW_OK ? NW_ENOTFOUND : rc;
	return q->fn(q->arg,
	    &(struct store_block){ .n_rows = 1,
		.n_fields = q->n_fields,
		.t_wall_ns = &q->last_t,
		.columns = q->r->value });
}

/* Fills r->merged with the last row of the layout's newest chunk; *found is false without a
 * chunk. */
static int
last_of_chunks(struct query *q, int64_t *t, bool *found)
{
	struct store_reader *r = q->r;
	sqlite3_stmt *st = NULL;
	int rc, step;

	*found = false;
	if ((rc = db_take(&r->stmts, R_CHUNK_LAST, &st, "i", q->layout_id)) != NW_OK)
		return rc;
	if ((step = sqlite3_step(st)) == SQLITE_ROW) {
		*found = true;
		*t = sqlite3_column_int64(st, 0);
		rc = lastrow_unpack(sqlite3_column_blob(st, 1), (size_t)sqlite3_column_bytes(st, 1),
		    r->merged.value, q->n_fields);
	} else {
		rc = db_code(step);
	}
	db_give(&r->stmts, R_CHUNK_LAST, st);
	return rc;
}

static int
last_run(struct query *q)
{
	struct store_reader *r = q->r;
	const struct tail_rec *rec;
	int64_t t = 0, tail_after = 0;
	bool found = false;
	size_t row = 0, f;
	int rc;

	if ((rc = layout_find(r, q->layout_id, &q->n_fields, &tail_after)) != NW_OK ||
	    (rc = reader_load_tail(r)) != NW_OK || (rc = block_room(r, q->n_fields, 0)) != NW_OK ||
	    (rc = columns_reset(&r->merged, q->n_fields, NULL, 0, 1)) != NW_OK ||
	    (rc = last_of_chunks(q, &t, &found)) != NW_OK)
		return rc;
	tail_forget(r->tail, q->layout_id, tail_after);
	rec = tail_newest(tail_find(r->tail, q->layout_id), &row);
	if (rec != NULL && rec->n_fields != q->n_fields)
		return NW_ECORRUPT;
	if (rec == NULL && !found)
		return last_of_rollups(q);
	if (rec != NULL && (!found || tail_rec_times(rec)[row] >= t)) {
		t = tail_rec_times(rec)[row];
		for (f = 0; f < q->n_fields; f++)
			r->merged.value[f][0] = tail_rec_values(rec)[row * q->n_fields + f];
	}
	for (f = 0; f < q->n_fields; f++)
		r->value[f] = r->merged.value[f];
	return q->fn(q->arg,
	    &(struct store_block){
		.n_rows = 1, .n_fields = q->n_fields, .t_wall_ns = &t, .columns = r->value });
}

int
store_last_row(struct store_reader *r, int64_t layout_id, store_block_fn *fn, void *arg)
{
	struct query q = { .r = r, .layout_id = layout_id, .fn = fn, .arg = arg };

	return query_pinned(&q, last_run);
}

/* --- buckets --- */

struct bucket_query {
	struct query q;
	store_bucket_fn *fn;
	void *arg;
	const struct aggregate *aggregates;
};

static int
on_buckets(void *arg, const struct columns *c, size_t from, size_t to)
{
	struct bucket_query *bq = arg;
	struct store_reader *r = bq->q.r;
	size_t f, s, n = bq->q.n_fields;
	struct store_bucket_block b = {
		.n_buckets = to - from, .n_fields = n, .t_wall_ns = c->t_wall_ns + from
	};
	int rc;

	if ((rc = block_room(r, n * STATS, 0)) != NW_OK)
		return rc;
	/* side by side in a roll-up, apart in the block of the caller */
	for (s = 0; s < STATS; s++)
		for (f = 0; f < n; f++)
			r->value[s * n + f] =
			    c->value[f * STATS + s] == NULL ? NULL : c->value[f * STATS + s] + from;
	b.n = r->value + STAT_N * n;
	b.sum = r->value + STAT_SUM * n;
	b.min = r->value + STAT_MIN * n;
	b.max = r->value + STAT_MAX * n;
	b.m2 = r->value + STAT_M2 * n;
	return bq->fn(bq->arg, &b);
}

/* Buckets as rows of the layout. */
static int
on_coarse_rows(void *arg, const struct columns *c, size_t from, size_t to)
{
	struct bucket_query *bq = arg;
	struct store_reader *r = bq->q.r;
	size_t i, f;
	int rc;

	if ((rc = columns_cut(c, from, to, &r->piece)) != NW_OK ||
	    (rc = columns_reset(&r->merged, bq->q.n_fields, NULL, 0, to - from)) != NW_OK)
		return rc;
	for (f = 0; f < bq->q.n_fields; f++)
		for (i = 0; i < to - from; i++)
			r->merged.value[f][i] =
			    aggregate_value(&bq->aggregates[f], (uint32_t)f, r->piece.is.value, i);
	r->piece.is.value = (const double *const *)r->merged.value;
	return emit(&bq->q, &r->piece.is, 0, to - from);
}

static int
buckets_run(struct bucket_query *bq, int64_t step_ns, merge_fn *fn)
{
	struct query *q = &bq->q;
	struct merge b = { .r = q->r,
		.layout_id = q->layout_id,
		.t0 = q->t0,
		.t1 = q->t1,
		.fields = q->columns,
		.n_wanted = q->n_columns,
		.step_ns = step_ns,
		.fn = fn,
		.arg = bq };
	int rc;

	if ((rc = query_begin(q)) != NW_OK)
		return rc;
	b.n_fields = q->n_fields;
	b.fresh_at = q->fresh_at;
	b.fresh_end = q->fresh_end;
	return merge_run(&b);
}

int
store_buckets(struct store_reader *r, int64_t layout_id, const uint32_t *fields, size_t n_fields,
    int64_t t0_wall_ns, int64_t t1_wall_ns, int64_t step_ns, store_bucket_fn *fn, void *arg)
{
	struct bucket_query bq = { .q = { .r = r,
				       .layout_id = layout_id,
				       .t0 = t0_wall_ns,
				       .t1 = t1_wall_ns,
				       .columns = fields,
				       .n_columns = n_fields },
		.fn = fn,
		.arg = arg };
	int rc;

	if (r->in_rows || step_ns <= 0)
		return NW_EINVAL;
	if ((rc = reader_pin(r)) != NW_OK)
		return rc;
	r->in_rows = true;
	rc = reader_unpin(r, buckets_run(&bq, step_ns, on_buckets));
	r->in_rows = false;
	return rc > 0 ? NW_OK : rc;
}

static int
coarse_run(struct bucket_query *bq, int64_t step_ns)
{
	struct aggregate *aggregates = NULL;
	int64_t tail_after;
	int rc;

	if ((rc = layout_find(bq->q.r, bq->q.layout_id, &bq->q.n_fields, &tail_after)) != NW_OK ||
	    (rc = aggregates_load(bq->q.r, bq->q.layout_id, bq->q.n_fields, &aggregates)) != NW_OK)
		return rc;
	bq->aggregates = aggregates;
	bq->q.bucket_ns = &step_ns;
	rc = buckets_run(bq, step_ns, on_coarse_rows);
	free(aggregates);
	return rc;
}

int
store_rows_at(struct store_reader *r, int64_t layout_id, int64_t step_ns, int64_t t0_wall_ns,
    int64_t t1_wall_ns, store_block_fn *fn, void *arg)
{
	struct bucket_query bq = { .q = { .r = r,
				       .layout_id = layout_id,
				       .t0 = t0_wall_ns,
				       .t1 = t1_wall_ns,
				       .fn = fn,
				       .arg = arg } };
	int rc;

	if (step_ns <= 0)
		return store_rows(r, layout_id, t0_wall_ns, t1_wall_ns, fn, arg);
	if (r->in_rows)
		return NW_EINVAL;
	if ((rc = reader_pin(r)) != NW_OK)
		return rc;
	r->in_rows = true;
	rc = reader_unpin(r, coarse_run(&bq, step_ns));
	r->in_rows = false;
	return rc > 0 ? NW_OK : rc;
}
