/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/fleet_pages.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/fnv.h"
#include "narrows/ownfile.h"
#include "narrows/web.h"
#include "narrows/xmalloc.h"

enum { ROWS_MAX = 500, ROUTES_MAX = 100 };

/* --- the reports --- */

struct part {
	const char *title, *words, *empty;
	enum fleet_report report;
	bool (*keeps)(int64_t after_ns, const char *const *texts);
};
static const struct part parts[] = {
	{ "Sites that went silent", "No push came from these boxes lately.",
	    "All boxes pushed lately.", FLEET_SITES, fleet_is_silent },
	{ "Sites whose clock is unknown",
	    "These boxes did not say at their last push that their clock is synchronised.",
	    "The clocks of all boxes are synchronised.", FLEET_SITES, fleet_is_clockless },
	{ "Worst routes", "Routes by how much slower than usual their middle session was.",
	    "No session can be compared with usual ones.", FLEET_WORST, NULL },
	{ "Verdicts by site and week", "Weeks begin on Monday, UTC.", "No session is in the fleet.",
	    FLEET_VERDICTS, NULL },
	{ "Routes of all sites", "The rate is that of the middle session.",
	    "No session is in the fleet.", FLEET_ROUTES, NULL },
};
enum { PARTS = sizeof(parts) / sizeof(parts[0]), PART_WORST = 2, PART_ROUTES = 4 };
static const struct part route_parts[] = {
	{ "Newest sessions",
	    "A session's number leads to its box, which asks for a login of its "
	    "own.",
	    "No session of this route is in the fleet.", FLEET_NEWEST, NULL },
	{ "Days", "Rates of the sessions that began on the day, UTC.",
	    "No session of this route is in the fleet.", FLEET_HISTORY, NULL },
};
enum { ROUTE_PARTS = sizeof(route_parts) / sizeof(route_parts[0]) };

/* Takes a column out: a time for programs beside the same time in words. */
static void
column_hide(struct fleet_texts *t, const char *name)
{
	int hidden = fleet_texts_column(t, name);
	size_t i, n = 0;

	for (i = 0; hidden >= 0 && i < t->n * t->n_rows; i++)
		if (i % t->n == (size_t)hidden)
			free(t->cells[i]);
		else
			t->cells[n++] = t->cells[i];
	t->n -= hidden >= 0;
}

static int
part_ask(struct fleet *f, const struct part *p, const char *route, int64_t after_ns,
    struct fleet_texts *t, char why[FLEET_WHY_BYTES])
{
	const struct fleet_engine *engine;
	void *e;
	int rc;

	engine = fleet_engine_of(f, &e);
	*t = (struct fleet_texts){ .keeps = p->keeps, .after_ns = after_ns };
	rc = engine->ask(e, engine->report(p->report), route, fleet_texts_add, t, why);
	column_hide(t, "seen_ns");
	return rc;
}

int
fleet_pages_file(struct fleet *f, int64_t after_ns, char **html, char why[FLEET_WHY_BYTES])
{
	struct fleet_texts tables[PARTS] = { 0 };
	struct web_table shown[PARTS];
	size_t i;
	int rc = NW_OK;

	*html = NULL;
	for (i = 0; rc == NW_OK && i < PARTS; i++) {
		rc = part_ask(f, &parts[i], NULL, after_ns, &tables[i], why);
		shown[i] =
		    (struct web_table){ parts[i].title, parts[i].words, parts[i].empty, tables[i].n,
			    tables[i].n_rows, (const char *const *)tables[i].cells, NULL, 0 };
	}
	if (rc == NW_OK && (*html = web_tables_file("Fleet", shown, PARTS)) == NULL)
		rc = NW_ENOMEM;
	for (i = 0; i < PARTS; i++)
		fleet_texts_clear(&tables[i]);
	return rc;
}

/* --- documents for narrowsd: web/fleet_page.c reads them --- */

static int
document_write(const char *directory, const char *name, json_t *o, char why[FLEET_WHY_BYTES])
{
	char *path = xasprintf("%s/%s.json", directory, name), *tmp = xasprintf("%s.new", path);
	FILE *f = ownfile_stream(tmp, 0644);
	bool good = f != NULL && json_dumpf(o, f, JSON_COMPACT) == 0 && fflush(f) == 0;
	int rc = NW_OK;

	if (f != NULL && fclose(f) != 0)
		good = false;
	if (!good || rename(tmp, path) != 0)
		rc = fleet_failed(path, strerror(errno), why);
	json_decref(o);
	free(path);
	free(tmp);
	return rc;
}

