/* SPDX-License-Identifier: BSD-3-Clause */
/* All routes: a matrix of hosts while they are few, and a list. */
#include "web/page/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/format.h"
#include "narrows/result.h"
#include "web/answer/api.h"
#include "web/page/html_table.h"

enum { HOSTS_MAX = 12, CELL_MAX = 4 };

/* --- the matrix --- */

/* Hosts that routes begin at, or lead to; texts on loan. */
struct names {
	char *name[HOSTS_MAX];
	size_t n;
	bool too_many;
};

struct ends {
	char *from, *to;
};

/* "a -> b" as its ends; false for other routes. */
static bool
ends_read(const char *route, struct ends *e)
{
	static const char arrow[] = " -> ";
	const char *at = route != NULL ? strstr(route, arrow) : NULL;

	if (at == NULL)
		return false;
	e->from = strndup(route, (size_t)(at - route));
	e->to = strdup(at + sizeof(arrow) - 1);
	return true;
}

static void
ends_free(struct ends *e)
{
	free(e->from);
	free(e->to);
}

static void
name_add(struct names *list, const char *name)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		if (strcmp(list->name[i], name) == 0)
			return;
	if (list->n == HOSTS_MAX)
		list->too_many = true;
	else if ((list->name[list->n] = strdup(name)) != NULL)
		list->n++;
}

static void
names_free(struct names *list)
{
	while (list->n > 0)
		free(list->name[--list->n]);
}

static void
names_read(const json_t *routes, struct names *from, struct names *to)
{
	const json_t *o;
	struct ends e;
	size_t i;

	json_array_foreach(routes, i, o)
	{
		if (!ends_read(result_text(o, KEY_route_listed_route), &e))
			continue;
		if (e.from != NULL && e.to != NULL) {
			name_add(from, e.from);
			name_add(to, e.to);
		}
		ends_free(&e);
	}
}

static void
write_entry(struct html *h, const json_t *o)
{
	const char *program = result_text(o, KEY_route_listed_program),
		   *stage = result_text(o, KEY_route_listed_stage);

	html_raw(h, "<a");
	page_route_href(h, "/route", result_text(o, KEY_route_listed_route), program);
	html_raw(h, ">");
	page_name(h, program != NULL ? program : "unknown program");
	html_raw(h, "</a> ");
	html_text(h, fmt_bytes_per_s(result_number(o, KEY_route_listed_bytes_per_s)).s);
	html_raw(h, "<span class=\"soft under\">");
	html_text(h, stage != NULL ? result_stage_words(stage) : "no stage in most verdicts");
	html_raw(h, "</span>");
}

static void
write_cell(struct html *h, const json_t *routes, const char *from, const char *to)
{
	const json_t *o;
	struct ends e;
	size_t i, n = 0;

	html_raw(h, "<td role=\"cell\">");
	json_array_foreach(routes, i, o)
	{
		if (n == CELL_MAX || !ends_read(result_text(o, KEY_route_listed_route), &e))
			continue;
		if (e.from != NULL && e.to != NULL && strcmp(e.from, from) == 0 &&
		    strcmp(e.to, to) == 0 && ++n < CELL_MAX)
			write_entry(h, o);
		ends_free(&e);
	}
	if (n == 0)
		html_raw(h, "<span class=\"soft\" aria-label=\"no route\">\xe2\x80\x93</span>");
	else if (n == CELL_MAX)
		html_raw(h, "<span class=\"soft\">and more</span>");
	html_raw(h, "</td>");
}

static void
write_matrix(struct html *h, const json_t *routes)
{
	struct names from = { .n = 0 }, to = { .n = 0 };
	size_t i, k;

	names_read(routes, &from, &to);
	if (!from.too_many && !to.too_many && from.n + to.n > 2) {
		html_raw(h,
		    "<section><h2>From host to host</h2><div class=\"scroll tall\" tabindex=\"0\" "
		    "role=\"region\" aria-label=\"Matrix of hosts\"><table role=\"table\"><thead "
		    "role=\"rowgroup\"><tr role=\"row\"><th role=\"columnheader\" "
		    "scope=\"col\">From"
		    "</th>");
		for (k = 0; k < to.n; k++) {
			html_raw(h, "<th role=\"columnheader\" scope=\"col\">to ");
			page_name(h, to.name[k]);
			html_raw(h, "</th>");
		}
		html_raw(h, "</tr></thead><tbody role=\"rowgroup\">");
		for (i = 0; i < from.n; i++) {
			html_raw(h, "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">");
			page_name(h, from.name[i]);
			html_raw(h, "</th>");
			for (k = 0; k < to.n; k++)
				write_cell(h, routes, from.name[i], to.name[k]);
			html_raw(h, "</tr>");
		}
		html_raw(h, "</tbody></table></div></section>");
	}
	names_free(&from);
	names_free(&to);
}

/* --- the list --- */

static void
column_route(struct html *h, const json_t *row)
{
	const char *sentence = result_text(row, KEY_route_listed_sentence);

	html_raw(h, "<a");
	page_route_href(h, "/route", result_text(row, KEY_route_listed_route),
	    result_text(row, KEY_route_listed_program));
	html_raw(h, ">");
	page_route(h, result_text(row, KEY_route_listed_route));
	html_raw(h, "</a>");
	if (sentence == NULL)
		return;
	html_raw(h, "<span class=\"under\">");
	html_text(h, sentence);
	html_raw(h, "</span>");
}

static void
column_stage(struct html *h, const json_t *row)
{
	const char *stage = result_text(row, KEY_route_listed_stage);

	html_text(h, stage != NULL ? result_stage_words(stage) : "no stage in most verdicts");
}

TABLE_TEXT(column_program, KEY_route_listed_program)
TABLE_NUMBER(column_n, KEY_route_listed_n_sessions, fmt_ratio)
TABLE_NUMBER(column_rate, KEY_route_listed_bytes_per_s, fmt_bytes_per_s)

static void
write_list(struct html *h, const json_t *routes)
{
	static const struct table_column columns[] = {
		{ "Route", column_route, false },
		{ "Program", column_program, false },
		{ "Sessions", column_n, true },
		{ "Usual rate", column_rate, true },
		{ "Most verdicts", column_stage, false },
	};

	html_raw(h, "<section><h2>All routes</h2>");
	table_write(h, routes, columns, sizeof(columns) / sizeof(columns[0]));
	html_raw(h, "</section>");
}

int
page_routes(struct html *h, struct store_reader *r)
{
	json_t *doc;
	const json_t *routes;
	int rc = api_routes_document(r, &doc);

	if (rc < 0)
		return rc;
	routes = result_list(doc, KEY_routes_routes);
	page_begin(h, &(struct page_frame){ .title = "Routes", .tab = PAGE_ROUTES });
	html_raw(h,
	    "<h1 class=\"page\">Routes</h1><p>A route is a program that moves data between the "
	    "same hosts. Its usual rate is the median of its sessions.</p>");
	if (json_array_size(routes) == 0)
		html_raw(
		    h, "<p>There is no route yet: the first session with data makes a route.</p>");
	else {
		write_matrix(h, routes);
		write_list(h, routes);
	}
	html_raw(h,
	    "<p class=\"note\">The same as JSON: <a href=\"/routes.json\">/routes.json</a>"
	    "</p>");
	page_end(h);
	json_decref(doc);
	return NW_OK;
}
