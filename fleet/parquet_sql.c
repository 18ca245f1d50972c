/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/parquet_sql.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "narrows/err.h"
#include "narrows/xmalloc.h"

/*
 * What is used of DuckDB's C interface, https://duckdb.org/docs/stable/clients/c/api: handles are
 * pointers, a result is a structure of its own size that the caller has room for.
 */
enum { RESULT_BYTES = 256, SUCCESS = 0, TYPE_SELECT = 1 };
struct result {
	_Alignas(16) char room[RESULT_BYTES];
};
static struct {
	int (*open)(const char *path, void **db);
	void (*close)(void **db);
	int (*connect)(void *db, void **connection);
	void (*disconnect)(void **connection);
	int (*query)(void *connection, const char *sql, struct result *r);
	int (*prepare)(void *connection, const char *sql, void **statement);
	const char *(*prepare_error)(void *statement);
	int (*prepared_statement_type)(void *statement);
	int (*bind_varchar)(void *statement, uint64_t index, const char *text);
	int (*execute_prepared)(void *statement, struct result *r);
	void (*destroy_prepare)(void **statement);
	const char *(*result_error)(struct result *r);
	uint64_t (*column_count)(struct result *r);
	uint64_t (*row_count)(struct result *r);
	const char *(*column_name)(struct result *r, uint64_t column);
	char *(*value_varchar)(struct result *r, uint64_t column, uint64_t row);
	void (*free)(void *p);
	void (*destroy_result)(struct result *r);
} duck;

static const struct {
	const char *name;
	void *at;
} routines[] = {
#define ROUTINE(name)                       \
	{                                   \
		"duckdb_" #name, &duck.name \
	}
	ROUTINE(open), ROUTINE(close), ROUTINE(connect), ROUTINE(disconnect), ROUTINE(query),
	ROUTINE(prepare), ROUTINE(prepare_error), ROUTINE(prepared_statement_type),
	ROUTINE(bind_varchar), ROUTINE(execute_prepared), ROUTINE(destroy_prepare),
	ROUTINE(result_error), ROUTINE(column_count), ROUTINE(row_count), ROUTINE(column_name),
	ROUTINE(value_varchar), ROUTINE(free), ROUTINE(destroy_result)
};

static int
library_load(const char *library, char why[FLEET_WHY_BYTES])
{
	static void *loaded; /* stays */
	size_t i;
	void *at;

	if (loaded == NULL && (loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL)) == NULL) {
		snprintf(why, FLEET_WHY_BYTES,
		    "questions about Parquet files need DuckDB's library: write \"duckdb-library "
		    "PATH\" into the configuration (%.200s)",
		    dlerror());
		return NW_EUNSUPPORTED;
	}
	for (i = 0; i < sizeof(routines) / sizeof(routines[0]); i++) {
		if ((at = dlsym(loaded, routines[i].name)) == NULL) {
			snprintf(
			    why, FLEET_WHY_BYTES, "%.200s has no %s", library, routines[i].name);
			return NW_EUNSUPPORTED;
		}
		memcpy(routines[i].at, &at, sizeof(at));
	}
	return NW_OK;
}

/* --- the database of one question, in memory --- */

struct question {
	void *db, *connection;
	char *why;
};

static int
failed(const struct question *q, const char *reason)
{
	snprintf(q->why, FLEET_WHY_BYTES, "%.500s", reason != NULL ? reason : "DuckDB failed");
	return NW_EIO;
}

static int
run(const struct question *q, const char *sql)
{
	struct result r = { 0 };
	int rc = NW_OK;

	if (duck.query(q->connection, sql, &r) != SUCCESS)
		rc = failed(q, duck.result_error(&r));
	duck.destroy_result(&r);
	return rc;
}

static size_t
files_count(const char *directory, const char *pattern)
{
	char *path = xasprintf("%s/*/%s", directory, pattern);
	glob_t g = { 0 };
	size_t n = glob(path, GLOB_NOSORT, NULL, &g) == 0 ? g.gl_pathc : 0;

	globfree(&g);
	free(path);
	return n;
}

