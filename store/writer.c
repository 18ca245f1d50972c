/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "narrows/err.h"
#include "store/codec/codec_hash.h"
#include "store/lock.h"
#include "store/schema.h"

enum {
	CHECKPOINT_PAGES = 2000, /* WAL pages after which they go into the file */
	WAL_PAGES_MAX = 16 * CHECKPOINT_PAGES,
	WAL_KEPT_BYTES = 16 << 20,
	VACUUM_PAGES = 512, /* given back per step */
	BUSY_TIMEOUT_MS = 5000,
	RESTART_TIMEOUT_MS = 100
};

/* no row is in the tail for twice that: forget.c counts on it */
static const int64_t tail_stay_ns = INT64_C(1800000000000);

const struct writer_limits writer_limits_default = {
	.chunk_rows = 1024,
	.tail_bytes = 16 << 20,
	.step_values = 256 << 10,
};

/* Of metadata m and a stretch of time c: does no pinned session need it, be it its own or its
 * hosts' in its time? */
#define UNPINNED                                                                              \
	"NOT EXISTS (SELECT 1 FROM session p WHERE p.pinned AND (p.id = m.session_id OR "     \
	"(m.session_id IS NULL"                                                               \
	" AND p.opened_ns <= c.t1_ns AND coalesce(p.closed_ns, c.t0_ns) >= c.t0_ns"           \
	" AND EXISTS (SELECT 1 FROM xsp_session x WHERE x.session_id = p.id AND x.host_id = " \
	"m.host_id))))"
#define OLDEST(table, index)                                                                   \
	"SELECT c.id, c.t1_ns, c.layout_id, coalesce(m.first_ns, 0) < ?3 AND " UNPINNED        \
	" FROM " table " c INDEXED BY " index                                                  \
	" CROSS JOIN layout l ON l.id = c.layout_id CROSS JOIN metadata m ON m.id = l.meta_id" \
	" WHERE (c.t1_ns, c.id) > (?1, ?2) AND c.t1_ns < ?3"
#define LAYOUTS_OF \
	"(SELECT l.id FROM metadata m JOIN layout l ON l.meta_id = m.id WHERE m.session_id = ?)"
#define OF_KEY "layout_id = ?1 / 4 AND tier = ?1 % 4"
_Static_assert(STORE_TIERS == 4, "the keys of roll-ups");

