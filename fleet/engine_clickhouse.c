/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fleet on ClickHouse, by HTTP: RowBinary in, tab-separated texts out. The table is a
 * ReplacingMergeTree by site and session, whose version is the time of the judgement; questions
 * read it with FINAL, and so see each session once. The server writes an insert to the disk some
 * time after its answer; a server that has started since the last push gets the last hour again.
 * With a cluster the tables are Distributed over tables of the same name and "_local" on each
 * shard, by a hash of site and session, so both verdicts of a session meet on one shard. An insert
 * ends when all shards have taken their rows. Each shard has all keys of deleted sessions.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fleet/fleet.h"
#include "narrows/address.h"
#include "narrows/array.h"
#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/xmalloc.h"
#include "send/exchange.h"

enum { ANSWER_MAX_BYTES = 64 << 20, TABLE_COLUMNS_MAX = 256 };

struct server {
	const struct fleet_conf *conf;
	int64_t *gone; /* deleted sessions of the site, in order; read before the first rows */
	size_t n_gone;
	bool knows_gone;
	char *base, *database;
	char **shards; /* bases of all servers */
	size_t n_shards;
	bool is_cluster;
	char password[EXCHANGE_SECRET_BYTES];
};

static void
put(struct exchange_text *o, const void *data, size_t len)
{
	if (exchange_keep(o, data, len) < 0)
		abort();
}

/* --- questions --- */

/* Puts a text into a query string. */
static void
escaped(FILE *f, const char *s)
{
	for (; *s != '\0'; s++)
		if (isalnum((unsigned char)*s))
			fputc(*s, f);
		else
			fprintf(f, "%%%02X", (unsigned char)*s);
}

/* Asks with the query in the address, or, with body NULL, in the body. read_only: the server
 * refuses anything but reading. */
static int
talk_at(const struct server *s, const char *base, const char *sql, const struct exchange_text *body,
    bool read_only, struct exchange_text *answer, char why[FLEET_WHY_BYTES])
{
	const struct fleet_conf *c = s->conf;
	char *url, reason[EXCHANGE_WHY_BYTES];
	size_t len;
	FILE *f = open_memstream(&url, &len);
	struct exchange x = { .ca_file = c->ca_file,
		.proxy = conf_or_null(c->proxy),
		.body = body != NULL ? body->text : sql,
		.body_len = body != NULL ? body->len : strlen(sql),
		.user = s->password[0] != '\0' ? c->user : NULL,
		.password = s->password[0] != '\0' ? s->password : NULL,
		.timeout_ns = c->timeout_ns };
	int status = 0, rc;

	if (f == NULL)
		return NW_ENOMEM;
	fprintf(f, "%s/?database=%s&readonly=%d%s", base, s->database, read_only ? 1 : 0,
	    read_only ? "" : "&insert_distributed_sync=1");
	if (body != NULL) {
		fputs("&query=", f);
		escaped(f, sql);
	}
	if (fclose(f) != 0)
		abort();
	x.url = url;
	answer->len = 0;
	answer->len_max = ANSWER_MAX_BYTES;
	put(answer, "", 0);
	rc = exchange(&x, exchange_keep, answer, &status, reason);
	if (rc == NW_OK && status != 200) {
		snprintf(reason, sizeof(reason), "%d: %.250s", status, answer->text);
		rc = NW_EPROTO;
	}
	if (rc < 0)
		snprintf(why, FLEET_WHY_BYTES, "%s", reason);
	free(url);
	return rc;
}

static int
talk(const struct server *s, const char *sql, const struct exchange_text *body, bool read_only,
    struct exchange_text *answer, char why[FLEET_WHY_BYTES])
{
	return talk_at(s, s->base, sql, body, read_only, answer, why);
}

/* The same statement, without an answer, at each server. */
static int
talk_all(const struct server *s, const char *sql, char why[FLEET_WHY_BYTES])
{
	struct exchange_text answer = { 0 };
	size_t i;
	int rc = NW_OK;

	for (i = 0; rc == NW_OK && i < s->n_shards; i++)
		rc = talk_at(s, s->shards[i], sql, NULL, false, &answer, why);
	free(answer.text);
	return rc;
}

