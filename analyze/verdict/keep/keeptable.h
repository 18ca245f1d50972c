/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of a reduction over days: a response and the metrics of all hosts of many sessions, row
 * under row, one session after the other, with NW_TIME_PAUSE rows without values between two.
 *
 * A metric is called by the role of its host and by its name, "sender: disk:partition:sda io_ms",
 * so that rows of other hosts of the same configuration fit below. A metric that a session does not
 * have is missing there (NaN); the metric of an idle device is 0 there, and costs no memory while
 * the device is idle in all sessions.
 */
#ifndef KEEPTABLE_H
#define KEEPTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/reduce.h"
#include "narrows/store.h"

enum { KEEP_COLUMNS_MAX = 3000, KEEP_NAMES_MAX = 40000, KEEP_HOSTS_MAX = 16 };

struct keep_rows {
	size_t first, end;
};

struct keep_column;

struct keep_host {
	char *role, *name;
};

struct keeptable {
	size_t cap_rows, n_rows;
	size_t end_row; /* rows are added up to here; at most cap_rows */
	int64_t step_ns;
	double *y;
	int64_t *t_wall_ns;        /* of each row; 0 between two sessions */
	struct keep_column *names; /* hash of all columns by name */
	size_t n_names;
	struct keep_column **column; /* columns that move; at most KEEP_COLUMNS_MAX */
	size_t n;
	size_t n_cut; /* metrics beyond the limits, not looked at */
	struct keep_host host[KEEP_HOSTS_MAX];
	size_t n_hosts;
	const char *unit;                    /* of the response; static text, or NULL if unknown */
	int64_t first_wall_ns, last_wall_ns; /* of the rows; 0 without rows */
};

/* What a session's rows are to explain. */
struct keep_response {
	const char *route;   /* "a -> b", for the roles of hosts; NULL if unknown */
	const char *program; /* whose rate; NULL for the busiest */
	bool operation_time; /* seconds per operation, not the delivered rate */
	const char *series;  /* "EVENT_TYPE FIELD", told by the program itself; NULL for none */
};

void keeptable_init(struct keeptable *t, size_t cap_rows, int64_t step_ns);
/* Adds a session's rows, as long as there is room. Sessions without the response, or shorter than a
 * row, add none. NW_OK, NW_ENOMEM or the store's code. */
int keeptable_add(struct keeptable *t, struct store_reader *r, int64_t session_id,
    const struct keep_response *what);
void keeptable_clear(struct keeptable *t);
/* Calls fn with the name of every metric, moving or not. */
void
keeptable_each_name(const struct keeptable *t, void (*fn)(void *arg, const char *name), void *arg);
/* Name and unit (NULL if unknown) of a moving column, and its values in all rows. */
const char *keeptable_name(const struct keeptable *t, size_t column);
const char *keeptable_unit(const struct keeptable *t, size_t column);
const double *keeptable_values(const struct keeptable *t, size_t column);
/* Puts other values into n rows of a moving column. */
void keeptable_replace(
    struct keeptable *t, size_t column, size_t first_row, const double *values, size_t n);

#endif
