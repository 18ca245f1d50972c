/* SPDX-License-Identifier: BSD-3-Clause */
/* Places are declustered, unique and the same after a restart; what does not fit leaves nothing. */
#include "dpss/master/dpss_catalog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "narrows/err.h"
#include "tests/check.h"

enum { SERVERS = 3, SLOTS = 20, DISKS = 2, BLOCKS = 24 };

static char path[64];

static bool
is_up(void *down, uint32_t server)
{
	return down == NULL || *(uint32_t *)down != server;
}

static struct catalog *
opened(void)
{
	static const uint64_t slots[DISKS] = { SLOTS, SLOTS };
	char why[CATALOG_WHY_BYTES];
	struct catalog_server *all;
	struct catalog *c;
	size_t n, i;

	CHECK_INT(catalog_open(path, &c, why), NW_OK);
	CHECK_INT(catalog_servers(c, &all, &n), NW_OK);
	for (i = 0; i < n; i++)
		CHECK_INT(catalog_server_space(c, all[i].id, 4096, slots, DISKS), NW_OK);
	free(all);
	return c;
}

static void
servers_add(struct catalog *c)
{
	struct catalog_server s = { .port = 1 };
	uint32_t i;

	for (i = 0; i < SERVERS; i++, s.port++) {
		strcpy(s.host, "h");
		CHECK_INT(catalog_server_add(c, &s), NW_OK);
		CHECK_INT(catalog_server_add(c, &s), NW_ECONFLICT);
	}
}

static struct catalog_set
set_new(struct catalog *c, const char *name, uint8_t copies, uint8_t parity, uint64_t blocks)
{
	struct catalog_set s = { .layout = { .block_bytes = 4096,
				     .bytes = blocks * 4096,
				     .copies = copies,
				     .parity = parity } };

	strcpy(s.name, name);
	strcpy(s.owner, "me");
	CHECK_INT(catalog_set_new(c, &s), NW_OK);
	return s;
}

static int
place(struct catalog *c, const struct catalog_set *s, uint64_t from, size_t n, void *down)
{
	struct catalog_wish wishes[64];
	struct catalog_place *places;
	size_t i, n_places;
	int rc;

	for (i = 0; i < n; i++)
		wishes[i] = (struct catalog_wish){ from + i, DPSS_ANY, DPSS_ANY };
	rc = catalog_place(c, s, wishes, n, is_up, down, &places, &n_places);
	if (rc == NW_OK)
		CHECK(n_places == n * s->layout.copies || down != NULL);
	if (rc == NW_OK)
		free(places);
	return rc;
}

static uint64_t
used(struct catalog *c)
{
	uint64_t slots, one, sum = 0;
	uint32_t disks, i;

	for (i = 1; i <= SERVERS; i++) {
		catalog_server_use(c, i, &disks, &slots, &one);
		sum += one;
	}
	return sum;
}

static void
test_places(struct catalog *c)
{
	struct catalog_set s = set_new(c, "two", 2, 0, BLOCKS);
	struct catalog_place at[CATALOG_COPIES_MAX], before = { 0 };
	uint64_t i;

	CHECK_INT(place(c, &s, 0, BLOCKS, NULL), NW_OK);
	CHECK_INT((long)used(c), 2 * BLOCKS);
	CHECK_INT(place(c, &s, 0, BLOCKS, NULL), NW_OK);
	CHECK_INT((long)used(c), 2 * BLOCKS);
	for (i = 0; i < BLOCKS; i++, before = at[0]) {
		CHECK_INT((long)catalog_find(c, s.id, i, at), 2);
		CHECK(at[0].server != at[1].server && at[0].server != before.server);
	}
	catalog_find(c, s.id, 5, at);
	catalog_damaged(c, s.id, &at[0]);
	CHECK_INT((long)catalog_find(c, s.id, 5, at), 1);
	CHECK_INT((long)catalog_find(c, s.id, BLOCKS, at), 0);
}

/* A catalogue from before a member of the layout: its sets have the usual value. */
static void
test_older(void)
{
	struct catalog_set s = { .id = 0 };
	enum catalog_rights rights;
	char why[CATALOG_WHY_BYTES];
	struct catalog *c;
	sqlite3 *db;

	c = opened();
	set_new(c, "older", 2, 2, 4);
	catalog_close(c);
	CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
	CHECK_INT(sqlite3_exec(db,
		      "ALTER TABLE data_set DROP COLUMN parity;"
		      "ALTER TABLE data_set DROP COLUMN copies",
		      NULL, NULL, NULL),
	    SQLITE_OK);
	sqlite3_close(db);
	CHECK_INT(catalog_open(path, &c, why), NW_OK);
	CHECK_INT(catalog_set_find(c, "older", "me", &s, &rights), NW_OK);
	CHECK_INT(s.layout.copies, 1);
	CHECK_INT(s.layout.parity, 0);
	CHECK_INT(s.layout.block_bytes, 4096);
	CHECK_STR(s.owner, "me");
	catalog_close(c);
}

static void
test_parity(struct catalog *c)
{
	struct catalog_set s = set_new(c, "parity", 1, 2, 12);
	struct catalog_place data[CATALOG_COPIES_MAX], parity[CATALOG_COPIES_MAX];
	uint64_t i;

	CHECK_INT(place(c, &s, 0, 12 + 6, NULL), NW_OK);
	for (i = 0; i < 12; i++) {
		catalog_find(c, s.id, i, data);
		catalog_find(c, s.id, 12 + i / 2, parity);
		CHECK(data[0].server != parity[0].server);
	}
	CHECK_INT(catalog_set_drop(c, s.id), NW_OK);
	CHECK_INT((long)used(c), 2 * BLOCKS);
}

