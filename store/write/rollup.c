/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/write/rollup.h"

#include "narrows/err.h"
#include "store/write/writesql.h"

enum { PAYS_SHARE = 4 };     /* buckets pay with a quarter of the values of rows, or fewer */
enum { LOOK_AT_MAX = 2000 }; /* pinned chunks passed in a call: a few ms */

const struct age_cursor age_cursor_first = { INT64_MIN, 0 };

int
rollup_oldest(
    struct connection *c, const struct aged_search *search, struct age_cursor *at, struct aged *out)
{
	int which = search->tier == STORE_ROWS ? W_CHUNK_OLDEST : W_ROLLUP_OLDEST, rc,
	    step = SQLITE_DONE, n = 0;
	sqlite3_stmt *st;

	*out = (struct aged){ .tier = search->tier };
	rc = db_take(&c->stmts, which, &st, "iiiii", at->t1, at->id, search->before_wall_ns,
	    (int64_t)search->tier, search->host_id);
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
	db_give(&c->stmts, which, st);
	return db_code(step);
}

/* Turns the decoded chunk into buckets of a tier, in k->fresh. */
static int
decoded_to_buckets(struct compactor *k, size_t n_fields, int64_t step_ns, bool stats)
{
	const struct chunk_columns *c = &k->decoded.is;
	uint64_t lost = k->bucketer.lost_hists;
	int rc;

	if ((rc = columns_reset(&k->fresh, n_fields * STATS, NULL, 0,
		 buckets_count(c->t_wall_ns, 0, c->n_rows, step_ns))) != NW_OK)
		return rc;
	bucketer_begin(&k->bucketer, step_ns, &k->fresh, NULL, n_fields);
	if ((rc = bucketer_add(&k->bucketer, c, 0, c->n_rows, stats)) == NW_OK)
		rc = bucketer_end(&k->bucketer);
	k->c->counts.lost_hists += k->bucketer.lost_hists - lost;
	return rc;
}

/* The next tier; but rows that buckets of 10 s would hardly make fewer become buckets of a
 * minute at once: a bucket has STATS values for each value of a row, and those of 1 Hz data took
 * 13 % less room in buckets of 10 s, 77 % less in buckets of a minute. */
static int
tier_that_pays(const struct chunk_columns *c, int tier)
{
	size_t n_buckets = buckets_count(c->t_wall_ns, 0, c->n_rows, tier_step_ns[STORE_10S]);

	return tier == STORE_ROWS && n_buckets * STATS * PAYS_SHARE > c->n_rows ? STORE_1MIN
										: tier + 1;
}

int
rollup_demote(struct compactor *k, const struct aged *what, bool in_need)
{
	struct chunk_list from = chunk_list_of(what->layout_id, what->tier), to;
	const struct chunk_columns *c = &k->decoded.is;
	int64_t n_fields, n_rows;
	int rc;

	if ((rc = db_get_int(&k->c->stmts, W_LAYOUT_FIELDS, what->layout_id, &n_fields)) != NW_OK)
		return rc == NW_ENOTFOUND ? NW_ECORRUPT : rc;
	if (what->tier + 1 == STORE_TIERS) {
		if ((rc = db_get_int(&k->c->stmts, W_ROLLUP_ROWS, what->id, &n_rows)) != NW_OK)
			return rc;
		k->c->counts.expired_rows[what->tier] += (uint64_t)n_rows;
		return chunk_list_drop(k, &from, what->id);
	}
	if ((rc = chunk_list_decode(k, &from, what->id)) != NW_OK)
		return rc == NW_EVERSION || rc == NW_ETOOBIG ? NW_ECORRUPT : rc;
	if (n_fields <= 0 || n_fields > TAIL_FIELDS_MAX ||
	    c->n_columns != (uint32_t)n_fields * (what->tier == STORE_ROWS ? 1 : STATS))
		return NW_ECORRUPT;
	/* decoding costs a quarter of encoding */
	k->values_encoded += (size_t)c->n_rows * c->n_columns / 4;
	k->c->counts.rolled_rows[what->tier] += c->n_rows;
	to = chunk_list_of(
	    what->layout_id, in_need ? tier_that_pays(c, what->tier) : what->tier + 1);
	if ((rc = decoded_to_buckets(
		 k, (size_t)n_fields, tier_step_ns[to.tier], what->tier != STORE_ROWS)) != NW_OK)
		return rc;
	if ((rc = chunk_list_drop(k, &from, what->id)) == NW_OK)
		rc = chunk_list_put(k, &to, (size_t)n_fields * STATS, false);
	/* damage in another chunk: half of the work is done and has to be rolled back */
	return rc == NW_ECORRUPT ? NW_EIO : rc;
}

int
rollup_discard(struct compactor *k, const struct aged *what)
{
	struct chunk_list from = chunk_list_of(what->layout_id, what->tier);

	k->c->counts.lost_chunks++;
	return chunk_list_drop(k, &from, what->id);
}
