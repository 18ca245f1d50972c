/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples by SQL are the samples of store_rows(), whatever is asked for and however; and a broken
 * file is an error. */
#include "store/sql/sqlmodule.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tests/faults.h"
#include "tests/filled.h"

enum { N_METAS = 5, N_LAYOUTS = 6 };
static const int64_t t_base = 1700000000000000000;
static const char *const fields[N_LAYOUTS] = { "mean_r", "sum_v", "it's \"c\"", "count", "e", "f" };
static const struct nw_meta_rec metas[N_METAS] = {
	{ .id = 10,
	    .session_id = 1,
	    .host_id = 1,
	    .event_type = "nl:tools:calipers:summary:read",
	    .subject_json = "{\"a\":1}" },
	{ .id = 20,
	    .session_id = 1,
	    .host_id = 2,
	    .event_type = "nl:tools:calipers:summary:write" },
	{ .id = 30, .session_id = 2, .host_id = 1, .event_type = "nl:tools:calipers:summary:read" },
	{ .id = 40, .session_id = 2, .event_type = "ps:other" },
	{ .id = 50, .host_id = 2, .event_type = "ps:other" },
};
/* layout i + 1 has i + 1 fields */
static const int64_t meta_of[N_LAYOUTS] = { 10, 10, 20, 30, 40, 50 };
static uint64_t seed = 20261120;

static uint64_t
rnd(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

static double
some_value(void)
{
	static const double odd[] = { NAN, INFINITY, -INFINITY, -0.0, 5e-324, 1e300 };

	return rnd(20) == 0 ? odd[rnd(sizeof(odd) / sizeof(odd[0]))] : (double)rnd(1 << 20) / 64;
}

static void
put_rows(struct nw_batch *b, int64_t layout, size_t n, int64_t t0, int64_t step)
{
	double values[N_LAYOUTS];
	int64_t t;
	size_t i, f;

	for (i = 0; i < n; i++) {
		t = t0 + (int64_t)i * step;
		for (f = 0; f < (size_t)layout; f++)
			values[f] = some_value();
		CHECK_INT(nw_batch_rows(b, layout, (size_t)layout, 1, &t, values,
			      (const uint8_t *)"h", i % 3 == 0),
		    NW_OK);
	}
}

/* What is sealed is in chunks; then late rows come, and new ones, which stay in the tail. */
static void
fill(void)
{
	struct store *st = filled_open(NULL);
	struct nw_batch *b = nw_batch_new();
	size_t i;

	for (i = 1; i <= 2; i++) {
		CHECK_INT(nw_batch_host(b,
			      &(struct nw_host_rec){
				  .id = (int64_t)i, .name = i == 1 ? "dtn-a" : "dtn-b" }),
		    NW_OK);
		CHECK_INT(nw_batch_session(b, &(struct nw_session_rec){ .id = (int64_t)i }), NW_OK);
	}
	for (i = 0; i < N_METAS; i++)
		CHECK_INT(nw_batch_meta(b, &metas[i]), NW_OK);
	for (i = 0; i < N_LAYOUTS; i++)
		CHECK_INT(nw_batch_layout(b,
			      &(struct nw_layout_rec){ (int64_t)i + 1, meta_of[i], i + 1, fields }),
		    NW_OK);
	put_rows(b, 1, 3000, t_base, 1000000);
	put_rows(b, 2, 100, t_base, 7);
	put_rows(b, 4, 20000, t_base + 5, 0); /* of one time, more than the cursor takes at once */
	put_rows(b, 4, 100, t_base + 6, 1);
	put_rows(b, 5, 9000, t_base - 1500, 1);
	CHECK_INT(nw_batch_seal(b, 1), NW_OK);
	CHECK_INT(nw_batch_seal(b, 2), NW_OK);
	filled_commit(st, b);
	store_close(st);
	st = filled_open(filled_path);
	b = nw_batch_new();
	put_rows(b, 1, 500, t_base + 500, 3000000);
	put_rows(b, 1, 100, t_base + 1000000, 0);
	put_rows(b, 3, 10, t_base, 1);
	put_rows(b, 5, 20, t_base + 6000, 1);
	put_rows(b, 6, 50, -5, 1);
	filled_commit(st, b);
	store_close(st);
}

static sqlite3 *
connect_to(const char *path)
{
	sqlite3 *db = NULL;
	char *err = NULL;

	CHECK_INT(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	CHECK_INT(sqlmodule_register(db, &err), SQLITE_OK);
	CHECK(err == NULL);
	return db;
}

static sqlite3_stmt *
prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK) {
		fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
		exit(1);
	}
	return st;
}