static const char *const sql[W_STMTS] = {
	[BATCH_HOST] =
	    "INSERT INTO host(id, name, info, first_seen_ns, last_seen_ns) VALUES(?,?,?,?,?)"
	    " ON CONFLICT(id) DO UPDATE SET name = excluded.name, info = excluded.info,"
	    " first_seen_ns = excluded.first_seen_ns, last_seen_ns = excluded.last_seen_ns",
	[BATCH_XSP] =
	    "INSERT INTO xsp_session(id, host_id, session_id, sess_id, peer, software, provider, "
	    "opened_ns,"
	    " closed_ns, docs, samples, rejected, bytes, dropped, end_reason) "
	    "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
	    " ON CONFLICT(id) DO UPDATE SET host_id = excluded.host_id, session_id = "
	    "excluded.session_id,"
	    " sess_id = excluded.sess_id, peer = excluded.peer, software = excluded.software,"
	    " provider = excluded.provider, opened_ns = excluded.opened_ns, closed_ns = "
	    "excluded.closed_ns,"
	    " docs = excluded.docs, samples = excluded.samples, rejected = excluded.rejected, "
	    "bytes = excluded.bytes,"
	    " dropped = excluded.dropped, end_reason = excluded.end_reason",
	[BATCH_SESSION] =
	    "INSERT INTO session(id, task_id, program, opened_ns, closed_ns, last_data_ns)"
	    " VALUES(?,?,?,?,?,?) ON CONFLICT(id) DO UPDATE SET task_id = excluded.task_id, "
	    "program = excluded.program,"
	    " opened_ns = excluded.opened_ns, closed_ns = excluded.closed_ns, last_data_ns = "
	    "excluded.last_data_ns",
	[BATCH_META] = "INSERT INTO metadata(id, session_id, host_id, xsp_id, mid, pid, "
		       "event_type, subject, params,"
		       " first_ns, raw) VALUES(?,?,?,?,?,?,?,?,?,?,?)",
	[BATCH_LAYOUT] = "INSERT INTO layout(id, meta_id, fields, n_fields) VALUES(?,?,?,?)",
	[BATCH_RUN] =
	    "INSERT INTO run(id, session_id, kind, started_ns, took_ns, version, outcome) "
	    "VALUES(?,?,?,?,?,?,?)"
	    " ON CONFLICT(id) DO UPDATE SET session_id = excluded.session_id, kind = excluded.kind,"
	    " started_ns = excluded.started_ns, took_ns = excluded.took_ns, version = "
	    "excluded.version,"
	    " outcome = excluded.outcome",
	[BATCH_RESULT] =
	    "INSERT OR REPLACE INTO result(session_id, run_id, route, program, stage, sentence, "
	    "bytes,"
	    " bytes_per_s, start_ns, duration_ns, document) VALUES(?,?,?,?,?,?,?,?,?,?,?)",
	[BATCH_MERGE_META] = "UPDATE metadata SET session_id = ?2 WHERE session_id = ?1",
	[BATCH_MERGE_XSP] = "UPDATE xsp_session SET session_id = ?2 WHERE session_id = ?1",
	[BATCH_MERGE_RUN] = "UPDATE run SET session_id = ?2 WHERE session_id = ?1",
	[BATCH_MERGE_RESULT] = "DELETE FROM result WHERE session_id = ?1",
	[BATCH_MERGE_PIN] = "UPDATE session SET pinned = 1 WHERE id = ?2 AND EXISTS"
			    " (SELECT 1 FROM session p WHERE p.id = ?1 AND p.pinned)",
	[BATCH_MERGE_SESSION] = "DELETE FROM session WHERE id = ?1",
	[BATCH_PROVIDER] =
	    "INSERT INTO provider(id, stored_seq) VALUES(?,?)"
	    " ON CONFLICT(id) DO UPDATE SET stored_seq = max(stored_seq, excluded.stored_seq)",
	[W_BEGIN] = "BEGIN IMMEDIATE",
	[W_COMMIT] = "COMMIT",
	[W_ROLLBACK] = "ROLLBACK",
	[W_SAVE] = "SAVEPOINT batch",
	[W_KEEP] = "RELEASE batch",
	[W_UNDO] = "ROLLBACK TO batch",
	[W_LAYOUT_FIELDS] = "SELECT n_fields FROM layout WHERE id = ?",
	[W_LAYOUT_NAMES] = "SELECT coalesce(m.event_type, '') || ' ' || l.fields FROM layout l "
			   "JOIN metadata m ON m.id = l.meta_id"
			   " WHERE l.id = ?",
	[W_LAYOUT_TAIL_AFTER] = "SELECT tail_after FROM layout WHERE id = ?",
	[W_LAYOUT_MOVED] = "UPDATE layout SET tail_after = ?2 WHERE id = ?1",
	[W_LAYOUTS_OF_SESSION] =
	    "SELECT l.id FROM metadata m JOIN layout l ON l.meta_id = m.id WHERE m.session_id = ?",
	[W_TAIL_ADD] = "INSERT INTO tail(id, rows, sum) VALUES(?,?,?)",
	[W_TAIL_ALL] = "SELECT id, rows FROM tail ORDER BY id",
	[W_TAIL_TRIM] = "DELETE FROM tail WHERE id < ?",
	[W_TAIL_EMPTY] = "UPDATE tail SET rows = x'', sum = NULL WHERE id = ?",
	[W_CHUNK_BEFORE] = "SELECT id, t0_ns, t1_ns FROM chunk WHERE layout_id = ? AND t0_ns <= ?"
			   " ORDER BY t0_ns DESC, t1_ns DESC LIMIT 1",
	[W_CHUNK_AFTER] = "SELECT id, t0_ns, t1_ns FROM chunk WHERE layout_id = ? AND t0_ns > ? "
			  "ORDER BY t0_ns, t1_ns LIMIT 1",
	[W_CHUNK_NEWEST] = "SELECT id, n_rows FROM chunk WHERE layout_id = ? ORDER BY t0_ns DESC, "
			   "t1_ns DESC LIMIT ?",
	[W_CHUNK_DATA] = "SELECT data FROM chunk WHERE id = ?",
	[W_CHUNK_ADD] = "INSERT INTO chunk(layout_id, t0_ns, t1_ns, n_rows, last, data, id) "
			"VALUES(?,?,?,?,?,?,?)",
	[W_CHUNK_DROP] = "DELETE FROM chunk WHERE id = ? RETURNING length(data)",
	[W_ROLLUP_BEFORE] = "SELECT id, t0_ns, t1_ns FROM rollup WHERE " OF_KEY " AND t0_ns <= ?2"
			    " ORDER BY t0_ns DESC, t1_ns DESC LIMIT 1",
	[W_ROLLUP_AFTER] = "SELECT id, t0_ns, t1_ns FROM rollup WHERE " OF_KEY
			   " AND t0_ns > ?2 ORDER BY t0_ns, t1_ns LIMIT 1",
	[W_ROLLUP_NEWEST] = "SELECT id, n_rows FROM rollup WHERE " OF_KEY
			    " ORDER BY t0_ns DESC, t1_ns DESC LIMIT ?2",
	[W_ROLLUP_DATA] = "SELECT data FROM rollup WHERE id = ?",
	[W_ROLLUP_ADD] = "INSERT INTO rollup(layout_id, tier, t0_ns, t1_ns, n_rows, data) "
			 "VALUES(?1 / 4, ?1 % 4, ?2,?3,?4,?5)",
	[W_ROLLUP_DROP] = "DELETE FROM rollup WHERE id = ? RETURNING length(data)",
	[W_CHUNK_OLDEST] = OLDEST("chunk", "chunk_by_age") " ORDER BY c.t1_ns, c.id",
	[W_ROLLUP_OLDEST] =
	    OLDEST("rollup", "rollup_by_age") " AND c.tier = ?4 ORDER BY c.t1_ns, c.id",
	[W_SHELF_BYTES] = "SELECT bytes FROM shelf WHERE tier = ?",
	[W_SHELF_CHANGE] = "UPDATE shelf SET bytes = bytes + ?2 WHERE tier = ?1",
	[W_CHUNK_NEXT_ID] = "SELECT next_id FROM shelf WHERE tier = ?",
	[W_CHUNK_SET_NEXT_ID] = "UPDATE shelf SET next_id = ?2 WHERE tier = ?1",
	[W_XSP_ABANDONED] =
	    "UPDATE xsp_session SET end_reason = 'the box ended', closed_ns = "
	    "max(coalesce(opened_ns, 0),"
	    " coalesce((SELECT last_data_ns FROM session s WHERE s.id = session_id),"
	    " (SELECT last_seen_ns FROM host h WHERE h.id = host_id), 0)) WHERE closed_ns IS NULL",
	[W_SESSION_OLDEST] =
	    "SELECT s.id FROM session s WHERE s.id > ?1 AND NOT s.pinned AND s.closed_ns < ?2"
	    " AND s.id < (SELECT max(id) FROM session)"
	    " AND NOT EXISTS (SELECT 1 FROM xsp_session x WHERE x.session_id = s.id AND "
	    "coalesce(x.closed_ns, ?4) >= ?4)"
	    " AND NOT EXISTS (SELECT 1 FROM metadata m JOIN layout l ON l.meta_id = m.id"
	    " WHERE m.session_id = s.id AND (l.tail_after >= ?3 OR l.id = (SELECT max(id) FROM "
	    "layout))) ORDER BY s.id LIMIT 1",
	[W_SESSION_PINNED] = "SELECT pinned FROM session WHERE id = ?",
	[W_FORGET_CHUNKS] =
	    "DELETE FROM chunk WHERE id IN (SELECT id FROM chunk WHERE layout_id IN " LAYOUTS_OF
	    " LIMIT ?2)"
	    " RETURNING 0, length(data)",
	[W_FORGET_ROLLUPS] =
	    "DELETE FROM rollup WHERE id IN (SELECT id FROM rollup WHERE layout_id IN " LAYOUTS_OF
	    " LIMIT ?2)"
	    " RETURNING tier, length(data)",
	[W_FORGET_LAYOUTS] = "DELETE FROM layout WHERE id IN " LAYOUTS_OF,
	[W_FORGET_METAS] = "DELETE FROM metadata WHERE session_id = ?",
	[W_FORGET_RESULT] = "DELETE FROM result WHERE session_id = ?",
	[W_FORGET_RUNS] = "DELETE FROM run WHERE session_id = ?",
	/* What its senders delivered is not asked again, unless they sent for others, too. */
	[W_FORGET_PROVIDERS] = "DELETE FROM provider WHERE id IN (SELECT provider FROM xsp_session "
			       "WHERE session_id = ?1)"
			       " AND NOT EXISTS (SELECT 1 FROM xsp_session x WHERE x.provider = "
			       "provider.id AND x.session_id IS NOT ?1)",
	/* A connection that told of its host as well stays as the host's. */
	[W_FORGET_XSP] = "DELETE FROM xsp_session WHERE session_id = ? AND NOT EXISTS"
			 " (SELECT 1 FROM metadata m WHERE m.xsp_id = xsp_session.id)",
	[W_FORGET_XSP_REST] = "UPDATE xsp_session SET session_id = NULL WHERE session_id = ?",
	[W_FORGET_SESSION] = "DELETE FROM session WHERE id = ?",
	[W_ROLLUP_ROWS] = "SELECT n_rows FROM rollup WHERE id = ?",
};

