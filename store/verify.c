/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of the whole file: SQLite's own checks first; then every reference leads somewhere, every
 * chunk decodes and agrees with its row and its layout, chunks of a layout do not overlap, every
 * tail blob is a run of records of known layouts and matches its checksum. A fault ends the check
 * of one thing, not of the next.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/maintenance.h"
#include "narrows/err.h"
#include "store/codec/codec_hash.h"
#include "store/ground/label.h"
#include "store/ground/lastrow.h"
#include "store/ground/lock.h"
#include "store/ground/original.h"
#include "store/read/reader.h"

enum {
	PAGE_FAULTS_MAX = 100,      /* most faults reported of SQLite's checks */
	TICK_INSTRUCTIONS = 1 << 20 /* of SQLite between two looks whether to go on */
};

struct check {
	struct store_reader *r;
	const struct store_watch *watch;
	struct store_counts *n;
	uint64_t done, total; /* chunks and roll-ups */
	int64_t acknowledged; /* newest acknowledged commit, read before the snapshot */
};

static int fault(struct check *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* NW_OK: go on. */
static int
fault(struct check *k, const char *fmt, ...)
{
	char what[STORE_WHY_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	k->n->faults++;
	return k->watch->fault != NULL && k->watch->fault(k->watch->arg, what) != 0 ? NW_ECLOSED
										    : NW_OK;
}

static int
progress(struct check *k)
{
	const struct store_watch *w = k->watch;

	return w->progress != NULL && w->progress(w->arg, "checking", k->done, k->total) != 0
	    ? NW_ECLOSED
	    : NW_OK;
}

static int
on_tick(void *arg)
{
	return progress(arg) != NW_OK;
}

/* Judges the end of a statement: damage is a fault, any other error ends the check. */
static int
ended(struct check *k, const char *what, int step)
{
	int rc = db_code(step);

	if ((step & 0xff) == SQLITE_INTERRUPT)
		return NW_ECLOSED;
	return rc == NW_ECORRUPT ? fault(k, "%s: %s", what, sqlite3_errmsg(k->r->db)) : rc;
}

/* --- pages and references --- */

/* Each row of the answer is a fault, in words. */
static int
ask(struct check *k, const char *what, const char *sql)
{
	sqlite3_stmt *st = NULL;
	const char *text;
	int rc = NW_OK, step = sqlite3_prepare_v2(k->r->db, sql, -1, &st, NULL);

	while (rc == NW_OK && (step == SQLITE_OK || step == SQLITE_ROW) &&
	    (step = sqlite3_step(st)) == SQLITE_ROW)
		if ((text = (const char *)sqlite3_column_text(st, 0)) == NULL ||
		    strcmp(text, "ok") != 0)
			rc = fault(k, "%s: %s", what, text == NULL ? "fault" : text);
	sqlite3_finalize(st);
	return rc == NW_OK ? ended(k, what, step) : rc;
}

static int
pages_check(struct check *k)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "PRAGMA integrity_check(%d)", PAGE_FAULTS_MAX);
	return ask(k, "file", sql);
}

struct rule {
	const char *what, *sql;
};

static const struct rule rules[] = {
	{ "reference",
	    "SELECT f.\"table\" || ' ' || coalesce(f.rowid, '?') || ': its ' || f.parent || ' is "
	    "not there'"
	    " FROM pragma_foreign_key_check f" },
	{ "layout",
	    "SELECT l.id || ': not the names of ' || n_fields || ' fields' FROM layout l"
	    " LEFT JOIN fieldset s ON s.id = l.fieldset_id WHERE CASE WHEN json_valid(s.fields)"
	    " THEN json_type(s.fields) != 'array' OR json_array_length(s.fields) != n_fields"
	    " ELSE 1 END" },
	{ "layout",
	    "SELECT id || ': hides rows that are not written yet' FROM layout"
	    " WHERE tail_after > coalesce((SELECT max(id) FROM tail), 0)" },
	{ "metadata",
	    "SELECT id || ': its subject or parameters are not JSON' FROM metadata"
	    " WHERE NOT json_valid(coalesce(subject, '{}')) OR NOT json_valid(coalesce(params, "
	    "'{}'))" },
	{ "result",
	    "SELECT r.session_id || ': made by a run of another session' FROM result r JOIN run n "
	    "ON n.id = r.run_id"
	    " WHERE n.session_id != r.session_id" },
};

