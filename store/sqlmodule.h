/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples as a table of SQL, on any connection to a store: chunks and tail decoded row by row, in
 * constant memory.
 *
 *	sample    session_id, host, series_id, layout_id, subject, event_type, field, unit,
 *	          t_ns, time, value
 *	v_sample  session, series_id, host, subject, event_type, field, unit, time, t_ns,
 *	          value: the columns of the CSV
 *
 * One row is one value of one field; what is missing is NULL in sample and has no line in v_sample.
 * series_id is the id of the metadata, also to be had as meta_id, and as the argument in
 * sample(412). session_id is NULL for what a host measured by itself. Where rows have become
 * roll-ups, a bucket stands for those in it, as in store_rows().
 *
 * With step_ns = 60000000000, or sample(412, 60000000000), the samples are as if they had come once
 * a minute, as in store_rows_at(); without it as they came.
 *
 * Rows come by layout, then time, then field. Equality of session_id, host, series_id, layout_id,
 * event_type and field, event_type GLOB, and bounds of t_ns are looked up; anything else is
 * compared row by row.
 *
 * The tables are of the main database and exist as long as the connection.
 */
#ifndef STORE_SQLMODULE_H
#define STORE_SQLMODULE_H

#include <sqlite3.h>

/* SQLite's codes. On an error *err may be text for sqlite3_free(). */
int sqlmodule_register(sqlite3 *db, char **err);

#endif