int
id_list_add(struct id_list *l, int64_t id)
{
	size_t cap = l->cap == 0 ? 16 : 2 * l->cap;
	int64_t *grown;

	if (l->n == l->cap) {
		if ((grown = realloc(l->id, cap * sizeof(*grown))) == NULL)
			return NW_ENOMEM;
		l->id = grown;
		l->cap = cap;
	}
	l->id[l->n++] = id;
	return NW_OK;
}

/* --- opening --- */

static int
on_wal(void *arg, sqlite3 *db, const char *name, int n_pages)
{
	struct writer *w = arg;

	(void)db, (void)name;
	/* writer_care() checkpoints, after the completions */
	w->wal_pages = w->wal_frames = n_pages;
	return SQLITE_OK;
}

/* SQLite answers with the mode it has, which is another one where it cannot share memory between
 * processes. */
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
db_open(
    struct writer *w, const char *path, const struct store_opts *opts, char why[STORE_WHY_BYTES])
{
	char pragmas[256];
	int rc;

	if (sqlite3_open_v2(path, &w->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
		NULL) != SQLITE_OK) {
		snprintf(why, STORE_WHY_BYTES, "%s",
		    w->db == NULL ? "out of memory" : sqlite3_errmsg(w->db));
		return w->db == NULL ? NW_ENOMEM : NW_EIO;
	}
	sqlite3_extended_result_codes(w->db, 1);
	sqlite3_busy_timeout(w->db, BUSY_TIMEOUT_MS);
	if ((rc = schema_open(w->db, why)) != NW_OK)
		return rc;
	/* Deleted rows are of no more secret than kept ones: overwriting them with zeros would
	 * double the writing. */
	snprintf(pragmas, sizeof(pragmas),
	    "PRAGMA synchronous = %s; PRAGMA foreign_keys = ON; PRAGMA secure_delete = OFF;"
	    " PRAGMA cache_size = -16384; PRAGMA journal_size_limit = %d",
	    opts->sync_full ? "FULL" : "NORMAL", WAL_KEPT_BYTES);
	if ((rc = wal_mode(w->db)) != NW_OK || (rc = db_exec(w->db, pragmas)) != NW_OK) {
		db_why(w->db, why, STORE_WHY_BYTES);
		return rc;
	}
	sqlite3_wal_hook(w->db, on_wal, w);
	return NW_OK;
}

/* Reads the tail that is committed into memory, without rows that are in chunks already. */
static int
tail_load(struct writer *w)
{
	struct tail_layout *l, *next;
	sqlite3_stmt *st = NULL;
	int64_t after;
	uint8_t *blob;
	int rc, step = SQLITE_DONE, len;

	tail_clear(w->tail);
	rc = db_take(&w->stmts, W_TAIL_ALL, &st, "");
	while (rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW) {
		len = sqlite3_column_bytes(st, 1);
		if ((blob = malloc(len == 0 ? 1 : (size_t)len)) == NULL) {
			rc = NW_ENOMEM;
			break;
		}
		if (len > 0)
			memcpy(blob, sqlite3_column_blob(st, 1), (size_t)len);
		rc = tail_add(w->tail, sqlite3_column_int64(st, 0), blob, (size_t)len);
	}
	db_give(&w->stmts, W_TAIL_ALL, st);
	if (rc == NW_OK && step != SQLITE_DONE)
		rc = db_code(step);
	for (l = tail_oldest(w->tail); rc == NW_OK && l != NULL; l = next) {
		next = l->newer;
		if ((rc = db_get_int(&w->stmts, W_LAYOUT_TAIL_AFTER, l->id, &after)) == NW_OK)
			tail_forget(w->tail, l->id, after);
		else if (rc == NW_ENOTFOUND)
			rc = NW_ECORRUPT;
	}
	w->next_tail_id = tail_last_id(w->tail) + 1;
	w->tail_stale = rc != NW_OK;
	return rc;
}

