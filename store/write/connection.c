/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/write/connection.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "store/ground/disk.h"
#include "store/ground/lock.h"
#include "store/write/labels.h"
#include "store/write/migrate.h"
#include "store/write/writesql.h"

enum {
	WAL_PAGES_MAX = 32000,
	WAL_KEPT_BYTES = 16 << 20,
	BUSY_TIMEOUT_MS = 5000,
	RESTART_TIMEOUT_MS = 100
};

/* --- opening --- */

static int
on_wal(void *arg, sqlite3 *db, const char *name, int n_pages)
{
	struct connection *c = arg;

	(void)db, (void)name;
	/* the checkpoint comes later, after the completions */
	c->wal_pages = c->wal_frames = n_pages;
	c->pages_most += n_pages;
	return SQLITE_OK;
}

/* SQLite answers with the mode of the file, which is not WAL where processes cannot share
 * memory. */
static int
wal_mode(sqlite3 *db)
{
	sqlite3_stmt *st = NULL;
	int rc;

	if ((rc = sqlite3_prepare_v2(db, "PRAGMA journal_mode = WAL", -1, &st, NULL)) ==
		SQLITE_OK &&
	    (rc = sqlite3_step(st)) == SQLITE_ROW &&
	    strcmp((const char *)sqlite3_column_text(st, 0), "wal") != 0)
		rc = SQLITE_CANTOPEN;
	sqlite3_finalize(st);
	return db_code(rc);
}

static int
db_open(struct connection *c, const char *path, const struct store_opts *opts,
    char why[STORE_WHY_BYTES])
{
	char pragmas[256];
	int rc;

	if (sqlite3_open_v2(path, &c->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
		disk_name()) != SQLITE_OK) {
		snprintf(why, STORE_WHY_BYTES, "%s",
		    c->db == NULL ? "out of memory" : sqlite3_errmsg(c->db));
		return c->db == NULL ? NW_ENOMEM : NW_EIO;
	}
	sqlite3_extended_result_codes(c->db, 1);
	sqlite3_busy_timeout(c->db, BUSY_TIMEOUT_MS);
	if ((rc = migrate_open(c->db, opts, why)) != NW_OK)
		return rc;
	/* Deleted rows are of no more secret than kept ones: overwriting them with zeros would
	 * double the writing. */
	snprintf(pragmas, sizeof(pragmas),
	    "PRAGMA synchronous = %s; PRAGMA foreign_keys = ON; PRAGMA secure_delete = OFF;"
	    " PRAGMA cache_size = -16384; PRAGMA journal_size_limit = %d",
	    opts->sync_full ? "FULL" : "NORMAL", WAL_KEPT_BYTES);
	if ((rc = wal_mode(c->db)) != NW_OK || (rc = db_exec(c->db, pragmas)) != NW_OK) {
		db_why(c->db, why, STORE_WHY_BYTES);
		return rc;
	}
	sqlite3_wal_hook(c->db, on_wal, c);
	return NW_OK;
}

const char *
opened_file_lost(const struct opened_file *f)
{
	struct stat now;

	if (stat(f->path, &now) != 0)
		return errno == ENOENT
		    ? "the file was deleted: put a copy back, and restart the box"
		    : NULL;
	return now.st_dev != f->dev || now.st_ino != f->ino
	    ? "another file has the place of the store: restart the box"
	    : NULL;
}

static int
file_remember(struct opened_file *f, const char *path, char why[STORE_WHY_BYTES])
{
	struct stat now;

	if (stat(path, &now) != 0) {
		snprintf(why, STORE_WHY_BYTES, "%s", strerror(errno));
		return NW_EIO;
	}
	*f = (struct opened_file){ path, now.st_dev, now.st_ino };
	return NW_OK;
}

int
connection_open(struct connection *c, const char *path, const struct store_opts *opts,
    char why[STORE_WHY_BYTES])
{
	int rc;

	c->lock_fd = -1;
	c->wal_pages_max = WAL_PAGES_MAX;
	if ((rc = lock_take(path, &c->lock_fd, why)) != NW_OK ||
	    (rc = db_open(c, path, opts, why)) != NW_OK ||
	    (rc = file_remember(&c->file, path, why)) != NW_OK)
		return rc;
	db_stmts_init(&c->stmts, c->db, write_sql, W_STMTS);
	return NW_OK;
}

void
connection_close(struct connection *c)
{
	db_stmts_clear(&c->stmts);
	sqlite3_close(c->db);
	sizes_clear(&c->sizes);
	labels_free(c->labels);
	c->labels = NULL;
	if (c->lock_fd != -1)
		close(c->lock_fd);
}

/* --- numbers of the file --- */

int
connection_load_sizes(struct connection *c)
{
	int rc = sizes_load(&c->sizes, &c->stmts);

	return rc == NW_OK ? db_int(c->db, "SELECT value FROM counter WHERE name = 'next_chunk_id'",
				 &c->next_chunk_id)
			   : rc;
}

