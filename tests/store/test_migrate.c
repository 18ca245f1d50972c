/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores of earlier versions are brought up to date, whole or not at all.
 * tests/data/narrows-v1.db.gz was written by a box of version 1: a transfer of two series, one of
 * odd numbers, one by nwrun with histograms, a host's own series; part in chunks, part in the tail.
 * narrows-v2.db.gz is that store after version 2 took it up, had rolled up what is old in it, and
 * three more sessions, one of them pinned. narrows-v3.db.gz holds two judged transfers, and
 * narrows-v5.db.gz three of bench_box.
 */
#include "store/write/migrate.h"

#include <math.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "narrows/maintenance.h"
#include "narrows/err.h"
#include "store/ground/schema.h"
#include "store/sql/sqlmodule.h"
#include "tests/check.h"
#include "tests/faults.h"

static char dir[] = "/dev/shm/nw-migrate-XXXXXX";
static char path[64], bak[80];
static char why[STORE_WHY_BYTES];

static void
remove_all(void)
{
	static const char *const end[] = { "", "-wal", "-shm", "-lock", ".v1.bak", ".v1.bak.part",
		".v2.bak", ".v2.bak.part", ".v3.bak", ".v3.bak.part" };
	char name[96];
	size_t i;

	for (i = 0; i < sizeof(end) / sizeof(end[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", path, end[i]);
		if (unlink(name) == -1)
			rmdir(name);
	}
}

static void
unpack(const char *fixture)
{
	char command[160];

	remove_all();
	snprintf(command, sizeof(command), "gzip -dc tests/data/%s >%s", fixture, path);
	if (system(command) != 0)
		exit(1);
}

static double
number(const char *file, const char *sql)
{
	sqlite3_stmt *st = NULL;
	sqlite3 *db;
	double v = NAN;

	CHECK_INT(sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	CHECK_INT(sqlmodule_register(db, NULL), SQLITE_OK);
	CHECK_INT(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	if (sqlite3_step(st) == SQLITE_ROW)
		v = sqlite3_column_double(st, 0);
	else
		fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
	sqlite3_finalize(st);
	sqlite3_close(db);
	return v;
}

struct answer {
	const char *sql;
	double is;
};

/* What the box of version 1 itself exported from the file. */
static const struct answer version_1[] = {
	{ "SELECT count(*) FROM v_sample WHERE session = 1", 17600 },
	{ "SELECT sum(t_ns % 1000003) FROM v_sample WHERE session = 1", 8253402160 },
	{ "SELECT sum(value) FROM v_sample WHERE session = 1", 132189130809.04062 },
	{ "SELECT count(*) FROM v_sample WHERE session = 2", 24 },
	{ "SELECT sum(value) FROM v_sample WHERE session = 2", 1e300 },
	{ "SELECT count(*) FROM v_sample WHERE session = 3", 78 },
	{ "SELECT sum(t_ns % 1000003) FROM v_sample WHERE session = 3", 56961528 },
	{ "SELECT sum(value) FROM v_sample WHERE session = 3", 22103892.905908108 },
	{ "SELECT count(*) FROM v_sample WHERE session IS NULL AND host = 'dtn-b'", 200 },
	{ "SELECT count(*) FROM v_session WHERE verdict LIKE 'Cannot tell%'", 3 },
	{ "SELECT count(*) FROM v_verdict WHERE json_valid(document)", 3 },
	{ "SELECT stored_seq FROM provider WHERE id = 'prov-dtn-a-read'", 1100 },
};

/* And the rows that version 2 read in a file of version 2. */
static const struct answer version_2[] = {
	{ "SELECT count(*) FROM v_sample WHERE session = 1", 1760 },
	{ "SELECT sum(value) FROM v_sample WHERE session = 1", 131669998266.9572 },
	{ "SELECT count(*) FROM v_sample WHERE session = 4", 192 },
	{ "SELECT sum(value) FROM v_sample WHERE session = 4", 6478418414.366665 },
	{ "SELECT count(*) FROM v_sample WHERE session = 5", 10800 },
	{ "SELECT sum(t_ns % 1000003) FROM v_sample WHERE session = 5", 5416213878 },
	{ "SELECT sum(value) FROM v_sample WHERE session = 5", 6478843217.5 },
	{ "SELECT count(*) FROM v_sample WHERE session = 6", 282 },
	{ "SELECT sum(value) FROM v_sample WHERE session = 6", 6478421930.05 },
	{ "SELECT sum(n_rows) FROM rollup WHERE tier = 2", 128 },
	{ "SELECT sum(pinned) FROM session", 1 },
	{ "SELECT stored_seq FROM provider WHERE id = 'prov-dtn-a-read'", 1100 },
};

/* As the box of version 3 wrote them, whose documents were plain text. */
static const struct answer version_3[] = {
	{ "SELECT sum(length(document)) FROM v_verdict", 83813 },
	{ "SELECT count(*) FROM v_verdict WHERE json_valid(document)", 2 },
	{ "SELECT json_extract(document, '$.timeline.stages[0].bytes_per_s[3]') FROM v_verdict"
	  " WHERE session = 2",
	    21173000 },
	{ "SELECT json_array_length(document, '$.timeline.stages[1].busy') FROM v_verdict"
	  " WHERE session = 2",
	    54 },
	{ "SELECT count(*) FROM result WHERE confidence = 'high' AND length(timeline) > 1000", 2 },
	{ "SELECT effect FROM result WHERE session_id = 2", 46.4393078286 },
	{ "SELECT sum(length(document)) + sum(length(timeline)) < 30000 FROM result", 1 },
	{ "SELECT count(DISTINCT host_id) FROM tier_size WHERE tier = 0", 2 },
	{ "SELECT sum(bytes) FROM tier_size WHERE tier = 0", 39977 },
	{ "SELECT count(*) FROM v_series WHERE unit = 'By/ns'", 50 },
};

/* As the box of version 5 wrote them: layouts with names of their own, last rows as doubles. */
static const struct answer version_5[] = {
	{ "SELECT count(*) FROM v_sample", 20944 },
	{ "SELECT sum(value) FROM v_sample WHERE session = 1", 1563615474.888529 },
	{ "SELECT sum(t_ns % 1000003) FROM v_sample", 12913082314 },
	{ "SELECT sum(length(document)) FROM v_verdict", 82121 },
	{ "SELECT count(*) FROM v_verdict WHERE json_valid(document)", 3 },
	{ "SELECT sum(unicode(substr(document, 5000, 1))) FROM v_verdict", 281 },
	{ "SELECT count(*) FROM v_series WHERE field = 'sum_v'", 12 },
	{ "SELECT sum(value) FROM v_last WHERE session = 2", 5096814.318484981 },
	{ "SELECT sum(length(narrows_original(raw))) FROM metadata", 2544 },
	{ "SELECT count(*) FROM fieldset", 1 },
};

static const struct {
	const char *fixture;
	int version, n_sessions, n_metas;
	const struct answer *answers;
	size_t n_answers;
} fixtures[] = {
	{ "narrows-v5.db.gz", 5, 3, 12, version_5, sizeof(version_5) / sizeof(version_5[0]) },
	{ "narrows-v3.db.gz", 3, 2, 24, version_3, sizeof(version_3) / sizeof(version_3[0]) },
	{ "narrows-v2.db.gz", 2, 6, 12, version_2, sizeof(version_2) / sizeof(version_2[0]) },
	{ "narrows-v1.db.gz", 1, 3, 9, version_1, sizeof(version_1) / sizeof(version_1[0]) },
};

static void
test_fixtures(void)
{
	struct store_counts n;
	struct store_reader *r;
	struct store *st;
	size_t i, k;

	for (i = 0; i < sizeof(fixtures) / sizeof(fixtures[0]); i++) {
		unpack(fixtures[i].fixture);
		snprintf(bak, sizeof(bak), "%s.v%d.bak", path, fixtures[i].version);
		CHECK_INT(number(path, "PRAGMA user_version"), fixtures[i].version);
		CHECK_INT(store_reader_open(path, &r, why), NW_EVERSION);
		CHECK(strstr(why, "older narrows") != NULL &&
		    strstr(why, "start narrowsd on it once") != NULL);
		CHECK_INT(store_open(path, NULL, &st, why), NW_OK);
		store_close(st);
		CHECK_INT(store_reader_open(path, &r, why), NW_OK);
		CHECK_INT(store_check(r, NULL, &n), NW_OK);
		CHECK_INT(n.sessions, fixtures[i].n_sessions);
		CHECK_INT(n.metas, fixtures[i].n_metas);
		store_reader_close(r);
		for (k = 0; k < fixtures[i].n_answers; k++)
			CHECK_NEAR(number(path, fixtures[i].answers[k].sql),
			    fixtures[i].answers[k].is, 1e-13, 0);
		/* what was there before is beside it, and can be put back */
		CHECK_INT(number(bak, "PRAGMA user_version"), fixtures[i].version);
		CHECK_INT(
		    number(bak,
			"SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
		    1);
		CHECK_INT(number(bak, "SELECT count(*) FROM metadata"), fixtures[i].n_metas);
	}
}

/* A second start migrates nothing, and so keeps the copy there is. */
static void
test_once(void)
{
	struct store *st;
	struct stat before, after;

	CHECK_INT(stat(bak, &before), 0);
	CHECK_INT(store_open(path, NULL, &st, why), NW_OK);
	store_close(st);
	CHECK_INT(stat(bak, &after), 0);
	CHECK(before.st_ino == after.st_ino);
}

static void
test_newer(void)
{
	struct store_reader *r;
	struct store *st;
	sqlite3 *db;

	unpack("narrows-v1.db.gz");
	CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
	CHECK_INT(sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	CHECK_INT(store_open(path, NULL, &st, why), NW_EVERSION);
	CHECK(strstr(why, "made by a newer narrows: schema 99") != NULL);
	CHECK_INT(store_reader_open(path, &r, why), NW_EVERSION);
	CHECK(strstr(why, "made by a newer narrows: schema 99") != NULL);
	CHECK_INT(number(path, "PRAGMA user_version"), 99);
	CHECK(access(bak, F_OK) == -1);
}

/* Without a copy nothing is changed. */
static void
test_no_copy(void)
{
	struct store *st;

	unpack("narrows-v1.db.gz");
	CHECK_INT(mkdir(bak, 0700), 0);
	CHECK_INT(store_open(path, NULL, &st, why), NW_EIO);
	CHECK(strstr(why, "no copy can be made") != NULL);
	CHECK_INT(number(path, "PRAGMA user_version"), 1);
}

/* The Nth write or allocation fails: it is of one version or of the other, and complete. */
static void
test_faults(long *at, long *seen, long stride)
{
	struct store_counts n;
	struct store_reader *r;
	struct store *st;
	long i, n_old = 0, n_new = 0;
	int rc;

	for (i = 1; i < 100000; i += stride) {
		unpack("narrows-v1.db.gz");
		*seen = 0;
		*at = i;
		rc = store_open(path, NULL, &st, why);
		*at = 0;
		store_close(st);
		CHECK((rc == NW_OK) == (st != NULL) && (rc == NW_OK || why[0] != '\0'));
		if (number(path, "PRAGMA user_version") == 1) {
			CHECK(rc != NW_OK);
			CHECK_INT(number(path,
				      "SELECT count(*) FROM sqlite_schema WHERE name = 'rollup'"),
			    0);
			CHECK_INT(number(path, "SELECT count(*) FROM metadata"), 9);
			n_old++;
		} else {
			CHECK_INT(store_reader_open(path, &r, why), NW_OK);
			CHECK_INT(store_check(r, NULL, &n), NW_OK);
			store_reader_close(r);
			CHECK_INT(number(bak, "PRAGMA user_version"), 1);
			n_new++;
		}
		if (rc == NW_OK && *seen < i)
			break;
	}
	CHECK(i < 100000 && n_old > 2 && n_new > 0);
}

/* All migrations or none. */
static void
test_migrations(void)
{
	static const char *const good[] = { "CREATE TABLE a(x)",
		"CREATE TABLE b(x); INSERT INTO a VALUES (1)", "ALTER TABLE a ADD COLUMN y" };
	static const char *const bad[] = { "CREATE TABLE a(x)", "CREATE TABLE b(x)",
		"CREATE TABLE b(x)" };
	sqlite3 *db;

	remove_all();
	CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
	CHECK_INT(migrate_apply(db, bad, 0, 3, why), NW_EIO);
	CHECK_STR(why, "table b already exists");
	CHECK_INT(sqlite3_get_autocommit(db), 1);
	CHECK_INT(number(path, "SELECT count(*) FROM sqlite_schema"), 0);
	CHECK_INT(number(path, "PRAGMA user_version"), 0);
	CHECK_INT(migrate_apply(db, good, 0, 2, why), NW_OK);
	CHECK_INT(number(path, "PRAGMA user_version"), 2);
	CHECK_INT(migrate_apply(db, good, 2, 3, why), NW_OK);
	CHECK_INT(number(path, "PRAGMA user_version"), 3);
	CHECK_INT(number(path, "PRAGMA application_id"), SCHEMA_APPLICATION_ID);
	CHECK_INT(number(path, "SELECT count(y IS NULL) FROM a, (SELECT count(*) FROM b)"), 1);
	CHECK_INT(migrate_apply(db, good, 3, 3, why), NW_OK);
	sqlite3_close(db);
}

int
main(void)
{
	if (!check_dir(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/narrows.db", dir);
	test_fixtures();
	test_once();
	test_newer();
	test_no_copy();
	test_migrations();
	shim_register();
	test_faults(&io_fault.at, &io_fault.seen, check_repeats(7, 29));
	if (OWN_MALLOC)
		test_faults(&alloc_fault.at, &alloc_fault.seen, check_repeats(101, 501));
	remove_all();
	rmdir(dir);
	return check_done("migrate");
}
