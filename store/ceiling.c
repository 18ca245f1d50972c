/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The size ceiling. The file may have so many pages that WAL and file together stay below: SQLite
 * itself refuses more
 * (max_page_count), and no transaction begins for which the WAL has no room. Long before, what is oldest goes, so that
 * a working store has free pages to write on.
 *
 * A commit leaves room for the tail to be moved into chunks: else the store would be full of what
 * is in nobody's way.
 *
 * Rows go first, as long as they are half of what there is: if they went while there is one, years
 * of buckets would leave no space for the hour that just was. Then buckets of 10 s, by the same
 * rule, and so on. When all samples are less than a quarter of what there is, old sessions go
 * instead: else their descriptions and verdicts would leave none. Where only the tail holds those,
 * it is moved out.
 */
#include <stdio.h>
#include <string.h>

#include "narrows/err.h"
#include "store/writer.h"

/* A reader that stays for long, a big export, keeps the WAL growing: that must not stop commits in
 * a big store. */
static const uint64_t wal_max_bytes = UINT64_C(4) << 30;
enum {
	WAL_FRAME_HEAD_BYTES = 24,
	SPARE_BYTES = 64 << 10, /* the index of the WAL, and what else stands beside the file */
	HEADROOM_SHARE = 16,
	SAMPLES_SHARE = 4,
	RESTART_WAIT_MS = 100
};
const struct age_cursor age_cursor_first = { INT64_MIN, 0 };

int
ceiling_set(struct writer *w, uint64_t max_bytes)
{
	struct ceiling *c = &w->ceiling;
	char pragma[64];
	int64_t got;
	size_t share;
	int rc, t;

	if ((c->max_bytes = max_bytes) == 0)
		return NW_OK;
	if ((rc = db_int(w->db, "PRAGMA page_size", &c->page_bytes)) != NW_OK)
		return rc;
	share = (size_t)(max_bytes / 4 < wal_max_bytes ? max_bytes / 4 : wal_max_bytes);
	c->wal_max_bytes = share;
	c->group_max_bytes = share / 3;
	/* What a transaction writes is estimated: a sixteenth is for those that write more. */
	c->pages_max = (int64_t)(max_bytes - share - max_bytes / 16 - SPARE_BYTES) / c->page_bytes;
	if (w->limits.tail_bytes > share / 4)
		w->limits.tail_bytes = share / 4;
	if (w->limits.step_values > share / 32)
		w->limits.step_values = share / 32;
	for (t = 0; t < STORE_TIERS; t++)
		c->at[t] = age_cursor_first;
	snprintf(pragma, sizeof(pragma), "PRAGMA max_page_count = %lld", (long long)c->pages_max);
	return db_int(w->db, pragma, &got);
}

static int
pages(struct writer *w, int64_t *n_pages, int64_t *n_live)
{
	int64_t n_free = 0;
	int rc;

	if ((rc = db_int(w->db, "PRAGMA page_count", n_pages)) == NW_OK)
		rc = db_int(w->db, "PRAGMA freelist_count", &n_free);
	*n_live = *n_pages - n_free;
	return rc;
}

bool
ceiling_is_exceeded(struct writer *w)
{
	int64_t n_pages, n_live;

	return w->ceiling.max_bytes > 0 && pages(w, &n_pages, &n_live) == NW_OK &&
	    n_pages > w->ceiling.pages_max;
}

/* --- what goes next --- */

/* From the cursor on, then from the start: rows may have come late, or a session been unpinned. */
static int
oldest_of(struct writer *w, int tier, struct aged *out)
{
	struct age_cursor *at = &w->ceiling.at[tier];
	bool again = at->t1 == age_cursor_first.t1;
	int rc;

	for (;;) {
		if ((rc = rollup_oldest(w, tier, INT64_MAX, at, out)) != NW_OK || out->id != 0)
			return rc;
		if (!out->more && again)
			return NW_OK;
		if (!out->more) {
			*at = age_cursor_first;
			again = true;
		}
	}
}

/* The first tier that is half of itself and all behind it and has something that may go; else any.
 * id 0: none. */
static int
next_find(struct writer *w, struct aged *out)
{
	int64_t behind, bytes;
	int t, k, rc;

	for (t = 0; t < 2 * STORE_TIERS; t++) {
		bytes = w->tier_bytes[t % STORE_TIERS] + w->moved.bytes[t % STORE_TIERS];
		for (behind = 0, k = t + 1; k < STORE_TIERS; k++)
			behind += w->tier_bytes[k] + w->moved.bytes[k];
		if (t < STORE_TIERS && bytes < behind)
			continue;
		if ((rc = oldest_of(w, t % STORE_TIERS, out)) != NW_OK || out->id != 0)
			return rc;
	}
	return NW_OK;
}

static bool
samples_are_few(const struct writer *w, int64_t n_live)
{
	int64_t bytes = (int64_t)tail_bytes(w->tail);
	int t;

	for (t = 0; t < STORE_TIERS; t++)
		bytes += w->tier_bytes[t];
	return bytes < n_live * w->ceiling.page_bytes / SAMPLES_SHARE;
}

/* WRITER_DONE: there is none. */
static int
forget_one(struct writer *w)
{
	int64_t id;
	int rc;

	if ((rc = forget_oldest(w, INT64_MAX, &id)) != NW_OK || id == 0)
		return rc == NW_OK ? WRITER_DONE : rc;
	rc = forget_session(w, id);
	return rc == NW_OK ? WRITER_MORE : rc;
}

