/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a question in SQL costs a program that uses SQLite's C interface: processor time until all
 * values of all rows are read.
 *
 *	usage: bench_sql [-r ROUNDS] [STORE EXTENSION QUESTION...]
 *
 * EXTENSION is a build's narrows_sqlite.so. A line for each question has the rows, the median and
 * the least milliseconds of the rounds, and the median for the same rows from a plain table in
 * memory. Without arguments nothing is done: a store is filled by a box.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/check.h"

enum { ROUNDS_MAX = 100 };

static size_t rounds = 7;

static double
cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void
need(sqlite3 *db, int rc, int wanted)
{
	if (rc == wanted)
		return;
	fprintf(stderr, "bench_sql: %s\n", sqlite3_errmsg(db));
	exit(1);
}

/* Returns the sum of all values, so that none can be left out. */
static double
value_read(sqlite3_stmt *st, int column)
{
	switch (sqlite3_column_type(st, column)) {
	case SQLITE_INTEGER: return (double)sqlite3_column_int64(st, column);
	case SQLITE_FLOAT: return sqlite3_column_double(st, column);
	case SQLITE_TEXT: return *sqlite3_column_text(st, column);
	default: return 0;
	}
}

static double
ask(sqlite3 *db, const char *question, size_t *n_rows, double *sum)
{
	double begin = cpu_ms();
	sqlite3_stmt *st;
	int rc, i, n;

	need(db, sqlite3_prepare_v2(db, question, -1, &st, NULL), SQLITE_OK);
	n = sqlite3_column_count(st);
	for (*n_rows = 0, *sum = 0; (rc = sqlite3_step(st)) == SQLITE_ROW; ++*n_rows)
		for (i = 0; i < n; i++)
			*sum += value_read(st, i);
	need(db, rc, SQLITE_DONE);
	sqlite3_finalize(st);
	return cpu_ms() - begin;
}

static int
compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void
measure(sqlite3 *db, const char *question, double *took, size_t *n_rows, double *sum)
{
	size_t i;

	ask(db, question, n_rows, sum); /* reads the schema, and the file into memory */
	for (i = 0; i < rounds; i++)
		took[i] = ask(db, question, n_rows, sum);
	qsort(took, rounds, sizeof(*took), compare);
}

int
main(int argc, char **argv)
{
	double took[ROUNDS_MAX], plain[ROUNDS_MAX], sum, again;
	size_t n_rows;
	sqlite3 *db;
	char *text;
	int i;

	while ((i = getopt(argc, argv, "r:")) != -1)
		if (i != 'r' || (rounds = (size_t)atoi(optarg)) - 1 >= ROUNDS_MAX)
			return 2;
	argv += optind;
	argc -= optind;
	if (argc == 0)
		return 0;
	if (argc < 3)
		return 2;
	need(NULL, sqlite3_open_v2(argv[0], &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	sqlite3_enable_load_extension(db, 1);
	need(db, sqlite3_load_extension(db, argv[1], NULL, NULL), SQLITE_OK);
	for (i = 2; i < argc; i++) {
		measure(db, argv[i], took, &n_rows, &sum);
		text = sqlite3_mprintf("CREATE TEMP TABLE plain AS %s", argv[i]);
		need(db, sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
		sqlite3_free(text);
		measure(db, "SELECT * FROM plain", plain, &n_rows, &again);
		need(db, sqlite3_exec(db, "DROP TABLE plain", NULL, NULL, NULL), SQLITE_OK);
		CHECK_NEAR(again, sum, 1e-9, 0);
		printf("%s: %zu rows, %.2f ms, %.2f the least, %.2f from a plain table\n", argv[i],
		    n_rows, took[rounds / 2], took[0], plain[rounds / 2]);
	}
	sqlite3_close(db);
	return check_done("bench_sql");
}
