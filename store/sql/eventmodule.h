/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events as a table of SQL, beside those of sqlmodule.h:
 *
 *	event    session_id, sender_id, host, program, name, level, t_ns, time, ids, attrs
 *	v_event  session, host, program, name, level, time, t_ns, ids, attrs
 *
 * ids and attrs are JSON objects: the attributes that are ids, and all others; of equal keys the
 * last is shown. Rows rise in time. Equality of session_id, host, program and name, and bounds of
 * t_ns, are looked up; other conditions are compared row by row. The hidden columns key and value
 * select by an attribute: event WHERE key = 'block.id' AND value = '42'.
 */
#ifndef STORE_EVENTMODULE_H
#define STORE_EVENTMODULE_H

#include <sqlite3.h>

/* SQLite's codes. On an error *err may be text for sqlite3_free(). */
int eventmodule_register(sqlite3 *db, char **err);

#endif
