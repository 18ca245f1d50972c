/* SPDX-License-Identifier: BSD-3-Clause */
/* Chunks of one tier do not overlap, but chunks of different tiers may: a late row stands in a
 * chunk long after the rows around it were rolled up. So decoded rows are carried until the next
 * chunk begins behind them, and are then in order. At most one chunk of each tier is carried at a
 * time. */
#include "store/read/merge.h"

#include <stdlib.h>

#include "narrows/err.h"

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

/* Adds rows from..to, plain or buckets, to the carried rows. */
static int
carry_add(struct merge *b, const struct chunk_columns *c, size_t from, size_t to, bool stats)
{
	const uint32_t *wanted;
	size_t n_wanted;
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
	wanted = out_wanted(b, &n_wanted);
	if ((rc = columns_reset(&b->stats, out_columns(b), wanted, n_wanted, to - from)) != NW_OK)
		return rc;
	bucketer_begin(&b->fold, b->step_ns, &b->stats, b->fields,
	    b->fields == NULL ? b->n_fields : b->n_wanted);
	if ((rc = bucketer_add(&b->fold, c, from, to, stats)) != NW_OK ||
	    (rc = bucketer_end(&b->fold)) != NW_OK ||
	    (rc = next_begin(b, b->stats.n_rows)) != NW_OK ||
	    (rc = columns_cut(&b->stats, 0, b->stats.n_rows, &b->piece)) != NW_OK ||
	    (rc = columns_add_rows(&b->next, &b->piece.is, 0, b->stats.n_rows)) != NW_OK)
		return rc;
	return next_end(b);
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

static int
piece_add(struct merge *b, sqlite3_stmt *st)
{
	bool stats = sqlite3_column_int(st, 1) > 0;
	struct chunk_want want = { .times = true,
		.attachments = b->fields == NULL,
		.columns = stats ? b->stat_columns : b->fields,
		.n_columns = (uint32_t)(stats ? b->n_stat_columns : b->n_wanted) };
	const struct chunk_columns *c = &b->r->decoded.is;
	int64_t step_ns;
	size_t i, j;
	int rc;

	rc = chunk_decode(b->r->codec, sqlite3_column_blob(st, 0),
	    (size_t)sqlite3_column_bytes(st, 0), &want, &b->r->decoded);
	if (rc != NW_OK)
		return rc == NW_ENOTFOUND ? NW_ECORRUPT : rc;
	if (c->n_columns != b->n_fields * (stats ? STATS : 1))
		return NW_ECORRUPT;
	i = columns_seek(c->t_wall_ns, c->n_rows, b->t0);
	j = columns_seek(c->t_wall_ns, c->n_rows, b->t1);
	if (i >= j)
		return NW_OK;
	if ((rc = flush(b, c->t_wall_ns[i], false)) != NW_OK)
		return rc;
	step_ns = tier_step_ns[sqlite3_column_int(st, 1) % STORE_TIERS];
	b->bucket_ns = step_ns > b->bucket_ns ? step_ns : b->bucket_ns;
	return carry_add(b, c, i, j, stats);
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
	int rc = NW_OK, step = SQLITE_DONE;

	if (b->step_ns == 0)
		rc = aggregates_load(b->r, b->layout_id, b->n_fields, &b->aggregates);
	if (rc == NW_OK && (rc = stat_columns_list(b)) == NW_OK)
		rc = db_take(&b->r->stmts, R_PIECES, &st, "iii", b->layout_id, b->t0, b->t1);
	while (rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW)
		rc = piece_add(b, st);
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