/* A table of counts holds the counts of the rows. */
#define COUNTS(key, said, held)                                                       \
	"SELECT " key                                                                 \
	" || ': n is ' || sum(said) || ', not the ' || sum(has) || ' there are' FROM" \
	" (" said " UNION ALL " held ") GROUP BY a, b HAVING sum(said) != sum(has)"   \
	" OR min(first_id) > min(id) OR max(last_id) < max(id)"

/* Rules about all chunks together. */
static const struct rule totals[] = {
	{ "chunk",
	    "SELECT id || ': its id may be used again' FROM chunk WHERE id >="
	    " coalesce((SELECT value FROM counter WHERE name = 'next_chunk_id'), 0)" },
	{ "tier size",
	    "WITH held(host_id, tier, bytes) AS ("
	    " SELECT coalesce(m.host_id, 0), 0, sum(length(c.data)) FROM chunk c JOIN layout l ON "
	    "l.id = c.layout_id JOIN metadata m ON m.id = l.meta_id GROUP BY 1 UNION ALL"
	    " SELECT coalesce(m.host_id, 0), c.tier, sum(length(c.data)) FROM rollup c JOIN layout "
	    "l ON l.id = c.layout_id JOIN metadata m ON m.id = l.meta_id GROUP BY 1, 2 UNION ALL"
	    " SELECT host_id, 4, sum(length(timeline)) FROM result WHERE timeline IS NOT NULL "
	    "GROUP BY 1 UNION ALL"
	    " SELECT host_id, 5, sum(length(document)) FROM result WHERE document IS NOT NULL "
	    "GROUP BY 1 UNION ALL"
	    " SELECT coalesce(host_id, 0), 6, sum(200 + coalesce(length(raw), 0) + length(CAST("
	    "coalesce(mid, '') || coalesce(pid, '') || coalesce(event_type, '') || "
	    "coalesce(subject, '') || coalesce(params, '') AS BLOB))) FROM metadata GROUP BY 1 "
	    "UNION ALL SELECT coalesce(m.host_id, 0), 6, sum(64 + length(CAST(s.fields AS BLOB))) "
	    "FROM layout l JOIN metadata m ON m.id = l.meta_id JOIN fieldset s ON s.id = "
	    "l.fieldset_id GROUP BY 1 UNION ALL"
	    " SELECT host_id, 7, sum(length(data)) FROM event_chunk GROUP BY 1)"
	    " SELECT 'tier ' || tier || ' of host ' || host_id || ': ' || said || ' bytes, not the "
	    "' || has || ' it holds' FROM (SELECT tier, host_id, sum(said) AS said, sum(has) AS "
	    "has FROM (SELECT tier, host_id, bytes AS said, 0 AS has FROM tier_size UNION ALL"
	    " SELECT tier, host_id, 0, bytes FROM held) GROUP BY tier, host_id) WHERE said != "
	    "has" },
	{ "label",
	    COUNTS("a || '=' || b",
		"SELECT name AS a, value AS b, n AS said, 0 AS has, first_id, last_id, NULL AS id"
		" FROM label",
		"SELECT j.key, j.value, 0, 1, NULL, NULL, m.id FROM metadata m"
		" LEFT JOIN host h ON h.id = m.host_id"
		" CROSS JOIN json_each(narrows_labels(h.name, m.session_id, m.subject)) j"
		" WHERE EXISTS (SELECT 1 FROM layout l WHERE l.meta_id = m.id)") },
	{ "metric",
	    COUNTS("a || ' of ' || b",
		"SELECT fieldset_id AS a, event_type AS b, n AS said, 0 AS has, first_id, last_id,"
		" NULL AS id FROM metric",
		"SELECT l.fieldset_id, coalesce(m.event_type, ''), 0, 1, NULL, NULL, m.id"
		" FROM layout l JOIN metadata m ON m.id = l.meta_id") },
};

