/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables about many sites, as a file of its own: a box's page has its own sessions alone. */
#include "web/tables.h"

#include <stdlib.h>
#include <string.h>

#include "web/page/html_table.h"

enum { ROWS_MAX = 200 };

/* Whether all values of a column are numbers, or missing. */
static bool
is_number(const struct web_table *t, size_t column)
{
	size_t row, known = 0;
	const char *text;
	char *end;

	for (row = 1; row < t->n_rows; row++) {
		if ((text = t->cells[row * t->n_columns + column]) == NULL)
			continue;
		(void)strtod(text, &end);
		if (end == text || *end != '\0')
			return false;
		known++;
	}
	return known > 0;
}

/* The name of a column as words; free() the text, which is NULL without memory. */
static char *
title_of(struct html *h, const char *name)
{
	char *title = strdup(name), *p;

	h->failed = h->failed || title == NULL;
	for (p = title; p != NULL && *p != '\0'; p++)
		if (*p == '_')
			*p = ' ';
	return title;
}

static void
cell_write(struct html *h, const char *column, const char *text)
{
	if (text == NULL)
		html_raw(h, "\xe2\x80\x93");
	else if (strcmp(column, "route") == 0)
		page_route(h, text);
	else if (strcmp(column, "newest") == 0 || strcmp(column, "seen") == 0)
		page_stamp(h, text);
	else
		page_name(h, text);
}

static void
rows_write(struct html *h, const struct web_table *t, const struct table_column *columns)
{
	size_t row, c, last = t->n_rows < ROWS_MAX + 1 ? t->n_rows : ROWS_MAX + 1;

	table_open(h, columns, t->n_columns);
	for (row = 1; row < last; row++) {
		html_raw(h, "<tr>");
		for (c = 0; c < t->n_columns; c++) {
			table_cell_open(h, &columns[c]);
			cell_write(h, t->cells[c], t->cells[row * t->n_columns + c]);
			table_cell_close(h);
		}
		html_raw(h, "</tr>");
	}
	table_close(h);
	if (t->n_rows > last) {
		html_raw(h, "<p>");
		html_int(h, (int64_t)(t->n_rows - last));
		html_raw(h, " more rows are not shown.</p>");
	}
}

static void
table_show(struct html *h, const struct web_table *t)
{
	struct table_column *columns = calloc(t->n_columns + 1, sizeof(*columns));
	size_t c;

	if (columns == NULL) {
		h->failed = true;
		return;
	}
	html_raw(h, "<section><h2>");
	html_text(h, t->title);
	html_raw(h, "</h2><p>");
	html_text(h, t->n_rows > 1 ? t->words : t->empty);
	html_raw(h, "</p>");
	for (c = 0; c < t->n_columns; c++) {
		columns[c].title = title_of(h, t->cells[c]);
		columns[c].num = is_number(t, c);
	}
	if (t->n_rows > 1)
		rows_write(h, t, columns);
	for (c = 0; c < t->n_columns; c++)
		free((char *)columns[c].title);
	free(columns);
	html_raw(h, "</section>");
}

void
tables_write(struct html *h, const char *title, const struct web_table *tables, size_t n)
{
	size_t i;

	page_begin(h, &(struct page_frame){ .title = title, .alone = true });
	html_raw(h, "<h1>");
	html_text(h, title);
	html_raw(h, "</h1>");
	for (i = 0; i < n; i++)
		table_show(h, &tables[i]);
	page_end(h);
}
