/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The places of copies. A moving copy has two rows: the old row, for readers, and a row with a
 * number of copy greater by MOVING. The second row replaces the first when a server says that the
 * block is stored.
 */
#include <stdlib.h>
#include <string.h>

#include "dpss/master/catalog_inside.h"
#include "narrows/err.h"

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

int
catalog_find_all(struct catalog *c, uint32_t set, struct catalog_found *found, size_t n)
{
	size_t i;
	int rc;

	pthread_mutex_lock(&c->lock);
	if ((rc = catalog_execute(c, "BEGIN")) == NW_OK) {
		for (i = 0; i < n; i++)
			found[i].n = places_of(c, set, found[i].logical, found[i].copies);
		rc = catalog_execute(c, "COMMIT");
	}
	pthread_mutex_unlock(&c->lock);
	return rc;
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
	uint32_t servers[DPSS_SERVERS_MAX]; /* open to new blocks */
	size_t n_servers;
	struct catalog_wish wish; /* for the first copy of the block that is being placed */
	const bool *avoid;        /* servers that are taken only if no other has room; or NULL */
	sqlite3_stmt *insert;
};

/* The place that the application wants for the first copy, where there is room. */
static bool
place_wished(struct placing *p, struct catalog_place *out)
{
	struct server_use *u;
	size_t at, i;

	for (at = 0; at < p->n_servers && p->servers[at] != p->wish.server; at++)
		;
	if (at == p->n_servers)
		return false;
	out->server = p->wish.server;
	u = &p->c->use[out->server];
	for (i = 0; i < u->n_disks; i++) {
		out->disk = (uint32_t)i;
		if ((p->wish.disk == DPSS_ANY || p->wish.disk == i) &&
		    slot_free(&u->disk[i], &out->slot))
			return true;
	}
	return false;
}

/* A free slot on the `at`-th server, on the block's next disk. */
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
	if (logical >= p->set->blocks && p->set->layout.parity > 0)
		return (size_t)(((logical - p->set->blocks) * p->set->layout.parity +
				    p->set->layout.parity) %
		    p->n_servers);
	return (size_t)(logical % p->n_servers);
}

static int
place_insert(struct placing *p, const struct catalog_place *at)
{
	int rc;

	sqlite3_bind_int64(p->insert, 1, p->set->id);
	sqlite3_bind_int64(p->insert, 2, (int64_t)at->logical);
	sqlite3_bind_int64(p->insert, 3, at->copy);
	sqlite3_bind_int64(p->insert, 4, at->server);
	sqlite3_bind_int64(p->insert, 5, at->disk);
	sqlite3_bind_int64(p->insert, 6, (int64_t)at->slot);
	rc = catalog_rc(sqlite3_step(p->insert));
	sqlite3_reset(p->insert);
	if (rc == NW_OK)
		catalog_slot_mark(&p->c->use[at->server], at->disk, at->slot, true);
	return rc;
}

/* The next server behind `at` that has none of the block's copies and is not to be avoided. */
static bool
place_search(struct placing *p, size_t at, const struct catalog_place *copies, size_t n,
    const bool avoid[DPSS_SERVERS_MAX], struct catalog_place *out)
{
	uint32_t server;
	size_t i;

	for (i = 0; i < p->n_servers; i++) {
		server = p->servers[(at + i) % p->n_servers];
		if (!has_copy_on(copies, n, server) && (avoid == NULL || !avoid[server]) &&
		    place_on(p, at + i, out->logical, out))
			return true;
	}
	return false;
}

static int
place_copy(
    struct placing *p, uint64_t logical, uint8_t copy, struct catalog_place *copies, size_t n)
{
	struct catalog_place *out = &copies[n];
	size_t at = first_server(p, logical) + copy % MOVING;

	*out = (struct catalog_place){ .logical = logical, .copy = copy };
	if ((n == 0 && p->wish.server != DPSS_ANY && place_wished(p, out)) ||
	    (p->avoid != NULL && place_search(p, at, copies, n, p->avoid, out)) ||
	    place_search(p, at, copies, n, NULL, out))
		return place_insert(p, out);
	return NW_EFULL;
}