/* free() the name. */
static char *
route_name(const char *route)
{
	return xasprintf("route-%016" PRIx64, fnv_text(FNV_BEGIN, route));
}

/* Where a row leads: the document of its route, or the session's page at its box; or null. */
static json_t *
row_link(const struct fleet_texts *t, size_t row, const struct fleet_conf *c, const json_t *routes)
{
	int route = fleet_texts_column(t, "route"), site = fleet_texts_column(t, "site"),
	    session = fleet_texts_column(t, "session");
	const char *const *cells = (const char *const *)(t->cells + row * t->n);
	const char *line = c->boxes, *address;
	json_t *link = json_null();
	size_t n;
	char *text = NULL;

	if (route >= 0 && cells[route] != NULL && json_object_get(routes, cells[route]) != NULL) {
		char *name = route_name(cells[route]);

		text = xasprintf("/fleet/%s", name);
		free(name);
	}
	for (; session >= 0 && site >= 0 && text == NULL && line != NULL && *line != '\0';
	     line += n, line += *line == '\n') {
		n = strcspn(line, "\n");
		address = line + strcspn(line, " \t");
		if (strlen(cells[site]) == (size_t)(address - line) &&
		    strncmp(line, cells[site], (size_t)(address - line)) == 0) {
			address += strspn(address, " \t");
			text = xasprintf(
			    "%.*s/session/%s", (int)(line + n - address), address, cells[session]);
		}
	}
	if (text != NULL)
		link = json_string(text);
	free(text);
	return link;
}

static json_t *
table_json(const struct part *p, const struct fleet_texts *t, const struct fleet_conf *c,
    const json_t *routes)
{
	json_t *rows = json_array(), *links = json_array(), *row;
	size_t r, i, last = t->n_rows < ROWS_MAX + 1 ? t->n_rows : ROWS_MAX + 1;

	for (r = 0; r < last; r++) {
		row = json_array();
		for (i = 0; i < t->n; i++) {
			const char *text = t->cells[r * t->n + i];

			json_array_append_new(row, text != NULL ? json_string(text) : json_null());
		}
		json_array_append_new(rows, row);
		json_array_append_new(links, r == 0 ? json_null() : row_link(t, r, c, routes));
	}
	return json_pack("{s:s, s:s, s:s, s:I, s:o, s:o}", "title", p->title, "words", p->words,
	    "empty", p->empty, "more", (json_int_t)(t->n_rows - last), "rows", rows, "links",
	    links);
}

static int
document_ask(struct fleet *f, const struct fleet_conf *c, const char *title, const struct part *p,
    size_t n, const char *route, const json_t *routes, int64_t after_ns, const char *directory,
    const char *name, char why[FLEET_WHY_BYTES])
{
	json_t *tables = json_array();
	struct fleet_texts t;
	size_t i;
	int rc = NW_OK;

	for (i = 0; rc == NW_OK && i < n; i++) {
		rc = part_ask(f, &p[i], route, after_ns, &t, why);
		json_array_append_new(tables, table_json(&p[i], &t, c, routes));
		fleet_texts_clear(&t);
	}
	if (rc < 0) {
		json_decref(tables);
		return rc;
	}
	return document_write(directory, name,
	    json_pack("{s:s, s:I, s:o}", "title", title, "made_ns", (json_int_t)nw_wall_ns(),
		"tables", tables),
	    why);
}

/* The routes with a document: keys of an object. */
static void
routes_take(const struct fleet_texts *t, json_t *routes)
{
	int route = fleet_texts_column(t, "route");
	size_t r, n;

	for (r = 1, n = 0; route >= 0 && r < t->n_rows && n < ROUTES_MAX; r++) {
		const char *text = t->cells[r * t->n + (size_t)route];

		if (text == NULL || json_object_get(routes, text) != NULL)
			continue;
		json_object_set_new(routes, text, json_true());
		n++;
	}
}

/* Documents of routes that are no longer listed. */
static void
documents_forget(const char *directory, int64_t before_wall_ns)
{
	char *pattern = xasprintf("%s/route-*.json", directory);
	struct stat st;
	glob_t g = { 0 };
	size_t i;

	if (glob(pattern, GLOB_NOSORT, NULL, &g) == 0)
		for (i = 0; i < g.gl_pathc; i++)
			if (lstat(g.gl_pathv[i], &st) == 0 &&
			    st.st_mtim.tv_sec < before_wall_ns / 1000000000)
				(void)unlink(g.gl_pathv[i]);
	globfree(&g);
	free(pattern);
}