static int
rules_check(struct check *k, const struct rule *all, size_t n)
{
	size_t i;
	int rc = NW_OK;

	for (i = 0; rc == NW_OK && i < n; i++)
		rc = ask(k, all[i].what, all[i].sql);
	return rc;
}

/* --- chunks --- */

struct neighbour {
	int64_t layout_id, t1;
};

/* Are the bytes the last row of the chunk? */
static bool
lastrow_fits(const struct chunk_columns *c, const uint8_t *bytes, size_t len)
{
	double *row = malloc(c->n_columns * (sizeof(*row) + sizeof(double *)) + 1), **at;
	bool fits;
	size_t i;

	if (row == NULL)
		return true; /* memory is short, the file is not wrong */
	at = (double **)(row + c->n_columns);
	for (i = 0; i < c->n_columns; i++)
		at[i] = row + i;
	fits = lastrow_unpack(bytes, len, at, c->n_columns) == NW_OK;
	for (i = 0; fits && i < c->n_columns; i++)
		fits = memcmp(row + i, &c->value[i][c->n_rows - 1], sizeof(*row)) == 0;
	free(row);
	return fits;
}

/* Names a fault of the statement's row after decoding; NULL without a fault. */
static const char *
chunk_fault(const struct chunk_columns *c, sqlite3_stmt *st, struct neighbour *before)
{
	const int64_t layout_id = sqlite3_column_int64(st, 1), t0 = sqlite3_column_int64(st, 2),
		      t1 = sqlite3_column_int64(st, 3);
	const uint8_t *last = sqlite3_column_blob(st, 5);
	struct neighbour left = *before;
	size_t i;

	*before = (struct neighbour){ layout_id, t1 };
	if (sqlite3_column_type(st, 7) == SQLITE_NULL ||
	    c->n_columns != sqlite3_column_int64(st, 7))
		return "not as many columns as its layout has";
	if (c->n_rows == 0 || c->n_rows != sqlite3_column_int64(st, 4) || c->t_wall_ns[0] != t0 ||
	    c->t_wall_ns[c->n_rows - 1] != t1)
		return "rows or times differ from its row";
	for (i = 1; i < c->n_rows; i++)
		if (c->t_wall_ns[i] < c->t_wall_ns[i - 1])
			return "not in time order";
	if (sqlite3_column_type(st, 5) == SQLITE_NULL)
		return NULL; /* a roll-up: no last row, and parts may overlap */
	if (!lastrow_fits(c, last, (size_t)sqlite3_column_bytes(st, 5)))
		return "another last row";
	return left.layout_id == layout_id && t0 < left.t1 ? "overlaps the one before it" : NULL;
}

static int
chunk_check(struct check *k, const char *name, sqlite3_stmt *st, struct neighbour *before)
{
	const struct chunk_columns *c = &k->r->decoded.is;
	const char *wrong;
	int rc;

	rc = chunk_decode(k->r->codec, sqlite3_column_blob(st, 6),
	    (size_t)sqlite3_column_bytes(st, 6), NULL, &k->r->decoded);
	if (rc == NW_ENOMEM)
		return rc;
	wrong = rc != NW_OK ? nw_strerror(rc) : chunk_fault(c, st, before);
	k->n->rows += rc == NW_OK ? c->n_rows : 0;
	k->n->values += rc == NW_OK ? (int64_t)c->n_rows * c->n_columns : 0;
	if (wrong != NULL &&
	    (rc = fault(k, "%s %lld of layout %lld: %s", name,
		 (long long)sqlite3_column_int64(st, 0), (long long)sqlite3_column_int64(st, 1),
		 wrong)) != NW_OK)
		return rc;
	k->done++;
	return progress(k);
}

static int
chunks_check(struct check *k, const char *name, int which, int64_t *n)
{
	struct neighbour before = { 0, 0 };
	sqlite3_stmt *st;
	int rc, step = SQLITE_DONE;

	if ((rc = db_take(&k->r->stmts, which, &st, "")) != NW_OK)
		return ended(k, name, sqlite3_errcode(k->r->db));
	while (rc == NW_OK && (step = sqlite3_step(st)) == SQLITE_ROW) {
		++*n;
		rc = chunk_check(k, name, st, &before);
	}
	if (rc == NW_OK)
		rc = ended(k, name, step);
	db_give(&k->r->stmts, which, st);
	return rc;
}