static bool
has_copy_number(const struct catalog_place *copies, size_t n, uint8_t copy)
{
	while (n-- > 0)
		if (copies[n].copy == copy)
			return true;
	return false;
}

/* Old places and new ones, up to the set's number of copies. A block without
 * any place is an error; fewer copies than wanted are none. */
static int
place_block(struct placing *p, uint64_t logical, struct catalog_place *out, size_t *n_out)
{
	size_t n = places_of(p->c, p->set->id, logical, out);
	uint8_t copy;
	int rc = NW_OK;

	for (copy = 0; copy < p->set->layout.copies && n < CATALOG_COPIES_MAX && rc == NW_OK;
	     copy++)
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
	    catalog_statement(p->c, "SELECT id FROM server WHERE draining = 0 ORDER BY id", "");

	while (st != NULL && sqlite3_step(st) == SQLITE_ROW) {
		uint32_t id = (uint32_t)sqlite3_column_int64(st, 0);

		if (id < DPSS_SERVERS_MAX &&
		    p->c->use[id].block_bytes >= p->set->layout.block_bytes && is_up(arg, id))
			p->servers[p->n_servers++] = id;
	}
	sqlite3_finalize(st);
}

static int
place_all(struct placing *p, const struct catalog_wish *wishes, size_t n, struct catalog_place *out,
    size_t *n_out)
{
	size_t i, one;
	int rc;

	if ((rc = catalog_execute(p->c, "BEGIN IMMEDIATE")) != NW_OK)
		return rc;
	for (i = 0; i < n && rc == NW_OK; i++, *n_out += one) {
		p->wish = wishes[i];
		rc = place_block(p, wishes[i].logical, out + *n_out, &one);
	}
	if (rc == NW_OK)
		return catalog_execute(p->c, "COMMIT");
	for (i = 0; i < *n_out; i++) /* places of before stay used: the loop marks them again */
		catalog_slot_mark(&p->c->use[out[i].server], out[i].disk, out[i].slot, false);
	catalog_execute(p->c, "ROLLBACK");
	for (i = 0; i < n; i++)
		for (one = places_of(p->c, p->set->id, wishes[i].logical, out); one-- > 0;)
			catalog_slot_mark(
			    &p->c->use[out[one].server], out[one].disk, out[one].slot, true);
	return rc;
}

/* NW_EFULL: no server that is up may take blocks. The caller ends p->insert after NW_OK. */
static int
placing_begin(struct placing *p, struct catalog *c, const struct catalog_set *s,
    bool (*is_up)(void *arg, uint32_t server), void *arg)
{
	*p = (struct placing){ .c = c, .set = s, .wish = { 0, DPSS_ANY, DPSS_ANY } };
	placing_servers(p, is_up, arg);
	if (p->n_servers == 0)
		return NW_EFULL;
	p->insert = catalog_statement(c,
	    "INSERT INTO place (data_set, logical, copy, server, disk, slot)"
	    " VALUES (?, ?, ?, ?, ?, ?)",
	    "");
	return p->insert != NULL ? NW_OK : NW_EIO;
}

int
catalog_place(struct catalog *c, const struct catalog_set *s, const struct catalog_wish *wishes,
    size_t n, bool (*is_up)(void *arg, uint32_t server), void *arg, struct catalog_place **out,
    size_t *n_out)
{
	struct placing p;
	int rc;

	*n_out = 0;
	if ((*out = calloc(n + 1, CATALOG_COPIES_MAX * sizeof(**out))) == NULL)
		return NW_ENOMEM;
	pthread_mutex_lock(&c->lock);
	if ((rc = placing_begin(&p, c, s, is_up, arg)) == NW_OK) {
		rc = place_all(&p, wishes, n, *out, n_out);
		sqlite3_finalize(p.insert);
	}
	pthread_mutex_unlock(&c->lock);
	if (rc != NW_OK) {
		free(*out);
		*out = NULL;
	}
	return rc;
}

/* --- moves --- */

/* Copies of complete sets on draining servers, damaged copies, and copies that no server has called
 * stored. */
