/* SPDX-License-Identifier: BSD-3-Clause */
/* Chunks of one tier do not overlap, but chunks of different tiers may: a late row stands in a
 * chunk long after the rows around it were rolled up. So decoded rows are carried until the next
 * chunk begins behind them, and are then in order. At most one chunk of each tier is carried at a
 * time.
 *
 * Buckets of a whole chunk stay in the reader's cache, so that the same question costs no decoding
 * when it comes again: pages that renew themselves ask it every few seconds. */
#include "store/read/merge.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

enum {
	KEEP_BYTES_MAX = 2 << 20, /* most bytes cached by a call */
	KEEP_ENTRY_BYTES = 64,
	KEEP_SHARE = 4, /* a column's buckets are kept below a fourth of its rows .. */
	KEEP_FEW = 4,   /* .. or if they are so few: each column has a price, too */
	KEEP_TIMES = TAIL_FIELDS_MAX, /* stands for the column of times */
	KEEP_STEP_BITS = 47,
	KEEP_COLUMN_BITS = 13
};
_Static_assert(KEEP_TIMES < 1 << KEEP_COLUMN_BITS, "a key has room for each column");

static size_t
out_columns(const struct merge *b)
{
	return b->step_ns > 0 ? b->n_fields * STATS : b->n_fields;
}

/* Lists the columns of the output for the wanted fields. */
static const uint32_t *
out_wanted(const struct merge *b, size_t *n)
{
	if (b->fields == NULL) {
		*n = 0;
		return NULL;
	}
	*n = b->step_ns > 0 ? b->n_stat_columns : b->n_wanted;
	return b->step_ns > 0 ? b->stat_columns : b->fields;
}

/* Copies the carried rows to next, with room for n more. */
static int
next_begin(struct merge *b, size_t n)
{
	const uint32_t *wanted;
	size_t n_wanted;
	int rc;

	wanted = out_wanted(b, &n_wanted);
	if ((rc = columns_reset(&b->next, out_columns(b), wanted, n_wanted, b->carry.n_rows + n)) !=
		NW_OK ||
	    (rc = columns_cut(&b->carry, 0, b->carry.n_rows, &b->piece)) != NW_OK)
		return rc;
	return columns_add_rows(&b->next, &b->piece.is, 0, b->carry.n_rows);
}

static int
next_end(struct merge *b)
{
	struct columns was = b->carry;
	int rc = columns_sort(&b->next);

	b->carry = b->next;
	b->next = was;
	return rc;
}

/* Rows from..to of buckets, as rows of the layout. */
static int
rows_of_buckets(struct merge *b, const struct chunk_columns *c, size_t from, size_t to)
{
	struct columns *out = &b->next;
	size_t r, k, n = b->fields == NULL ? b->n_fields : b->n_wanted, start;
	uint32_t f;
	int rc;

	for (r = from; r < to; r++) {
		out->t_wall_ns[out->n_rows] = c->t_wall_ns[r];
		for (k = 0; k < n; k++) {
			f = b->fields == NULL ? (uint32_t)k : b->fields[k];
			out->value[f][out->n_rows] =
			    aggregate_value(&b->aggregates[f], f, c->value, r);
		}
		start = c->attachment_end == NULL || r == 0 ? 0 : c->attachment_end[r - 1];
		rc = columns_set_hist(out, out->n_rows,
		    c->attachment_end == NULL ? NULL : c->attachment + start,
		    c->attachment_end == NULL ? 0 : c->attachment_end[r] - start);
		if (rc != NW_OK)
			return rc;
		out->n_rows++;
	}
	return NW_OK;
}

/* Empties b->stats, with room for n buckets. */
static int
stats_reset(struct merge *b, size_t n)
{
	size_t n_wanted;
	const uint32_t *wanted = out_wanted(b, &n_wanted);

	return columns_reset(&b->stats, out_columns(b), wanted, n_wanted, n);
}

/* Adds b->stats to the carried rows, all but the first `from`. */
static int
stats_carry(struct merge *b, size_t from)
{
	size_t n = b->stats.n_rows - from;
	int rc;

	if ((rc = next_begin(b, n)) != NW_OK ||
	    (rc = columns_cut(&b->stats, from, b->stats.n_rows, &b->piece)) != NW_OK ||
	    (rc = columns_add_rows(&b->next, &b->piece.is, 0, n)) != NW_OK)
		return rc;
	return next_end(b);
}