/* --- the engine --- */

static void
engine_close(void *e)
{
	struct server *s = e;
	size_t i;

	if (s == NULL)
		return;
	explicit_bzero(s->password, sizeof(s->password));
	for (i = 0; i < s->n_shards; i++)
		free(s->shards[i]);
	free(s->shards);
	free(s->gone);
	free(s->base);
	free(s->database);
	free(s);
}

/* Whether the address before the slash is of this host. */
static bool
is_here(const char *address, const char *slash)
{
	char text[ADDRESS_HOST_BYTES], host[ADDRESS_HOST_BYTES];
	uint16_t port;

	snprintf(text, sizeof(text), "%.*s", (int)(slash - address), address);
	return address_parse(text, host, &port) == NW_OK && address_is_loopback(host);
}

/* clickhouse://HOST:PORT/DATABASE; in TLS unless the address is loopback. */
static int
url_read(const char *url, char **base, char **database, char why[FLEET_WHY_BYTES])
{
	static const char scheme[] = "clickhouse:";
	const char *host = url + strlen(scheme), *slash, *p;

	if (strncmp(url, scheme, strlen(scheme)) == 0) {
		host += strncmp(host, "//", 2) == 0 ? 2 : 0;
		slash = strchr(host, '/');
		for (p = slash != NULL ? slash + 1 : ""; isalnum((unsigned char)*p) || *p == '_';
		     p++)
			continue;
		if (slash != NULL && slash != host && p != slash + 1 && *p == '\0') {
			*base = xasprintf("http%s://%.*s", is_here(host, slash) ? "" : "s",
			    (int)(slash - host), host);
			*database = xstrdup(slash + 1);
			return NW_OK;
		}
	}
	snprintf(why, FLEET_WHY_BYTES, "%.200s: write clickhouse://host:port/database", url);
	return NW_EINVAL;
}

/* The servers of the cluster, or the server. */
static int
shards_read(struct server *s, char why[FLEET_WHY_BYTES])
{
	char *lines = xstrdup(s->conf->shards != NULL ? s->conf->shards : s->conf->fleet), *url,
	     *rest, *database;
	size_t cap = 0;
	int rc = NW_OK;

	for (url = strtok_r(lines, "\n", &rest); rc == NW_OK && url != NULL;
	     url = strtok_r(NULL, "\n", &rest)) {
		if (!array_room(&s->shards, &cap, s->n_shards + 1, sizeof(*s->shards)))
			abort();
		if ((rc = url_read(url, &s->shards[s->n_shards], &database, why)) < 0)
			break;
		s->n_shards++;
		if (strcmp(database, s->database) != 0) {
			snprintf(why, FLEET_WHY_BYTES, "%.200s: another database", url);
			rc = NW_EINVAL;
		}
		free(database);
	}
	free(lines);
	return rc;
}

static int
engine_open(const struct fleet_conf *c, bool writes, void **out, char why[FLEET_WHY_BYTES])
{
	struct server *s = xcalloc(1, sizeof(*s));
	int rc;

	(void)writes;
	s->conf = c;
	s->is_cluster = strcmp(c->cluster, "none") != 0;
	if ((rc = url_read(c->fleet, &s->base, &s->database, why)) == NW_OK &&
	    (rc = shards_read(s, why)) == NW_OK && strcmp(c->password_file, "none") != 0)
		rc = exchange_secret(c->password_file, s->password, NULL, why);
	if (rc == NW_OK && s->is_cluster != (c->shards != NULL)) {
		snprintf(why, FLEET_WHY_BYTES, "a cluster and its shards belong together");
		rc = NW_EINVAL;
	}
	*out = rc == NW_OK ? s : NULL;
	if (rc < 0)
		engine_close(s);
	return rc;
}