int
connection_count_result(struct connection *c, int64_t session_id, int sign)
{
	sqlite3_stmt *st;
	int64_t host_id;
	int rc, step;

	if ((rc = db_take(&c->stmts, W_RESULT_SIZES, &st, "i", session_id)) != NW_OK)
		return rc;
	if ((step = sqlite3_step(st)) == SQLITE_ROW) {
		host_id = sqlite3_column_int64(st, 0);
		rc = sizes_change(
		    &c->sizes, host_id, SIZE_TIMELINES, sign * sqlite3_column_int64(st, 1));
		if (rc == NW_OK)
			rc = sizes_change(
			    &c->sizes, host_id, SIZE_DOCUMENTS, sign * sqlite3_column_int64(st, 2));
	}
	db_give(&c->stmts, W_RESULT_SIZES, st);
	return rc == NW_OK ? db_code(step) : rc;
}

/* Inside the transaction of the numbers. */
static int
numbers_write(struct connection *c)
{
	int rc = sizes_write(&c->sizes, &c->stmts);

	return rc == NW_OK && c->chunk_ids
	    ? db_run(&c->stmts, W_CHUNK_SET_NEXT_ID, "i", c->next_chunk_id)
	    : rc;
}

static void
counts_follow(struct connection *c)
{
	int t;

	for (t = 0; t < STORE_TIERS; t++) {
		c->total.rolled_rows[t] += c->counts.rolled_rows[t];
		c->total.expired_rows[t] += c->counts.expired_rows[t];
	}
	c->total.lost_hists += c->counts.lost_hists;
	c->total.lost_chunks += c->counts.lost_chunks;
	c->total.forgotten_sessions += c->counts.forgotten_sessions;
}

/* --- transactions --- */

void
connection_note_trouble(struct connection *c, int rc)
{
	if (db_code(sqlite3_errcode(c->db)) != NW_OK)
		db_why(c->db, c->trouble, sizeof(c->trouble));
	else
		snprintf(c->trouble, sizeof(c->trouble), "%s", nw_strerror(rc));
}

int
connection_begin(struct connection *c)
{
	const char *lost = opened_file_lost(&c->file);
	int rc = NW_OK;

	memset(&c->counts, 0, sizeof(c->counts));
	c->chunk_ids = false;
	if (lost != NULL) {
		snprintf(c->trouble, sizeof(c->trouble), "%s", lost);
		return NW_EIO;
	}
	if (!sqlite3_get_autocommit(c->db)) /* the last ROLLBACK failed */
		rc = db_run(&c->stmts, W_ROLLBACK, "");
	if (rc == NW_OK)
		rc = db_run(&c->stmts, W_BEGIN, "");
	if (rc != NW_OK)
		db_why(c->db, c->trouble, sizeof(c->trouble));
	return rc;
}

int
connection_end(struct connection *c, int rc)
{
	if (rc == NW_OK && (rc = numbers_write(c)) == NW_OK)
		rc = db_run(&c->stmts, W_COMMIT, "");
	if (rc == NW_OK) {
		c->trouble[0] = '\0';
		sizes_commit(&c->sizes);
		counts_follow(c);
		return NW_OK;
	}
	sizes_undo(&c->sizes, 0);
	connection_note_trouble(c, rc);
	if (!sqlite3_get_autocommit(c->db))
		db_run(&c->stmts, W_ROLLBACK, "");
	return rc;
}

/* --- the WAL --- */

bool
connection_restart_wal(struct connection *c, int timeout_ms)
{
	int rc;

	sqlite3_busy_timeout(c->db, timeout_ms);
	rc = sqlite3_wal_checkpoint_v2(c->db, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
	sqlite3_busy_timeout(c->db, BUSY_TIMEOUT_MS);
	if (rc == SQLITE_OK)
		c->wal_frames = c->wal_pages = 0;
	return rc == SQLITE_OK;
}

/* Readers that never pause together keep the WAL from starting over. A big WAL makes the writer
 * wait for the readers, but not often. */
void
connection_checkpoint(struct connection *c, int enough)
{
	if (c->wal_pages < enough)
		return;
	if (c->wal_pages < c->wal_pages_max) {
		sqlite3_wal_checkpoint_v2(c->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	} else if (connection_restart_wal(c, RESTART_TIMEOUT_MS)) {
		c->wal_pages_max = WAL_PAGES_MAX;
	} else {
		c->wal_pages_max *= 2;
	}
	c->wal_pages = 0;
}

int64_t
connection_now(const struct connection *c)
{
	return c->test_wall_ns != 0 ? c->test_wall_ns : nw_wall_ns();
}

int64_t
connection_mono(const struct connection *c)
{
	return c->test_wall_ns != 0 ? c->test_mono_ns : nw_mono_ns();
}