static int
sizes_load(struct writer *w)
{
	int rc = NW_OK;
	int64_t t;

	for (t = 0; rc == NW_OK && t < STORE_TIERS; t++)
		rc = db_get_int(&w->stmts, W_SHELF_BYTES, t, &w->tier_bytes[t]);
	return rc == NW_OK ? db_get_int(&w->stmts, W_CHUNK_NEXT_ID, STORE_ROWS, &w->next_chunk_id)
			   : rc;
}

/* Inside the transaction that changes them. */
static int
sizes_write(struct writer *w)
{
	int rc = NW_OK;
	int64_t t;

	for (t = 0; rc == NW_OK && t < STORE_TIERS; t++)
		if (w->moved.bytes[t] != 0)
			rc = db_run(&w->stmts, W_SHELF_CHANGE, "ii", t, w->moved.bytes[t]);
	if (rc == NW_OK && w->moved.chunk_ids)
		rc = db_run(
		    &w->stmts, W_CHUNK_SET_NEXT_ID, "ii", (int64_t)STORE_ROWS, w->next_chunk_id);
	return rc;
}

/* Nobody else writes, so what is open belongs to a box that was killed. On a full disk it stays so
 * until the next start. */
static void
abandoned_close(struct writer *w)
{
	if (writer_begin(w) == NW_OK)
		writer_end(w, db_run(&w->stmts, W_XSP_ABANDONED, ""));
}

int
writer_open(const char *path, const struct store_opts *opts, const struct writer_limits *limits,
    struct writer **out, char why[STORE_WHY_BYTES])
{
	struct writer *w = calloc(1, sizeof(*w));
	int rc = NW_ENOMEM;

	why[0] = '\0';
	*out = NULL;
	if (w == NULL)
		goto out;
	w->lock_fd = -1;
	w->wal_pages_max = WAL_PAGES_MAX;
	w->limits = limits == NULL ? writer_limits_default : *limits;
	if ((w->tail = tail_new(w->limits.chunk_rows)) == NULL ||
	    (w->codec = chunk_codec_new()) == NULL)
		goto out;
	if ((rc = lock_take(path, &w->lock_fd, why)) != NW_OK ||
	    (rc = db_open(w, path, opts, why)) != NW_OK)
		goto out;
	db_stmts_init(&w->stmts, w->db, sql, W_STMTS);
	memcpy(w->keep_ns, opts->keep_ns, sizeof(w->keep_ns));
	w->keep_sessions_ns = opts->keep_sessions_ns;
	w->pass_tier = STORE_TIERS + 1;
	w->pass_wall_ns = INT64_MIN / 2;
	w->tail_mark_wall_ns = writer_now(w);
	if ((rc = tail_load(w)) != NW_OK)
		snprintf(why, STORE_WHY_BYTES, "cannot read the tail: %s", nw_strerror(rc));
	else if ((rc = sizes_load(w)) != NW_OK || (rc = writer_next_ids(w, &w->next)) != NW_OK ||
	    (rc = ceiling_set(w, opts->max_bytes)) != NW_OK)
		db_why(w->db, why, STORE_WHY_BYTES);
	else
		abandoned_close(w);
out:
	if (rc != NW_OK) {
		if (why[0] == '\0')
			snprintf(why, STORE_WHY_BYTES, "%s", nw_strerror(rc));
		writer_close(w);
		return rc;
	}
	*out = w;
	return NW_OK;
}

void
writer_close(struct writer *w)
{
	if (w == NULL)
		return;
	db_stmts_clear(&w->stmts);
	sqlite3_close(w->db);
	if (w->lock_fd != -1)
		close(w->lock_fd);
	tail_free(w->tail);
	chunk_codec_free(w->codec);
	chunk_buf_clear(&w->chunk);
	chunk_rows_clear(&w->decoded);
	columns_clear(&w->fresh);
	columns_clear(&w->merged);
	columns_piece_clear(&w->piece);
	columns_clear(&w->folded);
	fold_clear(&w->fold);
	free(w->seals.id);
	free(w->finals.id);
	free(w->victims.id);
	free(w->last);
	free(w);
}

int
writer_next_ids(struct writer *w, struct store_ids *out)
{
	const struct {
		const char *sql;
		int64_t *id;
	} all[] = {
		{ "SELECT coalesce(max(id), 0) + 1 FROM host", &out->host },
		{ "SELECT coalesce(max(id), 0) + 1 FROM xsp_session", &out->xsp },
		{ "SELECT coalesce(max(id), 0) + 1 FROM session", &out->session },
		{ "SELECT coalesce(max(id), 0) + 1 FROM metadata", &out->meta },
		{ "SELECT coalesce(max(id), 0) + 1 FROM layout", &out->layout },
		{ "SELECT coalesce(max(id), 0) + 1 FROM run", &out->run },
	};
	size_t i;
	int rc = NW_OK;

	for (i = 0; rc == NW_OK && i < sizeof(all) / sizeof(all[0]); i++)
		rc = db_int(w->db, all[i].sql, all[i].id);
	return rc;
}

/* --- transactions --- */