const char *
parquet_ending(enum fleet_table_id table)
{
	static const char *const endings[FLEET_TABLES] = { [FLEET_SESSIONS] = ".parquet",
		[FLEET_LEVELS] = ".level.parquet",
		[FLEET_CHUNKS] = ".chunk.parquet" };

	return endings[table];
}

/* An empty table where there is no file, which read_parquet() refuses. */
static char *
table_empty(const struct fleet_table *t)
{
	static const char *const types[] = { [FLEET_TEXT] = "VARCHAR",
		[FLEET_INTEGER] = "BIGINT",
		[FLEET_TIME] = "BIGINT",
		[FLEET_REAL] = "DOUBLE",
		[FLEET_BYTES] = "BLOB" };
	char *text;
	size_t len, i;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		abort();
	fprintf(f, "CREATE TABLE %s", t->name);
	for (i = 0; i < t->n; i++)
		fprintf(
		    f, "%s%s %s", i > 0 ? ", " : "(", t->column[i].name, types[t->column[i].type]);
	fputc(')', f);
	if (fclose(f) != 0)
		abort();
	return text;
}

/* While a site writes, the newest version of each row is looked for, at twice the time. */
static int
table_make(const struct question *q, const char *directory, enum fleet_table_id which)
{
#define SITE "string_split(filename, '/')[-2]"
	const struct fleet_table *t = &fleet_tables[which];
	char *files = xasprintf("\?\?\?\?-\?\?-\?\?%s", parquet_ending(which)), *text;
	size_t len, i;
	FILE *f;
	int rc;

	if (files_count(directory, files) == 0)
		text = table_empty(t);
	else {
		if ((f = open_memstream(&text, &len)) == NULL)
			abort();
		fprintf(f,
		    "CREATE VIEW %s AS SELECT * EXCLUDE (filename) REPLACE (" SITE
		    " AS site, epoch_ns(judged_ns) AS judged_ns, epoch_ns(start_ns) AS start_ns) "
		    "FROM read_parquet('%s/*/%s', filename = true)",
		    t->name, directory, files);
		if (files_count(directory, PARQUET_WRITING) > 0) {
			fputs(" QUALIFY row_number() OVER (PARTITION BY " SITE, f);
			for (i = 1; i < t->n_key; i++)
				fprintf(f, ", %s", t->column[i].name);
			fputs(" ORDER BY judged_ns DESC) = 1", f);
		}
		if (fclose(f) != 0)
			abort();
	}
	rc = run(q, text);
	free(files);
	free(text);
	return rc;
}

static int
tables_make(const struct question *q, const char *directory)
{
	int rc = NW_OK;
	size_t t;

	for (t = 0; rc == NW_OK && t < FLEET_TABLES; t++)
		rc = table_make(q, directory, (enum fleet_table_id)t);
	return rc;
}

/* A row of a manifest; a file that is no manifest says nothing. */
static int
site_put(const struct question *q, void *statement, const char *path)
{
	const char *end = strrchr(path, '/'), *begin = end;
	json_t *o = json_load_file(path, 0, NULL);
	char site[128], seen[24];
	const char *const values[] = { site, seen, json_string_value(json_object_get(o, "clock")),
		json_string_value(json_object_get(o, "software")) };
	struct result r = { 0 };
	int code = SUCCESS, rc = NW_OK;
	size_t i;

	while (begin > path && begin[-1] != '/')
		begin--;
	snprintf(site, sizeof(site), "%.*s", (int)(end - begin), begin);
	snprintf(seen, sizeof(seen), "%" JSON_INTEGER_FORMAT,
	    json_integer_value(json_object_get(o, "seen_ns")));
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (duck.bind_varchar(statement, i + 1, values[i] != NULL ? values[i] : "") !=
		    SUCCESS)
			code = !SUCCESS;
	if (json_is_object(o) && code == SUCCESS && duck.execute_prepared(statement, &r) != SUCCESS)
		rc = failed(q, duck.result_error(&r));
	else if (code != SUCCESS)
		rc = failed(q, path);
	duck.destroy_result(&r);
	json_decref(o);
	return rc;
}

