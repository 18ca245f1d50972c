/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed documents in SQL. SQLite's codes. */
#ifndef STORE_DOCUMENT_SQL_H
#define STORE_DOCUMENT_SQL_H

#include <sqlite3.h>

/* narrows_document(document, timeline): the text of a packed document; NULL of NULL. */
int document_sql_register(sqlite3 *db);
/* narrows_pack(text, part): part 0 is the document, part 1 the timeline, or NULL. For
 * migrations. */
int document_sql_register_pack(sqlite3 *db);

#endif