/* --- the tail --- */

/* Counts rows that are not in chunks. */
static int
tail_layout_check(struct check *k, const struct tail_layout *l)
{
	int64_t n_fields = 0, tail_after = 0;
	sqlite3_stmt *st;
	size_t i;
	int rc, step;

	if ((rc = db_take(&k->r->stmts, R_LAYOUT, &st, "i", l->id)) != NW_OK)
		return rc;
	if ((step = sqlite3_step(st)) == SQLITE_ROW) {
		n_fields = sqlite3_column_int64(st, 0);
		tail_after = sqlite3_column_int64(st, 1);
	}
	rc = db_code(step);
	db_give(&k->r->stmts, R_LAYOUT, st);
	if (rc == NW_OK && n_fields != l->n_fields)
		rc = fault(k, "tail: rows of layout %lld, which does not have %u fields",
		    (long long)l->id, l->n_fields);
	for (i = 0; i < l->n_recs; i++)
		if (l->recs[i].blob_id > tail_after) {
			k->n->rows += l->recs[i].rec->n_rows;
			k->n->values += (int64_t)l->recs[i].rec->n_rows * l->n_fields;
		}
	return rc;
}

static int
tail_check(struct check *k)
{
	const struct tail_layout *l;
	int rc;

	tail_clear(k->r->tail);
	if ((rc = reader_load_tail(k->r)) == NW_ECORRUPT)
		return fault(k, "tail: a blob is not a run of records");
	for (l = tail_oldest(k->r->tail); rc == NW_OK && l != NULL; l = l->newer)
		rc = tail_layout_check(k, l);
	return rc;
}

/* Compares checksums: records with changed bits may look well. */
static int
tail_sums_check(struct check *k)
{
	sqlite3_stmt *st = NULL;
	int rc = NW_OK, step;

	step = sqlite3_prepare_v2(
	    k->r->db, "SELECT id, rows, sum FROM tail WHERE sum IS NOT NULL", -1, &st, NULL);
	while (rc == NW_OK && (step == SQLITE_OK || step == SQLITE_ROW) &&
	    (step = sqlite3_step(st)) == SQLITE_ROW) {
		if ((int64_t)hash_bytes(sqlite3_column_blob(st, 1),
			(size_t)sqlite3_column_bytes(st, 1)) != sqlite3_column_int64(st, 2))
			rc = fault(k, "tail %lld: its checksum is another",
			    (long long)sqlite3_column_int64(st, 0));
		if (rc == NW_OK)
			rc = progress(k);
	}
	sqlite3_finalize(st);
	return rc == NW_OK ? ended(k, "tail", step) : rc;
}

/* --- documents --- */

static int
document_check(struct check *k, sqlite3_stmt *st, sqlite3_stmt *valid)
{
	struct document_parts p = { sqlite3_column_blob(st, 1), sqlite3_column_blob(st, 2),
		(size_t)sqlite3_column_bytes(st, 1), (size_t)sqlite3_column_bytes(st, 2) };
	const char *json, *wrong = NULL;
	size_t len;
	int rc;

	if ((rc = document_unpack_brief(k->r->documents, &p, &json, &len)) == NW_ENOMEM)
		return rc;
	if (rc != NW_OK) {
		wrong = nw_strerror(rc);
	} else {
		sqlite3_reset(valid);
		if (sqlite3_bind_text64(valid, 1, json, len, SQLITE_STATIC, SQLITE_UTF8) !=
			SQLITE_OK ||
		    sqlite3_step(valid) != SQLITE_ROW)
			return db_code(sqlite3_errcode(k->r->db));
		wrong = sqlite3_column_int(valid, 0) != 0 ? NULL : "not JSON";
	}
	return wrong == NULL ? progress(k)
			     : fault(k, "result of session %lld: its document: %s",
				   (long long)sqlite3_column_int64(st, 0), wrong);
}

