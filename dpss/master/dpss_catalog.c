/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table `place` is the truth; memory holds the bits of used slots, so that finding a free slot
 * needs no search through the file.
 */
#include "dpss/master/catalog_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

#define COLUMN(name, ...)     ", " #name
#define COLUMN_NEW(name, ...) ", " #name " INTEGER NOT NULL"
#define COLUMN_VALUE(...)     ", ?"

static const char schema[] =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
    "CREATE TABLE IF NOT EXISTS server (id INTEGER PRIMARY KEY, host TEXT NOT NULL, port INTEGER"
    " NOT NULL, secret TEXT NOT NULL, draining INTEGER NOT NULL DEFAULT 0, UNIQUE (host, port));"
    "CREATE TABLE IF NOT EXISTS data_set (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL"
    " UNIQUE, block_bytes INTEGER NOT NULL, bytes INTEGER NOT NULL" DPSS_LAYOUT(
	COLUMN_NEW) ", owner TEXT NOT NULL, sealed INTEGER NOT NULL DEFAULT 0);"
		    "CREATE TABLE IF NOT EXISTS access (data_set INTEGER NOT NULL REFERENCES "
		    "data_set ON DELETE"
		    " CASCADE, user TEXT NOT NULL, rights INTEGER NOT NULL, PRIMARY KEY (data_set, "
		    "user))"
		    " WITHOUT ROWID;"
		    "CREATE TABLE IF NOT EXISTS place (data_set INTEGER NOT NULL REFERENCES "
		    "data_set ON DELETE"
		    " CASCADE, logical INTEGER NOT NULL, copy INTEGER NOT NULL, server INTEGER NOT "
		    "NULL REFERENCES"
		    " server, disk INTEGER NOT NULL, slot INTEGER NOT NULL, state INTEGER NOT NULL "
		    "DEFAULT 0,"
		    " PRIMARY KEY (data_set, logical, copy)) WITHOUT ROWID;"
		    "CREATE UNIQUE INDEX IF NOT EXISTS place_slot ON place (server, disk, slot);";
static void
text_copy(char *out, size_t cap, sqlite3_stmt *st, int column)
{
	const char *text = (const char *)sqlite3_column_text(st, column);

	snprintf(out, cap, "%s", text != NULL ? text : "");
}

/* A catalogue from before a row of DPSS_LAYOUT gets the row's column. */
static int
layout_columns(struct catalog *c)
{
	char sql[128];
	int rc = NW_OK;
	size_t i;

	for (i = 0; i < LAYOUT_ROWS && rc == NW_OK; i++) {
		snprintf(sql, sizeof(sql), "SELECT %s FROM data_set LIMIT 0", layout_rows[i].name);
		if (catalog_execute(c, sql) == NW_OK)
			continue;
		snprintf(sql, sizeof(sql),
		    "ALTER TABLE data_set ADD COLUMN %s INTEGER NOT NULL DEFAULT %u",
		    layout_rows[i].name, layout_rows[i].usual);
		rc = catalog_execute(c, sql);
	}
	return rc;
}

int
catalog_open(const char *path, struct catalog **out, char why[CATALOG_WHY_BYTES])
{
	struct catalog *c = calloc(1, sizeof(*c));
	int error;

	if (c == NULL)
		return NW_ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	if (sqlite3_open_v2(path, &c->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
		NULL) != SQLITE_OK ||
	    sqlite3_busy_timeout(c->db, 5000) != SQLITE_OK ||
	    sqlite3_exec(c->db, schema, NULL, NULL, NULL) != SQLITE_OK ||
	    layout_columns(c) != NW_OK ||
	    (c->find = catalog_statement(c,
		 "SELECT copy, server, disk, slot FROM place WHERE data_set = ? AND logical = ?"
		 " AND state <> 2 AND copy < 16 ORDER BY copy",
		 "")) == NULL) {
		/* the system's reason, such as a missing directory, says more than SQLite's */
		error = c->db != NULL ? sqlite3_system_errno(c->db) : 0;
		snprintf(why, CATALOG_WHY_BYTES, "%.150s: %s", path,
		    error != 0          ? strerror(error)
			: c->db != NULL ? sqlite3_errmsg(c->db)
					: "no memory");
		catalog_close(c);
		return NW_EIO;
	}
	*out = c;
	return NW_OK;
}

