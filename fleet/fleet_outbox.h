/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows for a push out of the box's store, as the rows leave. One thread; every call opens the store
 * for reading, and NW_EIO, NW_ENOMEM come with why. */
#ifndef FLEET_FLEET_OUTBOX_H
#define FLEET_FLEET_OUTBOX_H

#include "fleet/fleet.h"
#include "narrows/sql.h"

/* Days (since 1970, UTC) of routes, by the box's own names. */
struct level_day {
	char *route, *program; /* program "": unknown */
	int64_t day;
};
struct level_days {
	struct level_day *day;
	size_t n, cap;
};
/* route NULL: nothing; program may be NULL. */
void level_days_add(struct level_days *d, const char *route, const char *program, int64_t start_ns);
void level_days_clear(struct level_days *d);

/* Appends the rows of finished sessions that were judged after run after_run, at most max, as they
 * leave, oldest run first, and their days. *last_run becomes the last run looked at, *looked the
 * number of runs. */
int outbox_read(const char *store_path, const struct fleet_conf *c, struct veil *v,
    int64_t after_run, size_t max, struct fleet_rows *rows, struct level_days *days,
    int64_t *last_run, size_t *looked, char why[FLEET_WHY_BYTES]);
/* The days of sessions that were judged after run after_run. */
int outbox_days(
    const char *store_path, int64_t after_run, struct level_days *days, char why[FLEET_WHY_BYTES]);

/* The newest numbers of the box's store. */
struct outbox_newest {
	int64_t run, session;
};
/* The names of the box's hosts, for veil_open(); free() them. */
int outbox_hosts(
    const char *store_path, char **hosts, struct outbox_newest *newest, char why[FLEET_WHY_BYTES]);

/* Makes rows the roll-ups of days, as they leave, without the sessions for which is_gone(arg) is
 * true. Sorts the days. */
int levels_read(const char *store_path, const struct fleet_conf *conf, struct veil *v,
    struct level_days *days, bool (*is_gone)(const void *arg, int64_t session), const void *arg,
    int64_t now_wall_ns, struct fleet_rows *rows, char why[FLEET_WHY_BYTES]);

/* A finished session whose chunks may leave. */
struct outbox_given {
	int64_t session, run;
	bool leaves; /* its route does */
};
/* The pinned sessions, if they leave, and those of a list; free() *out. */
int outbox_given(const char *store_path, const struct fleet_conf *c, const int64_t *sessions,
    size_t n_sessions, struct outbox_given **out, size_t *n, char why[FLEET_WHY_BYTES]);
/* Calls fn with the chunks of a session, some rows at a time; the rows are fn's for the call. A
 * result of fn other than NW_OK ends the call. */
int chunks_read(const char *store_path, const struct fleet_conf *c, int64_t session,
    int64_t now_wall_ns, int (*fn)(void *arg, const struct fleet_rows *rows), void *arg,
    char why[FLEET_WHY_BYTES]);

#endif