static const char strays[] =
    "SELECT logical, copy FROM place JOIN server ON server.id = place.server WHERE data_set = ?1"
    " AND logical >= ?2 AND copy < 16 AND (state <> 1 OR draining = 1)"
    " AND (SELECT sealed FROM data_set WHERE id = ?1) = 1 ORDER BY logical, copy LIMIT ?3";

struct stray {
	uint64_t logical;
	uint8_t copy;
};

static size_t
strays_find(struct catalog *c, uint32_t set, uint64_t from, struct stray *out, size_t max)
{
	sqlite3_stmt *st =
	    catalog_statement(c, strays, "iii", (int64_t)set, (int64_t)from, (int64_t)max);
	size_t n = 0;

	while (st != NULL && n < max && sqlite3_step(st) == SQLITE_ROW) {
		out[n].logical = (uint64_t)sqlite3_column_int64(st, 0);
		out[n++].copy = (uint8_t)sqlite3_column_int(st, 1);
	}
	sqlite3_finalize(st);
	return n;
}

/* Deletes one copy's row; the slot is free again. */
static int
place_drop(struct catalog *c, uint32_t set, uint64_t logical, int copy)
{
	sqlite3_stmt *st = catalog_statement(c,
	    "DELETE FROM place WHERE data_set = ? AND logical = ? AND copy = ?"
	    " RETURNING server, disk, slot",
	    "iii", (int64_t)set, (int64_t)logical, (int64_t)copy);

	if (st != NULL && sqlite3_step(st) == SQLITE_ROW)
		catalog_slot_mark(&c->use[sqlite3_column_int64(st, 0) % DPSS_SERVERS_MAX],
		    (uint32_t)sqlite3_column_int64(st, 1), (uint64_t)sqlite3_column_int64(st, 2),
		    false);
	return catalog_run(st);
}

/* Servers with other blocks of the group: a server's death may cost one block of a group only. */
static void
group_servers(struct placing *p, uint64_t logical, bool out[DPSS_SERVERS_MAX])
{
	struct catalog_place at[CATALOG_COPIES_MAX];
	uint64_t k = p->set->layout.parity, g, i, member;
	size_t n;

	memset(out, 0, DPSS_SERVERS_MAX * sizeof(*out));
	g = logical < p->set->blocks ? logical / k : logical - p->set->blocks;
	for (i = 0; i <= k; i++) {
		member = i < k ? g * k + i : p->set->blocks + g;
		if (member == logical || (i < k && member >= p->set->blocks))
			continue;
		for (n = places_of(p->c, p->set->id, member, at); n-- > 0;)
			out[at[n].server] = true;
	}
}

/* A new place for one copy, on a server without another copy of the block. */
static int
stray_place(struct placing *p, const struct stray *s, struct catalog_place *out)
{
	struct catalog_place copies[CATALOG_COPIES_MAX + 1];
	size_t n = places_of(p->c, p->set->id, s->logical, copies), i;
	bool avoid[DPSS_SERVERS_MAX];
	int rc = place_drop(p->c, p->set->id, s->logical, s->copy + MOVING);

	for (i = 0; i < n; i++)
		if (copies[i].copy == s->copy)
			copies[i] = copies[--n];
	if (p->set->layout.parity > 0) {
		group_servers(p, s->logical, avoid);
		p->avoid = avoid;
	}
	if (rc == NW_OK)
		rc = place_copy(p, s->logical, (uint8_t)(s->copy + MOVING), copies, n);
	if (rc == NW_OK)
		*out = copies[n];
	p->avoid = NULL;
	return rc;
}

static int
strays_place(struct placing *p, const struct stray *all, size_t n, struct catalog_place *out)
{
	size_t i, done = 0;
	int rc;

	if ((rc = catalog_execute(p->c, "BEGIN IMMEDIATE")) != NW_OK)
		return rc;
	for (i = 0; i < n && rc == NW_OK; i++)
		if ((rc = stray_place(p, &all[i], &out[i])) == NW_OK)
			done++;
	if (rc == NW_OK && (rc = catalog_execute(p->c, "COMMIT")) == NW_OK)
		return NW_OK;
	catalog_execute(p->c, "ROLLBACK");
	while (done-- > 0)
		catalog_slot_mark(
		    &p->c->use[out[done].server], out[done].disk, out[done].slot, false);
	return rc;
}

