/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fleet in a directory: DIRECTORY/SITE/DAY.parquet, one file for each site and day (UTC, by the
 * begin of sessions), DAY.level.parquet and DAY.chunk.parquet of the other tables, and
 * DIRECTORY/SITE/manifest.json, without any server. The site's own rows
 * stand in DIRECTORY/SITE/rows.db, too, from which a day is written as a whole. So a session that
 * the box has forgotten stays in its day. A day is replaced by rename, and has each session once.
 * Rows are safe in rows.db, beside a list of the days whose files lack rows. Such days are written
 * at the end of a push, and in a long push now and then.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "fleet/fleet_sqlite.h"
#include "fleet/parquet.h"
#include "fleet/parquet_sql.h"
#include "narrows/array.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/ownfile.h"
#include "narrows/xmalloc.h"

enum { GROUP_ROWS = 1000 };
static const int64_t DAY_NS = INT64_C(86400) * 1000000000;
static const int64_t WRITE_NS = INT64_C(30) * 1000000000; /* from one writing of days to the next */

struct directory {
	const struct fleet_conf *conf;
	const char *base; /* of all sites, in conf */
	char *path;       /* of the site */
	sqlite3 *db;
	int64_t written_ns; /* when the days were written, or this was opened */
};

static void
engine_close(void *e)
{
	struct directory *d = e;

	if (d == NULL)
		return;
	sqlite3_close(d->db);
	free(d->path);
	free(d);
}

