/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the store costs, beside what the machine and plain SQLite cost in the same run.
 *
 *	usage: bench_store [RECORDING]     (or in the environment: BENCH_RECORDING)
 *
 * RECORDING is a file as of tests/recording.h; without a recording a made-up set is used, which
 * says less. Rows are stored in order of time, every
 * second of data with one fsynced commit, every row with its own call. CPU seconds are those of the
 * whole process, compaction included. Everything read is compared with the data.
 *
 * Queries are timed warm, one after the other on a file that does not change, so that the reader
 * has the columns it decoded the first time; and cold, each after a commit, which empties the cache
 * of SQLite. The slowest cold one is the first, for which nothing was decoded yet.
 */
#include "narrows/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "narrows/err.h"
#include "tests/recording.h"

enum { QUERY_RUNS = 15 };

struct arrival {
	int64_t t;
	uint32_t group, row;
};

static struct arrival *arrivals;
static size_t n_arrivals, n_samples, n_series;
static char dir[] = "/tmp/nw-bench-XXXXXX";

static double
wall_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static double
cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	    (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* --- the data --- */

static int
arrival_cmp(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

static void
arrivals_make(void)
{
	uint32_t g, r;
	size_t n = 0;

	for (g = 0; g < n_groups; g++) {
		n_arrivals += groups[g].n_rows;
		n_samples += (size_t)groups[g].n_rows * groups[g].n_columns;
		n_series += groups[g].n_columns;
	}
	arrivals = malloc(n_arrivals * sizeof(*arrivals));
	for (g = 0; g < n_groups; g++)
		for (r = 0; r < groups[g].n_rows; r++)
			arrivals[n++] = (struct arrival){ groups[g].t[r], g, r };
	qsort(arrivals, n, sizeof(*arrivals), arrival_cmp);
}

/* A row's values side by side, as a decoder hands them over. */
static const double *
row_values(const struct arrival *a)
{
	static double row[4096];
	const struct group *g = &groups[a->group];
	uint32_t c;

	for (c = 0; c < g->n_columns; c++)
		row[c] = g->value[(size_t)c * g->n_rows + a->row];
	return row;
}

static const char *
file_in_dir(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static size_t
file_bytes(const char *path)
{
	struct stat sb;

	return stat(path, &sb) == 0 ? (size_t)sb.st_size : 0;
}

static void
print_ingest(const char *what, double cpu, double wall, size_t samples, double bytes)
{
	printf("%-44s %8.3f %12.2f %10.2f\n", what, cpu * 1e6 / (double)samples,
	    (double)samples / wall * 1e-6, bytes / (double)samples);
}

/* --- the yardstick --- */

static void
bench_transpose(void)
{
	double cpu = cpu_s(), wall = wall_s(), sum = 0;
	size_t i;

	for (i = 0; i < n_arrivals; i++)
		sum += row_values(&arrivals[i])[0];
	if (sum == 0.5)
		printf("\n");
	print_ingest("the bench itself: rows gathered, not stored", cpu_s() - cpu, wall_s() - wall,
	    n_samples, 8);
}

static sqlite3 *
plain_open(const char *name, const char *schema)
{
	sqlite3 *db;

	if (sqlite3_open(file_in_dir(name), &db) != SQLITE_OK ||
	    sqlite3_exec(db,
		"PRAGMA journal_mode = WAL;"
		"PRAGMA synchronous = FULL; PRAGMA secure_delete = OFF",
		NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_exec(db, schema, NULL, NULL, NULL) != SQLITE_OK)
		die(sqlite3_errmsg(db));
	return db;
}

/* Calls put for every row, with one fsynced commit per second of data, until `max` samples are
 * in. */
static void
bench_sqlite(const char *what, const char *name, const char *schema, const char *insert, size_t max,
    void (*put)(sqlite3_stmt *st, const struct arrival *a), void (*second)(sqlite3_stmt *st))
{
	sqlite3 *db = plain_open(name, schema);
	double cpu = cpu_s(), wall = wall_s();
	sqlite3_stmt *st;
	size_t i = 0, n = 0;
	int64_t end;

	if (sqlite3_prepare_v2(db, insert, -1, &st, NULL) != SQLITE_OK)
		die(sqlite3_errmsg(db));
	while (i < n_arrivals && n < max) {
		sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
		for (end = arrivals[i].t + SECOND; i < n_arrivals && arrivals[i].t < end; i++) {
			put(st, &arrivals[i]);
			n += groups[arrivals[i].group].n_columns;
		}
		if (second != NULL)
			second(st);
		if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
			die(sqlite3_errmsg(db));
	}
	sqlite3_finalize(st);
	sqlite3_close(db);
	print_ingest(
	    what, cpu_s() - cpu, wall_s() - wall, n, (double)file_bytes(file_in_dir(name)));
	unlink(file_in_dir(name));
}

static void
put_sample_rows(sqlite3_stmt *st, const struct arrival *a)
{
	const double *v = row_values(a);
	uint32_t c;

	for (c = 0; c < groups[a->group].n_columns; c++) {
		sqlite3_bind_int64(st, 1, (int64_t)a->group * 4096 + c);
		sqlite3_bind_int64(st, 2, a->t);
		sqlite3_bind_double(st, 3, v[c]);
		sqlite3_step(st);
		sqlite3_reset(st);
	}
}

static uint8_t blob[1 << 24];
static size_t blob_len;

static void
put_blob_bytes(sqlite3_stmt *st, const struct arrival *a)
{
	size_t bytes = 8 * (size_t)groups[a->group].n_columns;

	(void)st;
	if (blob_len + bytes + 8 > sizeof(blob))
		die("a second of data is too big");
	memcpy(blob + blob_len, &a->t, 8);
	memcpy(blob + blob_len + 8, row_values(a), bytes);
	blob_len += 8 + bytes;
}

static void
put_blob(sqlite3_stmt *st)
{
	sqlite3_bind_blob64(st, 1, blob, blob_len, SQLITE_STATIC);
	sqlite3_step(st);
	sqlite3_reset(st);
	blob_len = 0;
}

/* --- the store --- */

static void
on_done(void *arg, int rc)
{
	need(rc, "commit");
	*(bool *)arg = true;
}

static void
commit(struct store *st, struct nw_batch *b)
{
	struct pollfd p = { .fd = store_completion_fd(st), .events = POLLIN };
	bool done = false;

	nw_batch_on_done(b, on_done, &done);
	need(store_submit(st, b), "submit");
	while (!done && poll(&p, 1, 60000) == 1)
		store_run_completions(st);
}

/* --- queries --- */

struct answer {
	uint32_t group, column, at;
	size_t n_rows;
	double sum;
	double mean[4096];
};

/* Every bit is what was put in. */
static int
on_compare(void *arg, const struct store_block *k)
{
	struct answer *a = arg;
	const struct group *g = &groups[a->group];
	size_t c;

	if (a->at + k->n_rows > g->n_rows || memcmp(k->t_wall_ns, g->t + a->at, 8 * k->n_rows) != 0)
		die("times came back wrong");
	for (c = 0; c < k->n_fields; c++)
		if (memcmp(k->columns[c], g->value + c * g->n_rows + a->at, 8 * k->n_rows) != 0)
			die("values came back wrong");
	a->at += (uint32_t)k->n_rows;
	return 0;
}

static int
on_column(void *arg, const struct store_block *k)
{
	struct answer *a = arg;
	size_t i;

	for (i = 0; i < k->n_rows; i++)
		a->sum += k->columns[a->column][i];
	a->n_rows += k->n_rows;
	return 0;
}

static int
on_last(void *arg, const struct store_block *k)
{
	struct answer *a = arg;

	a->sum += k->columns[k->n_fields - 1][0];
	a->n_rows += k->n_fields;
	return 0;
}

/* One mean per minute and field; a minute that two blocks share is counted in both, which changes
 * no cost. */
static int
on_minutes(void *arg, const struct store_block *k)
{
	struct answer *a = arg;
	size_t from = 0, to, f, i;
	double sum;

	while (from < k->n_rows) {
		for (to = from;
		     to < k->n_rows && k->t_wall_ns[to] < k->t_wall_ns[from] + 60 * SECOND; to++)
			;
		for (f = 0; f < k->n_fields; f++) {
			for (sum = 0, i = from; i < to; i++)
				sum += k->columns[f][i];
			a->mean[f] = sum / (double)(to - from);
		}
		a->n_rows += (to - from) * k->n_fields;
		from = to;
	}
	return 0;
}

static void
query_compare(struct store_reader *r)
{
	struct answer a = { 0 };

	for (a.group = 0; a.group < n_groups; a.group++) {
		a.at = 0;
		need(store_rows(r, a.group + 1, INT64_MIN, INT64_MAX, on_compare, &a), "compare");
		if (a.at != groups[a.group].n_rows)
			die("rows are missing");
	}
}

static uint32_t
group_of_series(size_t s, uint32_t *column)
{
	uint32_t g;

	for (g = 0; s >= groups[g].n_columns; g++)
		s -= groups[g].n_columns;
	*column = (uint32_t)s;
	return g;
}

static size_t
query_one(struct store_reader *r)
{
	struct answer a = { .n_rows = 0 };

	a.group = group_of_series(n_series / 2, &a.column);
	need(store_rows_of(r, a.group + 1, &a.column, 1, INT64_MIN, INT64_MAX, on_column, &a),
	    "query");
	return a.n_rows;
}

/* 50 series spread over all of them, five minutes from the middle. */
static size_t
query_fifty(struct store_reader *r)
{
	int64_t t0 = arrivals[n_arrivals / 2].t;
	struct answer a = { .n_rows = 0 };
	size_t i;

	for (i = 0; i < 50; i++) {
		a.group = group_of_series(i * n_series / 50, &a.column);
		need(store_rows_of(
			 r, a.group + 1, &a.column, 1, t0, t0 + 300 * SECOND, on_column, &a),
		    "query");
	}
	return a.n_rows;
}

static size_t
query_last(struct store_reader *r)
{
	struct answer a = { .n_rows = 0 };

	for (a.group = 0; a.group < n_groups; a.group++)
		need(store_last_row(r, a.group + 1, on_last, &a), "query");
	return a.n_rows;
}

static size_t
query_minutes(struct store_reader *r)
{
	struct answer a = { .n_rows = 0 };

	for (a.group = 0; a.group < n_groups; a.group++)
		need(store_rows(r, a.group + 1, INT64_MIN, INT64_MAX, on_minutes, &a), "query");
	return a.n_rows;
}

static int
double_cmp(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Sorted times of runs, each in a snapshot of its own, and after a commit if there is one to
 * make. */
static size_t
query_time(struct store_reader *r, size_t (*run)(struct store_reader *r), sqlite3 *commits,
    double took[QUERY_RUNS])
{
	double begin;
	size_t i, n = 0;

	for (i = 0; i < QUERY_RUNS; i++) {
		if (commits != NULL &&
		    sqlite3_exec(commits, "UPDATE host SET name = name", NULL, NULL, NULL) !=
			SQLITE_OK)
			die(sqlite3_errmsg(commits));
		begin = wall_s();
		need(store_reader_begin(r), "begin");
		n = run(r);
		store_reader_end(r);
		took[i] = (wall_s() - begin) * 1e3;
	}
	qsort(took, QUERY_RUNS, sizeof(took[0]), double_cmp);
	return n;
}

static void
bench_queries(const char *when)
{
	static const struct {
		const char *what;
		size_t (*run)(struct store_reader *r);
	} all[] = {
		{ "one series, full range", query_one },
		{ "50 series, 5 minutes", query_fifty },
		{ "last value of all", query_last },
		{ "mean per minute of all", query_minutes },
	};
	char why[STORE_WHY_BYTES];
	double warm[QUERY_RUNS], cold[QUERY_RUNS], begin;
	struct store_reader *r;
	sqlite3 *commits;
	size_t q, n;

	if (sqlite3_open(file_in_dir("narrows.db"), &commits) != SQLITE_OK ||
	    sqlite3_busy_timeout(commits, 5000) != SQLITE_OK)
		die(sqlite3_errmsg(commits));
	need(store_reader_open(file_in_dir("narrows.db"), &r, why), why);
	begin = wall_s();
	query_compare(r);
	printf("\n%-28s %9s  %9s  %9s  %9s  %10s\n", when, "warm ms", "slowest", "cold ms",
	    "slowest", "values");
	printf("%-28s %9.3f\n", "everything, once, compared", (wall_s() - begin) * 1e3);
	for (q = 0; q < sizeof(all) / sizeof(all[0]); q++) {
		query_time(r, all[q].run, commits, cold);
		n = query_time(r, all[q].run, NULL, warm);
		printf("%-28s %9.3f  %9.3f  %9.3f  %9.3f  %10zu\n", all[q].what,
		    warm[QUERY_RUNS / 2], warm[QUERY_RUNS - 1], cold[QUERY_RUNS / 2],
		    cold[QUERY_RUNS - 1], n);
	}
	store_reader_close(r);
	sqlite3_close(commits);
}

static struct store *
store_fresh(bool sync_full)
{
	struct store_opts opts = store_opts_default;
	char why[STORE_WHY_BYTES];
	struct store *st;

	opts.sync_full = sync_full;
	opts.commit_interval_ns = 0;
	unlink(file_in_dir("narrows.db"));
	need(store_open(file_in_dir("narrows.db"), &opts, &st, why), why);
	return st;
}

/* Everything in order of arrival, one commit per second of data, each waited for. */
static void
store_feed(struct store *st)
{
	struct nw_batch *b = nw_batch_new();
	const struct arrival *a;
	int64_t end;
	size_t i;

	recording_describe(b, "{}");
	commit(st, b);
	for (i = 0; i < n_arrivals;) {
		b = nw_batch_new();
		for (end = arrivals[i].t + SECOND; i < n_arrivals && arrivals[i].t < end; i++) {
			a = &arrivals[i];
			need(nw_batch_rows(b, a->group + 1, groups[a->group].n_columns, 1, &a->t,
				 row_values(a), NULL, 0),
			    "rows");
		}
		commit(st, b);
	}
}

static void
bench_store(const char *what, bool sync_full)
{
	struct store *st = store_fresh(sync_full);
	double cpu = cpu_s(), wall = wall_s(), fed;
	struct nw_batch *b = nw_batch_new();

	store_feed(st);
	fed = cpu_s() - cpu;
	need(nw_batch_seal(b, 1), "seal");
	commit(st, b);
	store_close(st);
	print_ingest(what, cpu_s() - cpu, wall_s() - wall, n_samples,
	    (double)file_bytes(file_in_dir("narrows.db")));
	printf("%-44s %8.3f\n", "  of it before the session was sealed",
	    fed * 1e6 / (double)n_samples);
}

/* --- what becomes of rows --- */

struct means {
	size_t n;
	double mean[4096];
};

static int
on_bucket_means(void *arg, const struct store_bucket_block *k)
{
	struct means *m = arg;
	size_t f, i;

	for (f = 0; f < k->n_fields; f++)
		for (i = 0; i < k->n_buckets; i++)
			m->mean[f] = k->sum[f][i] / k->n[f][i];
	m->n += k->n_buckets * k->n_fields;
	return 0;
}

/* A mean per minute and field, from the rows that are there. */
static size_t
query_buckets(struct store_reader *r)
{
	struct means m = { 0 };
	uint32_t g;

	for (g = 0; g < n_groups; g++)
		need(store_buckets(
			 r, g + 1, NULL, 0, INT64_MIN, INT64_MAX, 60 * SECOND, on_bucket_means, &m),
		    "query");
	return m.n;
}

static void
bench_minutes(const char *what)
{
	char why[STORE_WHY_BYTES];
	struct store_reader *r;
	double took[QUERY_RUNS], begin;
	size_t i, n = 0;

	need(store_reader_open(file_in_dir("narrows.db"), &r, why), why);
	for (i = 0; i < QUERY_RUNS; i++) {
		begin = wall_s();
		need(store_reader_begin(r), "begin");
		n = query_buckets(r);
		store_reader_end(r);
		took[i] = (wall_s() - begin) * 1e3;
	}
	qsort(took, QUERY_RUNS, sizeof(took[0]), double_cmp);
	printf("%-28s %9.3f  %9.3f  %10zu\n", what, took[QUERY_RUNS / 2], took[QUERY_RUNS - 1], n);
	store_reader_close(r);
}

/* All rows of the sealed store that is there become buckets of the next tier, and so on. */
static void
bench_tiers(void)
{
	static const char *const names[STORE_TIERS] = { "minutes from rows", "minutes from 10 s",
		"minutes from minutes", "" };
	struct store_opts opts = store_opts_default;
	struct store_stats s = { 0 };
	char why[STORE_WHY_BYTES];
	struct store *st;
	double cpu, bytes;
	int t;

	printf("\n%-28s %9s  %9s  %10s\n", "buckets", "median ms", "slowest", "values");
	bench_minutes(names[STORE_ROWS]);
	for (t = STORE_ROWS; t < STORE_1MIN; t++) {
		opts.keep_ns[t] = 1;
		cpu = cpu_s();
		need(store_open(file_in_dir("narrows.db"), &opts, &st, why), why);
		do {
			usleep(5000);
			store_get_stats(st, &s);
		} while (s.tier_bytes[t] > 0);
		store_close(st);
		cpu = cpu_s() - cpu;
		bytes = (double)file_bytes(file_in_dir("narrows.db"));
		printf("%-28s %.3f CPU s per million samples; file %.3f B/sample\n",
		    t == 0 ? "rows to 10 s" : "10 s to minutes", cpu * 1e6 / (double)n_samples,
		    bytes / (double)n_samples);
		bench_minutes(names[t + 1]);
	}
}

static void
print_pages(void)
{
	sqlite3 *db;
	sqlite3_stmt *st;
	int64_t pages, n_free, size;

	if (sqlite3_open_v2(file_in_dir("narrows.db"), &db, SQLITE_OPEN_READONLY, NULL) !=
		SQLITE_OK ||
	    sqlite3_prepare_v2(db,
		"SELECT page_count, freelist_count, page_size FROM pragma_page_count,"
		" pragma_freelist_count, pragma_page_size",
		-1, &st, NULL) != SQLITE_OK ||
	    sqlite3_step(st) != SQLITE_ROW)
		die(sqlite3_errmsg(db));
	pages = sqlite3_column_int64(st, 0);
	n_free = sqlite3_column_int64(st, 1);
	size = sqlite3_column_int64(st, 2);
	printf("bytes per sample in live pages %.3f, file / live pages %.3f\n",
	    (double)((pages - n_free) * size) / (double)n_samples,
	    (double)pages / (double)(pages - n_free));
	sqlite3_finalize(st);
	sqlite3_close(db);
}

int
main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : getenv("BENCH_RECORDING");
	struct store *st;

	recording_open(name);
	arrivals_make();
	if (mkdtemp(dir) == NULL)
		die(strerror(errno));
	printf("%s: %zu samples, %zu series in %u groups\n\n", name == NULL ? "made-up set" : name,
	    n_samples, n_series, n_groups);
	printf("%-44s %8s %12s %10s\n", "one commit per second of data", "CPU s/M", "M samples/s",
	    "B/sample");
	bench_transpose();
	bench_sqlite("SQLite, one blob per second, fsynced", "blob.db",
	    "CREATE TABLE b(id INTEGER PRIMARY KEY, rows BLOB)", "INSERT INTO b(rows) VALUES(?)",
	    SIZE_MAX, put_blob_bytes, put_blob);
	bench_sqlite("SQLite, one row per sample, fsynced (part)", "rows.db",
	    "CREATE TABLE s(series INTEGER, t INTEGER, value REAL, PRIMARY KEY(series, t)) WITHOUT "
	    "ROWID",
	    "INSERT INTO s VALUES(?,?,?)", 200000, put_sample_rows, NULL);
	bench_store("narrows, fsync at checkpoints", false);
	bench_store("narrows, every commit fsynced", true);
	print_pages();
	bench_queries("all in chunks");
	bench_tiers();
	st = store_fresh(false);
	store_feed(st);
	bench_queries("the newest still in the tail");
	store_close(st);
	unlink(file_in_dir("narrows.db-lock"));
	unlink(file_in_dir("narrows.db-shm"));
	unlink(file_in_dir("narrows.db-wal"));
	unlink(file_in_dir("narrows.db"));
	rmdir(dir);
	return 0;
}