int
catalog_move(struct catalog *c, const struct catalog_set *s, uint64_t from,
    bool (*is_up)(void *arg, uint32_t server), void *arg,
    struct catalog_place out[CATALOG_MOVES_MAX], size_t *n_out)
{
	struct stray all[CATALOG_MOVES_MAX];
	struct placing p;
	int rc;

	pthread_mutex_lock(&c->lock);
	catalog_stored_flush(c);
	*n_out = strays_find(c, s->id, from, all, CATALOG_MOVES_MAX);
	rc = *n_out > 0 ? placing_begin(&p, c, s, is_up, arg) : NW_OK;
	if (*n_out > 0 && rc == NW_OK) {
		rc = strays_place(&p, all, *n_out, out);
		sqlite3_finalize(p.insert);
	}
	pthread_mutex_unlock(&c->lock);
	return rc;
}

/* --- words of servers --- */

/* A moving copy, once stored, takes the old copy's place. */
static void
move_end(struct catalog *c, const struct stored *s)
{
	sqlite3_stmt *st = catalog_statement(c,
	    "SELECT copy FROM place WHERE server = ? AND disk = ? AND slot = ?", "iii",
	    (int64_t)s->server, (int64_t)s->disk, (int64_t)s->slot);
	int copy = 0;

	if (st != NULL && sqlite3_step(st) == SQLITE_ROW)
		copy = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	if (copy < MOVING || place_drop(c, s->set, s->logical, copy - MOVING) != NW_OK)
		return;
	catalog_run(catalog_statement(c,
	    "UPDATE place SET copy = copy - 16 WHERE data_set = ? AND logical = ? AND copy = ?",
	    "iii", (int64_t)s->set, (int64_t)s->logical, (int64_t)copy));
}

static void
stored_write(struct catalog *c, sqlite3_stmt *st, const struct stored *s)
{
	sqlite3_bind_int(st, 1, s->state);
	sqlite3_bind_int64(st, 2, s->server);
	sqlite3_bind_int64(st, 3, s->disk);
	sqlite3_bind_int64(st, 4, (int64_t)s->slot);
	sqlite3_bind_int64(st, 5, s->set);
	sqlite3_bind_int64(st, 6, (int64_t)s->logical);
	sqlite3_step(st);
	sqlite3_reset(st);
	if (s->state == STATE_STORED && sqlite3_changes(c->db) > 0)
		move_end(c, s);
}

void
catalog_stored_flush(struct catalog *c)
{
	sqlite3_stmt *st = c->n_stored > 0
	    ? catalog_statement(c,
		  "UPDATE place SET state = ? WHERE server = ? AND disk = ? AND slot = ?"
		  " AND data_set = ? AND logical = ?",
		  "")
	    : NULL;
	size_t i;

	if (st == NULL || catalog_execute(c, "BEGIN IMMEDIATE") != NW_OK) {
		sqlite3_finalize(st);
		return;
	}
	for (i = 0; i < c->n_stored; i++)
		stored_write(c, st, &c->stored[i]);
	sqlite3_finalize(st);
	catalog_execute(c, "COMMIT");
	c->n_stored = 0;
}

static void
state_set(struct catalog *c, const struct stored *s)
{
	pthread_mutex_lock(&c->lock);
	c->stored[c->n_stored++] = *s;
	if (c->n_stored == STORED_MAX || s->state == STATE_DAMAGED)
		catalog_stored_flush(c);
	if (c->n_stored == STORED_MAX) /* the file refuses the words: the oldest goes */
		memmove(c->stored, c->stored + 1, --c->n_stored * sizeof(*c->stored));
	pthread_mutex_unlock(&c->lock);
}

void
catalog_stored(struct catalog *c, uint32_t set, const struct catalog_place *at)
{
	state_set(
	    c, &(struct stored){ at->logical, at->slot, set, at->server, at->disk, STATE_STORED });
}

void
catalog_damaged(struct catalog *c, uint32_t set, const struct catalog_place *at)
{
	state_set(
	    c, &(struct stored){ at->logical, at->slot, set, at->server, at->disk, STATE_DAMAGED });
}