static int
engine_open(const struct fleet_conf *c, bool writes, void **out, char why[FLEET_WHY_BYTES])
{
	const char *base = c->fleet + strlen("file:");
	struct directory *d = xcalloc(1, sizeof(*d));
	int rc = NW_OK;
	char *rows;

	base += strncmp(base, "//", 2) == 0 ? 2 : 0;
	d->conf = c;
	d->base = base;
	d->path = xasprintf("%s/%s", base, c->site);
	rows = xasprintf("%s/rows.db", d->path);
	if (base[0] != '/')
		rc = fleet_failed(c->fleet, "write file:///directory", why);
	else if (writes && mkdir(d->path, 0755) != 0 && errno != EEXIST)
		rc = fleet_failed(d->path, strerror(errno), why);
	else if (writes &&
	    (sqlite3_open_v2(rows, &d->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
		    SQLITE_OK ||
		sqlite3_exec(d->db, "PRAGMA synchronous = FULL", NULL, NULL, NULL) != SQLITE_OK ||
		fleet_sqlite_tables(d->db) != SQLITE_OK ||
		sqlite3_exec(d->db, "CREATE TABLE IF NOT EXISTS stale (day INTEGER PRIMARY KEY)",
		    NULL, NULL, NULL) != SQLITE_OK))
		rc = fleet_failed(rows, d->db != NULL ? sqlite3_errmsg(d->db) : "no memory", why);
	free(rows);
	d->written_ns = nw_mono_ns();
	*out = rc == NW_OK ? d : NULL;
	if (rc < 0)
		engine_close(d);
	return rc;
}

/* --- files --- */

/* The file of a name in the site's directory, under another name until file_close(). */
static FILE *
file_open(const struct directory *d, const char *name, char **tmp, char **path)
{
	*path = xasprintf("%s/%s", d->path, name);
	*tmp = xasprintf("%s/.%s.new", d->path, name);
	return ownfile_stream(*tmp, 0644);
}

/* Puts the new file in the place of the old file, or leaves the old file. */
static int
file_close(FILE *f, char *tmp, char *path, int rc, char why[FLEET_WHY_BYTES])
{
	bool good = f != NULL && rc == NW_OK && fflush(f) == 0 && fsync(fileno(f)) == 0;

	if (!good && rc == NW_OK)
		rc = fleet_failed(path, strerror(errno), why);
	else if (rc < 0)
		(void)fleet_failed(path, nw_strerror(rc), why);
	if (f != NULL && fclose(f) != 0 && rc == NW_OK)
		rc = fleet_failed(path, strerror(errno), why);
	if (rc == NW_OK && rename(tmp, path) != 0)
		rc = fleet_failed(path, strerror(errno), why);
	if (rc < 0)
		unlink(tmp);
	free(tmp);
	free(path);
	return rc;
}

static void
day_name(int64_t day, enum fleet_table_id table, char name[48])
{
	time_t t = (time_t)(day * 86400);
	struct tm tm;
	size_t n;

	gmtime_r(&t, &tm);
	n = strftime(name, 48, "%Y-%m-%d", &tm);
	snprintf(name + n, 48 - n, "%s", parquet_ending(table));
}

static void
row_take(sqlite3_stmt *st, const struct fleet_table *t, struct fleet_row *r)
{
	size_t i;
	int at;

	for (i = 0, at = 0; i < t->n; i++, at++) {
		if (sqlite3_column_type(st, at) == SQLITE_NULL)
			continue;
		if (t->column[i].type == FLEET_TEXT)
			fleet_text_set(r, i, (const char *)sqlite3_column_text(st, at));
		else if (t->column[i].type == FLEET_BYTES)
			fleet_bytes_set(r, i, sqlite3_column_blob(st, at),
			    (size_t)sqlite3_column_bytes(st, at));
		else
			r->cell[i] = (struct fleet_cell){ .known = true,
				.i = sqlite3_column_int64(st, at),
				.d = sqlite3_column_double(st, at) };
	}
}

/* Writes the rows of a statement; *n becomes their number. */
static int
rows_write(sqlite3_stmt *st, enum fleet_table_id table, FILE *f, size_t *n)
{
	const struct fleet_table *t = &fleet_tables[table];
	struct parquet *p = parquet_begin(f, table);
	struct fleet_rows rows = { .table = table };
	int code, rc = NW_OK, end;
	size_t bytes = 0;

	while (rc == NW_OK && (code = sqlite3_step(st)) == SQLITE_ROW) {
		row_take(st, t, fleet_rows_add(&rows));
		/* the longest column is the last */
		bytes += (size_t)sqlite3_column_bytes(st, (int)t->n - 1);
		++*n;
		if (rows.n < GROUP_ROWS && bytes < PARQUET_GROUP_BYTES)
			continue;
		rc = parquet_group(p, &rows);
		fleet_rows_clear(&rows);
		bytes = 0;
	}
	if (rc == NW_OK && code != SQLITE_DONE)
		rc = NW_EIO;
	if (rc == NW_OK)
		rc = parquet_group(p, &rows);
	fleet_rows_clear(&rows);
	end = parquet_end(p);
	return rc < 0 ? rc : end;
}

static int
table_write(struct directory *d, int64_t day, enum fleet_table_id table, char why[FLEET_WHY_BYTES])
{
	char name[48], *tmp, *path,
	    *sql =
		xasprintf("SELECT * FROM %s WHERE start_ns >= ?1 AND start_ns < ?2 ORDER BY 1, 2, "
			  "3, 4, 5",
		    fleet_tables[table].name);
	sqlite3_stmt *st = NULL;
	size_t n = 0;
	FILE *f;
	int code = sqlite3_prepare_v2(d->db, sql, -1, &st, NULL), rc = NW_OK;

	free(sql);
	day_name(day, table, name);
	if (code != SQLITE_OK)
		return fleet_failed(d->path, sqlite3_errmsg(d->db), why);
	sqlite3_bind_int64(st, 1, day * DAY_NS);
	sqlite3_bind_int64(st, 2, (day + 1) * DAY_NS);
	if ((f = file_open(d, name, &tmp, &path)) != NULL)
		rc = rows_write(st, table, f, &n);
	sqlite3_finalize(st);
	if (f != NULL && rc == NW_OK && n == 0) { /* its sessions have another day now */
		unlink(path);
		rc = NW_EAGAIN;
	}
	rc = file_close(f, tmp, path, rc, why);
	return rc == NW_EAGAIN ? NW_OK : rc;
}

static int
day_write(struct directory *d, int64_t day, char why[FLEET_WHY_BYTES])
{
	int rc = NW_OK;
	size_t t;

	for (t = 0; rc == NW_OK && t < FLEET_TABLES; t++)
		rc = table_write(d, day, (enum fleet_table_id)t, why);
	return rc;
}

/* --- the engine --- */

struct days {
	int64_t *day;
	size_t n, cap;
};

static void
days_add(struct days *d, int64_t start_ns)
{
	int64_t day = start_ns / DAY_NS - (start_ns % DAY_NS < 0);
	size_t i;

	for (i = 0; i < d->n; i++)
		if (d->day[i] == day)
			return;
	if (!array_room(&d->day, &d->cap, d->n + 1, sizeof(*d->day)))
		abort();
	d->day[d->n++] = day;
}

/* The days of the rows, and those where the sessions were before; other rows move to no other
 * day. */
static int
days_find(struct directory *d, const struct fleet_rows *rows, struct days *days, char *why)
{
	sqlite3_stmt *st = NULL;
	size_t i;

	for (i = 0; i < rows->n; i++)
		days_add(days, rows->row[i].cell[fleet_tables[rows->table].start].i);
	if (rows->table != FLEET_SESSIONS)
		return NW_OK;
	if (sqlite3_prepare_v2(d->db,
		"SELECT start_ns FROM session WHERE site = ?1 AND session = ?2", -1, &st,
		NULL) != SQLITE_OK)
		return fleet_failed(d->path, sqlite3_errmsg(d->db), why);
	for (i = 0; i < rows->n; i++) {
		const struct fleet_cell *cell = rows->row[i].cell;

		sqlite3_bind_text(st, 1, cell[FLEET_site].text, -1, SQLITE_STATIC);
		sqlite3_bind_int64(st, 2, cell[FLEET_session].i);
		if (sqlite3_step(st) == SQLITE_ROW)
			days_add(days, sqlite3_column_int64(st, 0));
		sqlite3_reset(st);
	}
	sqlite3_finalize(st);
	return NW_OK;
}

static int
day_sql(struct directory *d, const char *sql, int64_t day, char why[FLEET_WHY_BYTES])
{
	sqlite3_stmt *st = NULL;
	int code = sqlite3_prepare_v2(d->db, sql, -1, &st, NULL);

	if (code == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, day);
		code = sqlite3_step(st);
		sqlite3_finalize(st);
	}
	return code == SQLITE_DONE ? NW_OK : fleet_failed(d->path, sqlite3_errmsg(d->db), why);
}

