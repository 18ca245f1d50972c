/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Demotion: the oldest chunk of a tier becomes buckets of the next one, in the transaction that
 * deletes it. So each row is counted in exactly one place at any moment, whatever fails and however
 * late it came.
 */
#include <stdlib.h>

#include "narrows/err.h"
#include "store/writer.h"

enum { LOOK_AT_MAX = 2000 }; /* pinned ones passed in one go: a few ms */

int
rollup_oldest(
    struct writer *w, int tier, int64_t before_wall_ns, struct age_cursor *at, struct aged *out)
{
	int which = tier == STORE_ROWS ? W_CHUNK_OLDEST : W_ROLLUP_OLDEST, rc, step = SQLITE_DONE,
	    n = 0;
	sqlite3_stmt *st;

	*out = (struct aged){ .tier = tier };
	rc = tier == STORE_ROWS
	    ? db_take(&w->stmts, which, &st, "iii", at->t1, at->id, before_wall_ns)
	    : db_take(&w->stmts, which, &st, "iiii", at->t1, at->id, before_wall_ns, (int64_t)tier);
	if (rc != NW_OK)
		return rc;
	while (out->id == 0 && n++ < LOOK_AT_MAX && (step = sqlite3_step(st)) == SQLITE_ROW) {
		*at =
		    (struct age_cursor){ sqlite3_column_int64(st, 1), sqlite3_column_int64(st, 0) };
		if (sqlite3_column_int(st, 3) != 0) {
			out->id = at->id;
			out->layout_id = sqlite3_column_int64(st, 2);
		}
	}
	out->more = out->id == 0 && step == SQLITE_ROW;
	db_give(&w->stmts, which, st);
	return db_code(step);
}

static struct shelf
shelf_of(int64_t layout_id, int tier)
{
	if (tier == STORE_ROWS)
		return (struct shelf){ W_CHUNK_BEFORE, layout_id, tier };
	return (struct shelf){ W_ROLLUP_BEFORE, layout_id * STORE_TIERS + tier, tier };
}

static int
decode(struct writer *w, const struct shelf *from, int64_t id)
{
	int which = from->stmts + SHELF_DATA, rc, step;
	sqlite3_stmt *st;

	if ((rc = db_take(&w->stmts, which, &st, "i", id)) != NW_OK)
		return rc;
	if ((step = sqlite3_step(st)) == SQLITE_ROW)
		rc = chunk_decode(w->codec, sqlite3_column_blob(st, 0),
		    (size_t)sqlite3_column_bytes(st, 0), NULL, &w->decoded);
	else
		rc = step == SQLITE_DONE ? NW_EIO : db_code(step);
	db_give(&w->stmts, which, st);
	return rc == NW_EVERSION || rc == NW_ETOOBIG ? NW_ECORRUPT : rc;
}

static size_t
buckets_count(const struct chunk_columns *c, int64_t step_ns)
{
	size_t n = c->n_rows > 0, i;

	for (i = 1; i < c->n_rows; i++)
		n += fold_bucket(c->t_wall_ns[i], step_ns) !=
		    fold_bucket(c->t_wall_ns[i - 1], step_ns);
	return n;
}

/* What is decoded, as buckets of a tier, in w->fresh. */
static int
fold_decoded(struct writer *w, size_t n_fields, int64_t step_ns, bool stats)
{
	const struct chunk_columns *c = &w->decoded.is;
	uint64_t lost = w->fold.lost_hists;
	int rc;

	if ((rc = columns_reset(&w->fresh, n_fields * STATS, NULL, 0, buckets_count(c, step_ns))) !=
	    NW_OK)
		return rc;
	fold_begin(&w->fold, step_ns, &w->fresh, NULL, n_fields);
	if ((rc = fold_rows(&w->fold, c, 0, c->n_rows, stats)) == NW_OK)
		rc = fold_end(&w->fold);
	w->moved.lost_hists += w->fold.lost_hists - lost;
	return rc;
}

int
rollup_demote(struct writer *w, const struct aged *what)
{
	struct shelf from = shelf_of(what->layout_id, what->tier), to;
	const struct chunk_columns *c = &w->decoded.is;
	int64_t n_fields, n_rows;
	int rc;

	if ((rc = db_get_int(&w->stmts, W_LAYOUT_FIELDS, what->layout_id, &n_fields)) != NW_OK)
		return rc == NW_ENOTFOUND ? NW_ECORRUPT : rc;
	if (what->tier + 1 == STORE_TIERS) {
		if ((rc = db_get_int(&w->stmts, W_ROLLUP_ROWS, what->id, &n_rows)) != NW_OK)
			return rc;
		w->moved.expired_rows[what->tier] += (uint64_t)n_rows;
		return shelf_drop(w, &from, what->id);
	}
	if ((rc = decode(w, &from, what->id)) != NW_OK)
		return rc;
	if (n_fields <= 0 || n_fields > TAIL_FIELDS_MAX ||
	    c->n_columns != (uint32_t)n_fields * (what->tier == STORE_ROWS ? 1 : STATS))
		return NW_ECORRUPT;
	/* decoding is that much cheaper */
	w->values_encoded += (size_t)c->n_rows * c->n_columns / 4;
	w->moved.rolled_rows[what->tier] += c->n_rows;
	to = shelf_of(what->layout_id, what->tier + 1);
	if ((rc = fold_decoded(
		 w, (size_t)n_fields, fold_step_ns[to.tier], what->tier != STORE_ROWS)) != NW_OK)
		return rc;
	if ((rc = shelf_drop(w, &from, what->id)) == NW_OK)
		rc = shelf_put(w, &to, (size_t)n_fields * STATS, false);
	/* of other pages: with half of it done nobody may go on */
	return rc == NW_ECORRUPT ? NW_EIO : rc;
}

int
rollup_discard(struct writer *w, const struct aged *what)
{
	struct shelf from = shelf_of(what->layout_id, what->tier);

	w->moved.lost_chunks++;
	return shelf_drop(w, &from, what->id);
}