/* Of the file, for so many bytes that are written. */
static int64_t
pages_needed(const struct ceiling *c, size_t bytes)
{
	return (int64_t)(bytes + bytes / 16) / c->page_bytes + 16;
}

/* Into chunks, before it leaves: noise does not get smaller there. */
static bool
tail_fits(const struct writer *w, int64_t n_live)
{
	return n_live + pages_needed(&w->ceiling, tail_bytes(w->tail)) <= w->ceiling.pages_max;
}

/* One transaction's worth. WRITER_DONE: nothing is left that may go. */
static int
free_some(struct writer *w, int64_t n_pages)
{
	int64_t had, has, all;
	struct aged what;
	int rc;

	if ((rc = pages(w, &all, &had)) != NW_OK)
		return rc;
	if (samples_are_few(w, had) && (rc = forget_one(w)) != WRITER_DONE)
		return rc;
	if ((rc = next_find(w, &what)) != NW_OK)
		return rc;
	if (what.id == 0)
		return (rc = forget_one(w)) == WRITER_DONE && forget_waits(w) && tail_fits(w, had)
		    ? writer_move_oldest(w)
		    : rc;
	if ((rc = writer_begin(w)) != NW_OK)
		return rc;
	w->values_encoded = 0;
	do {
		if ((rc = rollup_demote(w, &what)) == NW_ECORRUPT)
			/* no use in keeping what cannot be read while good data goes */
			rc = rollup_discard(w, &what);
		if (rc == NW_OK)
			rc = pages(w, &all, &has);
	} while (rc == NW_OK && had - has < n_pages && w->values_encoded < w->limits.step_values &&
	    (rc = next_find(w, &what)) == NW_OK && what.id != 0);
	rc = writer_end(w, rc);
	return rc == NW_OK ? WRITER_MORE : rc;
}

/* --- room --- */

static size_t
wal_frames_needed(const struct ceiling *c, size_t bytes)
{
	return (bytes + bytes / 4) / (size_t)c->page_bytes + 64;
}

static size_t
wal_frames_max(const struct ceiling *c)
{
	return c->wal_max_bytes / ((size_t)c->page_bytes + WAL_FRAME_HEAD_BYTES);
}

static bool
wal_has_room(struct writer *w, size_t bytes)
{
	size_t need = wal_frames_needed(&w->ceiling, bytes), max = wal_frames_max(&w->ceiling);

	return (size_t)w->wal_frames + need <= max ||
	    (writer_restart_wal(w, RESTART_WAIT_MS) && need <= max);
}

/* For a transaction that writes so many bytes and leaves so many free. */
static int
room_make(struct writer *w, size_t bytes, size_t spare)
{
	struct ceiling *c = &w->ceiling;
	int64_t n_pages, n_live, need;
	int rc;

	if (c->max_bytes == 0)
		return NW_OK;
	if (wal_frames_needed(c, bytes) > wal_frames_max(c)) {
		snprintf(w->trouble, sizeof(w->trouble),
		    "size ceiling: %zu bytes at once are too many for it", bytes);
		return NW_ETOOBIG;
	}
	need = pages_needed(c, bytes + spare);
	for (;;) {
		if (!wal_has_room(w, bytes)) {
			snprintf(w->trouble, sizeof(w->trouble),
			    "size ceiling: a long read keeps the log from starting over");
			return NW_EIO;
		}
		if ((rc = pages(w, &n_pages, &n_live)) != NW_OK || n_live + need <= c->pages_max)
			return rc;
		if ((rc = free_some(w, n_live + need - c->pages_max)) < 0)
			return rc;
		if (rc == WRITER_DONE) {
			snprintf(w->trouble, sizeof(w->trouble),
			    "size ceiling: %.3g MiB are full, and nothing in them may go",
			    (double)c->max_bytes / (1 << 20));
			return NW_EIO;
		}
		w->pages_freed = true;
	}
}

int
ceiling_make_room(struct writer *w, size_t bytes)
{
	return room_make(w, bytes, 0);
}

int
ceiling_make_room_to_commit(struct writer *w, size_t bytes)
{
	return room_make(w, bytes, tail_bytes(w->tail) + bytes);
}

int
ceiling_make_room_to_move(struct writer *w)
{
	size_t bytes = tail_bytes(w->tail), most = w->ceiling.wal_max_bytes / 2;

	if (bytes < w->limits.tail_bytes)
		bytes = w->limits.tail_bytes;
	return room_make(w, bytes < most ? bytes : most, 0);
}

int
ceiling_step(struct writer *w)
{
	struct ceiling *c = &w->ceiling;
	int64_t n_pages, n_live, headroom = c->pages_max / HEADROOM_SHARE;
	int rc;

	if (c->max_bytes == 0)
		return WRITER_DONE;
	if ((rc = pages(w, &n_pages, &n_live)) != NW_OK || n_live + headroom <= c->pages_max)
		return rc == NW_OK ? WRITER_DONE : rc;
	if (!wal_has_room(w, w->limits.step_values * sizeof(double)))
		return WRITER_DONE; /* commits will say so if it lasts */
	return free_some(w, n_live + headroom - c->pages_max);
}