/* Before the rows: a day that is written in vain is no harm. */
static int
days_mark(struct directory *d, const struct days *days, char why[FLEET_WHY_BYTES])
{
	int rc = NW_OK;
	size_t i;

	for (i = 0; rc == NW_OK && i < days->n; i++)
		rc = day_sql(d, "INSERT OR IGNORE INTO stale VALUES (?1)", days->day[i], why);
	return rc;
}

/* Before the first of several days, and behind the last of them. */
static int
writing_mark(const struct directory *d, bool begins, char why[FLEET_WHY_BYTES])
{
	char *tmp, *path;
	FILE *f;
	int rc = NW_OK;

	if (begins) {
		f = file_open(d, PARQUET_WRITING, &tmp, &path);
		return file_close(f, tmp, path, NW_OK, why);
	}
	path = xasprintf("%s/" PARQUET_WRITING, d->path);
	if (unlink(path) != 0 && errno != ENOENT)
		rc = fleet_failed(path, strerror(errno), why);
	free(path);
	return rc;
}

static int
days_write(struct directory *d, char why[FLEET_WHY_BYTES])
{
	struct days days = { 0 };
	sqlite3_stmt *st = NULL;
	int rc = NW_OK;
	size_t i;

	if (sqlite3_prepare_v2(d->db, "SELECT day FROM stale", -1, &st, NULL) != SQLITE_OK)
		return fleet_failed(d->path, sqlite3_errmsg(d->db), why);
	while (sqlite3_step(st) == SQLITE_ROW)
		days_add(&days, sqlite3_column_int64(st, 0) * DAY_NS);
	sqlite3_finalize(st);
	if (days.n > 1)
		rc = writing_mark(d, true, why);
	for (i = 0; rc == NW_OK && i < days.n; i++) {
		rc = day_write(d, days.day[i], why);
		if (rc == NW_OK)
			rc = day_sql(d, "DELETE FROM stale WHERE day = ?1", days.day[i], why);
	}
	free(days.day);
	d->written_ns = nw_mono_ns();
	return rc == NW_OK ? writing_mark(d, false, why) : rc;
}

static int
engine_put(void *e, const struct fleet_rows *rows, char why[FLEET_WHY_BYTES])
{
	struct directory *d = e;
	struct days days = { 0 };
	int rc = days_find(d, rows, &days, why);

	if (rc == NW_OK)
		rc = days_mark(d, &days, why);
	free(days.day);
	if (rc == NW_OK && fleet_sqlite_put(d->db, rows) != SQLITE_OK)
		rc = fleet_failed(d->path, sqlite3_errmsg(d->db), why);
	if (rc == NW_OK && nw_mono_ns() - d->written_ns > WRITE_NS)
		rc = days_write(d, why);
	return rc;
}

