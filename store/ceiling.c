/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/ceiling.h"

#include <stdio.h>

#include "narrows/err.h"

/* A reader that stays for long, as for a big export, keeps the WAL growing: in a big store commits
 * must go on meanwhile. */
static const uint64_t wal_max_bytes = UINT64_C(4) << 30;
enum {
	WAL_FRAME_HEAD_BYTES = 24,
	SPARE_BYTES = 64 << 10, /* the index of the WAL, and other files beside the store */
	HEADROOM_SHARE = 16,
	SAMPLES_SHARE = 4,
	RESTART_WAIT_MS = 100
};

int
ceiling_init(struct ceiling *c, struct compactor *k, struct mover *m, struct forgetter *f,
    uint64_t max_bytes)
{
	char pragma[64];
	int64_t got;
	size_t share;
	int rc, t;

	c->k = k;
	c->mover = m;
	c->forgetter = f;
	if ((c->max_bytes = max_bytes) == 0)
		return NW_OK;
	if ((rc = db_int(k->c->db, "PRAGMA page_size", &c->page_bytes)) != NW_OK)
		return rc;
	share = (size_t)(max_bytes / 4 < wal_max_bytes ? max_bytes / 4 : wal_max_bytes);
	c->wal_max_bytes = share;
	c->group_max_bytes = share / 3;
	/* The size of a transaction is an estimate: a sixteenth is for larger transactions. */
	c->pages_max = (int64_t)(max_bytes - share - max_bytes / 16 - SPARE_BYTES) / c->page_bytes;
	if (k->limits.tail_bytes > share / 4)
		k->limits.tail_bytes = share / 4;
	if (k->limits.step_values > share / 32)
		k->limits.step_values = share / 32;
	for (t = 0; t < STORE_TIERS; t++)
		c->at[t] = age_cursor_first;
	snprintf(pragma, sizeof(pragma), "PRAGMA max_page_count = %lld", (long long)c->pages_max);
	return db_int(k->c->db, pragma, &got);
}

static int
pages(const struct ceiling *c, int64_t *n_pages, int64_t *n_live)
{
	int64_t n_free = 0;
	int rc;

	if ((rc = db_int(c->k->c->db, "PRAGMA page_count", n_pages)) == NW_OK)
		rc = db_int(c->k->c->db, "PRAGMA freelist_count", &n_free);
	*n_live = *n_pages - n_free;
	return rc;
}

bool
ceiling_is_exceeded(const struct ceiling *c)
{
	int64_t n_pages, n_live;

	return c->max_bytes > 0 && pages(c, &n_pages, &n_live) == NW_OK && n_pages > c->pages_max;
}

/* --- the next chunk to go --- */

/* From the cursor on, then from the start: rows may have come late, or a session been unpinned. */
static int
oldest_of(struct ceiling *c, int tier, struct aged *out)
{
	struct age_cursor *at = &c->at[tier];
	bool again = at->t1 == age_cursor_first.t1;
	int rc;

	for (;;) {
		if ((rc = rollup_oldest(c->k->c, tier, INT64_MAX, at, out)) != NW_OK ||
		    out->id != 0)
			return rc;
		if (!out->more && again)
			return NW_OK;
		if (!out->more) {
			*at = age_cursor_first;
			again = true;
		}
	}
}

/* Finds the oldest chunk of the first tier that holds at least as much as all tiers behind and has
 * a chunk that may go; else of any tier. AGED_NONE: no chunk may go. */
static int
next_find(struct ceiling *c, struct aged *out)
{
	const struct tier_sizes *s = &c->k->c->sizes;
	int64_t behind, bytes;
	int t, k, rc;

	for (t = 0; t < 2 * STORE_TIERS; t++) {
		bytes = s->bytes[t % STORE_TIERS] + s->change.bytes[t % STORE_TIERS];
		for (behind = 0, k = t + 1; k < STORE_TIERS; k++)
			behind += s->bytes[k] + s->change.bytes[k];
		if (t < STORE_TIERS && bytes < behind)
			continue;
		if ((rc = oldest_of(c, t % STORE_TIERS, out)) != NW_OK || out->id != 0)
			return rc;
	}
	return NW_OK;
}

static bool
samples_are_few(const struct ceiling *c, int64_t n_live)
{
	int64_t bytes = (int64_t)tail_bytes(c->mover->tail);
	int t;

	for (t = 0; t < STORE_TIERS; t++)
		bytes += c->k->c->sizes.bytes[t];
	return bytes < n_live * c->page_bytes / SAMPLES_SHARE;
}

/* WRITER_DONE: there is none. */
static int
forget_one(struct ceiling *c)
{
	int64_t id;
	int rc;

	if ((rc = forget_oldest(c->forgetter, INT64_MAX, &id)) != NW_OK || id == 0)
		return rc == NW_OK ? WRITER_DONE : rc;
	rc = forget_session(c->forgetter, id);
	return rc == NW_OK ? WRITER_MORE : rc;
}

