/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples as a table of SQL, on any connection to a store: chunks and tail decoded row by row, in
 * constant memory.
 *
 *	sample    session_id, host, series_id, layout_id, subject, event_type, field, unit,
 *	          t_ns, time, value, series
 *	v_sample  session, series_id, host, subject, event_type, field, unit, time, t_ns,
 *	          value: the columns of the CSV
 *
 *	v_last    as v_sample, and series: the newest value of each series (store_last_row())
 *	v_bucket  as v_sample, with begin_ns, n, sum, min, max, mean and sd instead of time and
 *	          value, and series: statistics of all values in each step (store_buckets())
 *	v_minute  v_bucket of minutes
 *
 * A row is a value of a field; a missing value is NULL in sample and has no line in v_sample.
 * series_id is the id of the metadata, also named meta_id, and the argument in sample(412); series
 * is the number of a field of a layout, as in v_series. session_id is NULL for measurements of a
 * host itself. Where rows have become roll-ups, a row stands for a bucket, as in store_rows().
 *
 * step_ns = 60000000000, or sample(412, 60000000000), makes samples as if they had come once a
 * minute, as in store_rows_at(). v_bucket needs step_ns: buckets begin at multiples of the step,
 * and their t_ns is the time of their last row.
 *
 * Rows come by layout, then time, then field; by series, then time, for GROUP BY or ORDER BY
 * series. Equality of session_id, host, series_id, layout_id, series, event_type and field,
 * event_type GLOB, and bounds of t_ns are looked up; other conditions are compared row by row.
 *
 * The tables are of the main database and exist as long as the connection.
 */
#ifndef STORE_SQLMODULE_H
#define STORE_SQLMODULE_H

#include <sqlite3.h>

/* SQLite's codes. On an error *err may be text for sqlite3_free(). */
int sqlmodule_register(sqlite3 *db, char **err);

#endif
