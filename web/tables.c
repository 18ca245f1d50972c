/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables about many sites: a file of its own, or pages from documents that another program left for
 * the box. */
#include "web/tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "narrows/ownfile.h"
#include "web/page/html_table.h"

enum { ROWS_MAX = 200, DOCUMENT_MAX_BYTES = 4 << 20 };

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
	static const char rate[] = "mb_per_s";
	char *title = strdup(name), *p;

	h->failed = h->failed || title == NULL;
	if (title != NULL && (p = strstr(title, rate)) != NULL && p[sizeof(rate) - 1] == '\0')
		memcpy(p, "MB/s", sizeof("MB/s"));
	for (p = title; p != NULL && *p != '\0'; p++)
		if (*p == '_')
			*p = ' ';
	return title;
}

/* Addresses are of another program's choice: a page leads to pages alone. */
static bool
is_address(const char *link)
{
	return link != NULL &&
	    (strncmp(link, "/fleet/", 7) == 0 || strncmp(link, "https://", 8) == 0 ||
		strncmp(link, "http://", 7) == 0);
}

static void
cell_write(struct html *h, const char *column, const char *text, const char *link)
{
	if (text != NULL && is_address(link) &&
	    (strcmp(column, "route") == 0 || strcmp(column, "session") == 0)) {
		html_raw(h, "<a");
		html_attr(h, "href", link);
		html_raw(h, ">");
		cell_write(h, column, text, NULL);
		html_raw(h, "</a>");
	} else if (text == NULL)
		html_raw(h, "\xe2\x80\x93");
	else if (strcmp(column, "route") == 0)
		page_route(h, text);
	else if (strcmp(column, "newest") == 0 || strcmp(column, "seen") == 0 ||
	    strcmp(column, "start") == 0)
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
			cell_write(h, t->cells[c], t->cells[row * t->n_columns + c],
			    t->links != NULL ? t->links[row] : NULL);
			table_cell_close(h);
		}
		html_raw(h, "</tr>");
	}
	table_close(h);
	if (t->n_rows + t->more > last) {
		html_raw(h, "<p>");
		html_int(h, (int64_t)(t->n_rows + t->more - last));
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

/* --- documents --- */

json_t *
tables_document(const char *directory, const char *name)
{
	char path[4096], *text = NULL;
	json_t *doc = NULL;
	size_t len = 0;
	ssize_t n = 1;
	int fd = -1;

	if (name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0' &&
	    snprintf(path, sizeof(path), "%s/fleet/%s.json", directory, name) < (int)sizeof(path))
		fd = ownfile_read(path);
	if (fd >= 0 && (text = malloc(DOCUMENT_MAX_BYTES)) != NULL)
		while (len < DOCUMENT_MAX_BYTES &&
		    (n = read(fd, text + len, DOCUMENT_MAX_BYTES - len)) > 0)
			len += (size_t)n;
	if (fd >= 0)
		close(fd);
	if (text != NULL && n == 0)
		doc = json_loadb(text, len, 0, NULL);
	free(text);
	if (doc != NULL && !json_is_object(doc)) {
		json_decref(doc);
		doc = NULL;
	}
	return doc;
}

static const char *
text_at(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text != NULL ? text : "";
}

/* The texts of all rows, one row behind the other; NULL: rows are of different lengths, or a name
 * of a column is none. */
static const char **
cells_of(struct html *h, const json_t *rows, size_t columns)
{
	size_t n = json_array_size(rows), r, c;
	const char **cells = calloc(n * columns + 1, sizeof(*cells));

	h->failed = h->failed || cells == NULL;
	for (r = 0; cells != NULL && r < n; r++)
		for (c = 0; cells != NULL && c < columns; c++) {
			const json_t *row = json_array_get(rows, r);

			cells[r * columns + c] = json_string_value(json_array_get(row, c));
			if (json_array_size(row) != columns || (r == 0 && cells[c] == NULL)) {
				free(cells);
				cells = NULL;
			}
		}
	return cells;
}

void
tables_head(struct html *h, const json_t *doc)
{
	html_raw(h, "<h1>");
	page_route(h, text_at(doc, "title"));
	html_raw(h, "</h1><p class=\"note\">As the fleet was at ");
	page_time(h, (int64_t)json_integer_value(json_object_get(doc, "made_ns")));
	html_raw(h, ". <a href=\"/fleet\">All sites</a></p>");
}

void
tables_of_document(struct html *h, const json_t *doc)
{
	const json_t *tables = json_object_get(doc, "tables");
	size_t i, r;

	for (i = 0; i < json_array_size(tables); i++) {
		const json_t *o = json_array_get(tables, i), *rows = json_object_get(o, "rows"),
			     *links = json_object_get(o, "links");
		json_int_t more = json_integer_value(json_object_get(o, "more"));
		struct web_table t = { text_at(o, "title"), text_at(o, "words"),
			text_at(o, "empty"), json_array_size(json_array_get(rows, 0)),
			json_array_size(rows), NULL, NULL, more > 0 ? (size_t)more : 0 };
		const char **cells = cells_of(h, rows, t.n_columns),
			   **addresses = calloc(t.n_rows + 1, sizeof(*addresses));

		h->failed = h->failed || addresses == NULL;
		for (r = 0; addresses != NULL && r < t.n_rows; r++)
			addresses[r] = json_string_value(json_array_get(links, r));
		t.cells = cells;
		t.links = addresses;
		if (cells != NULL && addresses != NULL)
			table_show(h, &t);
		free(cells);
		free(addresses);
	}
}
