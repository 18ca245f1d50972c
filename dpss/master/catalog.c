/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table `place` is the truth; memory holds the bits of used slots, so that a free one is found
 * without a search through the file.
 */
#include "dpss/master/catalog.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"

struct disk_use {
	uint64_t slots, used, next; /* next: where the search for a free slot goes on */
	uint8_t *bits;
};

struct server_use {
	uint32_t block_bytes; /* 0: the server has not told its space yet */
	size_t n_disks;
	struct disk_use disk[CATALOG_DISKS_MAX];
};

/* A word that is lost with the master costs nothing: the place is in the file, and the server knows
 * what stands there. So many words share one transaction. */
enum { STORED_MAX = 4096 };

struct catalog {
	sqlite3 *db;
	pthread_mutex_t lock;
	struct server_use use[DPSS_SERVERS_MAX];
	sqlite3_stmt *find;
	struct stored {
		uint64_t logical;
		uint32_t set, server;
		int state;
	} stored[STORED_MAX]; /* not in the file yet: what servers said of blocks */
	size_t n_stored;
};

static const char schema[] =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
    "CREATE TABLE IF NOT EXISTS server (id INTEGER PRIMARY KEY, host TEXT NOT NULL, port INTEGER"
    " NOT NULL, secret TEXT NOT NULL, draining INTEGER NOT NULL DEFAULT 0, UNIQUE (host, port));"
    "CREATE TABLE IF NOT EXISTS data_set (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL"
    " UNIQUE, block_bytes INTEGER NOT NULL, bytes INTEGER NOT NULL, copies INTEGER NOT NULL, parity"
    " INTEGER NOT NULL, owner TEXT NOT NULL, sealed INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE IF NOT EXISTS access (data_set INTEGER NOT NULL REFERENCES data_set ON DELETE"
    " CASCADE, user TEXT NOT NULL, rights INTEGER NOT NULL, PRIMARY KEY (data_set, user))"
    " WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS place (data_set INTEGER NOT NULL REFERENCES data_set ON DELETE"
    " CASCADE, logical INTEGER NOT NULL, copy INTEGER NOT NULL, server INTEGER NOT NULL REFERENCES"
    " server, disk INTEGER NOT NULL, slot INTEGER NOT NULL, state INTEGER NOT NULL DEFAULT 0,"
    " PRIMARY KEY (data_set, logical, copy)) WITHOUT ROWID;"
    "CREATE UNIQUE INDEX IF NOT EXISTS place_slot ON place (server, disk, slot);";
enum { STATE_PLACED, STATE_STORED, STATE_DAMAGED };

/* --- SQL --- */

static void
bind_all(sqlite3_stmt *st, const char *types, va_list ap)
{
	int i;

	for (i = 1; *types != '\0'; i++, types++)
		if (*types == 'i')
			sqlite3_bind_int64(st, i, va_arg(ap, int64_t));
		else
			sqlite3_bind_text(st, i, va_arg(ap, const char *), -1, SQLITE_TRANSIENT);
}

/* A statement with int64_t ("i") and text ("t") parameters, ready to step; NULL on failure. */
static sqlite3_stmt *
statement(struct catalog *c, const char *sql, const char *types, ...)
{
	sqlite3_stmt *st;
	va_list ap;

	if (sqlite3_prepare_v2(c->db, sql, -1, &st, NULL) != SQLITE_OK)
		return NULL;
	va_start(ap, types);
	bind_all(st, types, ap);
	va_end(ap);
	return st;
}

static int
rc_of(int sqlite)
{
	switch (sqlite & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE: return NW_OK;
	case SQLITE_ROW: return NW_OK;
	case SQLITE_CONSTRAINT: return NW_ECONFLICT;
	case SQLITE_FULL: return NW_EFULL;
	case SQLITE_NOMEM: return NW_ENOMEM;
	default: return NW_EIO;
	}
}

/* Steps once and ends the statement, which may be NULL. */
static int
run(sqlite3_stmt *st)
{
	int rc = st != NULL ? rc_of(sqlite3_step(st)) : NW_EIO;

	sqlite3_finalize(st);
	return rc;
}

static int
execute(struct catalog *c, const char *sql)
{
	return rc_of(sqlite3_exec(c->db, sql, NULL, NULL, NULL));
}

