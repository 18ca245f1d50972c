/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Only sessions that ended a while ago can be forgotten, so that no data on its way still belongs
 * to the session. The newest session and the session with the newest layout stay, so that ids are
 * never given twice: a reader may remember rows by their layout. The tail must hold no row of the
 * session, because a blob with rows of an unknown layout could not be read. No row stays in the
 * tail for more than five minutes, so no session waits for long.
 *
 * Senders may remember a forgotten session. Open connections hold their session, and for an hour
 * longer, because the box remembers their series for a while; rows of other senders come too late
 * (writer.c).
 */
#include "store/write/forget.h"

#include "narrows/err.h"
#include "store/write/labels.h"
#include "store/write/writesql.h"

enum { SERIES_AT_ONCE = 500, YOUNG_REST = 10 };
enum { CHUNKS_AT_ONCE = 1000 }; /* take some 10 ms, and 100 ms from a slow disk */
const int64_t forget_settled_ns = INT64_C(3600000000000),
	      forget_settled_in_need_ns = INT64_C(60000000000);

/* The first blob of the tail. An empty tail keeps an empty blob, with an id without meaning
 * here. */
static int64_t
tail_first(const struct forgetter *f)
{
	return tail_oldest(f->mover->tail) == NULL ? INT64_MAX : tail_first_id(f->mover->tail);
}

/* Does the session have rows outside chunks? */
static int
session_is_fresh(struct forgetter *f, int64_t id, bool *fresh)
{
	sqlite3_stmt *st;
	int rc, step = SQLITE_DONE;

	*fresh = false;
	if ((rc = db_take(&f->c->stmts, W_LAYOUTS_OF_SESSION, &st, "i", id)) != NW_OK)
		return rc;
	while (!*fresh && (step = sqlite3_step(st)) == SQLITE_ROW)
		*fresh = tail_find(f->mover->tail, sqlite3_column_int64(st, 0)) != NULL;
	db_give(&f->c->stmts, W_LAYOUTS_OF_SESSION, st);
	return db_code(step);
}

/* Finds the next session after *id that may go and has no rows in blobs from first_blob on: *id, or
 * SESSION_NONE. */
static int
session_next(
    struct forgetter *f, const struct forget_search *search, int64_t first_blob, int64_t *id)
{
	int64_t settled = connection_now(f->c) - search->settled_ns,
		before = search->closed_before_wall_ns < settled ? search->closed_before_wall_ns
								 : settled;
	sqlite3_stmt *st;
	int rc, step;

	if ((rc = db_take(&f->c->stmts, W_SESSION_OLDEST, &st, "iiiii", *id, before, first_blob,
		 settled, search->host_id)) != NW_OK)
		return rc;
	step = sqlite3_step(st);
	*id = step == SQLITE_ROW ? sqlite3_column_int64(st, 0) : SESSION_NONE;
	db_give(&f->c->stmts, W_SESSION_OLDEST, st);
	return db_code(step);
}

int
forget_oldest(struct forgetter *f, const struct forget_search *search, int64_t *id)
{
	int64_t first = tail_first(f);
	bool fresh = false;
	int rc;

	*id = f->after;
	do {
		if ((rc = session_next(f, search, first, id)) != NW_OK || *id == SESSION_NONE)
			return rc;
		rc = session_is_fresh(f, *id, &fresh);
	} while (rc == NW_OK && fresh);
	return rc;
}

bool
forget_waits(struct forgetter *f)
{
	const struct forget_search any = { INT64_MAX, forget_settled_in_need_ns, HOST_ANY };
	int64_t id = f->after;

	return tail_oldest(f->mover->tail) != NULL &&
	    session_next(f, &any, INT64_MAX, &id) == NW_OK && id != SESSION_NONE;
}

/* Deletes at most *n chunks or roll-ups of a session, lowers *n, and subtracts the bytes from the
 * sizes of the tiers. */
static int
samples_drop(struct forgetter *f, int which, int64_t id, int64_t *n)
{
	sqlite3_stmt *st;
	int rc, step = SQLITE_DONE;

	if ((rc = db_take(&f->c->stmts, which, &st, "ii", id, *n)) != NW_OK)
		return rc;
	for (; rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW; --*n)
		rc = sizes_change(&f->c->sizes, sqlite3_column_int64(st, 2),
		    sqlite3_column_int(st, 0), -sqlite3_column_int64(st, 1));
	db_give(&f->c->stmts, which, st);
	return rc == NW_OK ? db_code(step) : rc;
}