static int
engine_remove(
    void *e, const char *site, const int64_t *sessions, size_t n, char why[FLEET_WHY_BYTES])
{
	struct directory *d = e;
	int rc = NW_OK;

	/* the levels of all days go, and so each day is written */
	if (sqlite3_exec(d->db,
		"INSERT OR IGNORE INTO stale SELECT DISTINCT start_ns / 86400000000000 - (start_ns "
		"% 86400000000000 < 0) FROM (SELECT start_ns FROM session UNION ALL SELECT "
		"start_ns FROM level UNION ALL SELECT start_ns FROM chunk)",
		NULL, NULL, NULL) != SQLITE_OK)
		rc = fleet_failed(d->path, sqlite3_errmsg(d->db), why);
	if (rc == NW_OK && fleet_sqlite_remove(d->db, site, sessions, n) != SQLITE_OK)
		rc = fleet_failed(d->path, sqlite3_errmsg(d->db), why);
	return rc == NW_OK ? days_write(d, why) : rc;
}

static int
engine_gone(void *e, const char *site, int64_t **sessions, size_t *n, char why[FLEET_WHY_BYTES])
{
	const struct directory *d = e;

	return fleet_sqlite_gone(d->db, site, sessions, n) == SQLITE_OK
	    ? NW_OK
	    : fleet_failed(d->path, sqlite3_errmsg(d->db), why);
}

/* The files with their numbers of rows, as an object; a new reference, or NULL. */
static json_t *
days_list(struct directory *d)
{
	json_t *o = json_object();
	size_t t;

	for (t = 0; t < FLEET_TABLES; t++) {
		char *sql =
		    xasprintf("SELECT strftime('%%Y-%%m-%%d', start_ns / 1000000000, 'unixepoch') "
			      "|| '%s' AS day, count(*) FROM %s GROUP BY day",
			parquet_ending((enum fleet_table_id)t), fleet_tables[t].name);
		sqlite3_stmt *st = NULL;

		if (sqlite3_prepare_v2(d->db, sql, -1, &st, NULL) == SQLITE_OK)
			while (sqlite3_step(st) == SQLITE_ROW)
				json_object_set_new(o, (const char *)sqlite3_column_text(st, 0),
				    json_integer(sqlite3_column_int64(st, 1)));
		sqlite3_finalize(st);
		free(sql);
	}
	return o;
}

static int
engine_put_site(void *e, const struct fleet_site *s, char why[FLEET_WHY_BYTES])
{
	struct directory *d = e;
	char *tmp, *path;
	int rc = days_write(d, why);
	FILE *f;
	json_t *o;

	if (rc < 0)
		return rc;
	f = file_open(d, "manifest.json", &tmp, &path);
	o = json_pack("{s:s, s:I, s:s, s:s, s:o}", "site", s->site, "seen_ns",
	    (json_int_t)s->seen_ns, "clock", s->clock, "software", s->software, "files",
	    days_list(d));
	if (f != NULL && (o == NULL || json_dumpf(o, f, JSON_INDENT(1) | JSON_SORT_KEYS) != 0))
		rc = NW_EIO;
	json_decref(o);
	return file_close(f, tmp, path, rc, why);
}

static int
engine_ask(void *e, const char *sql, const char *parameter, fleet_table_fn *fn, void *arg,
    char why[FLEET_WHY_BYTES])
{
	const struct directory *d = e;

	return parquet_ask(d->conf->duckdb_library, d->base, sql, parameter, fn, arg, why);
}

static int
engine_schema(void *e, bool apply, FILE *f, char why[FLEET_WHY_BYTES])
{
	static const char *const types[] = { [FLEET_TEXT] = "BYTE_ARRAY (STRING)",
		[FLEET_INTEGER] = "INT64",
		[FLEET_TIME] = "INT64 (TIMESTAMP, ns, UTC)",
		[FLEET_REAL] = "DOUBLE",
		[FLEET_BYTES] = "BYTE_ARRAY" };
	size_t t, i;

	(void)e, (void)apply, (void)why;
	for (t = 0; t < FLEET_TABLES; t++) {
		fprintf(f, "%sDAY%s: %s\n", t > 0 ? "\n" : "",
		    parquet_ending((enum fleet_table_id)t), fleet_tables[t].words);
		for (i = 0; i < fleet_tables[t].n; i++)
			fprintf(f, "%-12s  %-26s  %s\n", fleet_tables[t].column[i].name,
			    types[fleet_tables[t].column[i].type],
			    fleet_tables[t].column[i].meaning);
	}
	return NW_OK;
}

const struct fleet_engine engine_file = {
	.scheme = "file",
	.open = engine_open,
	.close = engine_close,
	.put = engine_put,
	.put_site = engine_put_site,
	.remove = engine_remove,
	.gone = engine_gone,
	.ask = engine_ask,
	.report = parquet_report,
	.schema = engine_schema,
};
