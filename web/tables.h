/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NARROWS_WEB_TABLES_H
#define NARROWS_WEB_TABLES_H

#include "narrows/web.h"
#include "web/page/page.h"

/* Tables as a file of its own: numbers to the right, routes with an arrow. */
void tables_write(struct html *h, const char *title, const struct web_table *tables, size_t n);

#endif
