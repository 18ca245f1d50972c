/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many boxes, one view. A box keeps its sessions; what its configuration lets leave goes as rows to
 * a fleet, an engine that its URL chooses. The box's store is the spool: the rows of a push are
 * those of runs that the fleet has not confirmed, so nothing waits in a second place, and a fleet
 * that is away costs nothing. One thread.
 */
#ifndef FLEET_H
#define FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "narrows/conftable.h"

enum { FLEET_WHY_BYTES = 512 };

/* --- rows --- */

enum fleet_type { FLEET_TEXT, FLEET_INTEGER, FLEET_TIME, FLEET_REAL, FLEET_BYTES };
enum fleet_column {
#define SESSION(name, type, meaning) FLEET_##name,
#include "fleet/fleet_columns.def"
	FLEET_COLUMNS /* no other table has more */
};
enum level_column {
#define LEVEL(name, type, meaning) LEVEL_##name,
#include "fleet/fleet_columns.def"
	LEVEL_COLUMNS
};
enum chunk_column {
#define CHUNK(name, type, meaning) CHUNK_##name,
#include "fleet/fleet_columns.def"
	CHUNK_COLUMNS
};
struct fleet_column_info {
	const char *name;
	enum fleet_type type;
	const char *meaning;
};
enum fleet_table_id { FLEET_SESSIONS, FLEET_LEVELS, FLEET_CHUNKS, FLEET_TABLES };
struct fleet_table {
	const char *name, *words;
	const struct fleet_column_info *column;
	size_t n, n_key;      /* columns; the first n_key are the key, and always known */
	size_t judged, start; /* places of judged_ns and start_ns, which are always known, too */
	bool of_session;      /* the key has a session, with which the row goes */
};
extern const struct fleet_table fleet_tables[FLEET_TABLES];

/* A value. Text and bytes are on the heap of the row; len is that of bytes. */
struct fleet_cell {
	bool known;
	int64_t i;
	double d;
	char *text;
	size_t len;
};
struct fleet_row {
	struct fleet_cell cell[FLEET_COLUMNS];
};
struct fleet_rows {
	enum fleet_table_id table;
	struct fleet_row *row;
	size_t n, cap;
};
/* An empty row at the end. */
struct fleet_row *fleet_rows_add(struct fleet_rows *r);
/* Removes the last row. */
void fleet_rows_drop(struct fleet_rows *r);
/* Frees all rows; the table stays. */
void fleet_rows_clear(struct fleet_rows *r);
void fleet_text_set(struct fleet_row *r, size_t column, const char *text); /* NULL: none */
void fleet_int_set(struct fleet_row *r, size_t column, int64_t v);
void fleet_real_set(struct fleet_row *r, size_t column, double v); /* not finite: none */
void fleet_bytes_set(struct fleet_row *r, size_t column, const void *bytes, size_t len);
/* The site of a box, told by each push. */
struct fleet_site {
	const char *site;
	int64_t seen_ns;   /* time of the push */
	const char *clock; /* "synchronised", "not synchronised" or "unknown" */
	const char *software;
};

/* --- configuration: /etc/narrows/fleet.conf --- */

enum fleet_names { FLEET_CLEAR, FLEET_HASHED };
enum fleet_chunks { FLEET_CHUNKS_NONE, FLEET_CHUNKS_PINNED };
struct fleet_conf {
	char *site, *fleet;
	char *key_file; /* of hashed names */
	int names;      /* enum fleet_names */
	char *drop;     /* columns that never leave, by blanks */
	char *routes;   /* one a line; NULL: all */
	char *ca_file, *user, *password_file, *proxy;
	char *cert_file, *cert_key_file; /* shown to another box; "none" */
	char *duckdb_library;
	char *cluster, *shards; /* of clickhouse: URLs of servers, one a line; or NULL */
	bool replicated;        /* of clickhouse: tables are replicated by Keeper or ZooKeeper */
	bool levels;            /* roll-ups leave */
	int chunks;             /* enum fleet_chunks */
	char *boxes;            /* "SITE URL", one a line: the pages of sites; NULL: none */
	char *region, *days;    /* of s3: directory with the days of this site */
	char *takes;            /* receiver: sites with a right to push, one a line; NULL: none */
	char *tls_dir;          /* receiver: directory of narrows/ca.h */
	uint64_t rate;          /* sessions per second; a batch has at most so many, too */
	int64_t timeout_ns;
};
/* NW_EINVAL, NW_EIO, with why. */
int fleet_conf_read(const char *path, struct fleet_conf *c, char why[CONF_WHY_BYTES]);
void fleet_conf_clear(struct fleet_conf *c);
/* Whether a column of sessions stays at the site. */
bool fleet_conf_drops(const struct fleet_conf *c, enum fleet_column column);
/* Whether the sessions of a route (NULL: of none) leave. */
bool fleet_conf_route(const struct fleet_conf *c, const char *route);

