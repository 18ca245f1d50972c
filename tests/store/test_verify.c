/* SPDX-License-Identifier: BSD-3-Clause */
/* verify finds what is wrong with a store, and says where. Each case damages a good one in one
 * way. */
#include "narrows/maintenance.h"

#include <poll.h>
#include <sqlite3.h>
#include <stdint.h>
#include <unistd.h>

#include "narrows/err.h"
#include "store/ground/document_sql.h"
#include "tests/check.h"
#include "tests/verified.h"

static char dir[] = "/dev/shm/nw-verify-XXXXXX";
static char path[64];
static char why[STORE_WHY_BYTES];

static void
files_remove(void)
{
	static const char *const end[] = { "", "-wal", "-shm", "-lock" };
	char name[80];
	size_t i;

	for (i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "%s%s", path, end[i]);
		unlink(name);
	}
}

static void
commit(struct store *st, struct nw_batch *b)
{
	CHECK_INT(store_submit(st, b), NW_OK);
}

static void
put_rows(struct nw_batch *b, int64_t first, int64_t n)
{
	int64_t i;

	for (i = first; i < first + n; i++)
		CHECK_INT(
		    nw_batch_rows(b, 1, 2, 1, &i, (double[]){ (double)i, 0.5 }, NULL, 0), NW_OK);
}

/* A store with two chunks and a tail. */
static void
make(void)
{
	struct nw_batch *b = nw_batch_new();
	struct store *st;

	files_remove();
	CHECK_INT(store_open(path, NULL, &st, why), NW_OK);
	CHECK_INT(nw_batch_session(b, &(struct nw_session_rec){ .id = 1 }), NW_OK);
	CHECK_INT(nw_batch_meta(b, &(struct nw_meta_rec){ .id = 1, .session_id = 1 }), NW_OK);
	CHECK_INT(nw_batch_layout(
		      b, &(struct nw_layout_rec){ 1, 1, 2, (const char *const[]){ "a", "b" } }),
	    NW_OK);
	put_rows(b, 1000, 2500);
	CHECK_INT(nw_batch_seal(b, 1), NW_OK);
	commit(st, b);
	store_close(st);
	CHECK_INT(store_open(path, NULL, &st, why), NW_OK);
	b = nw_batch_new();
	put_rows(b, 5000, 10);
	commit(st, b);
	store_close(st);
}