int
writer_begin(struct writer *w)
{
	int rc = NW_OK;

	memset(&w->moved, 0, sizeof(w->moved));
	if (!sqlite3_get_autocommit(w->db)) /* the last one could not even be rolled back */
		rc = db_run(&w->stmts, W_ROLLBACK, "");
	if (rc == NW_OK)
		rc = db_run(&w->stmts, W_BEGIN, "");
	if (rc != NW_OK)
		db_why(w->db, w->trouble, sizeof(w->trouble));
	return rc;
}

static void
numbers_follow(struct writer *w)
{
	int t;

	for (t = 0; t < STORE_TIERS; t++) {
		w->tier_bytes[t] += w->moved.bytes[t];
		w->total.rolled_rows[t] += w->moved.rolled_rows[t];
		w->total.expired_rows[t] += w->moved.expired_rows[t];
	}
	w->total.lost_hists += w->moved.lost_hists;
	w->total.lost_chunks += w->moved.lost_chunks;
	w->total.forgotten_sessions += w->moved.forgotten_sessions;
	memset(&w->moved, 0, sizeof(w->moved));
}

int
writer_end(struct writer *w, int rc)
{
	if (rc == NW_OK && (rc = sizes_write(w)) == NW_OK)
		rc = db_run(&w->stmts, W_COMMIT, "");
	if (rc == NW_OK) {
		w->trouble[0] = '\0';
		numbers_follow(w);
		return NW_OK;
	}
	memset(&w->moved, 0, sizeof(w->moved));
	if (db_code(sqlite3_errcode(w->db)) != NW_OK)
		db_why(w->db, w->trouble, sizeof(w->trouble));
	else
		snprintf(w->trouble, sizeof(w->trouble), "%s", nw_strerror(rc));
	if (!sqlite3_get_autocommit(w->db))
		db_run(&w->stmts, W_ROLLBACK, "");
	return rc;
}

/* --- committing --- */

/* Ids below w->next were given once. */
static void
ids_follow(struct writer *w, const struct nw_batch *b, const struct batch_rec *r)
{
	int64_t *next = r->kind == BATCH_SESSION ? &w->next.session
	    : r->kind == BATCH_META              ? &w->next.meta
	    : r->kind == BATCH_LAYOUT            ? &w->next.layout
						 : NULL;

	if (next != NULL && b->values[r->first_value].u.i >= *next)
		*next = b->values[r->first_value].u.i + 1;
}

static int
record_bind(sqlite3_stmt *st, const struct nw_batch *b, const struct batch_rec *r)
{
	const struct batch_value *v = b->values + r->first_value;
	size_t i;
	int rc = SQLITE_OK;

	for (i = 0; rc == SQLITE_OK && i < r->n_values; i++, v++)
		switch (v->type) {
		case 'i': rc = sqlite3_bind_int64(st, (int)i + 1, v->u.i); break;
		case 'd': rc = sqlite3_bind_double(st, (int)i + 1, v->u.d); break;
		case 't':
			rc = sqlite3_bind_text64(st, (int)i + 1, (const char *)b->text + v->u.at,
			    v->len, SQLITE_STATIC, SQLITE_UTF8);
			break;
		case 'b':
			rc = sqlite3_bind_blob64(
			    st, (int)i + 1, b->text + v->u.at, v->len, SQLITE_STATIC);
			break;
		default: rc = sqlite3_bind_null(st, (int)i + 1);
		}
	return db_code(rc);
}

/* Does the record refer to something that was here and is forgotten? An id that was never given is
 * a contradiction. */
static bool
record_is_late(const struct writer *w, const struct nw_batch *b, const struct batch_rec *r,
    size_t value, int64_t next_id)
{
	const struct batch_value *v = &b->values[r->first_value + value];

	return sqlite3_extended_errcode(w->db) == SQLITE_CONSTRAINT_FOREIGNKEY && v->type == 'i' &&
	    v->u.i < next_id;
}

/* Who still remembers a forgotten session may speak of it: then that is the host's alone, and new
 * fields are nobody's. */
static int
record_apply_late(
    struct writer *w, const struct nw_batch *b, const struct batch_rec *r, sqlite3_stmt *st)
{
	/* the values of nw_batch_xsp() and nw_batch_meta() */
	size_t session = r->kind == BATCH_XSP ? 2 : 1;

	if (r->kind == BATCH_LAYOUT && record_is_late(w, b, r, 1, w->next.meta)) {
		ids_follow(w, b, r); /* or its rows would be a contradiction */
		return NW_OK;
	}
	if ((r->kind != BATCH_XSP && r->kind != BATCH_META) ||
	    !record_is_late(w, b, r, session, w->next.session))
		return NW_ECONFLICT;
	sqlite3_reset(st);
	if (sqlite3_bind_null(st, (int)session + 1) != SQLITE_OK)
		return NW_ENOMEM;
	return db_code(sqlite3_step(st));
}

static int
record_apply(struct writer *w, const struct nw_batch *b, const struct batch_rec *r)
{
	sqlite3_stmt *st;
	int rc;

	if (r->kind == BATCH_SEAL)
		return NW_OK; /* once it is committed */
	if ((rc = db_take(&w->stmts, (int)r->kind, &st, "")) != NW_OK)
		return rc;
	if ((rc = record_bind(st, b, r)) == NW_OK &&
	    (rc = db_code(sqlite3_step(st))) == NW_ECONFLICT)
		rc = record_apply_late(w, b, r, st);
	db_give(&w->stmts, (int)r->kind, st);
	return rc;
}

/* Takes the rows out that were marked. */
static void
rows_squeeze(struct writer *w, struct nw_batch *b)
{
	const struct tail_rec *rec;
	size_t at, bytes, kept = 0;

	for (at = 0; at < b->rows_len; at += bytes) {
		rec = (const void *)(b->rows + at);
		bytes = tail_rec_bytes(rec->n_rows, rec->n_fields, rec->hist_len);
		if (rec->layout_id == 0) {
			w->late_rows += rec->n_rows;
			b->n_rows -= rec->n_rows;
			b->n_samples -= (uint64_t)rec->n_rows * rec->n_fields;
			continue;
		}
		memmove(b->rows + kept, rec, bytes);
		kept += bytes;
	}
	b->late_len += b->rows_len - kept;
	b->rows_len = kept;
}