/* Runs a statement that returns hosts and bytes, and subtracts the bytes from the descriptions of
 * the hosts. */
static int
described_subtract(struct forgetter *f, int which, int64_t id)
{
	sqlite3_stmt *st;
	int rc, step = SQLITE_DONE;

	if ((rc = db_take(&f->c->stmts, which, &st, "i", id)) != NW_OK)
		return rc;
	while (rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW)
		rc = sizes_change(&f->c->sizes, sqlite3_column_int64(st, 0), SIZE_DESCRIPTIONS,
		    -sqlite3_column_int64(st, 1));
	db_give(&f->c->stmts, which, st);
	return rc == NW_OK ? db_code(step) : rc;
}

/* Deletes the layouts and the metadata of a session. */
static int
session_descriptions_drop(struct forgetter *f, int64_t id)
{
	int rc = described_subtract(f, W_LAYOUT_SIZES_OF_SESSION, id);

	if (rc == NW_OK)
		rc = labels_drop_session(f->c, id);
	if (rc == NW_OK)
		rc = db_run(&f->c->stmts, W_FORGET_LAYOUTS, "i", id);
	return rc == NW_OK ? described_subtract(f, W_FORGET_METAS, id) : rc;
}

/* A session with very many samples loses a part first, stays the oldest session, and has its
 * turn again. */
static int
session_drop(struct forgetter *f, int64_t id)
{
	int64_t n = CHUNKS_AT_ONCE, pinned = 0;
	int rc, which;

	/* Another process may have pinned the session in the meantime. */
	if ((rc = db_get_int(&f->c->stmts, W_SESSION_PINNED, id, &pinned)) != NW_OK || pinned != 0)
		return rc == NW_ENOTFOUND ? NW_OK : rc;
	if ((rc = samples_drop(f, W_FORGET_CHUNKS, id, &n)) == NW_OK)
		rc = samples_drop(f, W_FORGET_ROLLUPS, id, &n);
	if (rc == NW_OK)
		rc = samples_drop(f, W_FORGET_EVENTS, id, &n);
	if (n == 0)
		return rc;
	if (rc == NW_OK)
		rc = connection_count_result(f->c, id, -1);
	if (rc == NW_OK)
		rc = session_descriptions_drop(f, id);
	for (which = W_FORGET_RESULT; rc == NW_OK && which <= W_FORGET_SESSION; which++)
		rc = db_run(&f->c->stmts, which, "i", id);
	if (rc == NW_OK)
		f->c->counts.forgotten_sessions += (uint64_t)sqlite3_changes(f->c->db);
	return rc;
}

int
forget_session(struct forgetter *f, int64_t id)
{
	int rc = connection_begin(f->c);

	if (rc != NW_OK || (rc = connection_end(f->c, session_drop(f, id))) == NW_OK)
		return rc;
	if (rc != NW_ECORRUPT && rc != NW_ECONFLICT)
		return rc;
	f->after = id; /* the session stays, for verify to name */
	f->c->trouble[0] = '\0';
	return NW_OK;
}

/* --- series of a host alone --- */

/* Has the metadata rows outside chunks? */
static int
meta_is_fresh(struct forgetter *f, int64_t id, bool *fresh)
{
	sqlite3_stmt *st;
	int rc, step = SQLITE_DONE;

	*fresh = false;
	if ((rc = db_take(&f->c->stmts, W_LAYOUTS_OF_META, &st, "i", id)) != NW_OK)
		return rc;
	while (!*fresh && (step = sqlite3_step(st)) == SQLITE_ROW)
		*fresh = tail_find(f->mover->tail, sqlite3_column_int64(st, 0)) != NULL;
	db_give(&f->c->stmts, W_LAYOUTS_OF_META, st);
	return db_code(step);
}

/* Deletes a metadata with all layouts. */
static int
series_delete(struct forgetter *f, int64_t id)
{
	int rc = described_subtract(f, W_LAYOUT_SIZES_OF_META, id);

	if (rc == NW_OK)
		rc = labels_drop_meta(f->c, id);
	if (rc == NW_OK)
		rc = db_run(&f->c->stmts, W_DESCRIPTION_LAYOUTS_DROP, "i", id);
	return rc == NW_OK ? described_subtract(f, W_DESCRIPTION_DROP, id) : rc;
}