static const struct {
	const char *damage, *says;
} cases[] = {
	{ "UPDATE chunk SET t0_ns = t0_ns - 1", "rows or times" },
	{ "UPDATE chunk SET t1_ns = t1_ns + 1 WHERE id = 1", "rows or times" },
	{ "UPDATE chunk SET n_rows = n_rows + 1", "rows or times" },
	{ "UPDATE chunk SET last = zeroblob(16)", "another last row" },
	{ "UPDATE chunk SET last = x''", "another last row" },
	{ "UPDATE chunk SET data = CAST(substr(data, 1, length(data) - 1) AS BLOB) WHERE id = 2",
	    "chunk 2 of layout 1: " },
	{ "UPDATE chunk SET data = CAST(substr(data, 1, 40) || x'00' || substr(data, 42) AS BLOB)",
	    "chunk 1 of layout 1: corrupt" },
	{ "UPDATE chunk SET data = x''", "chunk 1 of layout 1: " },
	{ "INSERT INTO chunk SELECT 9, layout_id, t0_ns, t1_ns, n_rows, last, data FROM chunk "
	  "WHERE id = 1",
	    "overlaps" },
	{ "UPDATE metadata SET raw = x'28b52ffd00112233' WHERE id = 1",
	    "metadata 1: as received it does not unpack" },
	{ "UPDATE layout SET n_fields = 3", "layout: 1: not the names of 3 fields" },
	{ "PRAGMA foreign_keys = OFF; DELETE FROM metadata",
	    "reference: layout 1: its metadata is not there" },
	{ "UPDATE tail SET rows = CAST(rows || x'00' AS BLOB)", "tail: a blob" },
	{ "UPDATE tail SET rows = CAST(x'63' || substr(rows, 2) AS BLOB) WHERE length(rows) > 0",
	    "tail: rows of layout 99" },
	{ "UPDATE tail SET rows = CAST(substr(rows, 1, length(rows) - 1) || x'77' AS BLOB) WHERE "
	  "length(rows) > 0",
	    ": its checksum is another" },
	{ "UPDATE counter SET value = 2", "chunk: 2: its id may be used again" },
	{ "DELETE FROM counter", "chunk: 1: its id may be used again" },
	{ "UPDATE tier_size SET bytes = bytes + 1 WHERE tier = 0",
	    "tier size: tier 0 of host 0: " },
	{ "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage ="
	  " (SELECT rootpage FROM sqlite_schema WHERE name = 'layout_by_meta') WHERE name = "
	  "'chunk_by_time'",
	    "file: " },
	{ "UPDATE fieldset SET fields = '[\"a\"]'", "layout: 1: not the names of 2 fields" },
	{ "UPDATE fieldset SET fields = 'a, b'", "layout: 1: not the names of 2 fields" },
	{ "UPDATE layout SET tail_after = 1000", "layout: 1: hides rows" },
	{ "UPDATE metadata SET subject = '{'", "metadata: 1: its subject" },
	{ "INSERT INTO result(session_id, host_id, document) VALUES (1, 0, x'01')",
	    "result of session 1: its document: corrupt" },
	{ "INSERT INTO result(session_id, host_id, document) VALUES (1, 0, narrows_pack('{', 0))",
	    "result of session 1: its document: not JSON" },
	{ "INSERT INTO result(session_id, host_id, document) VALUES (1, 0, narrows_pack('[]', 0))",
	    "tier size: tier 5 of host 0: 0 bytes" },
	{ "INSERT INTO session(id) VALUES (2); INSERT INTO run(id, session_id, kind) VALUES (5, 2, "
	  "'verdict');"
	  " INSERT INTO result(session_id, run_id, host_id) VALUES (1, 5, 0)",
	    "result: 1: made by a run of another" },
	{ "INSERT INTO result(session_id, run_id, host_id) VALUES (1, 77, 0)",
	    "reference: result 1: its run is not there" },
	{ "INSERT INTO rollup(layout_id, tier, t0_ns, t1_ns, n_rows, data) VALUES (1, 1, 0, 1, 1, "
	  "x'00')",
	    "rollup 1 of layout 1: " },
	{ "INSERT INTO rollup(layout_id, tier, t0_ns, t1_ns, n_rows, data) SELECT 1, 1, t0_ns, "
	  "t1_ns, n_rows, data FROM chunk",
	    "rollup 1 of layout 1: not as many columns" },
};

static void
test_damage(void)
{
	struct store_reader *r;
	sqlite3 *db;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make();
		CHECK_INT(store_reader_open(path, &r, why), NW_OK);
		CHECK_INT(store_verify(r, why), NW_OK);
		CHECK_STR(why, "");
		store_reader_close(r);
		CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
		CHECK_INT(document_sql_register_pack(db), SQLITE_OK);
		CHECK_INT(sqlite3_exec(db, cases[i].damage, NULL, NULL, NULL), SQLITE_OK);
		CHECK(sqlite3_total_changes(db) > 0);
		sqlite3_close(db);
		CHECK_INT(store_reader_open(path, &r, why), NW_OK);
		CHECK_INT(store_verify(r, why), NW_ECORRUPT);
		if (strstr(why, cases[i].says) == NULL) {
			fprintf(stderr, "%s\n  says \"%s\"\n", cases[i].damage, why);
			CHECK(!"says what is wrong");
		}
		store_reader_close(r);
	}
}

/* Every fault is told, whatever comes before it; and the one who listens may end it. */
struct told {
	size_t n, max;
	bool layout, chunk, tail;
};

static int
on_fault(void *arg, const char *what)
{
	struct told *t = arg;

	t->layout = t->layout || strstr(what, "layout: 1: not the names") != NULL;
	t->chunk = t->chunk || strstr(what, "chunk 2 of layout 1: corrupt") != NULL;
	t->tail = t->tail || strstr(what, "tail: rows of layout 99") != NULL;
	return ++t->n == t->max;
}

