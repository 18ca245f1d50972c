/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file that names its fields: names and values in the file's own order, which does not change
 * while the kernel runs. So a value is expected at its place of the last reading, and only a value
 * found elsewhere costs anything: then `changed` is set, and the series is announced anew.
 */
#ifndef HOST_TABLE_H
#define HOST_TABLE_H

#include "host/blipp/probe/scan.h"
#include "host/blipp/probe/series.h"

enum { TABLE_NAME_BYTES = 48 };

/* The kernel's name of a field, and blipp's. Unlisted fields keep the kernel's name. */
struct table_alias {
	const char *theirs, *ours; /* a NULL ours keeps the kernel's name */
	const char *unit;          /* NULL: the table's */
	bool other_kind;           /* a gauge among counters, a counter among gauges */
};

struct table_style {
	const char *event_type, *unit;
	bool counter;
	const struct table_alias *aliases; /* ends with theirs NULL; NULL: none */
	const char *gauge_prefix;          /* names beginning so are gauges; NULL: none */
};

struct table_name {
	char theirs[TABLE_NAME_BYTES], ours[TABLE_NAME_BYTES];
};

struct table { /* zero to start */
	const struct table_style *style;
	struct series series;
	struct series_kind kind;
	struct series_field fields[SERIES_FIELDS_MAX];
	struct table_name *names; /* SERIES_FIELDS_MAX */
	double values[SERIES_FIELDS_MAX];
	size_t n, n_known;
	bool changed;
};

/* Before each reading. NW_ENOMEM. */
int table_begin(struct table *t, const struct table_style *style);
/* Adds a field; fields past SERIES_FIELDS_MAX are left out. */
void table_put(struct table *t, struct scan name, double value, const char *unit);
/* Sends the table; an empty table sends nothing. Errors as nw_provider_data(). */
int table_send(struct table *t, struct report *r);
/* The value of a field by blipp's name, NaN when there is none. */
double table_get(const struct table *t, const char *ours);
void table_clear(struct table *t);

#endif