/* The application's own layout, as far as there is room. */
static void
test_wish(struct catalog *c)
{
	struct catalog_set s = set_new(c, "wish", 1, 0, 4);
	struct catalog_wish wish = { 2, 3, 1 }, nobody = { 3, 99, 0 };
	struct catalog_place *places;
	size_t n;

	CHECK_INT(catalog_place(c, &s, &wish, 1, is_up, NULL, &places, &n), NW_OK);
	CHECK(n == 1 && places[0].server == 3 && places[0].disk == 1);
	free(places);
	CHECK_INT(catalog_place(c, &s, &nobody, 1, is_up, NULL, &places, &n), NW_OK);
	CHECK(n == 1 && places[0].server <= SERVERS);
	free(places);
	CHECK_INT(catalog_set_drop(c, s.id), NW_OK);
}

static uint64_t
all_stored(struct catalog *c, const struct catalog_set *s, uint64_t blocks)
{
	struct catalog_place at[CATALOG_COPIES_MAX];
	uint64_t i, n = 0;
	size_t k;

	for (i = 0; i < blocks; i++)
		for (k = catalog_find(c, s->id, i, at); k-- > 0; n++)
			catalog_stored(c, s->id, &at[k]);
	return n;
}

/* Copies leave a server that is draining one by one, and only when the new copy is stored. */
static void
test_move(struct catalog *c)
{
	struct catalog_set s = set_new(c, "move", 1, 2, 6);
	struct catalog_place out[CATALOG_MOVES_MAX], at[CATALOG_COPIES_MAX], old;
	uint64_t slots = SLOTS, taken = used(c), i;
	struct catalog_server fourth = { .host = "h", .port = 9 };
	size_t n, k;

	CHECK_INT(place(c, &s, 0, 9, NULL), NW_OK);
	CHECK_INT((long)all_stored(c, &s, 9), 9);
	CHECK_INT(catalog_set_seal(c, &s, s.layout.bytes), NW_OK);
	CHECK_INT(catalog_move(c, &s, 0, is_up, NULL, out, &n), NW_OK);
	CHECK_INT((long)n, 0);
	CHECK_INT(catalog_server_add(c, &fourth), NW_OK);
	CHECK_INT(catalog_server_space(c, fourth.id, 4096, &slots, 1), NW_OK);
	CHECK_INT(catalog_server_drain(c, 1), NW_OK);
	CHECK_INT(catalog_server_drop(c, 1), NW_ECONFLICT);
	CHECK_INT(catalog_move(c, &s, 0, is_up, NULL, out, &n), NW_OK);
	CHECK_INT(
	    catalog_move(c, &s, 0, is_up, NULL, out, &n), NW_OK); /* once more, as after a death */
	CHECK_INT((long)n, 3);
	CHECK_INT((long)used(c), (long)(taken + 9));
	for (k = 0; k < n; k++) {
		CHECK_INT((long)catalog_find(c, s.id, out[k].logical, at), 1);
		old = at[0];
		CHECK(old.server == 1 && out[k].server == fourth.id); /* others have the group */
		catalog_stored(c, s.id, &out[k]);
	}
	CHECK_INT(catalog_move(c, &s, 0, is_up, NULL, out, &n), NW_OK);
	CHECK_INT((long)n, 0);
	for (i = 0; i < 9; i++)
		CHECK(catalog_find(c, s.id, i, at) == 1 && at[0].server != 1);
	CHECK_INT((long)used(c), (long)(taken + 6));
	CHECK_INT(catalog_set_drop(c, s.id), NW_OK);
	CHECK_INT((long)used(c), (long)taken);
}

static void
test_full(struct catalog *c)
{
	struct catalog_set s = set_new(c, "full", 2, 0, 64);
	uint32_t down = 2;

	CHECK_INT(place(c, &s, 0, 64, NULL), NW_EFULL);
	CHECK_INT((long)used(c), 2 * BLOCKS);
	CHECK_INT(place(c, &s, 0, 4, &down), NW_OK);
	CHECK_INT((long)used(c), 2 * BLOCKS + 8);
	CHECK_INT(catalog_set_drop(c, s.id), NW_OK);
}

static void
test_again(void)
{
	struct catalog *c = opened();
	enum catalog_rights rights;
	struct catalog_set s;

	CHECK_INT((long)used(c), 2 * BLOCKS);
	CHECK_INT(catalog_set_find(c, "two", "you", &s, &rights), NW_OK);
	CHECK_INT((long)rights, CATALOG_NONE);
	CHECK_INT(catalog_allow(c, s.id, "*", CATALOG_READ), NW_OK);
	CHECK_INT(catalog_set_find(c, "two", "you", &s, &rights), NW_OK);
	CHECK_INT((long)rights, CATALOG_READ);
	catalog_close(c);
}

int
main(void)
{
	char dir[] = "/tmp/nw-catalog-XXXXXX";
	struct catalog *c;

	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/master.db", dir);
	c = opened();
	servers_add(c);
	catalog_close(c);
	c = opened();
	test_places(c);
	test_parity(c);
	test_full(c);
	test_wish(c);
	test_move(c);
	catalog_close(c);
	test_again();
	test_older();
	unlink(path);
	CHECK_INT(rmdir(dir), 0);
	return check_done("test_catalog");
}