/* --- equal for every series --- */

struct scan {
	sqlite3_stmt *st;
	size_t field, n_rows;
};

/* Each row of the block is the statement's next one, to the last bit; but SQL knows no NaN. */
static int
on_block(void *arg, const struct store_block *b)
{
	struct scan *s = arg;
	size_t i;
	double v, want;

	for (i = 0; i < b->n_rows; i++) {
		want = b->columns[s->field][i];
		if (sqlite3_step(s->st) != SQLITE_ROW ||
		    sqlite3_column_int64(s->st, 0) != b->t_wall_ns[i])
			return NW_ECONFLICT;
		v = sqlite3_column_double(s->st, 1);
		if (isnan(want) ? sqlite3_column_type(s->st, 1) != SQLITE_NULL
				: sqlite3_column_type(s->st, 1) != SQLITE_FLOAT ||
			    memcmp(&v, &want, sizeof(v)) != 0)
			return NW_ECONFLICT;
		s->n_rows++;
	}
	return 0;
}

static size_t
test_series(sqlite3 *db)
{
	struct store_reader *r;
	char why[STORE_WHY_BYTES];
	struct scan s;
	size_t total = 0;
	int64_t l;

	CHECK_INT(store_reader_open(filled_path, &r, why), NW_OK);
	s.st = prepare(db, "SELECT t_ns, value FROM sample WHERE layout_id = ? AND field = ?");
	for (l = 1; l <= N_LAYOUTS; l++)
		for (s.field = 0; s.field < (size_t)l; s.field++) {
			s.n_rows = 0;
			sqlite3_bind_int64(s.st, 1, l);
			sqlite3_bind_text(s.st, 2, fields[s.field], -1, SQLITE_STATIC);
			CHECK_INT(store_rows(r, l, INT64_MIN, INT64_MAX, on_block, &s), NW_OK);
			CHECK_INT(sqlite3_step(s.st), SQLITE_DONE);
			sqlite3_reset(s.st);
			total += s.n_rows;
		}
	sqlite3_finalize(s.st);
	store_reader_close(r);
	s.st = prepare(db, "SELECT count(*) FROM sample");
	CHECK_INT(sqlite3_step(s.st), SQLITE_ROW);
	CHECK_INT(sqlite3_column_int64(s.st, 0), total);
	sqlite3_finalize(s.st);
	return total;
}

/* --- equal at any step --- */

static void
test_steps(sqlite3 *db)
{
	static const int64_t steps[] = { 1, 50, 1000000, 1000000000, 60000000000 };
	struct store_reader *r;
	char why[STORE_WHY_BYTES];
	struct scan s;
	size_t i;
	int64_t l;

	CHECK_INT(store_reader_open(filled_path, &r, why), NW_OK);
	s.st = prepare(
	    db, "SELECT t_ns, value FROM sample WHERE layout_id = ? AND field = ? AND step_ns = ?");
	for (l = 1; l <= N_LAYOUTS; l++)
		for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
			s.n_rows = 0;
			s.field = (size_t)l - 1;
			sqlite3_bind_int64(s.st, 1, l);
			sqlite3_bind_text(s.st, 2, fields[s.field], -1, SQLITE_STATIC);
			sqlite3_bind_int64(s.st, 3, steps[i]);
			CHECK_INT(store_rows_at(r, l, steps[i], INT64_MIN, INT64_MAX, on_block, &s),
			    NW_OK);
			CHECK_INT(sqlite3_step(s.st), SQLITE_DONE);
			CHECK(s.n_rows > 0);
			sqlite3_reset(s.st);
		}
	sqlite3_finalize(s.st);
	store_reader_close(r);
	CHECK_INT(sqlite3_exec(db, "SELECT * FROM sample WHERE step_ns = 0", NULL, NULL, NULL),
	    SQLITE_ERROR);
	CHECK_STR(sqlite3_errmsg(db), "sample: step_ns is a whole number above 0");
	CHECK_INT(sqlite3_exec(db, "SELECT * FROM sample WHERE step_ns = 'x'", NULL, NULL, NULL),
	    SQLITE_ERROR);
}