void
catalog_close(struct catalog *c)
{
	size_t i, k;

	if (c == NULL)
		return;
	catalog_stored_flush(c);
	for (i = 0; i < DPSS_SERVERS_MAX; i++)
		for (k = 0; k < c->use[i].n_disks; k++)
			free(c->use[i].disk[k].bits);
	sqlite3_finalize(c->find);
	sqlite3_close(c->db);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* --- servers --- */

int
catalog_server_add(struct catalog *c, struct catalog_server *s)
{
	char secret[TICKET_SECRET_CHARS + 1];
	int rc;

	ticket_secret_print(s->secret, secret);
	pthread_mutex_lock(&c->lock);
	rc = catalog_run(
	    catalog_statement(c, "INSERT INTO server (host, port, secret) VALUES (?, ?, ?)", "tit",
		s->host, (int64_t)s->port, secret));
	s->id = (uint32_t)sqlite3_last_insert_rowid(c->db);
	if (rc == NW_OK && s->id >= DPSS_SERVERS_MAX) {
		catalog_run(
		    catalog_statement(c, "DELETE FROM server WHERE id = ?", "i", (int64_t)s->id));
		rc = NW_EFULL;
	}
	pthread_mutex_unlock(&c->lock);
	return rc;
}

int
catalog_server_drain(struct catalog *c, uint32_t id)
{
	int rc;

	pthread_mutex_lock(&c->lock);
	rc = catalog_run(
	    catalog_statement(c, "UPDATE server SET draining = 1 WHERE id = ?", "i", (int64_t)id));
	if (rc == NW_OK && sqlite3_changes(c->db) == 0)
		rc = NW_ENOTFOUND;
	pthread_mutex_unlock(&c->lock);
	return rc;
}

int
catalog_server_drop(struct catalog *c, uint32_t id)
{
	int rc;

	pthread_mutex_lock(&c->lock);
	catalog_stored_flush(c);
	rc = catalog_run(catalog_statement(c, "DELETE FROM server WHERE id = ?", "i", (int64_t)id));
	if (rc == NW_OK && sqlite3_changes(c->db) == 0)
		rc = NW_ENOTFOUND;
	pthread_mutex_unlock(&c->lock);
	return rc;
}

int
catalog_servers(struct catalog *c, struct catalog_server **out, size_t *n)
{
	struct catalog_server *all = calloc(DPSS_SERVERS_MAX, sizeof(*all));
	sqlite3_stmt *st;
	char secret[TICKET_SECRET_CHARS + 1];

	*n = 0;
	if (all == NULL)
		return NW_ENOMEM;
	pthread_mutex_lock(&c->lock);
	st = catalog_statement(
	    c, "SELECT id, host, port, secret, draining FROM server ORDER BY id", "");
	while (st != NULL && sqlite3_step(st) == SQLITE_ROW && *n < DPSS_SERVERS_MAX) {
		struct catalog_server *s = &all[*n];

		s->id = (uint32_t)sqlite3_column_int64(st, 0);
		text_copy(s->host, sizeof(s->host), st, 1);
		s->port = (uint16_t)sqlite3_column_int(st, 2);
		text_copy(secret, sizeof(secret), st, 3);
		s->draining = sqlite3_column_int(st, 4) != 0;
		*n += ticket_secret_parse(secret, s->secret) == NW_OK && s->id < DPSS_SERVERS_MAX;
	}
	sqlite3_finalize(st);
	pthread_mutex_unlock(&c->lock);
	*out = all;
	return NW_OK;
}

int
catalog_server_space(
    struct catalog *c, uint32_t id, uint32_t block_bytes, const uint64_t *slots, size_t n_disks)
{
	struct server_use *u = &c->use[id];
	sqlite3_stmt *st;
	size_t i;
	int rc = NW_OK;

	if (id >= DPSS_SERVERS_MAX || n_disks > CATALOG_DISKS_MAX)
		return NW_EINVAL;
	pthread_mutex_lock(&c->lock);
	for (i = 0; i < u->n_disks; i++)
		free(u->disk[i].bits);
	memset(u, 0, sizeof(*u));
	for (i = 0; i < n_disks && rc == NW_OK; i++, u->n_disks++) {
		u->disk[i].slots = slots[i];
		if ((u->disk[i].bits = calloc(slots[i] / 8 + 1, 1)) == NULL)
			rc = NW_ENOMEM;
	}
	u->block_bytes = rc == NW_OK ? block_bytes : 0;
	st =
	    catalog_statement(c, "SELECT disk, slot FROM place WHERE server = ?", "i", (int64_t)id);
	while (rc == NW_OK && st != NULL && sqlite3_step(st) == SQLITE_ROW)
		catalog_slot_mark(u, (uint32_t)sqlite3_column_int64(st, 0),
		    (uint64_t)sqlite3_column_int64(st, 1), true);
	sqlite3_finalize(st);
	pthread_mutex_unlock(&c->lock);
	return rc;
}

void
catalog_server_use(struct catalog *c, uint32_t id, uint32_t *disks, uint64_t *slots, uint64_t *used)
{
	const struct server_use *u = &c->use[id];
	size_t i;

	*slots = *used = 0;
	pthread_mutex_lock(&c->lock);
	*disks = (uint32_t)u->n_disks;
	for (i = 0; i < u->n_disks; i++) {
		*slots += u->disk[i].slots;
		*used += u->disk[i].used;
	}
	pthread_mutex_unlock(&c->lock);
}

/* --- sets --- */

#define SET_COLUMNS                                                                             \
	"id, name, block_bytes, bytes, owner, sealed,"                                          \
	" (SELECT count(*) FROM place WHERE data_set = data_set.id AND state = 1)" DPSS_LAYOUT( \
	    COLUMN)

static void
set_row(sqlite3_stmt *st, struct catalog_set *s)
{
	size_t i;

	s->id = (uint32_t)sqlite3_column_int64(st, 0);
	text_copy(s->name, sizeof(s->name), st, 1);
	s->layout.block_bytes = (uint32_t)sqlite3_column_int64(st, 2);
	s->layout.bytes = (uint64_t)sqlite3_column_int64(st, 3);
	s->blocks = (s->layout.bytes + s->layout.block_bytes - 1) / s->layout.block_bytes;
	text_copy(s->owner, sizeof(s->owner), st, 4);
	s->sealed = sqlite3_column_int(st, 5) != 0;
	s->written = (uint64_t)sqlite3_column_int64(st, 6);
	for (i = 0; i < LAYOUT_ROWS; i++)
		*layout_value(&s->layout, i) = (uint8_t)sqlite3_column_int(st, 7 + (int)i);
}

int
catalog_set_new(struct catalog *c, struct catalog_set *s)
{
	sqlite3_stmt *st;
	size_t i;
	int rc;

	if (s->name[0] == '\0' || s->layout.block_bytes == 0 ||
	    s->layout.block_bytes > DPSS_BLOCK_MAX || s->layout.bytes > (uint64_t)INT64_MAX / 4 ||
	    !layout_is_valid(&s->layout))
		return NW_EINVAL;
	pthread_mutex_lock(&c->lock);
	st = catalog_statement(c,
	    "INSERT INTO data_set (name, block_bytes, bytes, owner" DPSS_LAYOUT(
		COLUMN) ") VALUES (?, ?, ?, ?" DPSS_LAYOUT(COLUMN_VALUE) ")",
	    "tiit", s->name, (int64_t)s->layout.block_bytes, (int64_t)s->layout.bytes, s->owner);
	for (i = 0; i < LAYOUT_ROWS && st != NULL; i++)
		sqlite3_bind_int(st, 5 + (int)i, *layout_value(&s->layout, i));
	rc = catalog_run(st);
	s->id = (uint32_t)sqlite3_last_insert_rowid(c->db);
	s->blocks = (s->layout.bytes + s->layout.block_bytes - 1) / s->layout.block_bytes;
	pthread_mutex_unlock(&c->lock);
	return rc;
}

/* The owner may do everything, other users as much as their entry or the entry of "*" grants. */
static enum catalog_rights
rights_of(struct catalog *c, const struct catalog_set *s, const char *user)
{
	sqlite3_stmt *st;
	int rights = CATALOG_NONE;

	if (strcmp(s->owner, user) == 0)
		return CATALOG_WRITE;
	st = catalog_statement(c,
	    "SELECT max(rights) FROM access WHERE data_set = ? AND user IN (?, '*')", "it",
	    (int64_t)s->id, user);
	if (st != NULL && sqlite3_step(st) == SQLITE_ROW)
		rights = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	return (enum catalog_rights)rights;
}

int
catalog_set_find(struct catalog *c, const char *name, const char *user, struct catalog_set *out,
    enum catalog_rights *rights)
{
	sqlite3_stmt *st;
	int rc = NW_ENOTFOUND;

	pthread_mutex_lock(&c->lock);
	catalog_stored_flush(c);
	st = catalog_statement(c, "SELECT " SET_COLUMNS " FROM data_set WHERE name = ?", "t", name);
	if (st != NULL && sqlite3_step(st) == SQLITE_ROW) {
		set_row(st, out);
		*rights = rights_of(c, out, user);
		rc = NW_OK;
	}
	sqlite3_finalize(st);
	pthread_mutex_unlock(&c->lock);
	return rc;
}

int
catalog_sets(struct catalog *c, const char *user, struct catalog_set **out, size_t *n)
{
	struct catalog_set *all = NULL, *grown;
	sqlite3_stmt *st;
	int rc = NW_OK;

	*n = 0;
	pthread_mutex_lock(&c->lock);
	catalog_stored_flush(c);
	st = catalog_statement(c, "SELECT " SET_COLUMNS " FROM data_set ORDER BY name", "");
	while (rc == NW_OK && st != NULL && sqlite3_step(st) == SQLITE_ROW) {
		if ((grown = reallocarray(all, *n + 1, sizeof(*all))) == NULL) {
			rc = NW_ENOMEM;
			break;
		}
		all = grown;
		set_row(st, &all[*n]);
		*n += user == NULL || rights_of(c, &all[*n], user) != CATALOG_NONE;
	}
	sqlite3_finalize(st);
	pthread_mutex_unlock(&c->lock);
	*out = all;
	return rc;
}

/* The slots of a set's blocks from one on are free again. Called with the lock. */
static void
slots_free(struct catalog *c, uint32_t set, uint64_t from)
{
	sqlite3_stmt *st = catalog_statement(c,
	    "SELECT server, disk, slot FROM place WHERE data_set = ? AND logical >= ?", "ii",
	    (int64_t)set, (int64_t)from);

	while (st != NULL && sqlite3_step(st) == SQLITE_ROW)
		if (sqlite3_column_int64(st, 0) < DPSS_SERVERS_MAX)
			catalog_slot_mark(&c->use[sqlite3_column_int64(st, 0)],
			    (uint32_t)sqlite3_column_int64(st, 1),
			    (uint64_t)sqlite3_column_int64(st, 2), false);
	sqlite3_finalize(st);
}

int
catalog_set_drop(struct catalog *c, uint32_t id)
{
	int rc;

	pthread_mutex_lock(&c->lock);
	slots_free(c, id, 0);
	rc = catalog_run(
	    catalog_statement(c, "DELETE FROM data_set WHERE id = ?", "i", (int64_t)id));
	pthread_mutex_unlock(&c->lock);
	return rc;
}

int
catalog_set_seal(struct catalog *c, const struct catalog_set *s, uint64_t bytes)
{
	uint64_t blocks = (bytes + s->layout.block_bytes - 1) / s->layout.block_bytes;
	int rc = NW_OK;

	pthread_mutex_lock(&c->lock);
	if (bytes < s->layout.bytes) { /* places behind the end were given ahead */
		slots_free(c, s->id, blocks);
		rc = catalog_run(
		    catalog_statement(c, "DELETE FROM place WHERE data_set = ? AND logical >= ?",
			"ii", (int64_t)s->id, (int64_t)blocks));
	}
	if (rc == NW_OK)
		rc = catalog_run(
		    catalog_statement(c, "UPDATE data_set SET sealed = 1, bytes = ? WHERE id = ?",
			"ii", (int64_t)bytes, (int64_t)s->id));
	pthread_mutex_unlock(&c->lock);
	return rc;
}

int
catalog_allow(struct catalog *c, uint32_t id, const char *user, enum catalog_rights rights)
{
	int rc;

	pthread_mutex_lock(&c->lock);
	rc = catalog_run(
	    catalog_statement(c, "REPLACE INTO access (data_set, user, rights) VALUES (?, ?, ?)",
		"iti", (int64_t)id, user, (int64_t)rights));
	pthread_mutex_unlock(&c->lock);
	return rc;
}
