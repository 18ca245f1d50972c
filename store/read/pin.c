/* SPDX-License-Identifier: BSD-3-Clause */
/* Pins, notes, acceptances and active tests, from any process: SQLite lets another connection write
 * a row that the writer's memory does not hold, and the writer asks the file each time before rows
 * go. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "store/ground/db.h"
#include "store/ground/schema.h"

enum { PIN_BUSY_TIMEOUT_MS = 10000, SOON_TIMEOUT_MS = 300 };
enum statement { PIN_SET, NOTE_ADD, NOTE_DROP, ACCEPTANCE_ADD, TEST_ADD, TESTS_TRIM, STATEMENTS };

static const char *const sql[STATEMENTS] = {
	[PIN_SET] = "UPDATE session SET pinned = ?2 WHERE id = ?1",
	[NOTE_ADD] =
	    "INSERT INTO note(session_id, t_ns, line, point, text, made_ns)"
	    " SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE EXISTS (SELECT 1 FROM session WHERE id = ?1)"
	    " AND (SELECT count(*) FROM note WHERE session_id = ?1) < ?7",
	[NOTE_DROP] = "DELETE FROM note WHERE id = ?1",
	[ACCEPTANCE_ADD] =
	    "INSERT INTO acceptance(route, program, t_ns, session_id, who, why)"
	    " SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE EXISTS (SELECT 1 FROM incident WHERE route = ?1"
	    " AND program = ?2 AND session_id = ?4 AND kind = 'step' AND state = 'open')"
	    " AND (SELECT count(*) FROM acceptance WHERE route = ?1 AND program = ?2) < ?7",
	[TEST_ADD] = "INSERT INTO active_test(run, kind, tool, source, destination, start_ns,"
		     " end_ns, succeeded, error, fields, details) VALUES"
		     " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(run) DO NOTHING",
	[TESTS_TRIM] = "DELETE FROM active_test WHERE kind = ?1 AND id <= (SELECT id FROM"
		       " active_test WHERE kind = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
};

/* A store, possibly open in another process, for a single statement. */
struct pen {
	sqlite3 *db;
	struct db_stmts stmts;
};

static int
pen_take(struct pen *p, const char *path, int wait_ms, char why[STORE_WHY_BYTES])
{
	int rc;

	*p = (struct pen){ .db = NULL };
	why[0] = '\0';
	if (sqlite3_open_v2(path, &p->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK) {
		snprintf(why, STORE_WHY_BYTES, "%s",
		    p->db == NULL ? "out of memory" : sqlite3_errmsg(p->db));
		sqlite3_close(p->db);
		p->db = NULL;
		return NW_EIO;
	}
	sqlite3_busy_timeout(p->db, wait_ms);
	if ((rc = schema_check(p->db, why)) != NW_OK) {
		sqlite3_close(p->db);
		p->db = NULL;
		return rc;
	}
	db_stmts_init(&p->stmts, p->db, sql, STATEMENTS);
	return NW_OK;
}

/* Ends the writing; a statement without a changed row found nothing. Takes and returns its code. */
static int
pen_drop(struct pen *p, int rc, const char *nothing, char why[STORE_WHY_BYTES])
{
	if (rc == NW_OK && sqlite3_changes(p->db) == 0) {
		rc = NW_ENOTFOUND;
		snprintf(why, STORE_WHY_BYTES, "%s", nothing);
	} else if (rc != NW_OK)
		db_why(p->db, why, STORE_WHY_BYTES);
	db_stmts_clear(&p->stmts);
	sqlite3_close(p->db);
	return rc;
}

int
store_pin(const char *path, int64_t session_id, bool pinned, char why[STORE_WHY_BYTES])
{
	struct pen p;
	int rc = pen_take(&p, path, PIN_BUSY_TIMEOUT_MS, why);

	if (rc != NW_OK)
		return rc;
	rc = db_run(&p.stmts, PIN_SET, "ii", session_id, (int64_t)pinned);
	return pen_drop(&p, rc, "no such session", why);
}

static int
note_add(const char *path, const struct nw_note_rec *n, int wait_ms, int64_t *id,
    char why[STORE_WHY_BYTES])
{
	struct pen p;
	int rc;

	if (strlen(n->line) > STORE_NOTE_BYTES || strlen(n->point) > STORE_NOTE_BYTES ||
	    strlen(n->text) > STORE_NOTE_BYTES) {
		snprintf(why, STORE_WHY_BYTES, "longer than %d bytes", STORE_NOTE_BYTES);
		return NW_ETOOBIG;
	}
	if ((rc = pen_take(&p, path, wait_ms, why)) != NW_OK)
		return rc;
	rc = db_run(&p.stmts, NOTE_ADD, "iitttii", n->session_id, n->t_wall_ns, n->line, n->point,
	    n->text, n->made_wall_ns, (int64_t)STORE_NOTES_MAX);
	*id = sqlite3_last_insert_rowid(p.db);
	return pen_drop(&p, rc, "no such session, or the session has too many notes", why);
}

int
store_note_add(
    const char *path, const struct nw_note_rec *n, int64_t *id, char why[STORE_WHY_BYTES])
{
	return note_add(path, n, PIN_BUSY_TIMEOUT_MS, id, why);
}

int
store_note_add_soon(
    const char *path, const struct nw_note_rec *n, int64_t *id, char why[STORE_WHY_BYTES])
{
	return note_add(path, n, SOON_TIMEOUT_MS, id, why);
}

int
store_note_drop(const char *path, int64_t id, char why[STORE_WHY_BYTES])
{
	struct pen p;
	int rc = pen_take(&p, path, PIN_BUSY_TIMEOUT_MS, why);

	if (rc != NW_OK)
		return rc;
	rc = db_run(&p.stmts, NOTE_DROP, "i", id);
	return pen_drop(&p, rc, "no such note", why);
}

static int
acceptance_add(
    const char *path, const struct nw_acceptance_rec *a, int wait_ms, char why[STORE_WHY_BYTES])
{
	struct pen p;
	int rc;

	if (strlen(a->who) > STORE_ACCEPTANCE_BYTES || strlen(a->why) > STORE_ACCEPTANCE_BYTES) {
		snprintf(why, STORE_WHY_BYTES, "longer than %d bytes", STORE_ACCEPTANCE_BYTES);
		return NW_ETOOBIG;
	}
	if ((rc = pen_take(&p, path, wait_ms, why)) != NW_OK)
		return rc;
	/* the time is read while nobody else writes: a history made before does not have the
	 * acceptance, and is older */
	if ((rc = db_exec(p.db, "BEGIN IMMEDIATE")) == NW_OK)
		rc = db_run(&p.stmts, ACCEPTANCE_ADD, "ttiitti", a->route, a->program,
		    a->t_wall_ns != 0 ? a->t_wall_ns : nw_wall_ns(), a->session_id, a->who, a->why,
		    (int64_t)STORE_ACCEPTANCES_MAX);
	if (rc == NW_OK)
		rc = db_exec(p.db, "COMMIT");
	return pen_drop(&p, rc, "no such open incident", why);
}

int
store_acceptance_add(const char *path, const struct nw_acceptance_rec *a, char why[STORE_WHY_BYTES])
{
	return acceptance_add(path, a, PIN_BUSY_TIMEOUT_MS, why);
}

int
store_acceptance_add_soon(
    const char *path, const struct nw_acceptance_rec *a, char why[STORE_WHY_BYTES])
{
	return acceptance_add(path, a, SOON_TIMEOUT_MS, why);
}

/* --- active tests --- */

/* The known quantities as JSON, for free(); 17 digits keep a double exactly. NULL: no memory. */
static char *
test_fields(const struct nw_active_test *t)
{
	json_t *doc = json_object();
	char *text;
	int i;

	for (i = 0; i < NW_TEST_FIELD_COUNT; i++)
		if (isfinite(t->value[i]))
			json_object_set_new(
			    doc, nw_test_field_name((enum nw_test_field)i), json_real(t->value[i]));
	text = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(17));
	json_decref(doc);
	return text;
}