/* Adds rows from..to, plain or buckets, to the carried rows. */
static int
carry_add(struct merge *b, const struct chunk_columns *c, size_t from, size_t to, bool stats)
{
	int rc;

	if (from >= to)
		return NW_OK;
	if (b->step_ns == 0) {
		if ((rc = next_begin(b, to - from)) != NW_OK ||
		    (rc = stats ? rows_of_buckets(b, c, from, to)
				: columns_add_rows(&b->next, c, from, to)) != NW_OK)
			return rc;
		return next_end(b);
	}
	if ((rc = stats_reset(b, buckets_count(c->t_wall_ns, from, to, b->step_ns))) != NW_OK)
		return rc;
	bucketer_begin(&b->fold, b->step_ns, &b->stats, b->fields,
	    b->fields == NULL ? b->n_fields : b->n_wanted);
	if ((rc = bucketer_add(&b->fold, c, from, to, stats)) != NW_OK ||
	    (rc = bucketer_end(&b->fold)) != NW_OK)
		return rc;
	return stats_carry(b, 0);
}

/* Joins the parts of carried buckets. */
static int
carry_join(struct merge *b)
{
	const uint32_t *wanted;
	size_t n_wanted;
	int rc;

	wanted = out_wanted(b, &n_wanted);
	if ((rc = columns_reset(&b->next, out_columns(b), wanted, n_wanted, b->carry.n_rows)) !=
		NW_OK ||
	    (rc = columns_cut(&b->carry, 0, b->carry.n_rows, &b->piece)) != NW_OK)
		return rc;
	bucketer_begin(&b->fold, b->step_ns, &b->next, b->fields,
	    b->fields == NULL ? b->n_fields : b->n_wanted);
	if ((rc = bucketer_add(&b->fold, &b->piece.is, 0, b->carry.n_rows, true)) != NW_OK ||
	    (rc = bucketer_end(&b->fold)) != NW_OK)
		return rc;
	return next_end(b);
}

/* Forgets the first n carried rows. */
static int
carry_cut(struct merge *b, size_t n)
{
	const uint32_t *wanted;
	size_t n_wanted, left = b->carry.n_rows - n;
	int rc;

	wanted = out_wanted(b, &n_wanted);
	if ((rc = columns_reset(&b->next, out_columns(b), wanted, n_wanted, left)) != NW_OK ||
	    (rc = columns_cut(&b->carry, n, b->carry.n_rows, &b->piece)) != NW_OK ||
	    (rc = columns_add_rows(&b->next, &b->piece.is, 0, left)) != NW_OK)
		return rc;
	return next_end(b);
}

/* Hands out carried rows before t: no earlier rows will come. */
static int
flush(struct merge *b, int64_t t, bool all)
{
	struct columns *fresh = &b->r->fresh;
	size_t to, n;
	int rc;

	if (!all && b->step_ns > 0)
		t = bucket_number(t, b->step_ns) * b->step_ns;
	to = all ? b->fresh_end : columns_seek(fresh->t_wall_ns, b->fresh_end, t);
	if (to > b->fresh_at) {
		struct columns_piece piece = { .cap_value = 0 };

		if ((rc = columns_cut(fresh, b->fresh_at, to, &piece)) == NW_OK)
			rc = carry_add(b, &piece.is, 0, to - b->fresh_at, false);
		columns_piece_clear(&piece);
		if (rc != NW_OK)
			return rc;
		b->fresh_at = to;
	}
	if (b->carry.n_rows == 0 || (b->step_ns > 0 && (rc = carry_join(b)) != NW_OK))
		return b->carry.n_rows == 0 ? NW_OK : rc;
	n = all ? b->carry.n_rows : columns_seek(b->carry.t_wall_ns, b->carry.n_rows, t);
	if (n == 0)
		return NW_OK;
	if ((rc = b->fn(b->arg, &b->carry, 0, n)) != 0 || (rc = carry_cut(b, n)) != NW_OK)
		return rc;
	if (b->carry.n_rows == 0)
		b->bucket_ns = 0;
	return NW_OK;
}

/* --- kept buckets --- */

/* A borrowed connection may write anything, and histograms are not kept. */
static bool
keeps(const struct merge *b)
{
	return b->step_ns > 0 && b->step_ns < INT64_C(1) << KEEP_STEP_BITS && b->fields != NULL &&
	    !b->r->borrowed;
}

