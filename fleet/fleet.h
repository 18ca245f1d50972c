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

enum fleet_type { FLEET_TEXT, FLEET_INTEGER, FLEET_TIME, FLEET_REAL };
enum fleet_column {
#define COLUMN(name, type, meaning) FLEET_##name,
#include "fleet/fleet_columns.def"
#undef COLUMN
	FLEET_COLUMNS
};
struct fleet_column_info {
	const char *name;
	enum fleet_type type;
	const char *meaning;
};
extern const struct fleet_column_info fleet_columns[FLEET_COLUMNS];

/* A value. Text is on the heap of the row. Site, session and judged_ns are always known. */
struct fleet_cell {
	bool known;
	int64_t i;
	double d;
	char *text;
};
struct fleet_row {
	struct fleet_cell cell[FLEET_COLUMNS];
};
struct fleet_rows {
	struct fleet_row *row;
	size_t n, cap;
};
/* An empty row at the end. */
struct fleet_row *fleet_rows_add(struct fleet_rows *r);
void fleet_rows_clear(struct fleet_rows *r);
void fleet_text_set(struct fleet_row *r, enum fleet_column c, const char *text); /* NULL: none */
/* The site of a box, told by each push. */
struct fleet_site {
	const char *site;
	int64_t seen_ns;   /* time of the push */
	const char *clock; /* "synchronised", "not synchronised" or "unknown" */
	const char *software;
};

/* --- configuration: /etc/narrows/fleet.conf --- */

enum fleet_names { FLEET_CLEAR, FLEET_HASHED };
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
	char *region, *days;    /* of s3: directory with the days of this site */
	char *takes;            /* receiver: sites with a right to push, one a line; NULL: none */
	char *tls_dir;          /* receiver: directory of narrows/ca.h */
	uint64_t rate;          /* sessions per second; a batch has at most so many, too */
	int64_t timeout_ns;
};
/* NW_EINVAL, NW_EIO, with why. */
int fleet_conf_read(const char *path, struct fleet_conf *c, char why[CONF_WHY_BYTES]);
void fleet_conf_clear(struct fleet_conf *c);

/* --- what leaves --- */

struct veil; /* the rules for rows, with the key */
/* NW_EINVAL, NW_EIO, with why: no key, or a key that other users may read. `hosts`: names of the
 * box's hosts, each with a NUL behind it, up to an empty name. */
int veil_open(
    const struct fleet_conf *c, const char *hosts, struct veil **out, char why[FLEET_WHY_BYTES]);
void veil_close(struct veil *v);
/* Changes a row to what leaves. Returns false if the row does not leave at all. */
bool veil_row(struct veil *v, struct fleet_row *r);

/* Appends the rows of finished sessions that were judged after run after_run, at most max, as they
 * leave, oldest run first. *last_run becomes the last run looked at, *looked the number of runs.
 * NW_EIO, NW_ENOMEM, with why. */
int outbox_read(const char *store_path, const struct fleet_conf *c, struct veil *v,
    int64_t after_run, size_t max, struct fleet_rows *rows, int64_t *last_run, size_t *looked,
    char why[FLEET_WHY_BYTES]);
/* The newest numbers of the box's store. */
struct outbox_newest {
	int64_t run, session;
};
/* The names of the box's hosts, for veil_open(); free() them. */
int outbox_hosts(
    const char *store_path, char **hosts, struct outbox_newest *newest, char why[FLEET_WHY_BYTES]);

/* Writes "what: reason", and returns NW_EIO. */
int fleet_failed(const char *what, const char *reason, char why[FLEET_WHY_BYTES]);

/* --- engines --- */

struct fleet;
/* A row of an answer, as texts; first the names of its columns. NULL: no value. */
typedef int fleet_table_fn(void *arg, size_t n, const char *const *texts);

enum fleet_report { FLEET_ROUTES, FLEET_WORST, FLEET_VERDICTS, FLEET_HISTORY, FLEET_SITES };

struct fleet_engine {
	const char *scheme; /* of its URL, up to the colon */
	int (*open)(const struct fleet_conf *c, bool writes, void **out, char why[FLEET_WHY_BYTES]);
	void (*close)(void *e);
	/* Returns once the rows are safe. A row with an older judgement than the fleet's changes
	 * nothing. */
	int (*put)(void *e, const struct fleet_row *rows, size_t n, char why[FLEET_WHY_BYTES]);
	int (*put_site)(void *e, const struct fleet_site *s, char why[FLEET_WHY_BYTES]);
	/* Deletes sessions of a site (n 0: all that the fleet has), which no later put brings back.
	 * Returns once nothing of them can be read. */
	int (*remove)(void *e, const char *site, const int64_t *sessions, size_t n,
	    char why[FLEET_WHY_BYTES]);
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

extern const struct fleet_engine engine_sqlite, engine_file, engine_clickhouse, engine_box,
    engine_s3;

#endif