static void
text_copy(char *out, size_t cap, sqlite3_stmt *st, int column)
{
	const char *text = (const char *)sqlite3_column_text(st, column);

	snprintf(out, cap, "%s", text != NULL ? text : "");
}

/* Called with the lock. */
static void
stored_flush(struct catalog *c)
{
	sqlite3_stmt *st = c->n_stored > 0
	    ? statement(c,
		  "UPDATE place SET state = ? WHERE data_set = ? AND logical = ? AND server = ?",
		  "")
	    : NULL;
	size_t i;

	if (st == NULL || execute(c, "BEGIN IMMEDIATE") != NW_OK) {
		sqlite3_finalize(st);
		return;
	}
	for (i = 0; i < c->n_stored; i++) {
		sqlite3_bind_int(st, 1, c->stored[i].state);
		sqlite3_bind_int64(st, 2, c->stored[i].set);
		sqlite3_bind_int64(st, 3, (int64_t)c->stored[i].logical);
		sqlite3_bind_int64(st, 4, c->stored[i].server);
		sqlite3_step(st);
		sqlite3_reset(st);
	}
	sqlite3_finalize(st);
	execute(c, "COMMIT");
	c->n_stored = 0;
}

int
catalog_open(const char *path, struct catalog **out, char why[CATALOG_WHY_BYTES])
{
	struct catalog *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NW_ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	if (sqlite3_open_v2(path, &c->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
		NULL) != SQLITE_OK ||
	    sqlite3_busy_timeout(c->db, 5000) != SQLITE_OK ||
	    sqlite3_exec(c->db, schema, NULL, NULL, NULL) != SQLITE_OK ||
	    (c->find = statement(c,
		 "SELECT copy, server, disk, slot FROM place WHERE data_set = ? AND logical = ?"
		 " AND state <> 2 ORDER BY copy",
		 "")) == NULL) {
		snprintf(why, CATALOG_WHY_BYTES, "%.150s: %s", path,
		    c->db != NULL ? sqlite3_errmsg(c->db) : "no memory");
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
	stored_flush(c);
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
	rc = run(statement(c, "INSERT INTO server (host, port, secret) VALUES (?, ?, ?)", "tit",
	    s->host, (int64_t)s->port, secret));
	s->id = (uint32_t)sqlite3_last_insert_rowid(c->db);
	if (rc == NW_OK && s->id >= DPSS_SERVERS_MAX) {
		run(statement(c, "DELETE FROM server WHERE id = ?", "i", (int64_t)s->id));
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
	rc = run(statement(c, "UPDATE server SET draining = 1 WHERE id = ?", "i", (int64_t)id));
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
	st = statement(c, "SELECT id, host, port, secret, draining FROM server ORDER BY id", "");
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

static void
slot_mark(struct server_use *u, uint32_t disk, uint64_t slot, bool used)
{
	struct disk_use *d = &u->disk[disk];
	uint8_t bit = (uint8_t)(1U << slot % 8);

	if (disk >= u->n_disks || slot >= d->slots || (d->bits[slot / 8] & bit) == (used ? bit : 0))
		return;
	d->bits[slot / 8] ^= bit;
	if (used)
		d->used++;
	else
		d->used--;
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
	st = statement(c, "SELECT disk, slot FROM place WHERE server = ?", "i", (int64_t)id);
	while (rc == NW_OK && st != NULL && sqlite3_step(st) == SQLITE_ROW)
		slot_mark(u, (uint32_t)sqlite3_column_int64(st, 0),
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

#define SET_COLUMNS                                                    \
	"id, name, block_bytes, bytes, copies, parity, owner, sealed," \
	" (SELECT count(*) FROM place WHERE data_set = data_set.id AND state = 1)"

static void
set_row(sqlite3_stmt *st, struct catalog_set *s)
{
	s->id = (uint32_t)sqlite3_column_int64(st, 0);
	text_copy(s->name, sizeof(s->name), st, 1);
	s->block_bytes = (uint32_t)sqlite3_column_int64(st, 2);
	s->bytes = (uint64_t)sqlite3_column_int64(st, 3);
	s->blocks = (s->bytes + s->block_bytes - 1) / s->block_bytes;
	s->copies = (uint8_t)sqlite3_column_int(st, 4);
	s->parity = (uint8_t)sqlite3_column_int(st, 5);
	text_copy(s->owner, sizeof(s->owner), st, 6);
	s->sealed = sqlite3_column_int(st, 7) != 0;
	s->written = (uint64_t)sqlite3_column_int64(st, 8);
}

int
catalog_set_new(struct catalog *c, struct catalog_set *s)
{
	int rc;

	if (s->name[0] == '\0' || s->block_bytes == 0 || s->block_bytes > DPSS_BLOCK_MAX ||
	    s->bytes > (uint64_t)INT64_MAX / 4 || s->copies == 0 || s->copies > CATALOG_COPIES_MAX)
		return NW_EINVAL;
	pthread_mutex_lock(&c->lock);
	rc = run(statement(c,
	    "INSERT INTO data_set (name, block_bytes, bytes, copies, parity, owner)"
	    " VALUES (?, ?, ?, ?, ?, ?)",
	    "tiiiit", s->name, (int64_t)s->block_bytes, (int64_t)s->bytes, (int64_t)s->copies,
	    (int64_t)s->parity, s->owner));
	s->id = (uint32_t)sqlite3_last_insert_rowid(c->db);
	s->blocks = (s->bytes + s->block_bytes - 1) / s->block_bytes;
	pthread_mutex_unlock(&c->lock);
	return rc;
}

/* The owner may do everything, others what an entry of theirs or of "*" says. */
static enum catalog_rights
rights_of(struct catalog *c, const struct catalog_set *s, const char *user)
{
	sqlite3_stmt *st;
	int rights = CATALOG_NONE;

	if (strcmp(s->owner, user) == 0)
		return CATALOG_WRITE;
	st = statement(c, "SELECT max(rights) FROM access WHERE data_set = ? AND user IN (?, '*')",
	    "it", (int64_t)s->id, user);
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
	stored_flush(c);
	st = statement(c, "SELECT " SET_COLUMNS " FROM data_set WHERE name = ?", "t", name);
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
	stored_flush(c);
	st = statement(c, "SELECT " SET_COLUMNS " FROM data_set ORDER BY name", "");
	while (rc == NW_OK && st != NULL && sqlite3_step(st) == SQLITE_ROW) {
		if ((grown = reallocarray(all, *n + 1, sizeof(*all))) == NULL) {
			rc = NW_ENOMEM;
			break;
		}
		all = grown;
		set_row(st, &all[*n]);
		*n += rights_of(c, &all[*n], user) != CATALOG_NONE;
	}
	sqlite3_finalize(st);
	pthread_mutex_unlock(&c->lock);
	*out = all;
	return rc;
}

int
catalog_set_drop(struct catalog *c, uint32_t id)
{
	sqlite3_stmt *st;
	int rc;

	pthread_mutex_lock(&c->lock);
	st = statement(
	    c, "SELECT server, disk, slot FROM place WHERE data_set = ?", "i", (int64_t)id);
	while (st != NULL && sqlite3_step(st) == SQLITE_ROW)
		if (sqlite3_column_int64(st, 0) < DPSS_SERVERS_MAX)
			slot_mark(&c->use[sqlite3_column_int64(st, 0)],
			    (uint32_t)sqlite3_column_int64(st, 1),
			    (uint64_t)sqlite3_column_int64(st, 2), false);
	sqlite3_finalize(st);
	rc = run(statement(c, "DELETE FROM data_set WHERE id = ?", "i", (int64_t)id));
	pthread_mutex_unlock(&c->lock);
	return rc;
}

int
catalog_set_seal(struct catalog *c, uint32_t id)
{
	int rc;

	pthread_mutex_lock(&c->lock);
	rc = run(statement(c, "UPDATE data_set SET sealed = 1 WHERE id = ?", "i", (int64_t)id));
	pthread_mutex_unlock(&c->lock);
	return rc;
}

int
catalog_allow(struct catalog *c, uint32_t id, const char *user, enum catalog_rights rights)
{
	int rc;

	pthread_mutex_lock(&c->lock);
	rc = run(statement(c, "REPLACE INTO access (data_set, user, rights) VALUES (?, ?, ?)",
	    "iti", (int64_t)id, user, (int64_t)rights));
	pthread_mutex_unlock(&c->lock);
	return rc;
}

/* --- places --- */

/* Called with the lock. */
static size_t
places_of(
    struct catalog *c, uint32_t set, uint64_t logical, struct catalog_place out[CATALOG_COPIES_MAX])
{
	size_t n = 0;

	sqlite3_bind_int64(c->find, 1, set);
	sqlite3_bind_int64(c->find, 2, (int64_t)logical);
	while (sqlite3_step(c->find) == SQLITE_ROW && n < CATALOG_COPIES_MAX)
		out[n++] = (struct catalog_place){ .logical = logical,
			.copy = (uint8_t)sqlite3_column_int(c->find, 0),
			.server = (uint32_t)sqlite3_column_int64(c->find, 1),
			.disk = (uint32_t)sqlite3_column_int64(c->find, 2),
			.slot = (uint64_t)sqlite3_column_int64(c->find, 3) };
	sqlite3_reset(c->find);
	return n;
}

size_t
catalog_find(
    struct catalog *c, uint32_t set, uint64_t logical, struct catalog_place out[CATALOG_COPIES_MAX])
{
	size_t n;

	pthread_mutex_lock(&c->lock);
	n = places_of(c, set, logical, out);
	pthread_mutex_unlock(&c->lock);
	return n;
}

static bool
slot_free(struct disk_use *d, uint64_t *slot)
{
	uint64_t i;

	if (d->used >= d->slots)
		return false;
	for (i = 0; i < d->slots; i++, d->next = (d->next + 1) % d->slots)
		if ((d->bits[d->next / 8] & 1U << d->next % 8) == 0) {
			*slot = d->next;
			return true;
		}
	return false;
}

struct placing {
	struct catalog *c;
	const struct catalog_set *set;
	uint32_t servers[DPSS_SERVERS_MAX]; /* that may take blocks */
	size_t n_servers;
	sqlite3_stmt *insert;
};

/* A free slot on the `at`-th server, on the disk that is next for this block. */
static bool
place_on(struct placing *p, size_t at, uint64_t logical, struct catalog_place *out)
{
	struct server_use *u;
	size_t i;

	out->server = p->servers[at % p->n_servers];
	u = &p->c->use[out->server];
	for (i = 0; i < u->n_disks; i++) {
		out->disk = (uint32_t)((logical / p->n_servers + i) % u->n_disks);
		if (slot_free(&u->disk[out->disk], &out->slot))
			return true;
	}
	return false;
}

static bool
has_copy_on(const struct catalog_place *copies, size_t n, uint32_t server)
{
	while (n-- > 0)
		if (copies[n].server == server)
			return true;
	return false;
}

/* Parity of group g stands behind the group's last block, so on another server than its blocks. */
static size_t
first_server(const struct placing *p, uint64_t logical)
{
	if (logical >= p->set->blocks && p->set->parity > 0)
		return (size_t)(((logical - p->set->blocks) * p->set->parity + p->set->parity) %
		    p->n_servers);
	return (size_t)(logical % p->n_servers);
}

static int
place_copy(
    struct placing *p, uint64_t logical, uint8_t copy, struct catalog_place *copies, size_t n)
{
	struct catalog_place *out = &copies[n];
	size_t at = first_server(p, logical) + copy, i;
	int rc;

	*out = (struct catalog_place){ .logical = logical, .copy = copy };
	for (i = 0; i < p->n_servers; i++)
		if (!has_copy_on(copies, n, p->servers[(at + i) % p->n_servers]) &&
		    place_on(p, at + i, logical, out))
			break;
	if (i == p->n_servers)
		return NW_EFULL;
	sqlite3_bind_int64(p->insert, 1, p->set->id);
	sqlite3_bind_int64(p->insert, 2, (int64_t)logical);
	sqlite3_bind_int64(p->insert, 3, copy);
	sqlite3_bind_int64(p->insert, 4, out->server);
	sqlite3_bind_int64(p->insert, 5, out->disk);
	sqlite3_bind_int64(p->insert, 6, (int64_t)out->slot);
	rc = rc_of(sqlite3_step(p->insert));
	sqlite3_reset(p->insert);
	if (rc == NW_OK)
		slot_mark(&p->c->use[out->server], out->disk, out->slot, true);
	return rc;
}

static bool
has_copy_number(const struct catalog_place *copies, size_t n, uint8_t copy)
{
	while (n-- > 0)
		if (copies[n].copy == copy)
			return true;
	return false;
}

/* Old places and new ones, up to the set's number of copies. A block of which no copy could be
 * placed is an error; fewer copies than wanted are not. */
static int
place_block(struct placing *p, uint64_t logical, struct catalog_place *out, size_t *n_out)
{
	size_t n = places_of(p->c, p->set->id, logical, out);
	uint8_t copy;
	int rc = NW_OK;

	for (copy = 0; copy < p->set->copies && n < CATALOG_COPIES_MAX && rc == NW_OK; copy++)
		if (!has_copy_number(out, n, copy) &&
		    (rc = place_copy(p, logical, copy, out, n)) == NW_OK)
			n++;
	*n_out = n;
	return rc == NW_EFULL && n > 0 ? NW_OK : rc;
}

static void
placing_servers(struct placing *p, bool (*is_up)(void *arg, uint32_t server), void *arg)
{
	sqlite3_stmt *st =
	    statement(p->c, "SELECT id FROM server WHERE draining = 0 ORDER BY id", "");

	while (st != NULL && sqlite3_step(st) == SQLITE_ROW) {
		uint32_t id = (uint32_t)sqlite3_column_int64(st, 0);

		if (id < DPSS_SERVERS_MAX && p->c->use[id].block_bytes >= p->set->block_bytes &&
		    is_up(arg, id))
			p->servers[p->n_servers++] = id;
	}
	sqlite3_finalize(st);
}

static int
place_all(
    struct placing *p, const uint64_t *logical, size_t n, struct catalog_place *out, size_t *n_out)
{
	size_t i, one;
	int rc;

	if ((rc = execute(p->c, "BEGIN IMMEDIATE")) != NW_OK)
		return rc;
	for (i = 0; i < n && rc == NW_OK; i++, *n_out += one)
		rc = place_block(p, logical[i], out + *n_out, &one);
	if (rc == NW_OK)
		return execute(p->c, "COMMIT");
	for (i = 0; i < *n_out; i++) /* places of before stay used: they are marked again */
		slot_mark(&p->c->use[out[i].server], out[i].disk, out[i].slot, false);
	execute(p->c, "ROLLBACK");
	for (i = 0; i < n; i++)
		for (one = places_of(p->c, p->set->id, logical[i], out); one-- > 0;)
			slot_mark(&p->c->use[out[one].server], out[one].disk, out[one].slot, true);
	return rc;
}

int
catalog_place(struct catalog *c, const struct catalog_set *s, const uint64_t *logical, size_t n,
    bool (*is_up)(void *arg, uint32_t server), void *arg, struct catalog_place **out, size_t *n_out)
{
	struct placing p = { .c = c, .set = s };
	int rc = NW_EFULL;

	*n_out = 0;
	if ((*out = calloc(n + 1, CATALOG_COPIES_MAX * sizeof(**out))) == NULL)
		return NW_ENOMEM;
	pthread_mutex_lock(&c->lock);
	placing_servers(&p, is_up, arg);
	p.insert = statement(c,
	    "INSERT INTO place (data_set, logical, copy, server, disk, slot)"
	    " VALUES (?, ?, ?, ?, ?, ?)",
	    "");
	if (p.insert == NULL)
		rc = NW_EIO;
	else if (p.n_servers > 0)
		rc = place_all(&p, logical, n, *out, n_out);
	sqlite3_finalize(p.insert);
	pthread_mutex_unlock(&c->lock);
	if (rc != NW_OK) {
		free(*out);
		*out = NULL;
	}
	return rc;
}

static void
state_set(struct catalog *c, uint32_t set, uint64_t logical, uint32_t server, int state)
{
	pthread_mutex_lock(&c->lock);
	c->stored[c->n_stored++] = (struct stored){ logical, set, server, state };
	if (c->n_stored == STORED_MAX || state == STATE_DAMAGED)
		stored_flush(c);
	pthread_mutex_unlock(&c->lock);
}

void
catalog_stored(struct catalog *c, uint32_t set, uint64_t logical, uint32_t server)
{
	state_set(c, set, logical, server, STATE_STORED);
}

void
catalog_damaged(struct catalog *c, uint32_t set, uint64_t logical, uint32_t server)
{
	state_set(c, set, logical, server, STATE_DAMAGED);
}