static int
series_drop(struct forgetter *f, int64_t host_id, int64_t settled, size_t *n_dropped)
{
	int64_t first = tail_first(f), id = 0;
	sqlite3_stmt *st;
	bool fresh;
	size_t i;
	int rc, step = SQLITE_ROW;

	for (i = 0; i < SERIES_AT_ONCE; i++) {
		if ((rc = db_take(&f->c->stmts, W_DESCRIPTION_OLDEST, &st, "iiii", host_id, settled,
			 first, id)) != NW_OK)
			return rc;
		if ((step = sqlite3_step(st)) == SQLITE_ROW)
			id = sqlite3_column_int64(st, 0);
		db_give(&f->c->stmts, W_DESCRIPTION_OLDEST, st);
		if (step != SQLITE_ROW)
			return db_code(step);
		if ((rc = meta_is_fresh(f, id, &fresh)) != NW_OK)
			return rc;
		if (fresh)
			continue;
		if ((rc = series_delete(f, id)) != NW_OK)
			return rc;
		++*n_dropped;
	}
	return NW_OK;
}

int
forget_series(struct forgetter *f, int64_t host_id, int64_t settled_ns, size_t *n_dropped)
{
	int64_t settled = connection_now(f->c) - settled_ns;
	int rc;

	*n_dropped = 0;
	if ((rc = connection_begin(f->c)) != NW_OK)
		return rc;
	if ((rc = series_drop(f, host_id, settled, n_dropped)) == NW_OK)
		rc = db_run(&f->c->stmts, W_CONNECTIONS_DROP, "ii", host_id, settled);
	if (rc == NW_OK)
		*n_dropped += (size_t)sqlite3_changes(f->c->db);
	return connection_end(f->c, rc);
}

/* Goes on behind the last series looked at. *n_dropped is 0 after a look at all of the rest. */
static int
young_drop(struct forgetter *f, int64_t host_id, size_t *n_dropped)
{
	int64_t first = tail_first(f);
	sqlite3_stmt *st;
	bool fresh;
	int rc, step;

	while (*n_dropped < SERIES_AT_ONCE) {
		if ((rc = db_take(&f->c->stmts, W_DESCRIPTION_ANY, &st, "iii", host_id, first,
			 f->young_after)) != NW_OK)
			return rc;
		if ((step = sqlite3_step(st)) == SQLITE_ROW)
			f->young_after = sqlite3_column_int64(st, 0);
		db_give(&f->c->stmts, W_DESCRIPTION_ANY, st);
		if (step != SQLITE_ROW)
			return db_code(step);
		if ((rc = meta_is_fresh(f, f->young_after, &fresh)) != NW_OK)
			return rc;
		if (fresh)
			f->young_waits = true;
		else if ((rc = series_delete(f, f->young_after)) != NW_OK)
			return rc;
		else
			++*n_dropped;
	}
	return NW_OK;
}

int
forget_young(struct forgetter *f, int64_t host_id, size_t *n_dropped)
{
	int64_t begun = connection_mono(f->c);
	bool whole = false;
	int rc;

	*n_dropped = 0;
	if (f->young_host == host_id && begun < f->young_rest_until_mono_ns)
		return NW_OK;
	if (f->young_host != host_id) {
		f->young_host = host_id;
		f->young_after = 0;
	}
	if ((rc = connection_begin(f->c)) != NW_OK)
		return rc;
	while (rc == NW_OK && *n_dropped == 0 && !whole) {
		whole = f->young_after == 0;
		if (whole)
			f->young_waits = false;
		if ((rc = young_drop(f, host_id, n_dropped)) == NW_OK && *n_dropped == 0)
			f->young_after = 0;
	}
	rc = connection_end(f->c, rc);
	if (rc != NW_OK)
		f->young_after = 0;
	if (rc == NW_OK && *n_dropped == 0)
		f->young_rest_until_mono_ns =
		    connection_mono(f->c) + YOUNG_REST * (connection_mono(f->c) - begun);
	return rc;
}