/* --- constraints: the same as from an ordinary table --- */

static const char *const terms[] = {
	"session_id = 1",
	"session_id = '2'",
	"session_id IS NULL",
	"session_id IN (1, 2)",
	"session_id > 1",
	"series_id = 30",
	"series_id = 40.0",
	"meta_id = 10",
	"layout_id = 5",
	"layout_id IN (1, 3, 99)",
	"layout_id = 1.5",
	"host = 'dtn-a'",
	"host IS NULL",
	"host = 'DTN-A' COLLATE NOCASE",
	"event_type GLOB 'nl:*'",
	"event_type LIKE 'PS:%'",
	"event_type = 'ps:other'",
	"field = 'count'",
	"field = 'COUNT' COLLATE NOCASE",
	"field = 'it''s \"c\"'",
	"field = NULL",
	"t_ns = 1700000000000000005",
	"t_ns < 1700000000000000003",
	"t_ns <= 1700000000000000003.0",
	"t_ns > 1.7e18",
	"t_ns >= 1700000000000000006",
	"t_ns BETWEEN 1699999999999999000 AND 1700000000000000100",
	"t_ns < 0",
	"t_ns > '17'",
	"t_ns < 1e30",
	"t_ns > 1e30",
	"t_ns >= -9223372036854775808",
	"t_ns > 9223372036854775807",
	"t_ns = NULL",
	"value IS NULL",
	"value > 100",
	"unit = 'By'",
	"time < '2000'",
	"subject = '{\"a\":1}'",
	"series = 4096 * 2 + 1",
	"series = '20480'",
	"series = 20480.5",
	"series IN (4096, 16385, 77, NULL)",
};

static const char copy[] = "CREATE TEMP TABLE plain(session_id INTEGER, host TEXT, series_id "
			   "INTEGER, layout_id INTEGER, subject TEXT,"
			   " event_type TEXT, field TEXT, unit TEXT, t_ns INTEGER, time TEXT, "
			   "value REAL, series INTEGER, meta_id INTEGER);"
			   "INSERT INTO plain SELECT *, meta_id FROM sample";

/* How many, and a sum that depends on each of them. */
static void
ask(sqlite3 *db, const char *table, const char *const *term, size_t n, int64_t got[2])
{
	char sql[1024];
	size_t len, i;
	sqlite3_stmt *st;

	len = (size_t)snprintf(sql, sizeof(sql),
	    "SELECT count(*), sum((t_ns & 0xffff) * 31 + layout_id * 7 + length(field) +"
	    " coalesce(value BETWEEN 1 AND 1000, 3)) FROM %s WHERE 1",
	    table);
	for (i = 0; i < n; i++)
		len += (size_t)snprintf(sql + len, sizeof(sql) - len, " AND %s", term[i]);
	st = prepare(db, sql);
	CHECK_INT(sqlite3_step(st), SQLITE_ROW);
	got[0] = sqlite3_column_int64(st, 0);
	got[1] = sqlite3_column_int64(st, 1);
	sqlite3_finalize(st);
}

static void
test_constraints(sqlite3 *db)
{
	enum { N_TERMS = sizeof(terms) / sizeof(terms[0]) };
	const char *pick[3];
	int64_t with[2], without[2];
	size_t i, n, k, n_found = 0;

	CHECK_INT(sqlite3_exec(db, copy, NULL, NULL, NULL), SQLITE_OK);
	for (i = 0; i < N_TERMS + 60; i++) {
		n = i < N_TERMS ? 1 : 2 + i % 2;
		for (k = 0; k < n; k++)
			pick[k] = terms[i < N_TERMS ? i : rnd(N_TERMS)];
		ask(db, "sample", pick, n, with);
		ask(db, "plain", pick, n, without);
		if (with[0] != without[0] || with[1] != without[1])
			fprintf(stderr, "%s, %s, ..\n", pick[0], n > 1 ? pick[1] : "");
		CHECK_INT(with[0], without[0]);
		CHECK_INT(with[1], without[1]);
		n_found += with[0] > 0;
	}
	CHECK(n_found > N_TERMS / 2);
}