/* Pages of the file for so many bytes. */
static int64_t
pages_needed(const struct ceiling *c, size_t bytes)
{
	return (int64_t)(bytes + bytes / 16) / c->page_bytes + 16;
}

/* Is there room to move the tail into chunks before the tail leaves? Noise does not get smaller
 * there. */
static bool
tail_fits(const struct ceiling *c, int64_t n_live)
{
	return n_live + pages_needed(c, tail_bytes(c->mover->tail)) <= c->pages_max;
}

/* Frees a transaction's worth. WRITER_DONE: nothing more may go. */
static int
free_some(struct ceiling *c, int64_t n_pages)
{
	int64_t had, has, all;
	struct aged what;
	int rc;

	if ((rc = pages(c, &all, &had)) != NW_OK)
		return rc;
	if (samples_are_few(c, had) && (rc = forget_one(c)) != WRITER_DONE)
		return rc;
	if ((rc = next_find(c, &what)) != NW_OK)
		return rc;
	if (what.id == 0)
		return (rc = forget_one(c)) == WRITER_DONE && forget_waits(c->forgetter) &&
			tail_fits(c, had)
		    ? mover_step_oldest(c->mover)
		    : rc;
	if ((rc = connection_begin(c->k->c)) != NW_OK)
		return rc;
	c->k->values_encoded = 0;
	do {
		if ((rc = rollup_demote(c->k, &what)) == NW_ECORRUPT)
			/* an unreadable chunk goes before good data */
			rc = rollup_discard(c->k, &what);
		if (rc == NW_OK)
			rc = pages(c, &all, &has);
	} while (rc == NW_OK && had - has < n_pages &&
	    c->k->values_encoded < c->k->limits.step_values &&
	    (rc = next_find(c, &what)) == NW_OK && what.id != 0);
	rc = connection_end(c->k->c, rc);
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
wal_has_room(struct ceiling *c, size_t bytes)
{
	size_t need = wal_frames_needed(c, bytes), max = wal_frames_max(c);

	return (size_t)c->k->c->wal_frames + need <= max ||
	    (connection_restart_wal(c->k->c, RESTART_WAIT_MS) && need <= max);
}

/* Makes room for a transaction that writes so many bytes and leaves so many free. */
static int
room_make(struct ceiling *c, size_t bytes, size_t spare)
{
	int64_t n_pages, n_live, need;
	int rc;

	if (c->max_bytes == 0)
		return NW_OK;
	if (wal_frames_needed(c, bytes) > wal_frames_max(c)) {
		snprintf(c->k->c->trouble, sizeof(c->k->c->trouble),
		    "size ceiling: %zu bytes at once are too many for it", bytes);
		return NW_ETOOBIG;
	}
	need = pages_needed(c, bytes + spare);
	for (;;) {
		if (!wal_has_room(c, bytes)) {
			snprintf(c->k->c->trouble, sizeof(c->k->c->trouble),
			    "size ceiling: a long read keeps the log from starting over");
			return NW_EIO;
		}
		if ((rc = pages(c, &n_pages, &n_live)) != NW_OK || n_live + need <= c->pages_max)
			return rc;
		if ((rc = free_some(c, n_live + need - c->pages_max)) < 0)
			return rc;
		if (rc == WRITER_DONE) {
			snprintf(c->k->c->trouble, sizeof(c->k->c->trouble),
			    "size ceiling: %.3g MiB are full, and nothing in them may go",
			    (double)c->max_bytes / (1 << 20));
			return NW_EIO;
		}
		c->k->c->pages_freed = true;
	}
}

int
ceiling_make_room(struct ceiling *c, size_t bytes)
{
	return room_make(c, bytes, 0);
}

int
ceiling_make_room_to_commit(struct ceiling *c, size_t bytes)
{
	return room_make(c, bytes, tail_bytes(c->mover->tail) + bytes);
}

int
ceiling_make_room_to_move(struct ceiling *c)
{
	size_t bytes = tail_bytes(c->mover->tail), most = c->wal_max_bytes / 2;

	if (bytes < c->k->limits.tail_bytes)
		bytes = c->k->limits.tail_bytes;
	return room_make(c, bytes < most ? bytes : most, 0);
}

int
ceiling_step(struct ceiling *c)
{
	int64_t n_pages, n_live, headroom = c->pages_max / HEADROOM_SHARE;
	int rc;

	if (c->max_bytes == 0)
		return WRITER_DONE;
	if ((rc = pages(c, &n_pages, &n_live)) != NW_OK || n_live + headroom <= c->pages_max)
		return rc == NW_OK ? WRITER_DONE : rc;
	if (!wal_has_room(c, c->k->limits.step_values * sizeof(double)))
		return WRITER_DONE; /* commits report a lasting shortage */
	return free_some(c, n_live + headroom - c->pages_max);
}