/* The key of a field's buckets in the cache, below the keys of decoded columns. */
static int64_t
keep_key(const struct merge *b, uint32_t field)
{
	return CACHE_TIMES - 1 - (b->step_ns << KEEP_COLUMN_BITS | field);
}

/* Keeps b->stats, which are all buckets of a chunk of n_rows, if they are much shorter than the
 * rows: others would drive more out of the cache than they save. */
static int
stats_keep(struct merge *b, int64_t chunk_id, size_t n_rows)
{
	const struct columns *c = &b->stats;
	size_t n = c->n_rows * STATS, k, s,
	       bytes = (n * sizeof(double) + KEEP_ENTRY_BYTES) * (b->n_wanted + 1);
	double *words;

	if (!keeps(b) || (n > n_rows / KEEP_SHARE && c->n_rows > KEEP_FEW) ||
	    bytes > KEEP_BYTES_MAX - b->kept_bytes)
		return NW_OK;
	if ((words = malloc((n + 1) * sizeof(*words))) == NULL)
		return NW_ENOMEM;
	b->kept_bytes += bytes;
	cache_put(
	    b->r->cache, chunk_id, keep_key(b, KEEP_TIMES), c->t_wall_ns, (uint32_t)c->n_rows);
	for (k = 0; k < b->n_wanted; k++) {
		for (s = 0; s < STATS; s++)
			memcpy(words + s * c->n_rows, c->value[b->fields[k] * STATS + s],
			    c->n_rows * sizeof(*words));
		cache_put(b->r->cache, chunk_id, keep_key(b, b->fields[k]), words, (uint32_t)n);
	}
	free(words);
	return NW_OK;
}

/* Fills b->stats from the cache; *found is false unless all wanted fields are there. */
static int
stats_recall(struct merge *b, int64_t chunk_id, bool *found)
{
	const void *times, *words;
	uint32_t n_rows = 0, n;
	size_t k, s;
	int rc;

	*found = false;
	if (!keeps(b) ||
	    (times = cache_get(b->r->cache, chunk_id, keep_key(b, KEEP_TIMES), &n_rows)) == NULL)
		return NW_OK;
	if ((rc = stats_reset(b, n_rows)) != NW_OK)
		return rc;
	memcpy(b->stats.t_wall_ns, times, n_rows * sizeof(int64_t));
	for (k = 0; k < b->n_wanted; k++) {
		words = cache_get(b->r->cache, chunk_id, keep_key(b, b->fields[k]), &n);
		if (words == NULL || n != n_rows * STATS)
			return NW_OK;
		for (s = 0; s < STATS; s++)
			memcpy(b->stats.value[b->fields[k] * STATS + s],
			    (const double *)words + s * n_rows, n_rows * sizeof(double));
	}
	memset(b->stats.hist_end, 0, n_rows * sizeof(*b->stats.hist_end));
	b->stats.n_rows = n_rows;
	*found = n_rows > 0;
	return NW_OK;
}

/* --- pieces: chunks of rows, chunks of buckets --- */

/* A row of R_PIECES. */
struct listed {
	int64_t id, t0_wall_ns, t1_wall_ns;
	int tier; /* STORE_ROWS for rows */
};

static int
piece_decode(struct merge *b, const struct listed *l)
{
	bool stats = l->tier != STORE_ROWS;
	const int which = stats ? R_ROLLUP_DATA : R_CHUNK_DATA;
	struct chunk_want want = { .times = true,
		.attachments = b->fields == NULL,
		.columns = stats ? b->stat_columns : b->fields,
		.n_columns = (uint32_t)(stats ? b->n_stat_columns : b->n_wanted) };
	sqlite3_stmt *st;
	int rc, step;

	if ((rc = db_take(&b->r->stmts, which, &st, "i", l->id)) != NW_OK)
		return rc;
	if ((step = sqlite3_step(st)) == SQLITE_ROW)
		rc = chunk_decode(b->r->codec, sqlite3_column_blob(st, 0),
		    (size_t)sqlite3_column_bytes(st, 0), &want, &b->r->decoded);
	else
		rc = step == SQLITE_DONE ? NW_ECORRUPT : db_code(step); /* the index lists it */
	db_give(&b->r->stmts, which, st);
	if (rc == NW_ENOTFOUND ||
	    (rc == NW_OK && b->r->decoded.is.n_columns != b->n_fields * (stats ? STATS : 1)))
		return NW_ECORRUPT;
	return rc;
}