/*
 * Do the rows belong to layouts as they are? A layout that is new to the tail has to be looked up.
 * Rows of one that is forgotten are taken out of the batch.
 */
static int
rows_check(struct writer *w, struct nw_batch *b)
{
	const struct tail_layout *l;
	struct tail_rec *rec;
	int64_t n_fields;
	bool late = false;
	size_t at;
	int rc;

	for (at = 0; at < b->rows_len;
	     at += tail_rec_bytes(rec->n_rows, rec->n_fields, rec->hist_len)) {
		rec = (void *)(b->rows + at);
		if ((l = tail_find(w->tail, rec->layout_id)) != NULL) {
			n_fields = l->n_fields;
		} else if ((rc = db_get_int(&w->stmts, W_LAYOUT_FIELDS, rec->layout_id,
				&n_fields)) == NW_ENOTFOUND &&
		    rec->layout_id < w->next.layout) {
			rec->layout_id = 0;
			late = true;
			continue;
		} else if (rc != NW_OK) {
			return rc == NW_ENOTFOUND ? NW_ECONFLICT : rc;
		}
		if (n_fields != rec->n_fields)
			return NW_ECONFLICT;
	}
	if (late)
		rows_squeeze(w, b);
	return NW_OK;
}

/* All of a batch or nothing of it. A batch of rows alone has nothing to undo. */
static int
batch_apply(struct writer *w, struct nw_batch *b)
{
	size_t i;
	int rc = NW_OK;

	if (b->n_recs == 0)
		return rows_check(w, b);
	if ((rc = db_run(&w->stmts, W_SAVE, "")) != NW_OK)
		return rc;
	for (i = 0; rc == NW_OK && i < b->n_recs; i++)
		rc = record_apply(w, b, &b->recs[i]);
	if (rc == NW_OK)
		rc = rows_check(w, b);
	if (rc != NW_OK && !sqlite3_get_autocommit(w->db) && db_run(&w->stmts, W_UNDO, "") != NW_OK)
		return NW_EIO;
	return sqlite3_get_autocommit(w->db) || db_run(&w->stmts, W_KEEP, "") != NW_OK ? NW_EIO
										       : rc;
}

/* The rows of all batches that were applied, one after the other: malloc'ed, or those of the only
 * one that has any. */
struct tail_blob {
	uint8_t *bytes;
	size_t len;
	struct nw_batch *only;
};

static int
rows_gather(struct nw_batch *list, struct tail_blob *out)
{
	struct nw_batch *b;
	size_t n = 0;
	uint8_t *p;

	*out = (struct tail_blob){ 0 };
	for (b = list; b != NULL; b = b->next)
		if (b->rc == NW_OK && b->rows_len > 0) {
			out->only = b;
			out->len += b->rows_len;
			n++;
		}
	if (n < 2) {
		out->bytes = n == 0 ? NULL : out->only->rows;
		return NW_OK;
	}
	out->only = NULL;
	if ((p = out->bytes = malloc(out->len)) == NULL)
		return NW_ENOMEM;
	for (b = list; b != NULL; b = b->next)
		if (b->rc == NW_OK && b->rows_len > 0) {
			memcpy(p, b->rows, b->rows_len);
			p += b->rows_len;
		}
	return NW_OK;
}

static int
rows_write(struct writer *w, const struct tail_blob *blob)
{
	if (blob->len == 0)
		return NW_OK;
	return db_run(&w->stmts, W_TAIL_ADD, "ibi", w->next_tail_id, (const void *)blob->bytes,
	    blob->len, (int64_t)hash_bytes(blob->bytes, blob->len));
}

/* The tail's own from now on: the batch gives it away, and what it had reserved for more rows. */
static uint8_t *
blob_take(struct tail_blob *blob)
{
	uint8_t *fitted;

	if (blob->only == NULL)
		return blob->bytes;
	blob->only->rows = NULL;
	fitted = realloc(blob->bytes, blob->len);
	return fitted != NULL ? fitted : blob->bytes;
}

/* After the commit: memory follows the file. */
static void
committed(struct writer *w, const struct nw_batch *list, struct tail_blob *blob)
{
	const struct nw_batch *b;
	size_t i;

	w->commits++;
	for (b = list; b != NULL; b = b->next) {
		if (b->rc != NW_OK) {
			w->failed_batches++;
			continue;
		}
		w->batches++;
		w->rows += b->n_rows;
		w->samples += b->n_samples;
		for (i = 0; i < b->n_recs; i++) {
			ids_follow(w, b, &b->recs[i]);
			/* one that is lost for want of memory costs space, not data */
			if (b->recs[i].kind == BATCH_SEAL)
				id_list_add(&w->seals, b->values[b->recs[i].first_value].u.i);
		}
	}
	if (blob->len == 0)
		return;
	if (tail_add(w->tail, w->next_tail_id, blob_take(blob), blob->len) != NW_OK)
		w->tail_stale = true;
	w->next_tail_id++;
}