/* --- single answers --- */

static const struct {
	const char *sql, *answer;
} answers[] = {
	{ "SELECT * FROM sample WHERE layout_id = 2 AND field = 'sum_v' AND t_ns = "
	  "1700000000000000007 AND value > -1 OR 0",
	    NULL },
	{ "SELECT session_id || host || series_id || layout_id || subject || event_type || field "
	  "|| unit || t_ns || ' ' || time"
	  " FROM sample WHERE layout_id = 2 AND field = 'sum_v' LIMIT 1 OFFSET 1",
	    "1dtn-a102{\"a\":1}nl:tools:calipers:summary:readsum_vBy1700000000000000007 "
	    "2023-11-14T22:13:20.000000007Z" },
	{ "SELECT group_concat(time) FROM sample(50) WHERE field = 'f' AND t_ns IN (-5, 0)",
	    "1969-12-31T23:59:59.999999995Z,1970-01-01T00:00:00.000000000Z" },
	{ "SELECT count(*) FROM sample(30)", "80400" },
	{ "SELECT count(*) FROM sample a JOIN sample b USING (t_ns) WHERE a.layout_id = 3 AND "
	  "b.layout_id = 3",
	    "90" },
	{ "SELECT count(*) FROM v_series s JOIN sample x ON x.layout_id = s.layout AND x.field = "
	  "s.field",
	    "129630" },
	{ "SELECT (SELECT count(*) FROM v_sample) = (SELECT count(value) FROM sample)", "1" },
	{ "SELECT min(t_ns >= before) FROM (SELECT t_ns, lag(t_ns, 1, 0) OVER (ORDER BY rowid) AS "
	  "before FROM (SELECT rowid, t_ns"
	  " FROM sample WHERE layout_id = 5 AND field = 'e' ORDER BY t_ns))",
	    "1" },
	{ "SELECT max(host) || (SELECT host FROM sample LIMIT 1) FROM sample", "dtn-bdtn-a" },
	{ "SELECT count(*) || ' ' || max(step_ns) FROM sample(10, 1000000000) WHERE field = "
	  "'mean_r' AND layout_id = 1",
	    "3 1000000000" },
	{ "SELECT count(*) FROM (SELECT 1000000000 AS s UNION SELECT 3000000000) CROSS JOIN sample "
	  "WHERE step_ns = s"
	  " AND layout_id = 1",
	    "5" },
	{ "SELECT count(step_ns) FROM sample", "0" },
	{ "SELECT count(*) FROM (SELECT DISTINCT layout_id, field FROM sample)", "21" },
};

static void
test_answers(sqlite3 *db)
{
	sqlite3_stmt *st;
	size_t i;

	for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		st = prepare(db, answers[i].sql);
		if (answers[i].answer == NULL)
			CHECK_INT(sqlite3_column_count(st), 12);
		CHECK_INT(sqlite3_step(st), SQLITE_ROW);
		if (answers[i].answer != NULL)
			CHECK_STR((const char *)sqlite3_column_text(st, 0), answers[i].answer);
		sqlite3_finalize(st);
	}
}

/* --- ending early, and trouble --- */

static int
after_some(void *arg)
{
	return --*(int *)arg < 0;
}

static void
test_ending(sqlite3 *db)
{
	sqlite3_stmt *st, *other;
	int n = 3, rc;

	st = prepare(db, "SELECT * FROM sample");
	other = prepare(db, "SELECT * FROM sample");
	CHECK_INT(sqlite3_step(st), SQLITE_ROW);
	CHECK_INT(sqlite3_step(other), SQLITE_ROW);
	CHECK_INT(sqlite3_reset(st), SQLITE_OK);
	CHECK_INT(sqlite3_step(st), SQLITE_ROW);
	CHECK_INT(sqlite3_finalize(st), SQLITE_OK);
	CHECK_INT(sqlite3_step(other), SQLITE_ROW);
	CHECK_INT(sqlite3_finalize(other), SQLITE_OK);
	sqlite3_progress_handler(db, 1000, after_some, &n);
	st = prepare(db, "SELECT count(*) FROM sample a, sample b");
	while ((rc = sqlite3_step(st)) == SQLITE_ROW)
		;
	CHECK_INT(rc & 0xff, SQLITE_INTERRUPT);
	sqlite3_finalize(st);
	sqlite3_progress_handler(db, 0, NULL, NULL);
}

