/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forgetting: the oldest session goes as a whole, its metadata, verdict and runs, and what is left
 * of its samples. A verdict is worth more than samples and outlives them; but a session's
 * descriptions and results take tens of KiB, and nothing else ever frees them.
 *
 * Only sessions that ended a while ago go, so that nothing on its way still belongs to one, and
 * never the newest nor that with the newest layout, so that ids are not given twice: a reader may
 * remember rows by their layout. The tail must be free of their rows: a blob whose layout is gone
 * could not be read. No row stays there for more than an hour, so that is no reason to keep one for
 * long.
 *
 * Senders may remember a session that is gone. Those that feed it hold it as long as they are
 * connected, and an hour longer, because the box remembers their series for a while; what others
 * say of it comes too late (writer.c).
 */
#include "narrows/err.h"
#include "store/writer.h"

enum { CHUNKS_AT_ONCE = 1000 }; /* so many take some 10 ms, and ten times that from a slow disk */
static const int64_t settled_after_ns = INT64_C(3600000000000);

/* Rows that are not in chunks yet. */
static int
session_is_fresh(struct writer *w, int64_t id, bool *fresh)
{
	sqlite3_stmt *st;
	int rc, step = SQLITE_DONE;

	*fresh = false;
	if ((rc = db_take(&w->stmts, W_LAYOUTS_OF_SESSION, &st, "i", id)) != NW_OK)
		return rc;
	while (!*fresh && (step = sqlite3_step(st)) == SQLITE_ROW)
		*fresh = tail_find(w->tail, sqlite3_column_int64(st, 0)) != NULL;
	db_give(&w->stmts, W_LAYOUTS_OF_SESSION, st);
	return db_code(step);
}

/* The next after *id that closed before a time, and has no rows in blobs from the first one on; 0:
 * none. */
static int
session_next(struct writer *w, int64_t closed_before_wall_ns, int64_t first_blob, int64_t *id)
{
	int64_t settled = writer_now(w) - settled_after_ns;
	sqlite3_stmt *st;
	int rc, step;

	if (closed_before_wall_ns > settled)
		closed_before_wall_ns = settled;
	if ((rc = db_take(&w->stmts, W_SESSION_OLDEST, &st, "iiii", *id, closed_before_wall_ns,
		 first_blob, settled)) != NW_OK)
		return rc;
	step = sqlite3_step(st);
	*id = step == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
	db_give(&w->stmts, W_SESSION_OLDEST, st);
	return db_code(step);
}

int
forget_oldest(struct writer *w, int64_t closed_before_wall_ns, int64_t *id)
{
	/* With the last row the last blob is emptied; its id stays. */
	int64_t first = tail_oldest(w->tail) == NULL ? INT64_MAX : tail_first_id(w->tail);
	bool fresh = false;
	int rc;

	*id = w->forget_after;
	do {
		if ((rc = session_next(w, closed_before_wall_ns, first, id)) != NW_OK || *id == 0)
			return rc;
		rc = session_is_fresh(w, *id, &fresh);
	} while (rc == NW_OK && fresh);
	return rc;
}

bool
forget_waits(struct writer *w)
{
	int64_t id = w->forget_after;

	return tail_oldest(w->tail) != NULL &&
	    session_next(w, INT64_MAX, INT64_MAX, &id) == NW_OK && id != 0;
}

/* Deletes chunks or roll-ups, not more than *n, which is lowered, and takes their bytes off the
 * shelves. */
static int
samples_drop(struct writer *w, int which, int64_t id, int64_t *n)
{
	sqlite3_stmt *st;
	int rc, step;

	if ((rc = db_take(&w->stmts, which, &st, "ii", id, *n)) != NW_OK)
		return rc;
	for (; (step = sqlite3_step(st)) == SQLITE_ROW; --*n)
		w->moved.bytes[sqlite3_column_int(st, 0)] -= sqlite3_column_int64(st, 1);
	db_give(&w->stmts, which, st);
	return db_code(step);
}

/* Of very many samples a part at first: then it is still the oldest one, and its turn comes
 * again. */
static int
session_drop(struct writer *w, int64_t id)
{
	int64_t n = CHUNKS_AT_ONCE, pinned = 0;
	int rc, which;

	/* Another process may have pinned it since it was found. */
	if ((rc = db_get_int(&w->stmts, W_SESSION_PINNED, id, &pinned)) != NW_OK || pinned != 0)
		return rc == NW_ENOTFOUND ? NW_OK : rc;
	if ((rc = samples_drop(w, W_FORGET_CHUNKS, id, &n)) == NW_OK)
		rc = samples_drop(w, W_FORGET_ROLLUPS, id, &n);
	if (n == 0)
		return rc;
	for (which = W_FORGET_LAYOUTS; rc == NW_OK && which <= W_FORGET_SESSION; which++)
		rc = db_run(&w->stmts, which, "i", id);
	if (rc == NW_OK)
		w->moved.forgotten_sessions += (uint64_t)sqlite3_changes(w->db);
	return rc;
}

int
forget_session(struct writer *w, int64_t id)
{
	int rc = writer_begin(w);

	if (rc != NW_OK || (rc = writer_end(w, session_drop(w, id))) == NW_OK)
		return rc;
	if (rc != NW_ECORRUPT && rc != NW_ECONFLICT)
		return rc;
	w->forget_after = id; /* it stays, for verify to name */
	w->trouble[0] = '\0';
	return NW_OK;
}
