/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/page/html_table.h"

#include <math.h>

#include "web/page/page.h"

void
table_open(struct html *h, const struct table_column *columns, size_t n_columns)
{
	size_t k;

	html_raw(
	    h, "<table class=\"rows\" role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\">");
	for (k = 0; k < n_columns; k++) {
		html_raw(h, "<th role=\"columnheader\" scope=\"col\"");
		html_attr(h, "class", columns[k].num ? "num" : NULL);
		html_raw(h, ">");
		html_text(h, columns[k].title);
		html_raw(h, "</th>");
	}
	html_raw(h, "</tr></thead><tbody role=\"rowgroup\">");
}

void
table_close(struct html *h)
{
	html_raw(h, "</tbody></table>");
}

void
table_cell_open(struct html *h, const struct table_column *column)
{
	html_raw(h, "<td role=\"cell\"");
	html_attr(h, "class", column->num ? "num" : NULL);
	html_attr(h, "data-label", column->title);
	html_raw(h, "><span>");
}

void
table_cell_close(struct html *h)
{
	html_raw(h, "</span></td>");
}

void
table_write(
    struct html *h, const json_t *list, const struct table_column *columns, size_t n_columns)
{
	size_t i, k, n = json_array_size(list);

	table_open(h, columns, n_columns);
	for (i = 0; i < n && i < TABLE_ROWS_MAX; i++) {
		html_raw(h, "<tr role=\"row\">");
		for (k = 0; k < n_columns; k++) {
			table_cell_open(h, &columns[k]);
			columns[k].write(h, json_array_get(list, i));
			table_cell_close(h);
		}
		html_raw(h, "</tr>");
	}
	table_close(h);
	if (n > TABLE_ROWS_MAX) {
		html_raw(h, "<p class=\"note\">The first ");
		html_int(h, TABLE_ROWS_MAX);
		html_raw(h, " of ");
		html_int(h, (int64_t)n);
		html_raw(h, "; the JSON document has all.</p>");
	}
}

void
table_text(struct html *h, const char *text)
{
	if (text == NULL) {
		html_raw(h, "<span class=\"soft\">unknown</span>");
		return;
	}
	page_name(h, text);
}

void
table_value(struct html *h, double v, struct fmt text)
{
	if (isfinite(v))
		html_text(h, text.s);
	else
		html_raw(h, "<span class=\"soft\">\xe2\x80\x93</span>");
}