static int
site_make(const struct question *q, const char *directory)
{
	char *pattern = xasprintf("%s/*/manifest.json", directory);
	void *statement = NULL;
	glob_t g = { 0 };
	size_t i;
	int rc = run(q,
	    "CREATE TABLE site(site VARCHAR, seen_ns BIGINT, clock VARCHAR, software VARCHAR); "
	    "BEGIN");

	if (rc == NW_OK &&
	    duck.prepare(q->connection, "INSERT INTO site VALUES ($1, CAST($2 AS BIGINT), $3, $4)",
		&statement) != SUCCESS)
		rc = failed(q, duck.prepare_error(statement));
	if (glob(pattern, 0, NULL, &g) == 0)
		for (i = 0; rc == NW_OK && i < g.gl_pathc; i++)
			rc = site_put(q, statement, g.gl_pathv[i]);
	globfree(&g);
	free(pattern);
	duck.destroy_prepare(&statement);
	return rc == NW_OK ? run(q, "COMMIT") : rc;
}

/* Behind this a question reads nothing outside the directory, and changes no setting. */
static int
confine(const struct question *q, const char *directory)
{
	char *text = xasprintf("SET allowed_directories = ['%s/']; SET enable_external_access = "
			       "false; SET lock_configuration = true",
	    directory);
	int rc = run(q, text);

	free(text);
	return rc;
}

/* --- the answer --- */

static int
rows_tell(struct result *r, fleet_table_fn *fn, void *arg)
{
	uint64_t n = duck.column_count(r), rows = duck.row_count(r), row, i;
	const char **names = xcalloc(n + 1, sizeof(*names));
	char **texts = xcalloc(n + 1, sizeof(*texts));
	int rc;

	for (i = 0; i < n; i++)
		names[i] = duck.column_name(r, i);
	rc = fn(arg, n, names);
	for (row = 0; rc == NW_OK && row < rows; row++) {
		for (i = 0; i < n; i++)
			texts[i] = duck.value_varchar(r, i, row);
		rc = fn(arg, n, (const char *const *)texts);
		for (i = 0; i < n; i++)
			duck.free(texts[i]);
	}
	free(names);
	free(texts);
	return rc;
}

static int
answer(
    const struct question *q, const char *sql, const char *parameter, fleet_table_fn *fn, void *arg)
{
	void *statement = NULL;
	struct result r = { 0 };
	int rc = NW_OK;

	if (duck.prepare(q->connection, sql, &statement) != SUCCESS)
		rc = failed(q, duck.prepare_error(statement));
	else if (duck.prepared_statement_type(statement) != TYPE_SELECT) {
		(void)failed(q, "a question reads only: write one SELECT statement");
		rc = NW_EINVAL;
	} else if (parameter != NULL && duck.bind_varchar(statement, 1, parameter) != SUCCESS)
		rc = failed(q, "the statement has no parameter");
	else if (duck.execute_prepared(statement, &r) != SUCCESS)
		rc = failed(q, duck.result_error(&r));
	else
		rc = rows_tell(&r, fn, arg);
	duck.destroy_result(&r);
	duck.destroy_prepare(&statement);
	return rc;
}

int
parquet_ask(const char *library, const char *directory, const char *sql, const char *parameter,
    fleet_table_fn *fn, void *arg, char why[FLEET_WHY_BYTES])
{
	struct question q = { .why = why };
	int rc = library_load(library, why);

	if (rc == NW_OK && strpbrk(directory, "*?[]{}'\\") != NULL) {
		snprintf(why, FLEET_WHY_BYTES, "%.300s: DuckDB takes no such characters in a path",
		    directory);
		rc = NW_EINVAL;
	}
	if (rc < 0)
		return rc;
	if (duck.open(NULL, &q.db) != SUCCESS || duck.connect(q.db, &q.connection) != SUCCESS)
		rc = failed(&q, "DuckDB does not start");
	if (rc == NW_OK)
		/* the 10th of 100 values is that of SQLite's and ClickHouse's reports */
		rc = run(&q,
		    "CREATE MACRO percentile(x, p) AS quantile_disc(x, CASE WHEN p >= 1 THEN 1 "
		    "ELSE p - 1 END)");
	if (rc == NW_OK && (rc = confine(&q, directory)) == NW_OK &&
	    (rc = tables_make(&q, directory)) == NW_OK && (rc = site_make(&q, directory)) == NW_OK)
		rc = answer(&q, sql, parameter, fn, arg);
	duck.disconnect(&q.connection);
	duck.close(&q.db);
	return rc;
}

