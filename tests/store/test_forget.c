/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions are forgotten as a whole: which ones, what goes with them, what stays, and a ceiling
 * they fill. */
#include "store/write/writer.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>

#include "narrows/err.h"
#include "tests/check.h"
#include "tests/verified.h"
#include "tests/faults.h"
#include "tests/storefile.h"

#define SECOND INT64_C(1000000000)
#define HOUR   (3600 * SECOND)
#define BASE   (1700000000 * SECOND)

static char dir[32] = "/dev/shm/nw-forget-XXXXXX", why[STORE_WHY_BYTES];

static struct writer *
open_writer(int64_t keep_sessions_ns, uint64_t max_bytes)
{
	struct store_opts o = store_opts_default;
	struct writer *w = NULL;

	o.sync_full = false;
	o.keep_sessions_ns = keep_sessions_ns;
	o.max_bytes = max_bytes;
	CHECK_INT(writer_open(path, &o, NULL, &w, why), NW_OK);
	if (w == NULL)
		exit(1);
	return w;
}

static int64_t
count(struct writer *w, const char *sql)
{
	int64_t n = -1;

	CHECK_INT(db_int(w->c.db, sql, &n), NW_OK);
	return n;
}

/* As others see it: when memory is short a transaction may stay open for a while. */
static int64_t
count_outside(const char *sql)
{
	sqlite3 *db = NULL;
	int64_t n = -1;

	CHECK_INT(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	CHECK_INT(db_int(db, sql, &n), NW_OK);
	sqlite3_close(db);
	return n;
}

/* A session that is over, by a sender of its own, of one series with n_rows and a description of
 * raw_len bytes. */
static int
session_add(struct writer *w, int64_t id, int64_t at, size_t n_rows, size_t raw_len)
{
	static const char *const fields[] = { "value" };
	static uint8_t raw[64 << 10];
	struct nw_batch *b = nw_batch_new();
	char sender[32];
	double v;
	int64_t t;
	size_t i;
	int rc;

	for (i = 0; i < raw_len; i++)
		raw[i] = (uint8_t)rnd(256);
	snprintf(sender, sizeof(sender), "sender-%" PRId64, id);
	nw_batch_session(b,
	    &(struct nw_session_rec){
		.id = id, .opened_wall_ns = at, .closed_wall_ns = at + SECOND });
	nw_batch_xsp(b,
	    &(struct nw_xsp_rec){ .id = id,
		.host_id = 1,
		.session_id = id,
		.provider = sender,
		.opened_wall_ns = at,
		.closed_wall_ns = at + SECOND });
	nw_batch_meta(b,
	    &(struct nw_meta_rec){ .id = id,
		.session_id = id,
		.host_id = 1,
		.xsp_id = id,
		.mid = "m",
		.raw = raw,
		.raw_len = raw_len });
	nw_batch_layout(b, &(struct nw_layout_rec){ id, id, 1, fields });
	nw_batch_run(b, &(struct nw_run_rec){ .id = id, .session_id = id, .kind = "verdict" });
	nw_batch_result(b,
	    &(struct nw_result_rec){ .session_id = id, .run_id = id, .sentence = "cannot tell" });
	nw_batch_provider(b, "host:h", sender, 1);
	for (i = 0; i < n_rows; i++) {
		t = at + (int64_t)i;
		v = (double)i;
		nw_batch_rows(b, id, 1, 1, &t, &v, NULL, 0);
	}
	nw_batch_seal(b, id);
	rc = writer_commit(w, b);
	nw_batch_free(b);
	return rc;
}

static void
host_add(struct writer *w)
{
	struct nw_batch *b = nw_batch_new();

	nw_batch_host(b, &(struct nw_host_rec){ .id = 1, .name = "h" });
	CHECK_INT(writer_commit(w, b), NW_OK);
	nw_batch_free(b);
}

/* A whole pass of expiry at that time. */
static void
pass(struct writer *w, int64_t now)
{
	w->c.test_wall_ns = now;
	w->expiry.pass_wall_ns = INT64_MIN / 2;
	while (writer_maintain(w, true) == WRITER_MORE)
		;
}

static void
verify(void)
{
	struct store_reader *r;

	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	CHECK_INT(store_verify(r, why), NW_OK);
	CHECK_STR(why, "");
	store_reader_close(r);
}

static void
test_which(void)
{
	struct writer *w = open_writer(10 * HOUR, 0);
	struct nw_batch *b = nw_batch_new();
	int64_t id;

	host_add(w);
	for (id = 1; id <= 6; id++)
		CHECK_INT(session_add(w, id, BASE + id * SECOND, 50, 100), NW_OK);
	CHECK_INT(session_add(w, 7, BASE + 5 * HOUR, 50, 100), NW_OK);
	CHECK_INT(session_add(w, 8, BASE, 50, 100), NW_OK);
	/* 1 is running, 2 is pinned, 3 told of its host too, the sender of 4 sends for another as
	 * well */
	nw_batch_session(b, &(struct nw_session_rec){ .id = 1, .opened_wall_ns = BASE });
	nw_batch_meta(
	    b, &(struct nw_meta_rec){ .id = 100, .host_id = 1, .xsp_id = 3, .mid = "host" });
	nw_batch_xsp(b,
	    &(struct nw_xsp_rec){
		.id = 100, .host_id = 1, .session_id = 7, .provider = "sender-4" });
	CHECK_INT(writer_commit(w, b), NW_OK);
	nw_batch_free(b);
	CHECK_INT(store_pin(path, 2, true, why), NW_OK);
	pass(w, BASE + 10 * HOUR);
	CHECK_INT(count(w, "SELECT count(*) FROM session"), 8);
	CHECK_INT(count(w, "SELECT count(*) FROM chunk"), 8);
	pass(w, BASE + 11 * HOUR);
	CHECK_INT(w->c.total.forgotten_sessions, 4);
	/* left: the running one, the pinned one, the one that is not old enough, and the newest
	 * whatever its age */
	CHECK_INT(count(w, "SELECT group_concat(id, '') FROM (SELECT id FROM session ORDER BY id)"),
	    1278);
	CHECK_INT(count(w,
		      "SELECT group_concat(id, '') FROM (SELECT session_id AS id FROM result ORDER "
		      "BY id)"),
	    1278);
	CHECK_INT(
	    count(w,
		"SELECT group_concat(id, '') FROM (SELECT session_id AS id FROM run ORDER BY id)"),
	    1278);
	CHECK_INT(
	    count(w, "SELECT group_concat(id, '') FROM (SELECT id FROM metadata ORDER BY id)"),
	    1278100);
	CHECK_INT(
	    count(w, "SELECT group_concat(id, '') FROM (SELECT id FROM layout ORDER BY id)"), 1278);
	CHECK_INT(
	    count(w,
		"SELECT group_concat(id, '') FROM (SELECT layout_id AS id FROM chunk ORDER BY id)"),
	    1278);
	CHECK_INT(
	    count(w, "SELECT group_concat(id, '') FROM (SELECT id FROM xsp_session ORDER BY id)"),
	    12378100);
	CHECK_INT(count(w, "SELECT session_id IS NULL FROM xsp_session WHERE id = 3"), 1);
	CHECK_INT(count(w, "SELECT count(*) FROM provider"), 5);
	CHECK_INT(count(w, "SELECT count(*) FROM provider WHERE id = 'sender-4'"), 1);
	CHECK_INT(w->c.sizes.bytes[STORE_ROWS], count(w, "SELECT sum(length(data)) FROM chunk"));
	verify();
	writer_close(w);
}

/* What nobody has moved out of the tail yet stays readable, also by a writer that starts anew. */
static void
test_tail(void)
{
	static const char *const fields[] = { "value" };
	struct writer *w = open_writer(HOUR, 0);
	struct nw_batch *b = nw_batch_new();
	const int64_t t = BASE;
	const double v = 7;

	host_add(w);
	nw_batch_session(b, &(struct nw_session_rec){ .id = 1, .closed_wall_ns = BASE });
	nw_batch_meta(b, &(struct nw_meta_rec){ .id = 1, .session_id = 1, .host_id = 1 });
	nw_batch_layout(b, &(struct nw_layout_rec){ 1, 1, 1, fields });
	nw_batch_rows(b, 1, 1, 1, &t, &v, NULL, 0); /* not sealed */
	nw_batch_meta(b, &(struct nw_meta_rec){ .id = 50, .host_id = 1 });
	nw_batch_layout(b, &(struct nw_layout_rec){ 50, 50, 1, fields });
	nw_batch_rows(b, 50, 1, 1, &t, &v, NULL, 0); /* the host's own, in the same blob */
	CHECK_INT(writer_commit(w, b), NW_OK);
	nw_batch_free(b);
	CHECK_INT(session_add(w, 2, BASE, 5, 10), NW_OK);
	CHECK_INT(session_add(w, 3, BASE, 5, 10), NW_OK);
	pass(w, BASE + 3 * HOUR);
	/* 2 is in chunks, but a blob still has its rows */
	CHECK_INT(w->c.total.forgotten_sessions, 0);
	b = nw_batch_new();
	nw_batch_seal(b, 1);
	CHECK_INT(writer_commit(w, b), NW_OK);
	nw_batch_free(b);
	pass(w, BASE + 3 * HOUR);
	CHECK_INT(w->c.total.forgotten_sessions, 0); /* the host's row keeps the blobs */
	writer_close(w);
	w = open_writer(HOUR, 0);
	b = nw_batch_new();
	nw_batch_meta(b, &(struct nw_meta_rec){ .id = 60, .session_id = 3, .host_id = 1 });
	CHECK_INT(writer_commit(w, b), NW_OK);
	nw_batch_free(b);
	CHECK_INT(db_exec(w->c.db,
		      "UPDATE metadata SET session_id = 3 WHERE id = 50;"
		      "UPDATE label SET n = 2, first_id = 1, last_id = 60 WHERE name = 'session'"
		      " AND value = '3'"),
	    NW_OK);
	b = nw_batch_new();
	nw_batch_seal(b, 3);
	CHECK_INT(writer_commit(w, b), NW_OK);
	nw_batch_free(b);
	pass(w, BASE + 3 * HOUR);
	CHECK_INT(w->c.total.forgotten_sessions, 2);
	CHECK_INT(count(w, "SELECT id FROM session"), 3);
	verify();
	writer_close(w);
}

/* The rc of a batch, as the sender hears the rc. */
static int
commit_one(struct writer *w, struct nw_batch *b)
{
	size_t bytes = nw_batch_bytes(b);
	int rc = writer_commit(w, b);

	if (rc == NW_OK)
		rc = b->rc;
	CHECK_INT(nw_batch_bytes(b), bytes); /* the queue counts on it */
	nw_batch_free(b);
	return rc;
}

/* Senders that have been silent for long may still speak of a session that is gone; only ids that
 * never were are refused. */
static void
test_late(void)
{
	static const char *const fields[] = { "value", "more" };
	struct writer *w = open_writer(10 * HOUR, 0);
	struct nw_batch *b;
	const int64_t t[] = { BASE + 20 * HOUR, BASE + 20 * HOUR + 1 };
	const double v[] = { 1, 2, 3, 4 };
	int64_t id;

	host_add(w);
	for (id = 1; id <= 3; id++)
		CHECK_INT(session_add(w, id, BASE, 50, 100), NW_OK);
	b = nw_batch_new(); /* 3 becomes a part of 2, which has the newest ids then */
	nw_batch_merge(b, 3, 2);
	nw_batch_session(b, &(struct nw_session_rec){ .id = 4, .opened_wall_ns = BASE });
	nw_batch_meta(b, &(struct nw_meta_rec){ .id = 4, .session_id = 4, .host_id = 1 });
	nw_batch_layout(b, &(struct nw_layout_rec){ 4, 4, 1, fields });
	CHECK_INT(commit_one(w, b), NW_OK);
	pass(w, BASE + 20 * HOUR);
	CHECK_INT(count(w, "SELECT group_concat(id, '') FROM session"), 4);
	CHECK_INT(count(w, "SELECT id FROM layout"), 4);
	b = nw_batch_new();
	nw_batch_xsp(b, &(struct nw_xsp_rec){ .id = 5, .host_id = 1, .session_id = 2 });
	nw_batch_meta(
	    b, &(struct nw_meta_rec){ .id = 5, .session_id = 1, .host_id = 1, .xsp_id = 5 });
	nw_batch_layout(b, &(struct nw_layout_rec){ 5, 5, 1, fields });
	/* of a description that is gone */
	nw_batch_layout(b, &(struct nw_layout_rec){ 6, 3, 2, fields });
	nw_batch_rows(b, 3, 1, 2, t, v, NULL, 0);
	nw_batch_rows(b, 5, 1, 2, t, v, NULL, 0);
	nw_batch_rows(b, 6, 2, 2, t, v, NULL, 0);
	nw_batch_rows(b, 5, 1, 1, t, v, NULL, 0);
	CHECK_INT(commit_one(w, b), NW_OK);
	CHECK_INT(w->late_rows, 4);
	CHECK_INT(
	    count(w, "SELECT count(*) FROM xsp_session WHERE id = 5 AND session_id IS NULL"), 1);
	CHECK_INT(count(w, "SELECT count(*) FROM metadata WHERE id = 5 AND session_id IS NULL"), 1);
	CHECK_INT(count(w, "SELECT group_concat(id, '') FROM layout"), 45);
	CHECK_INT(tail_find(w->mover.tail, 5)->n_rows, 3);
	CHECK(tail_find(w->mover.tail, 3) == NULL && tail_find(w->mover.tail, 6) == NULL);
	b = nw_batch_new();
	nw_batch_rows(b, 6, 2, 2, t, v, NULL, 0); /* nothing else in it */
	CHECK_INT(commit_one(w, b), NW_OK);
	CHECK_INT(w->late_rows, 6);
	b = nw_batch_new();
	nw_batch_rows(b, 7, 2, 2, t, v, NULL, 0);
	CHECK_INT(commit_one(w, b), NW_ECONFLICT);
	b = nw_batch_new();
	nw_batch_meta(b, &(struct nw_meta_rec){ .id = 8, .session_id = 5, .host_id = 1 });
	CHECK_INT(commit_one(w, b), NW_ECONFLICT);
	b = nw_batch_new();
	nw_batch_layout(b, &(struct nw_layout_rec){ 8, 6, 2, fields });
	CHECK_INT(commit_one(w, b), NW_ECONFLICT);
	verify();
	writer_close(w);
}

static int
on_rows(void *arg, const struct store_block *b)
{
	*(size_t *)arg += b->n_rows;
	return 0;
}

static size_t
rows_read(struct store_reader *r, int64_t layout_id)
{
	size_t n = 0;

	CHECK_INT(store_rows(r, layout_id, INT64_MIN, INT64_MAX, on_rows, &n), NW_OK);
	return n;
}

/* A reader outlives the box and what it remembers of the tail: it must not take the rows of one
 * layout for another's. */
static void
test_ids(void)
{
	static const char *const fields[] = { "value" };
	struct writer *w = open_writer(10 * HOUR, 0);
	struct nw_batch *b = nw_batch_new();
	struct store_reader *r;
	struct store_ids ids;
	const int64_t t = BASE;
	const double v = 1;

	host_add(w);
	CHECK_INT(session_add(w, 1, BASE, 50, 100), NW_OK);
	CHECK_INT(store_reader_open(path, &r, why), NW_OK);
	CHECK_INT(rows_read(r, 1), 50); /* from the tail */
	nw_batch_session(b, &(struct nw_session_rec){ .id = 2, .opened_wall_ns = BASE });
	CHECK_INT(commit_one(w, b), NW_OK);
	pass(w, BASE + 20 * HOUR);
	writer_close(w);
	w = open_writer(10 * HOUR, 0);
	CHECK_INT(writer_next_ids(w, &ids), NW_OK);
	b = nw_batch_new();
	nw_batch_meta(b, &(struct nw_meta_rec){ .id = ids.meta, .session_id = 2, .host_id = 1 });
	nw_batch_layout(b, &(struct nw_layout_rec){ ids.layout, ids.meta, 1, fields });
	nw_batch_rows(b, ids.layout, 1, 1, &t, &v, NULL, 0);
	CHECK_INT(commit_one(w, b), NW_OK);
	CHECK_INT(rows_read(r, ids.layout), 1);
	pass(w, BASE + 21 * HOUR);
	/* there is a newer one, and the tail holds nothing of the first */
	pass(w, BASE + 22 * HOUR);
	CHECK_INT(count(w, "SELECT id FROM session"), 2);
	store_reader_close(r);
	writer_close(w);
}

/* Whose connection is open, or was a while ago, is still spoken of. */
static void
test_connected(void)
{
	struct writer *w = open_writer(10 * HOUR, 0);
	struct nw_batch *b = nw_batch_new();
	int64_t id;

	host_add(w);
	for (id = 1; id <= 4; id++)
		CHECK_INT(session_add(w, id, BASE, 50, 100), NW_OK);
	nw_batch_xsp(b, &(struct nw_xsp_rec){ .id = 10, .host_id = 1, .session_id = 1 });
	nw_batch_xsp(b,
	    &(struct nw_xsp_rec){
		.id = 11, .host_id = 1, .session_id = 2, .closed_wall_ns = BASE + 19 * HOUR + 1 });
	CHECK_INT(commit_one(w, b), NW_OK);
	pass(w, BASE + 20 * HOUR);
	CHECK_INT(
	    count(w, "SELECT group_concat(id, '') FROM (SELECT id FROM session ORDER BY id)"), 124);
	pass(w, BASE + 21 * HOUR);
	CHECK_INT(
	    count(w, "SELECT group_concat(id, '') FROM (SELECT id FROM session ORDER BY id)"), 14);
	writer_close(w);
}

/* A session that damage holds does not keep other sessions. */
static void
test_damaged(void)
{
	struct writer *w = open_writer(10 * HOUR, 0);
	int64_t id;

	host_add(w);
	for (id = 1; id <= 4; id++)
		CHECK_INT(session_add(w, id, BASE, 50, 100), NW_OK);
	CHECK_INT(db_exec(w->c.db, "UPDATE result SET run_id = 1 WHERE session_id = 4"), NW_OK);
	pass(w, BASE + 20 * HOUR);
	CHECK_INT(
	    count(w, "SELECT group_concat(id, '') FROM (SELECT id FROM session ORDER BY id)"), 14);
	CHECK_INT(count(w, "SELECT count(*) FROM chunk"), 2);
	CHECK_INT(w->c.total.forgotten_sessions, 2);
	CHECK_STR(w->c.trouble, "");
	CHECK_INT(db_exec(w->c.db, "UPDATE result SET run_id = 4 WHERE session_id = 4"), NW_OK);
	pass(w, BASE + 21 * HOUR);
	CHECK_INT(count(w, "SELECT id FROM session"), 4);
	verify();
	writer_close(w);
}

/* Whoever pins a session and is told that it is pinned finds it there afterwards. */
static void
test_pinned_meanwhile(void)
{
	const struct forget_search search = { BASE + 20 * HOUR, HOUR, HOST_ANY };
	struct writer *w = open_writer(0, 0);
	int64_t id = 0;

	host_add(w);
	CHECK_INT(session_add(w, 1, BASE, 5, 100), NW_OK);
	CHECK_INT(session_add(w, 2, BASE, 5, 100), NW_OK);
	pass(w, BASE + 20 * HOUR);
	CHECK_INT(forget_oldest(&w->forgetter, &search, &id), NW_OK);
	CHECK_INT(id, 1);
	CHECK_INT(store_pin(path, 1, true, why), NW_OK);
	CHECK_INT(forget_session(&w->forgetter, 1), NW_OK);
	CHECK_INT(forget_session(&w->forgetter, 77), NW_OK);
	CHECK_INT(count(w, "SELECT count(*) FROM session"), 2);
	CHECK_INT(count(w, "SELECT count(*) FROM chunk"), 2);
	CHECK_INT(w->c.total.forgotten_sessions, 0);
	CHECK_INT(store_pin(path, 1, false, why), NW_OK);
	CHECK_INT(forget_session(&w->forgetter, 1), NW_OK);
	CHECK_INT(w->c.total.forgotten_sessions, 1);
	writer_close(w);
}

/* One with very many chunks goes in several transactions, which commits can come between. */
static void
test_many(void)
{
	const struct writer_limits limits = {
		.chunk_rows = 2, .tail_bytes = 1 << 20, .step_values = 1 << 20
	};
	struct store_opts o = store_opts_default;
	struct writer *w;

	o.sync_full = false;
	o.keep_sessions_ns = 10 * HOUR;
	CHECK_INT(writer_open(path, &o, &limits, &w, why), NW_OK);
	host_add(w);
	CHECK_INT(session_add(w, 1, BASE, 2500, 100), NW_OK);
	CHECK_INT(session_add(w, 2, BASE, 5, 100), NW_OK);
	pass(w, BASE);
	CHECK_INT(count(w, "SELECT count(*) FROM chunk WHERE layout_id = 1"), 1250);
	w->c.test_wall_ns = BASE + 20 * HOUR;
	CHECK_INT(writer_maintain(w, false), WRITER_MORE);
	CHECK_INT(count(w, "SELECT count(*) FROM chunk WHERE layout_id = 1"), 250);
	CHECK_INT(count(w, "SELECT count(*) FROM session"), 2);
	CHECK_INT(w->c.total.forgotten_sessions, 0);
	verify();
	pass(w, BASE + 20 * HOUR);
	CHECK_INT(count(w, "SELECT count(*) FROM session"), 1);
	CHECK_INT(w->c.total.forgotten_sessions, 1);
	verify();
	writer_close(w);
}

/* Few rows and a sender that says little: what lies in the tail for long must not keep sessions
 * from going. */
static void
test_ceiling_slow(void)
{
	static const char *const fields[] = { "value" };
	struct writer *w = open_writer(0, 16 << 20);
	struct nw_batch *b = nw_batch_new();
	int64_t id, t = BASE;
	double v = 1;
	int i;

	host_add(w);
	w->c.test_wall_ns = BASE;
	nw_batch_meta(b, &(struct nw_meta_rec){ .id = 5000, .host_id = 1 });
	nw_batch_layout(b, &(struct nw_layout_rec){ 5000, 5000, 1, fields });
	nw_batch_rows(b, 5000, 1, 1, &t, &v, NULL, 0);
	CHECK_INT(commit_one(w, b), NW_OK);
	for (id = 1; id <= 300; id++) {
		w->c.test_wall_ns = BASE + id * HOUR / 12;
		if (session_add(w, id, w->c.test_wall_ns, 2, 60000) != NW_OK)
			break;
		for (i = 0; i < 20 && writer_maintain(w, i == 19) == WRITER_MORE; i++)
			;
	}
	CHECK_INT(id, 301);
	CHECK_STR(w->c.trouble, "");
	CHECK(count(w, "SELECT count(*) FROM session") < 200);
	/* all in the same hour: it is full, and the next rows of the slow sender lie before them */
	t = w->c.test_wall_ns;
	b = nw_batch_new();
	nw_batch_rows(b, 5000, 1, 1, &t, &v, NULL, 0);
	CHECK_INT(commit_one(w, b), NW_OK);
	while (session_add(w, id, t, 2, 60000) == NW_OK) {
		id++;
		for (i = 0; i < 20 && writer_maintain(w, i == 19) == WRITER_MORE; i++)
			;
	}
	CHECK(strncmp(w->c.trouble, "size ceiling", 12) == 0);
	w->c.test_wall_ns += 2 * HOUR; /* nobody but who commits gets a turn now */
	for (i = 0; i < 40; i++)
		CHECK_INT(session_add(w, id + i, t, 2, 60000), NW_OK);
	verify();
	writer_close(w);
}

/* Descriptions fill the space: the oldest sessions go, samples keep a quarter, and nothing is
 * refused. */
static void
test_ceiling(void)
{
	const uint64_t max = 16 << 20;
	struct writer *w = open_writer(0, max);
	struct stat sb;
	uint64_t most = 0;
	int64_t id;
	char name[80];
	int i;

	host_add(w);
	for (id = 1; id <= 1500; id++) {
		w->c.test_wall_ns = BASE + id * HOUR;
		CHECK_INT(session_add(w, id, BASE + id * HOUR, 2000, 30 << 10), NW_OK);
		for (i = 0; i < 20 && writer_maintain(w, i == 19) == WRITER_MORE; i++)
			;
		snprintf(name, sizeof(name), "%s-wal", path);
		most = stat(path, &sb) == 0 && (uint64_t)sb.st_size > most ? (uint64_t)sb.st_size
									   : most;
		CHECK(stat(path, &sb) == 0 && (uint64_t)sb.st_size <= max);
	}
	printf("sessions left: %" PRId64 ", file at most %" PRIu64 "\n",
	    count(w, "SELECT count(*) FROM session"), most);
	CHECK_STR(w->c.trouble, "");
	CHECK(count(w, "SELECT count(*) FROM session") > 100);
	CHECK(count(w, "SELECT min(id) FROM session") > 1000);
	CHECK(count(w, "SELECT sum(length(data)) FROM chunk") > 0);
	CHECK_INT(count(w, "SELECT max(id) FROM session"), 1500);
	verify();
	writer_close(w);
}

/* The Nth write or allocation fails while one is forgotten: it is there, or it is not. */
static void
test_faults(long *at, long *seen, bool *for_ever, bool ever, long stride)
{
	int64_t n_sessions, n_metas, n_chunks;
	struct writer *w;
	long i, n_failed = 0;

	for (i = 1 + (long)rnd((uint64_t)stride); i < 100000; i += stride) {
		files_remove();
		w = open_writer(10 * HOUR, 0);
		host_add(w);
		CHECK_INT(session_add(w, 1, BASE, 50, 5000), NW_OK);
		CHECK_INT(session_add(w, 2, BASE, 50, 5000), NW_OK);
		CHECK_INT(session_add(w, 3, BASE, 50, 5000), NW_OK);
		pass(w, BASE);
		*seen = 0;
		*for_ever = ever;
		*at = i;
		pass(w, BASE + 20 * HOUR);
		*at = 0;
		n_sessions = count_outside("SELECT count(*) FROM session");
		n_metas = count_outside("SELECT count(*) FROM metadata");
		n_chunks = count_outside("SELECT count(*) FROM chunk");
		CHECK_INT(n_metas, n_sessions);
		CHECK_INT(n_chunks, n_sessions);
		CHECK_INT(w->c.total.forgotten_sessions, 3 - n_sessions);
		n_failed += n_sessions > 1;
		verify();
		if (*seen < i)
			CHECK_INT(n_sessions, 1);
		writer_close(w);
		if (*seen < i)
			break;
	}
	CHECK(i < 100000 && n_failed > 0);
}

/* Late rows in a batch whose commit fails and is tried again: the others are there once, and they
 * are counted once. */
static void
test_late_faults(long *at, long *seen, bool *for_ever)
{
	const int64_t t = BASE + 20 * HOUR;
	const double v = 1;
	struct nw_batch *b;
	struct writer *w;
	long i;
	int rc;

	for (i = 1; i < 1000; i++) {
		files_remove();
		w = open_writer(10 * HOUR, 0);
		host_add(w);
		CHECK_INT(session_add(w, 1, BASE, 5, 10), NW_OK);
		CHECK_INT(session_add(w, 2, BASE, 5, 10), NW_OK);
		pass(w, BASE + 20 * HOUR);
		b = nw_batch_new();
		nw_batch_rows(b, 2, 1, 1, &t, &v, NULL, 0);
		nw_batch_rows(b, 1, 1, 1, &t, &v, NULL, 0);
		nw_batch_rows(b, 2, 1, 1, &t, &v, NULL, 0);
		nw_batch_xsp(b, &(struct nw_xsp_rec){ .id = 9, .host_id = 1, .session_id = 1 });
		*seen = 0;
		*for_ever = false;
		*at = i;
		rc = writer_commit(w, b);
		*at = 0;
		if (rc != NW_OK)
			rc = writer_commit(w, b);
		CHECK_INT(rc, NW_OK);
		CHECK_INT(b->rc, NW_OK);
		CHECK_INT(w->late_rows, 1);
		CHECK_INT(
		    tail_find(w->mover.tail, 2) == NULL ? 0 : tail_find(w->mover.tail, 2)->n_rows,
		    w->mover.stale ? 0 : 2);
		CHECK_INT(
		    count_outside(
			"SELECT count(*) FROM xsp_session WHERE id = 9 AND session_id IS NULL"),
		    1);
		nw_batch_free(b);
		writer_close(w);
		if (*seen < i)
			break;
	}
	CHECK(i > 3 && i < 1000);
}

/*
 * One wide series of noise that may not go fills the space. What is in the tail by then fits into
 * chunks, so that once the rows may go the store goes on by itself.
 */
static void
test_full_tail(void)
{
	enum { WIDTH = 250 };
	const uint64_t max = 16 << 20;
	const long rounds = check_repeats(6, 2);
	const char *names[WIDTH];
	static double v[64 * WIDTH];
	static int64_t t[64];
	int64_t now = BASE;
	struct nw_batch *b;
	struct writer *w;
	size_t n, i;
	int round, f, rc;

	for (f = 0; f < WIDTH; f++)
		names[f] = "x";
	for (round = 0; round < rounds; round++) {
		files_remove();
		w = open_writer(0, max);
		host_add(w);
		b = nw_batch_new();
		nw_batch_session(b, &(struct nw_session_rec){ .id = 1, .opened_wall_ns = BASE });
		nw_batch_meta(b, &(struct nw_meta_rec){ .id = 1, .session_id = 1, .host_id = 1 });
		nw_batch_layout(b, &(struct nw_layout_rec){ 1, 1, WIDTH, names });
		CHECK_INT(writer_commit(w, b), NW_OK);
		nw_batch_free(b);
		CHECK_INT(store_pin(path, 1, true, why), NW_OK);
		for (rc = NW_OK; rc == NW_OK;) {
			n = 1 + rnd(64);
			for (i = 0; i < n * WIDTH; i++)
				v[i] = (double)rnd(1ull << 52);
			for (i = 0; i < n; i++)
				t[i] = now += SECOND;
			b = nw_batch_new();
			nw_batch_rows(b, 1, WIDTH, n, t, v, NULL, 0);
			if ((rc = writer_commit(w, b)) == NW_OK)
				while (rnd(4) > 0 && writer_maintain(w, false) == WRITER_MORE)
					;
			nw_batch_free(b);
		}
		CHECK_INT(rc, NW_EIO);
		CHECK(strncmp(w->c.trouble, "size ceiling", 12) == 0);
		CHECK_INT(store_pin(path, 1, false, why), NW_OK);
		for (i = 0; i < 100 && (rc = writer_maintain(w, true)) == WRITER_MORE; i++)
			;
		CHECK_INT(rc, WRITER_DONE);
		CHECK_STR(w->c.trouble, "");
		b = nw_batch_new();
		nw_batch_rows(b, 1, WIDTH, 1, &now, v, NULL, 0);
		CHECK_INT(writer_commit(w, b), NW_OK);
		nw_batch_free(b);
		verify();
		writer_close(w);
	}
}

/* Layouts share the names of their fields; names go with the last layout that has them. */
static void
test_names(void)
{
	static const char *const rare = "rare";
	struct writer *w = open_writer(HOUR, 0);
	struct nw_batch *b = nw_batch_new();
	int64_t id;

	host_add(w);
	for (id = 1; id <= 3; id++)
		CHECK_INT(session_add(w, id, BASE + id * SECOND, 5, 100), NW_OK);
	nw_batch_session(b,
	    &(struct nw_session_rec){
		.id = 4, .opened_wall_ns = BASE, .closed_wall_ns = BASE + SECOND });
	nw_batch_meta(b, &(struct nw_meta_rec){ .id = 4, .session_id = 4, .host_id = 1 });
	nw_batch_layout(b, &(struct nw_layout_rec){ 4, 4, 1, &rare });
	nw_batch_layout(b, &(struct nw_layout_rec){ 5, 4, 1, &rare });
	CHECK_INT(writer_commit(w, b), NW_OK);
	nw_batch_free(b);
	CHECK_INT(session_add(w, 6, BASE + 10 * HOUR, 5, 100), NW_OK);
	CHECK_INT(count(w, "SELECT count(*) FROM fieldset"), 2);
	pass(w, BASE + 10 * HOUR);
	CHECK_INT(count(w, "SELECT count(*) FROM session"), 1);
	CHECK_INT(count(w, "SELECT count(*) FROM fieldset"), 1);
	CHECK_INT(count(w,
		      "SELECT coalesce(sum(bytes), 0) - (SELECT 200 * count(*) +"
		      " sum(length(raw) + length(mid)) FROM metadata)"
		      " FROM tier_size WHERE tier = 6"),
	    count(w,
		"SELECT coalesce(sum(length(coalesce(event_type, '') || coalesce(subject, '')"
		" || coalesce(params, '') || coalesce(pid, ''))), 0) + (SELECT sum(64 +"
		" length(s.fields)) FROM layout l JOIN fieldset s ON s.id = l.fieldset_id)"
		" FROM metadata"));
	writer_close(w);
}

int
main(void)
{
	rng = (uint64_t)time(NULL) | 1;
	if (!check_dir(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/narrows.db", dir);
	test_which();
	files_remove();
	test_names();
	files_remove();
	test_tail();
	files_remove();
	test_late();
	files_remove();
	test_ids();
	files_remove();
	test_connected();
	files_remove();
	test_damaged();
	files_remove();
	test_pinned_meanwhile();
	files_remove();
	test_many();
	files_remove();
	test_ceiling();
	test_full_tail();
	files_remove();
	test_ceiling_slow();
	files_remove();
	shim_register();
	test_faults(&io_fault.at, &io_fault.seen, &io_fault.for_ever, false, check_repeats(1, 7));
	test_faults(&io_fault.at, &io_fault.seen, &io_fault.for_ever, true, check_repeats(1, 7));
	test_late_faults(&io_fault.at, &io_fault.seen, &io_fault.for_ever);
	if (OWN_MALLOC) {
		test_late_faults(&alloc_fault.at, &alloc_fault.seen, &alloc_fault.for_ever);
		test_faults(&alloc_fault.at, &alloc_fault.seen, &alloc_fault.for_ever, false,
		    check_repeats(7, 49));
		test_faults(&alloc_fault.at, &alloc_fault.seen, &alloc_fault.for_ever, true,
		    check_repeats(7, 49));
	}
	files_remove();
	rmdir(dir);
	return check_done("forget");
}