int
writer_commit(struct writer *w, struct nw_batch *list)
{
	struct tail_blob blob = { 0 };
	struct nw_batch *b;
	size_t bytes = 0;
	int rc;

	for (b = list; b != NULL; b = b->next)
		bytes += nw_batch_bytes(b);
	rc = w->tail_stale ? tail_load(w) : NW_OK;
	if (rc == NW_OK)
		rc = ceiling_make_room_to_commit(w, bytes);
	if (rc == NW_OK && (rc = writer_begin(w)) == NW_OK) {
		for (b = list; b != NULL && rc == NW_OK; b = b->next) {
			b->rc = batch_apply(w, b);
			if (b->rc == NW_EIO || b->rc == NW_ENOMEM || b->rc == NW_ECORRUPT)
				rc = b->rc; /* not the batch's fault */
		}
		if (rc == NW_OK && (rc = rows_gather(list, &blob)) == NW_OK)
			rc = rows_write(w, &blob);
		rc = writer_end(w, rc);
	}
	if (rc == NW_OK) {
		committed(w, list, &blob);
		return NW_OK;
	}
	if (blob.only == NULL)
		free(blob.bytes);
	for (b = list; b != NULL; b = b->next)
		b->rc = rc;
	return rc;
}

/* --- care --- */

/* Sealed sessions become a list of layouts. */
static int
seals_expand(struct writer *w)
{
	sqlite3_stmt *st;
	size_t n = w->finals.n;
	int rc, step = SQLITE_DONE;

	while (w->seals.n > 0) {
		if ((rc = db_take(&w->stmts, W_LAYOUTS_OF_SESSION, &st, "i",
			 w->seals.id[w->seals.n - 1])) != NW_OK)
			return rc;
		while (rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW)
			rc = id_list_add(&w->finals, sqlite3_column_int64(st, 0));
		db_give(&w->stmts, W_LAYOUTS_OF_SESSION, st);
		if (rc == NW_OK && step != SQLITE_DONE)
			rc = db_code(step);
		if (rc != NW_OK) {
			w->finals.n = n;
			return rc;
		}
		n = w->finals.n;
		w->seals.n--;
	}
	return NW_OK;
}

struct move {
	size_t n_finals;        /* taken from the end of w->finals */
	struct id_list layouts; /* moved out of the tail */
};

static int
move_one(struct writer *w, struct move *m, int64_t layout_id, bool final)
{
	struct tail_layout *l = tail_find(w->tail, layout_id);
	int rc;

	if (l != NULL && l->moving)
		return NW_OK;
	if ((rc = compact_layout(w, layout_id, final)) != NW_OK || l == NULL)
		return rc;
	if ((rc = db_run(&w->stmts, W_LAYOUT_MOVED, "ii", layout_id, tail_last_id(w->tail))) !=
		NW_OK ||
	    (rc = id_list_add(&m->layouts, layout_id)) != NW_OK)
		return rc;
	l->moving = true;
	return NW_OK;
}

/* From l on, the first that is not on its way: its rows have been in the tail longest of those that
 * stay. */
static struct tail_layout *
staying(struct tail_layout *l)
{
	while (l != NULL && l->moving)
		l = l->newer;
	return l;
}

/* Of a sender that says little: its rows keep all that came with them and after them, and sessions
 * from being forgotten. */
static void
tail_look(struct writer *w)
{
	int64_t now = writer_now(w), since = now - w->tail_mark_wall_ns;

	if (since >= 0 && since < tail_stay_ns)
		return;
	w->tail_due_id = w->tail_mark_id;
	w->tail_mark_id = tail_last_id(w->tail);
	w->tail_mark_wall_ns = now;
}

static bool
tail_is_due(const struct writer *w)
{
	const struct tail_layout *l = tail_oldest(w->tail);

	return l != NULL &&
	    (tail_bytes(w->tail) > w->limits.tail_bytes || l->recs[0].blob_id <= w->tail_due_id);
}

/* Sealed layouts first, then full ones, then what has been in the tail too long. */
static int
move_some(struct writer *w, struct move *m)
{
	/* Compaction has fallen behind: now ingest waits for it. */
	size_t max =
	    tail_bytes(w->tail) > 2 * w->limits.tail_bytes ? SIZE_MAX : w->limits.step_values;
	int64_t excess = tail_excess_id(w->tail, w->limits.tail_bytes);
	int64_t last = excess > w->tail_due_id ? excess : w->tail_due_id;
	struct tail_layout *l;
	size_t at = 0;
	int rc = NW_OK;

	w->values_encoded = 0;
	while (rc == NW_OK && w->values_encoded < max && m->n_finals < w->finals.n) {
		m->n_finals++;
		rc = move_one(w, m, w->finals.id[w->finals.n - m->n_finals], true);
	}
	while (rc == NW_OK && w->values_encoded < max && (l = tail_next_full(w->tail, &at)) != NULL)
		rc = move_one(w, m, l->id, false);
	l = tail_oldest(w->tail);
	while (rc == NW_OK && w->values_encoded < max && (l = staying(l)) != NULL &&
	    l->recs[0].blob_id <= last)
		rc = move_one(w, m, l->id, false);
	return rc;
}

/* Drops blobs in which no row counts. *first_kept for memory, which follows after the commit. */
static int
tail_shorten(struct writer *w, int64_t *first_kept)
{
	const struct tail_layout *l = staying(tail_oldest(w->tail));
	int64_t last = tail_last_id(w->tail);
	int rc;

	*first_kept = l == NULL ? last : l->recs[0].blob_id;
	rc = db_run(&w->stmts, W_TAIL_TRIM, "i", *first_kept);
	if (rc == NW_OK && l == NULL)
		rc = db_run(&w->stmts, W_TAIL_EMPTY, "i", last);
	return rc;
}