#define RATE(p, name) "round(percentile(bytes_per_s, " p ") / 1e6, 3) AS " name
#define RATES                       \
	RATE("0.1", "p10_mb_per_s") \
	", " RATE("0.5", "p50_mb_per_s") ", " RATE("0.9", "p90_mb_per_s")
#define TIME(of) "make_timestamp(" of " // 1000)"

const char *
parquet_report(enum fleet_report which)
{
	switch (which) {
	case FLEET_ROUTES:
		return "SELECT route, program, count(*) AS sessions, count(DISTINCT site) AS "
		       "sites, " RATE("0.5",
			   "mb_per_s") ", sum(bytes) AS bytes, "
				       "strftime(" TIME(
					   "max(start_ns)") ", '%Y-%m-%dT%H:%M:%SZ') AS newest "
							    "FROM "
							    "session GROUP BY route, program ORDER "
							    "BY sessions DESC, route NULLS "
							    "FIRST, program NULLS FIRST";
	case FLEET_WORST:
		return "SELECT route, program, count(*) AS sessions, " RATES
		       ", round(percentile(usual, 0.5), 3) AS times_slower, "
		       "round(percentile(usual, 0.9), 3) AS times_slower_p90 FROM session WHERE "
		       "usual IS NOT NULL AND bytes_per_s IS NOT NULL GROUP BY route, program "
		       "ORDER BY times_slower DESC, route NULLS FIRST, program NULLS FIRST";
	case FLEET_VERDICTS:
		return "SELECT site, strftime(date_trunc('week', " TIME(
		    "start_ns") "), '%Y-%m-%d') AS week, coalesce(stage, 'cannot tell') AS "
				"verdict, "
				"count(*) AS sessions FROM session GROUP BY site, week, verdict "
				"ORDER BY "
				"site, week, sessions DESC, verdict";
	case FLEET_HISTORY:
		return "SELECT strftime(" TIME(
		    "start_ns") ", '%Y-%m-%d') AS day, program, "
				"count(*) AS sessions, " RATES
				" FROM session WHERE route = $1 GROUP BY "
				"day, program ORDER BY day, program NULLS FIRST";
	case FLEET_SITES:
		return "SELECT t.site, seen_ns, clock, software, coalesce(n, 0) AS sessions, "
		       "strftime(" TIME("seen_ns") ", '%Y-%m-%dT%H:%M:%SZ') AS seen FROM site t "
						   "LEFT JOIN (SELECT site, count(*) AS n FROM "
						   "session GROUP BY site) s ON "
						   "s.site = t.site ORDER BY seen_ns, t.site";
	case FLEET_NEWEST:
		return "SELECT site, session, strftime(" TIME(
		    "start_ns") ", '%Y-%m-%dT%H:%M:%SZ') AS start, program, round(bytes_per_s / "
				"1e6, 3) AS mb_per_s, round(usual, 3) AS times_slower, "
				"coalesce(stage, 'cannot tell') AS verdict, confidence, sentence "
				"FROM session WHERE route = $1 ORDER BY start_ns DESC, site, "
				"session LIMIT 50";
	case FLEET_SERIES:
		return "SELECT layout, number, host, event_type, subject, fields, lower(hex(data)) "
		       "AS data FROM chunk WHERE site = $1 AND session = {session} ORDER BY "
		       "layout, number";
	}
	return NULL;
}