static int
test_put(struct pen *p, const struct nw_active_test *t)
{
	char *fields = test_fields(t);
	int rc = NW_ENOMEM;

	if (fields != NULL)
		rc = db_run(&p->stmts, TEST_ADD, "tttttiiittt", t->run, nw_test_kind_name(t->kind),
		    t->tool, t->src, t->dst, t->start_wall_ns, t->end_wall_ns,
		    (int64_t)t->succeeded, t->error, fields, t->details);
	free(fields);
	return rc;
}

static int
tests_put(struct pen *p, const struct nw_active_test *tests, size_t n, size_t *added)
{
	size_t i;
	int rc, kind;

	if ((rc = db_exec(p->db, "BEGIN IMMEDIATE")) != NW_OK)
		return rc;
	for (i = 0; i < n && rc == NW_OK; i++) {
		rc = test_put(p, &tests[i]);
		*added += rc == NW_OK && sqlite3_changes(p->db) > 0;
	}
	for (kind = 0; kind < NW_TEST_KINDS && rc == NW_OK; kind++)
		rc = db_run(&p->stmts, TESTS_TRIM, "ti", nw_test_kind_name((enum nw_test_kind)kind),
		    (int64_t)STORE_TESTS_MAX);
	return rc == NW_OK ? db_exec(p->db, "COMMIT") : rc;
}

static int
tests_add(const char *path, const struct nw_active_test *tests, size_t n, int wait_ms,
    size_t *added, char why[STORE_WHY_BYTES])
{
	struct pen p;
	int rc;

	*added = 0;
	if ((rc = pen_take(&p, path, wait_ms, why)) != NW_OK)
		return rc;
	if ((rc = tests_put(&p, tests, n, added)) != NW_OK) {
		db_why(p.db, why, STORE_WHY_BYTES);
		*added = 0;
	}
	db_stmts_clear(&p.stmts);
	sqlite3_close(p.db); /* ends an open transaction without effect */
	return rc;
}

int
store_tests_add(const char *path, const struct nw_active_test *tests, size_t n, size_t *added,
    char why[STORE_WHY_BYTES])
{
	return tests_add(path, tests, n, PIN_BUSY_TIMEOUT_MS, added, why);
}

int
store_tests_add_soon(const char *path, const struct nw_active_test *tests, size_t n, size_t *added,
    char why[STORE_WHY_BYTES])
{
	return tests_add(path, tests, n, SOON_TIMEOUT_MS, added, why);
}