/* Checks that the metadata kept as received unpack. */
static int
originals_check(struct check *k)
{
	struct original_bytes in, out;
	sqlite3_stmt *st = NULL;
	int rc = NW_OK, step;

	if (k->r->originals == NULL && (k->r->originals = original_codec_new()) == NULL)
		return NW_ENOMEM;
	step = sqlite3_prepare_v2(
	    k->r->db, "SELECT id, raw FROM metadata WHERE raw IS NOT NULL", -1, &st, NULL);
	while (rc == NW_OK && (step == SQLITE_OK || step == SQLITE_ROW) &&
	    (step = sqlite3_step(st)) == SQLITE_ROW) {
		in.bytes = sqlite3_column_blob(st, 1);
		in.len = (size_t)sqlite3_column_bytes(st, 1);
		if ((rc = original_unpack(k->r->originals, in, &out)) == NW_ECORRUPT)
			rc = fault(k, "metadata %lld: as received it does not unpack",
			    (long long)sqlite3_column_int64(st, 0));
		if (rc == NW_OK)
			rc = progress(k);
	}
	sqlite3_finalize(st);
	return rc == NW_OK ? ended(k, "metadata", step) : rc;
}

static int
documents_check(struct check *k)
{
	sqlite3_stmt *st = NULL, *valid = NULL;
	int rc = NW_OK, step;

	if (k->r->documents == NULL && (k->r->documents = document_codec_new()) == NULL)
		return NW_ENOMEM;
	if ((step = sqlite3_prepare_v2(k->r->db, "SELECT json_valid(?)", -1, &valid, NULL)) ==
	    SQLITE_OK)
		step = sqlite3_prepare_v2(k->r->db,
		    "SELECT session_id, document, timeline FROM result WHERE document IS NOT NULL",
		    -1, &st, NULL);
	while (rc == NW_OK && (step == SQLITE_OK || step == SQLITE_ROW) &&
	    (step = sqlite3_step(st)) == SQLITE_ROW)
		rc = document_check(k, st, valid);
	sqlite3_finalize(st);
	sqlite3_finalize(valid);
	return rc == NW_OK ? ended(k, "result", step) : rc;
}

/* --- events --- */

/* Names a fault of a row of events; NULL without a fault. */
static const char *
event_row_fault(struct check *k, sqlite3_stmt *st, struct nw_event_block *block)
{
	struct event_codec *codec = k->r->events;
	uint8_t *bytes = NULL;
	size_t cap = 0, len, n;
	const char *fault = NULL, *why;
	int rc;

	if ((rc = event_unpack(codec, sqlite3_column_blob(st, 4),
		 (size_t)sqlite3_column_bytes(st, 4), &bytes, &cap, &len)) != NW_OK)
		fault = rc == NW_ENOMEM ? NULL : nw_strerror(rc);
	else if ((rc = nw_event_block_read(block, bytes, len, &why)) != NW_OK)
		fault = rc == NW_ENOMEM ? NULL : why;
	else if ((n = nw_event_block_count(block)) != (size_t)sqlite3_column_int64(st, 1))
		fault = "another number of events than in its row";
	else if (nw_event_block_time(block, 0) != sqlite3_column_int64(st, 2) ||
	    nw_event_block_time(block, n - 1) != sqlite3_column_int64(st, 3))
		fault = "other times than in its row";
	free(bytes);
	return fault;
}

static int
events_check(struct check *k)
{
	struct nw_event_block *block = nw_event_block_new();
	sqlite3_stmt *st = NULL;
	const char *wrong;
	int rc = block == NULL ? NW_ENOMEM : NW_OK, step = SQLITE_OK;

	if (k->r->events == NULL && (k->r->events = event_codec_new()) == NULL)
		rc = NW_ENOMEM;
	if (rc == NW_OK)
		step = sqlite3_prepare_v2(
		    k->r->db, "SELECT id, n, t0_ns, t1_ns, data FROM event_chunk", -1, &st, NULL);
	while (rc == NW_OK && (step == SQLITE_OK || step == SQLITE_ROW) &&
	    (step = sqlite3_step(st)) == SQLITE_ROW) {
		k->n->events += sqlite3_column_int64(st, 1);
		if ((wrong = event_row_fault(k, st, block)) != NULL)
			rc = fault(k, "event_chunk %lld: %s",
			    (long long)sqlite3_column_int64(st, 0), wrong);
		if (rc == NW_OK)
			rc = progress(k);
	}
	sqlite3_finalize(st);
	nw_event_block_free(block);
	return rc == NW_OK ? ended(k, "event_chunk", step) : rc;
}