static bool
is_nullable(const struct fleet_table *t, size_t column)
{
	return column >= t->n_key && t->column[column].type != FLEET_TIME;
}

static const char *
type_of(const struct fleet_table *t, size_t column)
{
	static const char *const known[] = { [FLEET_TEXT] = "String",
		[FLEET_INTEGER] = "Int64",
		[FLEET_TIME] = "Int64",
		[FLEET_REAL] = "Float64",
		[FLEET_BYTES] = "String" };
	static const char *const null[] = { [FLEET_TEXT] = "Nullable(String)",
		[FLEET_INTEGER] = "Nullable(Int64)",
		[FLEET_TIME] = "Int64",
		[FLEET_REAL] = "Nullable(Float64)",
		[FLEET_BYTES] = "Nullable(String)" };

	return (is_nullable(t, column) ? null : known)[t->column[column].type];
}

/* Bytes behind their number, as in RowBinary. */
static void
put_bytes(struct exchange_text *o, const char *text, size_t len)
{
	size_t v = len;
	char byte;

	do {
		byte = (char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		put(o, &byte, 1);
	} while ((v >>= 7) != 0);
	put(o, text, len);
}

static void
put_text(struct exchange_text *o, const char *text)
{
	put_bytes(o, text, strlen(text));
}

static void
put_le(struct exchange_text *o, uint64_t v)
{
	char b[8];
	int i;

	for (i = 0; i < 8; i++)
		b[i] = (char)(v >> (8 * i));
	put(o, b, 8);
}

static void
put_cell(
    struct exchange_text *o, const struct fleet_cell *c, const struct fleet_table *t, size_t column)
{
	const enum fleet_type type = t->column[column].type;
	uint64_t raw;

	if (is_nullable(t, column))
		put(o, c->known ? "\0" : "\1", 1);
	if (is_nullable(t, column) && !c->known)
		return;
	if (type == FLEET_TEXT)
		put_text(o, c->known ? c->text : "");
	else if (type == FLEET_BYTES)
		put_bytes(o, c->known ? c->text : "", c->len);
	else if (type == FLEET_REAL) {
		memcpy(&raw, &c->d, sizeof(raw));
		put_le(o, raw);
	} else
		put_le(o, (uint64_t)c->i);
}

/* --- deleted sessions: a table of their keys --- */

static int
compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int
gone_read(struct server *s, char why[FLEET_WHY_BYTES])
{
	struct exchange_text answer = { 0 };
	char *sql = xasprintf(
	    "SELECT DISTINCT session FROM gone WHERE site = '%s' ORDER BY session", s->conf->site);
	char *at, *end;
	size_t cap = 0;
	int rc = talk(s, sql, NULL, true, &answer, why);

	free(s->gone);
	s->gone = NULL;
	s->n_gone = 0;
	for (at = answer.text; rc == NW_OK && *at != '\0'; at = end + (*end == '\n')) {
		if (!array_room(&s->gone, &cap, s->n_gone + 1, sizeof(*s->gone)))
			abort();
		s->gone[s->n_gone++] = (int64_t)strtoll(at, &end, 10);
		if (end == at || (*end != '\n' && *end != '\0')) {
			snprintf(why, FLEET_WHY_BYTES, "the answer is no list of sessions");
			rc = NW_EPROTO;
		}
	}
	s->knows_gone = rc == NW_OK;
	free(sql);
	free(answer.text);
	return rc;
}

static int
engine_put(void *e, const struct fleet_rows *rows, char why[FLEET_WHY_BYTES])
{
	const struct fleet_table *t = &fleet_tables[rows->table];
	struct exchange_text body = { 0 }, answer = { 0 };
	struct server *s = e;
	char *sql;
	size_t i, c;
	int rc = s->knows_gone ? NW_OK : gone_read(s, why);

	if (rc < 0)
		return rc;
	for (i = 0; i < rows->n; i++) {
		if (t->of_session && s->n_gone > 0 &&
		    bsearch(&rows->row[i].cell[FLEET_session].i, s->gone, s->n_gone,
			sizeof(*s->gone), compare) != NULL)
			continue;
		for (c = 0; c < t->n; c++)
			put_cell(&body, &rows->row[i].cell[c], t, c);
	}
	sql = xasprintf("INSERT INTO %s FORMAT RowBinary", t->name);
	if (body.len > 0)
		rc = talk(s, sql, &body, false, &answer, why);
	free(sql);
	free(body.text);
	free(answer.text);
	return rc;
}

/* A deletion is a mutation, which the server ends some time after its answer. */
static int
mutations_await(const struct server *s, const char *base, char why[FLEET_WHY_BYTES])
{
	const struct timespec pause = { 0, 100000000 };
	const int64_t until_mono_ns = nw_mono_ns() + s->conf->timeout_ns;
	struct exchange_text answer = { 0 };
	bool done = false;
	int rc = NW_OK;

	while (rc == NW_OK && !done) {
		rc = talk_at(s, base,
		    "SELECT count() FROM system.mutations WHERE database = currentDatabase() AND "
		    "NOT is_done",
		    NULL, true, &answer, why);
		done = rc == NW_OK && strtoll(answer.text, NULL, 10) == 0;
		if (rc == NW_OK && !done && nw_mono_ns() > until_mono_ns) {
			snprintf(why, FLEET_WHY_BYTES, "the server has not deleted the rows yet");
			rc = NW_EIO;
		} else if (rc == NW_OK && !done)
			nanosleep(&pause, NULL);
	}
	free(answer.text);
	return rc;
}

/* The keys first: rows that come meanwhile are kept out. A deletion names its sessions: a replica
 * need not have another table's rows when the deletion reaches the replica. */
static int
engine_remove(
    void *e, const char *site, const int64_t *sessions, size_t n, char why[FLEET_WHY_BYTES])
{
	struct server *s = e;
	char *list, *sql;
	size_t len, i;
	FILE *f = open_memstream(&list, &len);
	int rc;

	if (f == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++)
		fprintf(f, "%s%" PRId64, i > 0 ? ", " : "", sessions[i]);
	if (fclose(f) != 0)
		abort();
	sql = n > 0
	    ? xasprintf("INSERT INTO gone SELECT '%s', toInt64(arrayJoin([%s]))", site, list)
	    : xasprintf("INSERT INTO gone SELECT site, session FROM session WHERE site = "
			"'%s'",
		  site);
	rc = talk_all(s, sql, why);
	free(sql);
	s->knows_gone = false;
	for (i = 0; rc == NW_OK && i < FLEET_TABLES; i++) {
		bool all = n == 0 || !fleet_tables[i].of_session;

		sql = xasprintf("ALTER TABLE %s%s DELETE WHERE site = '%s'%s%s%s",
		    fleet_tables[i].name, s->is_cluster ? "_local" : "", site,
		    all ? "" : " AND session IN (", all ? "" : list, all ? "" : ")");
		rc = talk_all(s, sql, why);
		free(sql);
	}
	for (i = 0; rc == NW_OK && i < s->n_shards; i++)
		rc = mutations_await(s, s->shards[i], why);
	free(list);
	return rc;
}

static int
engine_gone(void *e, const char *site, int64_t **sessions, size_t *n, char why[FLEET_WHY_BYTES])
{
	struct server *s = e;
	int rc = gone_read(s, why);

	(void)site; /* the configuration's, as the rows of put() */
	*sessions = NULL;
	*n = 0;
	if (rc == NW_OK) {
		*n = s->n_gone;
		*sessions = xcalloc(*n + 1, sizeof(**sessions));
		if (*n > 0)
			memcpy(*sessions, s->gone, *n * sizeof(**sessions));
	}
	return rc;
}

static int
engine_put_site(void *e, const struct fleet_site *t, char why[FLEET_WHY_BYTES])
{
	struct exchange_text body = { 0 }, answer = { 0 };
	int rc;

	put_text(&body, t->site);
	put_le(&body, (uint64_t)t->seen_ns);
	put_text(&body, t->clock);
	put_text(&body, t->software);
	rc = talk(e, "INSERT INTO site FORMAT RowBinary", &body, false, &answer, why);
	free(body.text);
	free(answer.text);
	return rc;
}

static int
engine_forgot(void *e, int64_t since_wall_ns, bool *forgot, char why[FLEET_WHY_BYTES])
{
	const struct server *s = e;
	struct exchange_text answer = { 0 };
	size_t i;
	int rc = NW_OK;

	*forgot = false;
	for (i = 0; rc == NW_OK && i < s->n_shards; i++) {
		rc = talk_at(s, s->shards[i], "SELECT uptime()", NULL, true, &answer, why);
		/* a second for its rounding, and for the time of the answer */
		if (rc == NW_OK &&
		    (strtoll(answer.text, NULL, 10) - 1) * 1000000000 <
			nw_wall_ns() - since_wall_ns)
			*forgot = true;
	}
	free(answer.text);
	return rc;
}

/* --- answers --- */

/* Undoes the escapes of a cell of tab-separated texts in place; NULL for \N. */
static char *
cell_read(char *cell)
{
	static const char from[] = "bfrnt0", to[] = "\b\f\r\n\t";
	char *in = cell, *out = cell;
	const char *at;

	if (strcmp(cell, "\\N") == 0)
		return NULL;
	for (; *in != '\0'; in++) {
		if (*in != '\\' || in[1] == '\0') {
			*out++ = *in;
			continue;
		}
		at = strchr(from, *++in);
		*out++ = at != NULL && *at != '\0' ? to[at - from] : *in;
	}
	*out = '\0';
	return cell;
}

static int
table_read(char *text, fleet_table_fn *fn, void *arg)
{
	const char *cells[TABLE_COLUMNS_MAX];
	char *line = text, *end, *tab;
	size_t n, columns = 0;
	int rc = NW_OK;

	for (; rc == NW_OK && (end = strchr(line, '\n')) != NULL; line = end + 1) {
		*end = '\0';
		for (n = 0; line != NULL && n < TABLE_COLUMNS_MAX; n++, line = tab) {
			if ((tab = strchr(line, '\t')) != NULL)
				*tab++ = '\0';
			cells[n] = cell_read(line);
		}
		if (columns == 0)
			columns = n;
		rc = n == columns && line == NULL ? fn(arg, n, cells) : NW_EPROTO;
	}
	return rc;
}

/* The statement with a text in place of {route}; free() it. */
static char *
statement(const char *sql, const char *parameter)
{
	static const char place[] = "{route}";
	const char *at = parameter != NULL ? strstr(sql, place) : NULL;
	struct exchange_text o = { 0 };

	put(&o, sql, at != NULL ? (size_t)(at - sql) : strlen(sql));
	if (at != NULL) {
		put(&o, "'", 1);
		for (; *parameter != '\0'; parameter++) {
			if (*parameter == '\'' || *parameter == '\\')
				put(&o, "\\", 1);
			put(&o, parameter, 1);
		}
		put(&o, "'", 1);
		put(&o, at + strlen(place), strlen(at) - strlen(place));
	}
	put(&o, " FORMAT TabSeparatedWithNames", 29);
	return o.text;
}

static int
engine_ask(void *e, const char *sql, const char *parameter, fleet_table_fn *fn, void *arg,
    char why[FLEET_WHY_BYTES])
{
	struct exchange_text answer = { 0 };
	char *text = statement(sql, parameter);
	int rc = talk(e, text, NULL, true, &answer, why);

	if (rc == NW_OK && (rc = table_read(answer.text, fn, arg)) < 0)
		snprintf(why, FLEET_WHY_BYTES, "the answer is no table");
	free(text);
	free(answer.text);
	return rc;
}

#define RATE(p, name) "round(quantileExact(" p ")(bytes_per_s) / 1e6, 3) AS " name

static const char *
engine_report(enum fleet_report which)
{
	switch (which) {
	case FLEET_ROUTES:
		return "SELECT route, program, count() AS sessions, uniqExact(site) AS "
		       "sites, " RATE("0.5",
			   "mb_per_s") ", sum(bytes) AS bytes, toDateTime(intDiv(max(start_ns), "
				       "1000000000), 'UTC') AS newest FROM session FINAL GROUP BY "
				       "route, program ORDER BY sessions DESC, route, program";
	case FLEET_WORST:
		return "SELECT route, program, count() AS sessions, " RATE(
		    "0.1", "p10_mb_per_s") ", " RATE("0.5", "p50_mb_per_s") ", " RATE("0.9",
		    "p90_mb_per_s") ", round(quantileExact(0.5)(usual), 3) AS times_slower, "
				    "round(quantileExact(0.9)(usual), 3) AS times_slower_p90 FROM "
				    "session FINAL WHERE isNotNull(usual) AND "
				    "isNotNull(bytes_per_s) GROUP BY route, program ORDER BY "
				    "times_slower DESC, route, program";
	case FLEET_VERDICTS:
		return "SELECT site, toMonday(toDateTime(intDiv(start_ns, 1000000000), 'UTC'), "
		       "'UTC') AS week, ifNull(stage, 'cannot tell') AS verdict, count() AS "
		       "sessions FROM session FINAL GROUP BY site, week, verdict ORDER BY site, "
		       "week, sessions DESC, verdict";
	case FLEET_HISTORY:
		return "SELECT toDate(toDateTime(intDiv(start_ns, 1000000000), 'UTC'), 'UTC') AS "
		       "day, program, count() AS sessions, " RATE("0.1", "p10_mb_per_s") ", " RATE(
			   "0.5", "p50_mb_per_s") ", " RATE("0.9",
			   "p90_mb_per_s") " FROM session FINAL WHERE route = {route} GROUP BY "
					   "day, program ORDER BY day, program";
	case FLEET_SITES:
		return "SELECT site, seen_ns, clock, software, sessions FROM (SELECT site, "
		       "seen_ns, clock, software FROM site FINAL) ANY LEFT JOIN (SELECT site, "
		       "count() AS sessions FROM session FINAL GROUP BY site) USING site ORDER BY "
		       "seen_ns, site";
	case FLEET_NEWEST:
		return "SELECT site, session, toDateTime(intDiv(start_ns, 1000000000), 'UTC') AS "
		       "start, program, round(bytes_per_s / 1e6, 3) AS mb_per_s, round(usual, 3) "
		       "AS times_slower, ifNull(stage, 'cannot tell') AS verdict, confidence, "
		       "sentence FROM session FINAL WHERE route = {route} ORDER BY start_ns DESC, "
		       "site, session LIMIT 50";
	case FLEET_SERIES:
		return "SELECT layout, number, host, event_type, subject, fields, lower(hex(data)) "
		       "AS data FROM chunk FINAL WHERE site = {route} AND session = {session} "
		       "ORDER BY layout, number";
	}
	return NULL;
}

/* --- tables --- */

/* "ENGINE = ...", of a table on a server; args: the version's column and a comma, or nothing. With
 * Keeper or ZooKeeper a shard's replicas share the path. */
static void
engine_text(
    const struct server *s, FILE *f, const char *kind, const char *table, const char *version)
{
	fprintf(f, ") ENGINE = ");
	if (s->conf->replicated)
		fprintf(f, "Replicated%s('/clickhouse/tables/{shard}/%s/%s', '{replica}'%s%s)\n",
		    kind, s->database, table, version[0] != '\0' ? ", " : "", version);
	else
		fprintf(f, "%s%s%s%s\n", kind, version[0] != '\0' ? "(" : "", version,
		    version[0] != '\0' ? ")" : "");
}

static void
rows_table(const struct server *s, FILE *f, const struct fleet_table *t, const char *suffix)
{
	size_t i;

	fprintf(f, "CREATE TABLE IF NOT EXISTS %s%s (\n", t->name, suffix);
	for (i = 0; i < t->n; i++)
		fprintf(
		    f, "\t%s %s%s\n", t->column[i].name, type_of(t, i), i + 1 < t->n ? "," : "");
	engine_text(s, f, "ReplacingMergeTree", t->name, t->column[t->judged].name);
	fprintf(f,
	    "PARTITION BY toYYYYMM(toDateTime(intDiv(start_ns, 1000000000), 'UTC'))\n"
	    "ORDER BY (");
	for (i = 0; i < t->n_key; i++)
		fprintf(f, "%s%s", i > 0 ? ", " : "", t->column[i].name);
	fputc(')', f);
}

static void
site_table(const struct server *s, FILE *f, const char *suffix)
{
	fprintf(f,
	    "CREATE TABLE IF NOT EXISTS site%s (\n\tsite String,\n\tseen_ns Int64,\n\tclock "
	    "String,\n\tsoftware String\n",
	    suffix);
	engine_text(s, f, "ReplacingMergeTree", "site", "seen_ns");
	fprintf(f, "ORDER BY site");
}

static void
gone_table(const struct server *s, FILE *f)
{
	fprintf(f, "CREATE TABLE IF NOT EXISTS gone (\n\tsite String,\n\tsession Int64\n");
	engine_text(s, f, "MergeTree", "gone", "");
	fprintf(f, "ORDER BY (site, session)");
}

/* Both versions of a row meet on a shard, and the chunks of a session, too. */
static void
distributed(const struct server *s, FILE *f, const char *table, const char *key)
{
	fprintf(f,
	    "CREATE TABLE IF NOT EXISTS %s AS %s_local ENGINE = Distributed(%s, %s, %s_local, "
	    "cityHash64(%s))",
	    table, table, s->conf->cluster, s->database, table, key);
}

enum { TABLES = 2 * FLEET_TABLES + 3 };

/* Returns false if there is no such table without a cluster. */
static bool
table_put(const struct server *s, int which, FILE *f)
{
	static const char *const keys[] = { [FLEET_SESSIONS] = "site, session",
		[FLEET_LEVELS] = "site, route",
		[FLEET_CHUNKS] = "site, session" };
	const char *suffix = s->is_cluster ? "_local" : "";

	if (which < FLEET_TABLES)
		rows_table(s, f, &fleet_tables[which], suffix);
	else if (which < 2 * FLEET_TABLES)
		distributed(
		    s, f, fleet_tables[which - FLEET_TABLES].name, keys[which - FLEET_TABLES]);
	else if (which == 2 * FLEET_TABLES)
		site_table(s, f, suffix);
	else if (which == 2 * FLEET_TABLES + 1)
		gone_table(s, f);
	else
		distributed(s, f, "site", "site");
	return s->is_cluster || which < FLEET_TABLES || which == 2 * FLEET_TABLES ||
	    which == 2 * FLEET_TABLES + 1;
}

static int
engine_schema(void *e, bool apply, FILE *f, char why[FLEET_WHY_BYTES])
{
	const struct server *s = e;
	int rc = NW_OK, i;
	size_t len;
	bool there;
	char *text;
	FILE *t;

	for (i = 0; rc == NW_OK && i < TABLES; i++) {
		if ((t = open_memstream(&text, &len)) == NULL)
			return NW_ENOMEM;
		there = table_put(s, i, t);
		if (fclose(t) != 0)
			abort();
		if (there)
			fprintf(f, "%s;\n", text);
		if (there && apply)
			rc = talk_all(s, text, why);
		free(text);
	}
	return rc;
}

const struct fleet_engine engine_clickhouse = {
	.scheme = "clickhouse",
	.open = engine_open,
	.close = engine_close,
	.put = engine_put,
	.put_site = engine_put_site,
	.remove = engine_remove,
	.gone = engine_gone,
	.forgot = engine_forgot,
	.ask = engine_ask,
	.report = engine_report,
	.schema = engine_schema,
};
