/* SPDX-License-Identifier: BSD-3-Clause */
/* The table event: every event once and in order, also across stretches; conditions; JSON. */
#include "store/sql/eventmodule.h"

#include "narrows/err.h"
#include "store/write/writer.h"
#include "tests/check.h"
#include "tests/storefile.h"

static char dir[32] = "/dev/shm/nw-evsql-XXXXXX", why[STORE_WHY_BYTES];
enum { EVENTS = 30000 };

static void
fill(void)
{
	struct store_opts o = store_opts_default;
	struct writer *w = NULL;
	struct nw_batch *b = nw_batch_new();
	struct nw_attr attrs[3] = { { "block.id", NW_ATTR_INT, true, { .i = 0 } },
		{ "x", NW_ATTR_REAL, false, { .d = 0.5 } },
		{ "msg", NW_ATTR_TEXT, false, { .text = "a \"b\"\n" } } };
	struct nw_event e = { .host = "h", .n_attrs = 3, .attrs = attrs };
	int i;

	o.sync_full = false;
	CHECK_INT(writer_open(path, &o, NULL, &w, why), NW_OK);
	nw_batch_session(b, &(struct nw_session_rec){ .id = 1, .opened_wall_ns = 1 });
	for (i = 0; i < EVENTS; i++) {
		e.t_wall_ns = i / 10; /* many share a time */
		e.name = i % 2 ? "odd" : "even";
		e.program = i % 3 ? NULL : "p";
		attrs[0].v.i = i;
		CHECK_INT(nw_batch_event(b, i % 4 ? 1 : 0, 1, &e), NW_OK);
	}
	CHECK_INT(writer_commit(w, b), NW_OK);
	CHECK_INT(b->rc, NW_OK);
	nw_batch_free(b);
	writer_close(w);
}

static void
ask(sqlite3 *db, const char *sql, const char *want)
{
	sqlite3_stmt *st = NULL;

	CHECK_INT(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	CHECK_INT(sqlite3_step(st), SQLITE_ROW);
	if (strcmp((const char *)sqlite3_column_text(st, 0), want) != 0)
		fprintf(stderr, "%s\n", sql);
	CHECK_STR((const char *)sqlite3_column_text(st, 0), want);
	sqlite3_finalize(st);
}

static void
test_questions(sqlite3 *db)
{
	static const struct {
		const char *sql, *want;
	} cases[] = {
		{ "SELECT count(*) FROM event", "30000" },
		{ "SELECT count(DISTINCT ids) FROM event", "30000" },
		{ "SELECT count(*) FROM event WHERE session_id = 1", "22500" },
		{ "SELECT count(*) FROM event WHERE session_id IS NULL", "7500" },
		{ "SELECT count(*) FROM event WHERE session_id = 2", "0" },
		{ "SELECT count(*) FROM event WHERE name = 'odd' AND program = 'p'", "5000" },
		{ "SELECT count(*) FROM event WHERE name > 'f'", "15000" },
		{ "SELECT count(*) FROM event WHERE t_ns >= 10 AND t_ns < 20", "100" },
		{ "SELECT count(*) FROM event WHERE t_ns > 10 AND t_ns <= 20", "100" },
		{ "SELECT count(*) FROM event WHERE t_ns > 10.5 AND t_ns < 12.5", "20" },
		{ "SELECT count(*) FROM event WHERE t_ns = 2999", "10" },
		/* a text is above every number; SQLite compares alone */
		{ "SELECT count(*) FROM event WHERE t_ns < 'abc'", "30000" },
		{ "SELECT t_ns FROM event WHERE key = 'block.id' AND value = '12345'", "1234" },
		{ "SELECT count(*) FROM event WHERE key = 'none'", "0" },
		{ "SELECT ids FROM event ORDER BY t_ns LIMIT 1", "{\"block.id\":0}" },
		{ "SELECT attrs FROM v_event WHERE t_ns = 5 LIMIT 1",
		    "{\"x\":0.5,\"msg\":\"a \\\"b\\\"\\u000a\"}" },
		{ "SELECT json_valid(attrs) AND json_valid(ids) FROM v_event LIMIT 1", "1" },
		{ "SELECT sum(t_ns < before) FROM (SELECT t_ns, lag(t_ns) OVER () AS before FROM "
		  "event)",
		    "0" },
		{ "SELECT count(*) FROM event a JOIN event b ON b.key = 'block.id' AND b.value = "
		  "json_extract(a.ids, '$.\"block.id\"') WHERE a.t_ns = 7",
		    "10" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ask(db, cases[i].sql, cases[i].want);
}

int
main(void)
{
	sqlite3 *db = NULL;
	char *err = NULL;

	if (!check_dir(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/store.db", dir);
	fill();
	CHECK_INT(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	CHECK_INT(eventmodule_register(db, &err), SQLITE_OK);
	test_questions(db);
	sqlite3_close(db);
	files_remove();
	rmdir(dir);
	return check_done("eventmodule");
}