static int
move_rows(struct writer *w)
{
	struct move m = { 0 };
	struct tail_layout *l;
	int64_t first_kept = 0;
	size_t i;
	int rc;

	if ((rc = writer_begin(w)) != NW_OK)
		return rc;
	if ((rc = move_some(w, &m)) == NW_OK)
		rc = tail_shorten(w, &first_kept);
	rc = writer_end(w, rc);
	for (i = 0; i < m.layouts.n; i++)
		if (rc == NW_OK)
			tail_forget(w->tail, m.layouts.id[i], tail_last_id(w->tail));
		else if ((l = tail_find(w->tail, m.layouts.id[i])) != NULL)
			l->moving = false;
	if (rc == NW_OK) {
		w->finals.n -= m.n_finals;
		/* The newest blob may stay in memory although its rows are gone from the file. */
		tail_trim(w->tail, first_kept);
		w->pages_freed = true;
	}
	free(m.layouts.id);
	return rc;
}

int
writer_move_oldest(struct writer *w)
{
	int64_t first = tail_first_id(w->tail);
	int rc;

	if (tail_oldest(w->tail) == NULL)
		return WRITER_DONE;
	w->tail_due_id = first > w->tail_due_id ? first : w->tail_due_id;
	rc = move_rows(w);
	return rc == NW_OK ? WRITER_MORE : rc;
}

bool
writer_restart_wal(struct writer *w, int timeout_ms)
{
	int rc;

	sqlite3_busy_timeout(w->db, timeout_ms);
	rc = sqlite3_wal_checkpoint_v2(w->db, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
	sqlite3_busy_timeout(w->db, BUSY_TIMEOUT_MS);
	if (rc == SQLITE_OK)
		w->wal_frames = w->wal_pages = 0;
	return rc == SQLITE_OK;
}

/* Readers that never pause together keep the WAL from starting over. When it is big, wait for them,
 * but not often. */
static void
checkpoint(struct writer *w, bool idle)
{
	int enough = CHECKPOINT_PAGES;

	if (w->ceiling.max_bytes > 0 &&
	    (int64_t)w->ceiling.wal_max_bytes / 3 < enough * w->ceiling.page_bytes)
		enough = (int)((int64_t)w->ceiling.wal_max_bytes / 3 / w->ceiling.page_bytes);
	if (w->wal_pages < (idle ? 1 : enough))
		return;
	if (w->wal_pages < w->wal_pages_max) {
		sqlite3_wal_checkpoint_v2(w->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	} else if (writer_restart_wal(w, RESTART_TIMEOUT_MS)) {
		w->wal_pages_max = WAL_PAGES_MAX;
	} else {
		w->wal_pages_max *= 2;
	}
	w->wal_pages = 0;
}

/*
 * Free pages are used again, so a working store keeps up to a tail's worth of them. An idle one, or
 * one that deleted more than that, gives them back, a step at a time, until they are a small part
 * of the file.
 */
static int
shrink(struct writer *w, bool idle)
{
	int64_t n_free = 0, n_pages = 0, page_bytes = 0, n_left = 0, n_give = VACUUM_PAGES;
	char step[64];
	int rc;

	if ((rc = db_int(w->db, "PRAGMA freelist_count", &n_free)) != NW_OK ||
	    (rc = db_int(w->db, "PRAGMA page_count", &n_pages)) != NW_OK ||
	    (rc = db_int(w->db, "PRAGMA page_size", &page_bytes)) != NW_OK)
		return rc;
	if (!ceiling_is_exceeded(w)) {
		w->pages_spare = n_free * 8 > n_pages;
		w->pages_freed = w->pages_spare &&
		    (idle ||
			n_free * page_bytes >
			    (int64_t)(w->limits.tail_bytes + w->limits.tail_bytes / 4));
		if (!w->pages_freed)
			return WRITER_DONE;
	}
	if (w->ceiling.max_bytes > 0 &&
	    (int64_t)w->ceiling.wal_max_bytes / 16 / page_bytes < n_give)
		n_give = (int64_t)w->ceiling.wal_max_bytes / 16 / page_bytes;
	if ((rc = ceiling_make_room(w, (size_t)(3 * n_give * page_bytes))) != NW_OK)
		return rc;
	snprintf(step, sizeof(step), "PRAGMA incremental_vacuum(%lld)", (long long)n_give);
	if ((rc = db_exec(w->db, step)) != NW_OK ||
	    (rc = db_int(w->db, "PRAGMA freelist_count", &n_left)) != NW_OK)
		return rc;
	return n_left < n_free ? WRITER_MORE : WRITER_DONE;
}

int64_t
writer_now(const struct writer *w)
{
	struct timespec ts;

	if (w->now_wall_ns != 0)
		return w->now_wall_ns;
	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Can the file be written again? Stamps the version that is there. */
static int
probe(struct writer *w)
{
	char stamp[64];
	int rc;

	snprintf(stamp, sizeof(stamp), "PRAGMA user_version = %d", STORE_SCHEMA_VERSION);
	if ((rc = writer_begin(w)) == NW_OK)
		rc = writer_end(w, db_exec(w->db, stamp));
	return rc;
}

int
writer_care(struct writer *w, bool idle)
{
	size_t at = 0;
	int rc;

	if (w->trouble[0] != '\0' && idle && (rc = probe(w)) != NW_OK)
		return rc;
	if (w->tail_stale && (rc = tail_load(w)) != NW_OK)
		return rc;
	if ((rc = ceiling_step(w)) < 0 || (rc = seals_expand(w)) != NW_OK)
		return rc;
	tail_look(w);
	if (w->finals.n > 0 || tail_next_full(w->tail, &at) != NULL || tail_is_due(w)) {
		if ((rc = ceiling_make_room_to_move(w)) == NW_OK)
			rc = move_rows(w);
		checkpoint(w, idle);
		return rc == NW_OK ? WRITER_MORE : rc;
	}
	if ((rc = expire_step(w)) != WRITER_DONE) {
		checkpoint(w, idle);
		return rc;
	}
	checkpoint(w, idle);
	return w->pages_freed || (idle && w->pages_spare) ? shrink(w, idle) : WRITER_DONE;
}
