/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "narrows/err.h"
#include "store/write/writer.h"

enum {
	CHECKPOINT_PAGES = 2000, /* so many pages in the WAL start a checkpoint */
	VACUUM_PAGES = 512       /* pages given back per step */
};

/*
 * Gives free pages back, a step at a time. Free pages are used again, so a working store keeps as
 * many as the tail may need; an idle store, or a store that deleted more, gives pages back until
 * free pages are a small part of the file.
 */
static int
shrink(struct writer *w, bool idle)
{
	int64_t n_free = 0, n_pages = 0, page_bytes = 0, n_left = 0, n_give = VACUUM_PAGES;
	char step[64];
	int rc;

	if ((rc = db_int(w->c.db, "PRAGMA freelist_count", &n_free)) != NW_OK ||
	    (rc = db_int(w->c.db, "PRAGMA page_count", &n_pages)) != NW_OK ||
	    (rc = db_int(w->c.db, "PRAGMA page_size", &page_bytes)) != NW_OK)
		return rc;
	if (!ceiling_is_exceeded(&w->ceiling)) {
		w->pages_spare = n_free * 8 > n_pages;
		w->c.pages_freed = w->pages_spare &&
		    (idle ||
			n_free * page_bytes >
			    (int64_t)(w->k.limits.tail_bytes + w->k.limits.tail_bytes / 4));
		if (!w->c.pages_freed)
			return WRITER_DONE;
	}
	if (w->ceiling.max_bytes > 0 &&
	    (int64_t)w->ceiling.wal_max_bytes / 16 / page_bytes < n_give)
		n_give = (int64_t)w->ceiling.wal_max_bytes / 16 / page_bytes;
	if ((rc = ceiling_make_room(&w->ceiling, (size_t)(3 * n_give * page_bytes))) != NW_OK)
		return rc;
	snprintf(step, sizeof(step), "PRAGMA incremental_vacuum(%lld)", (long long)n_give);
	if ((rc = db_exec(w->c.db, step)) != NW_OK ||
	    (rc = db_int(w->c.db, "PRAGMA freelist_count", &n_left)) != NW_OK)
		return rc;
	return n_left < n_free ? WRITER_MORE : WRITER_DONE;
}

static void
checkpoint(struct writer *w, bool idle)
{
	const struct ceiling *c = &w->ceiling;
	int enough = CHECKPOINT_PAGES;

	if (c->max_bytes > 0 && (int64_t)c->wal_max_bytes / 3 < enough * c->page_bytes)
		enough = (int)((int64_t)c->wal_max_bytes / 3 / c->page_bytes);
	connection_checkpoint(&w->c, idle ? 1 : enough);
}

/* Finds out whether the file can be written again, by writing the present version number. */
static int
probe(struct writer *w)
{
	char stamp[64];
	int rc;

	snprintf(stamp, sizeof(stamp), "PRAGMA user_version = %d", STORE_SCHEMA_VERSION);
	if ((rc = connection_begin(&w->c)) == NW_OK)
		rc = connection_end(&w->c, db_exec(w->c.db, stamp));
	return rc;
}

/* Merges rows of events. Under a ceiling too low for a transaction of such rows, the rows stay. */
static int
merge_events(struct writer *w, const struct event_due *due)
{
	int rc = ceiling_make_room(&w->ceiling, due->bytes);

	if (rc == NW_OK)
		rc = event_writer_merge(&w->events, due);
	if (rc == NW_ETOOBIG) {
		event_writer_skip(&w->events);
		w->c.trouble[0] = '\0';
		rc = NW_OK;
	}
	return rc == NW_OK ? WRITER_MORE : rc;
}

int
writer_maintain(struct writer *w, bool idle)
{
	struct event_due events;
	bool due;
	int rc;

	if (w->c.trouble[0] != '\0' && idle && (rc = probe(w)) != NW_OK)
		return rc;
	if (w->mover.stale && (rc = mover_load(&w->mover)) != NW_OK)
		return rc;
	if ((rc = ceiling_step(&w->ceiling)) < 0 ||
	    (rc = mover_look(&w->mover, idle, &due)) != NW_OK)
		return rc;
	if (due) {
		if ((rc = ceiling_make_room_to_move(&w->ceiling)) == NW_OK)
			rc = mover_step(&w->mover);
		checkpoint(w, idle);
		return rc == NW_OK ? WRITER_MORE : rc;
	}
	if ((rc = event_writer_find(&w->events, &events)) != NW_OK)
		return rc;
	if (events.found)
		return merge_events(w, &events);
	rc = expire_step(&w->expiry);
	checkpoint(w, idle);
	if (rc != WRITER_DONE)
		return rc;
	return w->c.pages_freed || (idle && w->pages_spare) ? shrink(w, idle) : WRITER_DONE;
}
