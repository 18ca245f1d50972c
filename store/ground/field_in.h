/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of fields (narrows/field.h) as a table of the file, for SQL. */
#ifndef STORE_FIELD_H
#define STORE_FIELD_H

#include <sqlite3.h>
#include <stdbool.h>

/* Whether the file's table has the rules of this program: not before an upgrade, or in a program
 * of another release. */
int field_table_compare(sqlite3 *db, bool *same);
/* Writes the table where the file says something else, as after an upgrade. A connection that may
 * write, inside a transaction. */
int field_table_update(sqlite3 *db);

#endif