static int
on_progress(void *arg, const char *doing, uint64_t done, uint64_t total)
{
	uint64_t *seen = arg;

	CHECK_STR(doing, "checking");
	CHECK(done >= seen[0] && done <= total);
	seen[0] = done;
	seen[1] = total;
	return 0;
}

static void
test_all(void)
{
	struct told t = { .max = 0 };
	struct store_watch watch = { .fault = on_fault, .arg = &t };
	struct store_reader *r;
	struct store_counts n;
	uint64_t seen[2] = { 0, 0 };
	sqlite3 *db;

	make();
	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	CHECK_INT(store_check(r, &(struct store_watch){ .progress = on_progress, .arg = seen }, &n),
	    NW_OK);
	CHECK_INT(n.faults, 0);
	CHECK_INT(n.sessions, 1);
	CHECK_INT(n.metas, 1);
	CHECK_INT(n.layouts, 1);
	CHECK_INT(n.rows, 2510);
	CHECK_INT(n.values, 5020);
	CHECK_INT(n.chunks, seen[0]);
	CHECK_INT(seen[1], seen[0]);
	store_reader_close(r);
	CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
	/* as when they are in chunks, and their blobs stay for another layout's sake: they do not
	 * count there, too */
	CHECK_INT(sqlite3_exec(db, "UPDATE layout SET tail_after = (SELECT max(id) FROM tail)",
		      NULL, NULL, NULL),
	    SQLITE_OK);
	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	CHECK_INT(store_check(r, NULL, &n), NW_OK);
	CHECK_INT(n.rows, 2500);
	store_reader_close(r);
	CHECK_INT(sqlite3_exec(db,
		      "UPDATE fieldset SET fields = '[]'; UPDATE chunk SET data ="
		      " CAST(substr(data, 1, 40) || x'00' || substr(data, 42) AS BLOB) WHERE id IN "
		      "(1, 2);"
		      " UPDATE tail SET rows = CAST(x'63' || substr(rows, 2) AS BLOB) WHERE "
		      "length(rows) > 0",
		      NULL, NULL, NULL),
	    SQLITE_OK);
	sqlite3_close(db);
	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	CHECK_INT(store_check(r, &watch, &n), NW_ECORRUPT);
	/* of the tail one by its records, two by their checksums; the size of descriptions */
	CHECK_INT(n.faults, 7);
	CHECK_INT(t.n, 7);
	CHECK(t.layout && t.chunk && t.tail);
	t = (struct told){ .max = 2 };
	CHECK_INT(store_check(r, &watch, &n), NW_ECLOSED);
	CHECK_INT(n.faults, 2);
	store_reader_close(r);
}

/* A damaged chunk does not keep new rows out: they go into chunks of their own, and reading says
 * what is broken. */
static int
on_block(void *arg, const struct store_block *k)
{
	*(size_t *)arg += k->n_rows;
	return 0;
}

static void
test_go_on(void)
{
	struct store_reader *r;
	struct nw_batch *b = nw_batch_new();
	struct store *st;
	size_t n = 0;
	sqlite3 *db;

	make();
	CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
	CHECK_INT(sqlite3_exec(db,
		      "UPDATE chunk SET data = CAST(x'00' || substr(data, 2) AS BLOB) WHERE id = 2",
		      NULL, NULL, NULL),
	    SQLITE_OK);
	sqlite3_close(db);
	CHECK_INT(store_open(path, NULL, &st, why), NW_OK);
	put_rows(b, 3000, 100); /* late: their place is in the damaged chunk */
	put_rows(b, 6000, 10);
	CHECK_INT(nw_batch_seal(b, 1), NW_OK);
	commit(st, b);
	store_close(st);
	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	CHECK_INT(store_rows(r, 1, 5000, 7000, on_block, &n), NW_OK);
	CHECK_INT(n, 20);
	CHECK_INT(store_rows(r, 1, 0, 7000, on_block, &n), NW_ECORRUPT);
	store_reader_close(r);
}

int
main(void)
{
	if (!check_dir(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/narrows.db", dir);
	test_damage();
	test_all();
	test_go_on();
	files_remove();
	rmdir(dir);
	return check_done("verify");
}