static const char *const damages[] = {
	"UPDATE chunk SET data = CAST(substr(data, 1, 20) AS BLOB)",
	"UPDATE chunk SET data = CAST(substr(data, 1, length(data) - 5) || x'0000000000' AS BLOB)",
	"UPDATE chunk SET data = x''",
	"UPDATE fieldset SET fields = '[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\"]'"
	" WHERE json_array_length(fields) = 6",
	"UPDATE layout SET n_fields = 4096",
	"UPDATE tail SET rows = x'ff'",
};

static void
test_damage(void)
{
	sqlite3_stmt *st;
	sqlite3 *db;
	size_t i;
	int rc;

	for (i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		CHECK_INT(sqlite3_open(filled_path, &db), SQLITE_OK);
		CHECK_INT(sqlmodule_register(db, NULL), SQLITE_OK);
		CHECK_INT(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL), SQLITE_OK);
		CHECK_INT(sqlite3_exec(db, damages[i], NULL, NULL, NULL), SQLITE_OK);
		st = prepare(db, "SELECT sum(value) FROM sample");
		rc = sqlite3_step(st);
		CHECK(rc == SQLITE_ERROR || rc == SQLITE_CORRUPT);
		if (strstr(sqlite3_errmsg(db), "sample: layout ") == NULL)
			CHECK_STR(sqlite3_errmsg(db), "sample: layout ..");
		sqlite3_finalize(st);
		CHECK_INT(
		    sqlite3_exec(db, "ROLLBACK; SELECT sum(value) FROM sample", NULL, NULL, NULL),
		    SQLITE_OK);
		sqlite3_close(db);
	}
}

/* Where rows have become buckets, these stand for them. */
static void
test_rolled_up(void)
{
	struct store_opts opts = store_opts_default;
	char why[STORE_WHY_BYTES];
	sqlite3_stmt *st;
	struct store *store;
	struct nw_batch *b = nw_batch_new();
	sqlite3 *db;

	opts.keep_ns[0] = 1;
	CHECK_INT(store_open(filled_path, &opts, &store, why), NW_OK);
	put_rows(b, 5, 3000, t_base + 100 * 1000000000LL, 10000000);
	CHECK_INT(nw_batch_seal(b, 1), NW_OK);
	CHECK_INT(nw_batch_seal(b, 2), NW_OK);
	filled_commit(store, b);
	store_close(store);
	db = connect_to(filled_path);
	st = prepare(db, "SELECT count(*) FROM rollup");
	CHECK_INT(sqlite3_step(st), SQLITE_ROW);
	CHECK(sqlite3_column_int64(st, 0) > 0);
	sqlite3_finalize(st);
	CHECK(test_series(db) > 5 * 3);
	test_steps(db);
	sqlite3_close(db);
}

/* The Nth allocation fails: the right answer or none. */
static void
test_no_memory(void)
{
	static const char query[] =
	    "SELECT count(*), sum(value IS NULL), max(subject) FROM sample WHERE session_id = 1 AND"
	    " field <> 'x'";
	sqlite3_stmt *st;
	sqlite3 *db = connect_to(filled_path);
	int64_t want;
	long n, n_failed = 0;
	int rc;

	st = prepare(db, query);
	CHECK_INT(sqlite3_step(st), SQLITE_ROW);
	want = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	for (n = 1; n < 100000; n += 7) {
		st = NULL;
		alloc_fault.seen = 0;
		alloc_fault.at = n;
		if ((rc = sqlite3_prepare_v2(db, query, -1, &st, NULL)) == SQLITE_OK)
			rc = sqlite3_step(st);
		alloc_fault.at = 0;
		if (rc == SQLITE_ROW)
			CHECK_INT(sqlite3_column_int64(st, 0), want);
		else
			CHECK_INT(rc & 0xff, SQLITE_NOMEM);
		sqlite3_finalize(st);
		n_failed += rc != SQLITE_ROW;
		if (rc == SQLITE_ROW && alloc_fault.seen < n)
			break;
	}
	CHECK(n_failed > 10);
	sqlite3_close(db);
}

