/* SPDX-License-Identifier: BSD-3-Clause */
/* Pins, notes and acceptances, from any process: SQLite lets another connection write a row that
 * the writer's memory does not hold, and the writer asks the file each time before rows go. */
#include <stdio.h>
#include <string.h>

#include "narrows/err.h"
#include "store/ground/db.h"
#include "store/ground/schema.h"

enum { PIN_BUSY_TIMEOUT_MS = 10000, SOON_TIMEOUT_MS = 300 };
enum statement { PIN_SET, NOTE_ADD, NOTE_DROP, ACCEPTANCE_ADD, STATEMENTS };

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
	rc = db_run(&p.stmts, ACCEPTANCE_ADD, "ttiitti", a->route, a->program, a->t_wall_ns,
	    a->session_id, a->who, a->why, (int64_t)STORE_ACCEPTANCES_MAX);
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