/* --- what leaves --- */

struct veil; /* the rules for rows, with the key */
/* NW_EINVAL, NW_EIO, with why: no key, or a key that other users may read. `hosts`: names of the
 * box's hosts, each with a NUL behind it, up to an empty name. */
int veil_open(
    const struct fleet_conf *c, const char *hosts, struct veil **out, char why[FLEET_WHY_BYTES]);
void veil_close(struct veil *v);
/* Changes a row of sessions, or of levels, to what leaves. Returns false if the row does not leave
 * at all. */
bool veil_row(struct veil *v, struct fleet_row *r);
bool veil_level(struct veil *v, struct fleet_row *r);

/* Writes "what: reason", and returns NW_EIO. */
int fleet_failed(const char *what, const char *reason, char why[FLEET_WHY_BYTES]);

/* --- engines --- */

struct fleet;
/* A row of an answer, as texts; first the names of its columns. NULL: no value. */
typedef int fleet_table_fn(void *arg, size_t n, const char *const *texts);

enum fleet_report {
	FLEET_ROUTES,
	FLEET_WORST,
	FLEET_VERDICTS,
	FLEET_HISTORY,
	FLEET_SITES,
	FLEET_NEWEST, /* newest sessions of a route */
	FLEET_SERIES  /* chunks of session {session} of a site, data in hexadecimal digits */
};

struct fleet_engine {
	const char *scheme; /* of its URL, up to the colon */
	int (*open)(const struct fleet_conf *c, bool writes, void **out, char why[FLEET_WHY_BYTES]);
	void (*close)(void *e);
	/* Returns once the rows are safe. A row with an older judgement than the fleet's changes
	 * nothing. */
	int (*put)(void *e, const struct fleet_rows *rows, char why[FLEET_WHY_BYTES]);
	int (*put_site)(void *e, const struct fleet_site *s, char why[FLEET_WHY_BYTES]);
	/* Deletes sessions of a site (n 0: all in the fleet) with their chunks, which no later put
	 * brings back, and all levels of the site. Returns once none of these rows can be read. */
	int (*remove)(void *e, const char *site, const int64_t *sessions, size_t n,
	    char why[FLEET_WHY_BYTES]);
	/* The deleted sessions of a site; free() *sessions. */
	int (*gone)(
	    void *e, const char *site, int64_t **sessions, size_t *n, char why[FLEET_WHY_BYTES]);
	/* Whether the fleet may have lost rows that it took since a time of this host; NULL: an
	 * engine whose rows are on the disk at once. */
	int (*forgot)(void *e, int64_t since_wall_ns, bool *forgot, char why[FLEET_WHY_BYTES]);
	/* SQL, for reading only. parameter: of ?1 or {route}; may be NULL */
	int (*ask)(void *e, const char *sql, const char *parameter, fleet_table_fn *fn, void *arg,
	    char why[FLEET_WHY_BYTES]);
	const char *(*report)(enum fleet_report which);
	/* The statements that make the tables, to a stream; and to the fleet if apply. */
	int (*schema)(void *e, bool apply, FILE *f, char why[FLEET_WHY_BYTES]);
};

/* NW_EINVAL for an unknown URL; NW_EIO. */
int
fleet_open(const struct fleet_conf *c, bool writes, struct fleet **out, char why[FLEET_WHY_BYTES]);
void fleet_close(struct fleet *f);
const struct fleet_engine *fleet_engine_of(const struct fleet *f, void **e);

/* A value of a session's chunks; texts are on loan, NULL where unknown. */
struct fleet_value {
	int64_t t_wall_ns;
	const char *host, *event_type, *subject, *field;
	double value;
};
typedef int fleet_value_fn(void *arg, const struct fleet_value *v);
/* Tells the values that the fleet has of a session, chunk by chunk. NW_ENOTFOUND: none; NW_ECORRUPT
 * and the like for a chunk that cannot be read. */
int fleet_series(const struct fleet *f, const char *site, int64_t session, fleet_value_fn *fn,
    void *arg, char why[FLEET_WHY_BYTES]);

extern const struct fleet_engine engine_sqlite, engine_file, engine_clickhouse, engine_box,
    engine_s3;

#endif
