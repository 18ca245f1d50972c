/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NARROWS_WEB_TABLES_H
#define NARROWS_WEB_TABLES_H

#include <jansson.h>

#include "narrows/web.h"
#include "web/page/page.h"

/* Tables as a file of its own: numbers to the right, routes with an arrow. */
void tables_write(struct html *h, const char *title, const struct web_table *tables, size_t n);

/* The document fleet/NAME.json of a directory, in which another program (cli/fleet_pages.c) left
 * tables; name is as in an address. A new reference, or NULL: none, or no JSON object. */
json_t *tables_document(const char *directory, const char *name);
/* The title of a document with the time of the writing; the document's tables, as sections. Values
 * other than tables are passed over. */
void tables_head(struct html *h, const json_t *doc);
void tables_of_document(struct html *h, const json_t *doc);

#endif