static int64_t
number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st = prepare(db, sql);
	int64_t n = -1;

	CHECK_INT(sqlite3_step(st), SQLITE_ROW);
	n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}

/* The table compares n itself: the same rows as from an ordinary table. */
static void
test_least_n(sqlite3 *db)
{
	static const char *const above[] = { "0", "1", "-1", "2.5", "1e300", "-9e99", "NULL", "'1'",
		"'x'", "x'31'", "9223372036854775807", "(SELECT 1)", "0 AND n > 1", "0 AND n < 3" };
	static const char *const table[] = { "sample_bucket WHERE step_ns = 1000000 AND",
		"plain_bucket WHERE" };
	int64_t got[2];
	char sql[256];
	size_t i, k;

	CHECK_INT(sqlite3_exec(db,
		      "CREATE TEMP TABLE plain_bucket(series INTEGER, n INTEGER); INSERT INTO"
		      " plain_bucket SELECT series, n FROM sample_bucket WHERE step_ns = 1000000",
		      NULL, NULL, NULL),
	    SQLITE_OK);
	CHECK(number(db,
	    "SELECT sum(n = 0) > 0 AND sum(n = 1) > 0 AND sum(n > 1) > 0"
	    " FROM plain_bucket"));
	for (i = 0; i < sizeof(above) / sizeof(above[0]); i++) {
		for (k = 0; k < 2; k++) {
			snprintf(sql, sizeof(sql),
			    "SELECT count(*) * 1000003 + total(n * 31 + series %% 97) FROM %s n > "
			    "%s",
			    table[k], above[i]);
			got[k] = number(db, sql);
		}
		if (got[0] != got[1])
			fprintf(stderr, "n > %s\n", above[i]);
		CHECK_INT(got[0], got[1]);
	}
	CHECK_INT(number(db,
		      "SELECT count(*) = (SELECT count(*) FROM plain_bucket WHERE n > 1)"
		      " FROM sample_bucket WHERE step_ns = 1000000 AND n > 1"),
	    1);
}

/* Statistics of steps are those that SQL itself makes of the samples. */
static void
test_buckets(sqlite3 *db)
{
	int64_t n = number(db,
	    "SELECT count(*) FROM (SELECT DISTINCT series, t_ns / 1000000 FROM sample"
	    " WHERE t_ns >= 0)");

	CHECK(n > 1000);
	CHECK_INT(
	    number(db, "SELECT count(*) FROM sample_bucket WHERE step_ns = 1000000 AND t_ns >= 0"),
	    n);
	CHECK_INT(number(db,
		      "SELECT count(*) FROM (SELECT series, t_ns / 1000000 AS g, count(value) AS n,"
		      " min(value) AS low, max(value) AS high, max(t_ns) AS t, avg(value) AS mean"
		      " FROM sample WHERE t_ns >= 0 GROUP BY 1, 2) s JOIN (SELECT series,"
		      " begin_ns / 1000000 AS g, n, min, max, t_ns, mean, sd FROM sample_bucket"
		      " WHERE step_ns = 1000000 AND t_ns >= 0) b USING (series, g) WHERE s.n = b.n"
		      " AND low IS b.min AND high IS b.max AND s.t = b.t_ns AND (b.n > 1) >= (b.sd"
		      " IS NOT NULL) AND (abs(s.mean) > 1e200 OR s.mean IS NULL OR"
		      " abs(s.mean - b.mean) <= 1e-9 * abs(s.mean))"),
	    n);
	CHECK_INT(sqlite3_exec(db, "SELECT * FROM sample_bucket", NULL, NULL, NULL), SQLITE_ERROR);
	CHECK(strstr(sqlite3_errmsg(db), "needs step_ns") != NULL);
	CHECK_INT(number(db,
		      "SELECT count(*) = (SELECT count(*) FROM v_bucket WHERE step_ns = 1000000 AND"
		      " field = 'sum_v') FROM sample_bucket WHERE step_ns = 1000000 AND field ="
		      " 'sum_v' AND n > 0"),
	    1);
	CHECK(number(db, "SELECT count(*) FROM v_minute") > 0);
	CHECK_INT(
	    number(db,
		"SELECT count(*) FROM v_minute m JOIN v_bucket b USING (series, begin_ns, n, t_ns)"
		" WHERE b.step_ns = 60000000000 AND m.sum IS b.sum"),
	    number(db, "SELECT count(*) FROM v_minute"));
	CHECK_INT(number(db,
		      "SELECT count(*) FROM sqlite_temp_schema WHERE name IN ('v_last', 'v_minute')"
		      " AND sql LIKE '%/* SELECT % FROM ' || name || '%'"),
	    2);
	test_least_n(db);
}