int
fleet_pages_publish(struct fleet *f, const struct fleet_conf *c, int64_t after_ns,
    const char *directory, char why[FLEET_WHY_BYTES])
{
	static const enum fleet_report listed[] = { FLEET_WORST, FLEET_ROUTES };
	const int64_t begin_wall_ns = nw_wall_ns();
	json_t *routes = json_object(), *value;
	struct fleet_texts t;
	const char *route;
	char *name;
	size_t i;
	int rc = NW_OK;

	if (mkdir(directory, 0755) != 0 && errno != EEXIST)
		rc = fleet_failed(directory, strerror(errno), why);
	for (i = 0; rc == NW_OK && i < sizeof(listed) / sizeof(listed[0]); i++) {
		rc = part_ask(f, &(struct part){ .report = listed[i] }, NULL, after_ns, &t, why);
		routes_take(&t, routes);
		fleet_texts_clear(&t);
	}
	json_object_foreach(routes, route, value)
	{
		if (rc < 0)
			break;
		name = route_name(route);
		rc = document_ask(f, c, route, route_parts, ROUTE_PARTS, route, routes, after_ns,
		    directory, name, why);
		free(name);
	}
	if (rc == NW_OK)
		rc = document_ask(
		    f, c, "Fleet", parts, PARTS, NULL, routes, after_ns, directory, "index", why);
	if (rc == NW_OK)
		documents_forget(directory, begin_wall_ns);
	json_decref(routes);
	return rc;
}

/* --- what leaves --- */

/* How a column of a table leaves. */
static const char *
way_of(const struct fleet_conf *c, enum fleet_table_id table, size_t column)
{
	bool hashed = c->names == FLEET_HASHED;

	if (table == FLEET_CHUNKS)
		return hashed                          ? "stays"
		    : c->chunks == FLEET_CHUNKS_PINNED ? "of pinned and given sessions"
						       : "of given sessions";
	if (table == FLEET_LEVELS) {
		if (!c->levels || fleet_conf_drops(c, FLEET_route) ||
		    fleet_conf_drops(c, FLEET_program) ||
		    (column == LEVEL_bytes && fleet_conf_drops(c, FLEET_bytes)) ||
		    (column >= LEVEL_p10 && fleet_conf_drops(c, FLEET_bytes_per_s)) ||
		    (column == LEVEL_usual && fleet_conf_drops(c, FLEET_usual)))
			return "stays";
		return hashed && column == LEVEL_route ? "hosts hashed" : "as it is";
	}
	if (column > FLEET_start_ns && fleet_conf_drops(c, (enum fleet_column)column))
		return "stays";
	if (!hashed)
		return "as it is";
	switch (column) {
	case FLEET_route: return "hosts hashed";
	case FLEET_label:
	case FLEET_sentence: return "stays";
	case FLEET_document: return "numbers, times, words of the verdict, hosts hashed";
	case FLEET_program:
	case FLEET_stage:
	case FLEET_confidence:
	case FLEET_software:
	case FLEET_outcome: return "unless it names a host";
	default: return "as it is";
	}
}

void
fleet_leaves(const struct fleet_conf *c, struct fleet_texts *out)
{
	static const char *const names[] = { "table", "column", "leaves", "meaning" };
	size_t t, i;

	(void)fleet_texts_add(out, 4, names);
	for (t = 0; t < FLEET_TABLES; t++)
		for (i = 0; i < fleet_tables[t].n; i++) {
			const char *const row[] = { fleet_tables[t].name,
				fleet_tables[t].column[i].name,
				way_of(c, (enum fleet_table_id)t, i),
				fleet_tables[t].column[i].meaning };

			(void)fleet_texts_add(out, 4, row);
		}
}

int
fleet_leaves_publish(
    const struct fleet_conf *c, const char *said, const char *directory, char why[FLEET_WHY_BYTES])
{
	char *words = xasprintf("Site %s to the fleet %s; %s. %s", c->site, c->fleet,
	    c->routes != NULL ? "sessions of chosen routes alone" : "sessions of all routes", said);
	const struct part p = { .title = "What leaves this site", .words = words, .empty = "" };
	struct fleet_texts t = { 0 };
	int rc = NW_OK;

	fleet_leaves(c, &t);
	if (mkdir(directory, 0755) == 0 || errno == EEXIST)
		rc = document_write(directory, "leaves",
		    json_pack("{s:s, s:I, s:[o]}", "title", p.title, "made_ns",
			(json_int_t)nw_wall_ns(), "tables", table_json(&p, &t, c, NULL)),
		    why);
	fleet_texts_clear(&t);
	free(words);
	return rc;
}
