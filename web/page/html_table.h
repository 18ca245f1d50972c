/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of a list of the result document, a bounded number of rows; on a phone every row becomes a
 * card. */
#ifndef NARROWS_WEB_TABLE_H
#define NARROWS_WEB_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "narrows/format.h"
#include "narrows/result.h"
#include "web/draw/html.h"

enum { TABLE_ROWS_MAX = 50 };

struct table_column {
	const char *title;
	void (*write)(struct html *h, const json_t *row);
	bool num;
};

/* Begin and end of a table, and of one cell of a row, for a caller without a list that writes the
 * rows itself: no column needs a writer. */
void table_open(struct html *h, const struct table_column *columns, size_t n_columns);
void table_close(struct html *h);
void table_cell_open(struct html *h, const struct table_column *column);
void table_cell_close(struct html *h);
void table_write(
    struct html *h, const json_t *list, const struct table_column *columns, size_t n_columns);
/* A cell with a name or "unknown", and a cell with a number or a dash. */
void table_text(struct html *h, const char *text);
void table_value(struct html *h, double v, struct fmt text);

/* Writers of a column from one key of the row. */
#define TABLE_TEXT(name, key)                               \
	static void name(struct html *h, const json_t *row) \
	{                                                   \
		table_text(h, result_text(row, key));       \
	}
#define TABLE_NUMBER(name, key, format)                     \
	static void name(struct html *h, const json_t *row) \
	{                                                   \
		double v = result_number(row, key);         \
		table_value(h, v, format(v));               \
	}

#endif