static void
test_last(sqlite3 *db)
{
	CHECK_INT(number(db, "SELECT count(*) FROM sample_last"), 21);
	CHECK_INT(number(db,
		      "SELECT count(*) FROM sample_last l WHERE t_ns = (SELECT max(t_ns) FROM"
		      " sample s WHERE s.series = l.series) AND EXISTS (SELECT 1 FROM sample s"
		      " WHERE s.series = l.series AND s.t_ns = l.t_ns AND s.value IS l.value)"),
	    21);
	CHECK_INT(number(db,
		      "SELECT count(*) FROM v_last WHERE session = 1 AND event_type ="
		      " 'nl:tools:calipers:summary:read' AND field = 'mean_r' AND value IS NOT "
		      "NULL"),
	    number(db,
		"SELECT count(*) FROM sample_last WHERE series IN (4096, 8192) AND value IS NOT "
		"NULL"));
}

/* Rows come by series where somebody wants so, and nothing is sorted. */
static void
test_by_series(sqlite3 *db)
{
	static const char grouped[] = "SELECT series, count(*), min(t_ns), max(t_ns), count(value)"
				      " FROM sample GROUP BY ";
	sqlite3_stmt *st = prepare(db,
	    "EXPLAIN QUERY PLAN SELECT series, avg(value) FROM sample"
	    " GROUP BY series ORDER BY series");
	char sql[512];

	while (sqlite3_step(st) == SQLITE_ROW)
		CHECK(strstr((const char *)sqlite3_column_text(st, 3), "B-TREE") == NULL);
	sqlite3_finalize(st);
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM (%s series INTERSECT %s +series)", grouped,
	    grouped);
	CHECK_INT(number(db, sql), 21);
	CHECK_INT(number(db,
		      "SELECT count(*) FROM (SELECT series, t_ns, lag(series) OVER w AS s,"
		      " lag(t_ns) OVER w AS t FROM (SELECT series, t_ns FROM sample ORDER BY"
		      " series, t_ns) WINDOW w AS (ROWS BETWEEN 1 PRECEDING AND CURRENT ROW))"
		      " WHERE s > series OR (s = series AND t > t_ns)"),
	    0);
}

static void
test_no_store(void)
{
	sqlite3 *db = connect_to(":memory:");

	CHECK_INT(sqlite3_exec(db, "SELECT * FROM sample", NULL, NULL, NULL), SQLITE_ERROR);
	CHECK_STR(sqlite3_errmsg(db), "an empty file, not a narrows store");
	sqlite3_close(db);
}

int
main(int argc, char **argv)
{
	sqlite3 *db;

	if (argc == 3 && strcmp(argv[1], "-s") == 0)
		seed = strtoull(argv[2], NULL, 10);
	printf("seed %" PRIu64 "\n", seed);
	fill();
	shim_register();
	db = connect_to(filled_path);
	CHECK_INT(test_series(db), 3600 + 2 * 100 + 3 * 10 + 4 * 20100 + 5 * 9020 + 6 * 50);
	test_steps(db);
	test_constraints(db);
	test_answers(db);
	test_ending(db);
	test_buckets(db);
	test_last(db);
	test_by_series(db);
	sqlite3_close(db);
	test_damage();
	test_no_store();
	if (OWN_MALLOC)
		test_no_memory();
	test_rolled_up();
	filled_remove();
	return check_done("sqlmodule");
}