/* --- the whole check --- */

static int
count_all(struct check *k)
{
	const struct {
		const char *sql;
		int64_t *n;
	} all[] = {
		{ "SELECT count(*) FROM host", &k->n->hosts },
		{ "SELECT count(*) FROM session", &k->n->sessions },
		{ "SELECT count(*) FROM metadata", &k->n->metas },
		{ "SELECT count(*) FROM layout", &k->n->layouts },
		{ "SELECT count(*) FROM result", &k->n->results },
		{ "SELECT count(*) FROM tail", &k->n->tail_blobs },
		{ "SELECT (SELECT count(*) FROM chunk) + (SELECT count(*) FROM rollup)",
		    (int64_t *)&k->total },
	};
	size_t i;
	int rc = NW_OK;

	for (i = 0; rc == NW_OK && i < sizeof(all) / sizeof(all[0]); i++)
		if ((rc = db_int(k->r->db, all[i].sql, all[i].n)) == NW_ECORRUPT)
			rc = NW_OK; /* the pages said so already */
	return rc;
}

/* The newest acknowledged commit is in the tail. */
static int
commits_check(struct check *k)
{
	int64_t last = 0;
	int rc = db_int(k->r->db, "SELECT ifnull(max(id), 0) FROM tail", &last);

	if (rc == NW_ECORRUPT || (rc == NW_OK && last >= k->acknowledged))
		return NW_OK; /* a damaged table said so already */
	return rc != NW_OK
	    ? rc
	    : fault(k,
		  "commits %" PRId64 " to %" PRId64 " were acknowledged and are missing: "
		  "the write-ahead log was lost or damaged",
		  last + 1, k->acknowledged);
}

static int
check_all(struct check *k)
{
	int rc;

	if (label_sql_register(k->r->db) != SQLITE_OK)
		return NW_ENOMEM;
	if ((rc = pages_check(k)) != NW_OK || (rc = count_all(k)) != NW_OK ||
	    (rc = rules_check(k, rules, sizeof(rules) / sizeof(rules[0]))) != NW_OK ||
	    (rc = documents_check(k)) != NW_OK || (rc = originals_check(k)) != NW_OK ||
	    (rc = chunks_check(k, "chunk", R_CHUNKS_ALL, &k->n->chunks)) != NW_OK ||
	    (rc = chunks_check(k, "rollup", R_ROLLUPS_ALL, &k->n->rollups)) != NW_OK ||
	    (rc = events_check(k)) != NW_OK ||
	    (rc = rules_check(k, totals, sizeof(totals) / sizeof(totals[0]))) != NW_OK ||
	    (rc = tail_check(k)) != NW_OK || (rc = tail_sums_check(k)) != NW_OK ||
	    (rc = commits_check(k)) != NW_OK)
		return rc;
	return k->n->faults > 0 ? NW_ECORRUPT : NW_OK;
}

int
store_check(struct store_reader *r, const struct store_watch *watch, struct store_counts *out)
{
	static const struct store_watch silent = { NULL, NULL, NULL };
	struct check k = { .r = r, .watch = watch == NULL ? &silent : watch, .n = out };
	int rc;

	memset(out, 0, sizeof(*out));
	if (r->in_rows)
		return NW_EINVAL;
	k.acknowledged = lock_commit_of(sqlite3_db_filename(r->db, "main"));
	if ((rc = reader_pin(r)) != NW_OK)
		return rc;
	sqlite3_progress_handler(r->db, TICK_INSTRUCTIONS, on_tick, &k);
	rc = check_all(&k);
	sqlite3_progress_handler(r->db, 0, NULL, NULL);
	return reader_unpin(r, rc);
}