/* Adds the kept buckets of a chunk to the carried rows; *found is false if there are none. A call
 * that begins within the chunk, at the edge of a bucket, leaves the earlier buckets out. */
static int
piece_recall(struct merge *b, const struct listed *l, bool *found)
{
	int rc;

	*found = false;
	if (l->t0_wall_ns < b->t0 &&
	    (b->step_ns == 0 || bucket_number(b->t0, b->step_ns) * b->step_ns != b->t0))
		return NW_OK;
	if ((rc = stats_recall(b, l->id, found)) != NW_OK || !*found)
		return rc;
	return stats_carry(b, columns_seek(b->stats.t_wall_ns, b->stats.n_rows, b->t0));
}

/* Pieces come in order of their begins: no later piece has rows before this one's begin, but one of
 * another tier may have rows before this one's first row behind b->t0. */
static int
piece_add(struct merge *b, const struct listed *l)
{
	const struct chunk_columns *c = &b->r->decoded.is;
	const int64_t from = l->t0_wall_ns > b->t0 ? l->t0_wall_ns : b->t0;
	bool to_its_end = l->tier == STORE_ROWS && l->t1_wall_ns < b->t1, found = false;
	size_t i, j;
	int rc;

	if ((rc = flush(b, from, false)) != NW_OK ||
	    (to_its_end && ((rc = piece_recall(b, l, &found)) != NW_OK || found)) ||
	    (rc = piece_decode(b, l)) != NW_OK)
		return rc;
	i = columns_seek(c->t_wall_ns, c->n_rows, b->t0);
	j = columns_seek(c->t_wall_ns, c->n_rows, b->t1);
	if (i >= j)
		return NW_OK;
	b->bucket_ns = tier_step_ns[l->tier] > b->bucket_ns ? tier_step_ns[l->tier] : b->bucket_ns;
	if ((rc = carry_add(b, c, i, j, l->tier != STORE_ROWS)) != NW_OK)
		return rc;
	return to_its_end && i == 0 ? stats_keep(b, l->id, c->n_rows) : NW_OK;
}

static struct listed
listed_row(sqlite3_stmt *st)
{
	return (struct listed){ .id = sqlite3_column_int64(st, 0),
		.tier = sqlite3_column_int(st, 1) % STORE_TIERS,
		.t0_wall_ns = sqlite3_column_int64(st, 2),
		.t1_wall_ns = sqlite3_column_int64(st, 3) };
}

/* Lists the columns to be read of roll-ups: the statistics of the wanted fields, and of the fields
 * that their aggregates need. */
static int
stat_columns_list(struct merge *b)
{
	uint32_t f, s;
	size_t k, per = b->step_ns > 0 ? 1 : 3, n = 0;

	if (b->fields == NULL)
		return NW_OK;
	if ((b->stat_columns = calloc(b->n_wanted * per * STATS + 1, sizeof(*b->stat_columns))) ==
	    NULL)
		return NW_ENOMEM;
	for (k = 0; k < b->n_wanted * per; k++) {
		f = b->fields[k / per];
		if (k % per == 1)
			f = b->aggregates[f].over;
		else if (k % per == 2)
			f = b->aggregates[f].by;
		for (s = 0; s < STATS; s++)
			b->stat_columns[n++] = f * STATS + s;
	}
	b->n_stat_columns = n;
	return NW_OK;
}

int
merge_run(struct merge *b)
{
	sqlite3_stmt *st = NULL;
	struct listed l;
	int rc = NW_OK, step = SQLITE_DONE;

	if (b->step_ns == 0)
		rc = aggregates_load(b->r, b->layout_id, b->n_fields, &b->aggregates);
	if (rc == NW_OK && (rc = stat_columns_list(b)) == NW_OK)
		rc = db_take(&b->r->stmts, R_PIECES, &st, "iii", b->layout_id, b->t0, b->t1);
	while (rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW) {
		l = listed_row(st);
		rc = piece_add(b, &l);
	}
	if (rc == NW_OK)
		rc = db_code(step);
	if (rc == NW_OK)
		rc = flush(b, 0, true);
	db_give(&b->r->stmts, R_PIECES, st);
	free(b->aggregates);
	free(b->stat_columns);
	columns_clear(&b->carry);
	columns_clear(&b->next);
	columns_clear(&b->stats);
	columns_piece_clear(&b->piece);
	bucketer_clear(&b->fold);
	return rc;
}
