/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/http.h>

/* Decimal digits 1 .. INT64_MAX up to `end`. */
static bool
parse_id(const char *text, const char *end, int64_t *id)
{
	char *stop;
	long long v;

	if (*text < '1' || *text > '9')
		return false;
	errno = 0;
	v = strtoll(text, &stop, 10);
	*id = v;
	return errno == 0 && stop == end;
}

static const struct form {
	const char *ending;
	enum route_page page;
	bool export;
} forms[] = {
	{ "", ROUTE_SESSION, false },
	{ ".json", ROUTE_SESSION_JSON, false },
	{ ".html", ROUTE_SESSION_HTML, false },
	{ ".csv", ROUTE_SESSION_CSV, true },
	{ ".ndjson", ROUTE_SESSION_NDJSON, true },
	{ ".lp", ROUTE_SESSION_LP, true },
	{ ".log", ROUTE_SESSION_LOG, true },
	{ ".bson", ROUTE_SESSION_BSON, true },
};

const char *
route_export_ending(enum route_page page)
{
	size_t i;

	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (forms[i].page == page && forms[i].export)
			return forms[i].ending;
	return NULL;
}

/* "12" or "last", up to `end`. */
static bool
parse_session_id(const char *what, const char *end, int64_t *id)
{
	if (end - what != 4 || strncmp(what, "last", 4) != 0)
		return parse_id(what, end, id);
	*id = ROUTE_LAST;
	return true;
}

/* "p-held.csv" for the ending ".csv" */
static bool
parse_figure(const char *what, const char *ending, struct route *r)
{
	size_t len = strspn(what, "abcdefghijklmnopqrstuvwxyz0123456789-");

	if (len == 0 || len >= sizeof(r->figure) || strcmp(what + len, ending) != 0)
		return false;
	memcpy(r->figure, what, len);
	r->figure[len] = '\0';
	return true;
}

/* "lifelines", "lifelines.json", ... */
static bool
parse_lines(const char *what, struct route *r)
{
	static const char word[] = "lifelines";
	int form;

	if (strncmp(what, word, sizeof(word) - 1) != 0)
		return false;
	for (form = LINES_PAGE; form < LINES_FORMS; form++)
		if (strcmp(what + sizeof(word) - 1, lines_endings[form]) == 0) {
			r->form = (enum lines_form)form;
			return true;
		}
	return false;
}

/* "12", "12.json", "12.csv", "12.ndjson", "12.lp", "12.log", "12.bson", "12/p-held.csv",
 * and "last" for 12. */
static struct route
parse_session(const char *what, const char *query)
{
	struct route r = { .page = ROUTE_NONE, .query = query };
	const char *end = what + strcspn(what, "./");
	size_t i;

	if (!parse_session_id(what, end, &r.id))
		return r;
	if (*end == '/' && parse_lines(end + 1, &r))
		r.page = ROUTE_SESSION_LINES;
	else if (*end == '/' && r.id != ROUTE_LAST && parse_figure(end + 1, ".csv", &r))
		r.page = ROUTE_SESSION_FIGURE;
	else if (r.id != ROUTE_LAST && strcmp(end, "/note") == 0)
		r.page = ROUTE_SESSION_NOTE;
	else if (r.id != ROUTE_LAST && strcmp(end, "/right") == 0)
		r.page = ROUTE_SESSION_RIGHT;
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (strcmp(end, forms[i].ending) == 0)
			r.page = forms[i].page;
	return r;
}

/* "dtn1", "dtn1/settings"; the name is encoded, a blank of it, too. */
static void
parse_api_host(const char *what, struct route *r)
{
	const char *end = what + strcspn(what, "/");
	char *raw = strndup(what, (size_t)(end - what)), *name;
	size_t len = 0;

	name = raw != NULL ? evhttp_uridecode(raw, 0, &len) : NULL;
	if (name != NULL && len > 0 && len < sizeof(r->filter.host) && strlen(name) == len) {
		memcpy(r->filter.host, name, len + 1);
		r->page = *end == '\0'              ? ROUTE_API_HOST
		    : strcmp(end, "/settings") == 0 ? ROUTE_API_SETTINGS
						    : ROUTE_API_NONE;
	}
	free(name);
	free(raw);
}

/* "12", "last", "12/figures", "12/figures/p-held", "12/lifelines", "12/notes". */
static struct route
parse_api_session(const char *what, const char *query)
{
	static const char figures[] = "/figures/";
	static const struct {
		const char *path;
		enum route_page page;
	} below[] = {
		{ "", ROUTE_API_SESSION },
		{ "/figures", ROUTE_API_FIGURES },
		{ "/lifelines", ROUTE_API_LINES },
		{ "/notes", ROUTE_API_NOTES },
	};
	struct route r = { .page = ROUTE_API_NONE, .query = query, .form = LINES_JSON };
	const char *end = what + strcspn(what, "/");
	size_t i;

	if (!parse_session_id(what, end, &r.id))
		return r;
	for (i = 0; i < sizeof(below) / sizeof(below[0]); i++)
		if (strcmp(end, below[i].path) == 0)
			r.page = below[i].page;
	if (strncmp(end, figures, sizeof(figures) - 1) == 0 &&
	    parse_figure(end + sizeof(figures) - 1, "", &r))
		r.page = ROUTE_API_FIGURE;
	return r;
}

static struct route
parse_api(const char *what, const char *query)
{
	static const char sessions[] = "sessions/", hosts[] = "hosts/";
	static const struct {
		const char *path;
		enum route_page page;
		enum query_what what;
	} fixed[] = {
		{ "series", ROUTE_API_SERIES, QUERY_SERIES },
		{ "values", ROUTE_API_SERIES, QUERY_VALUES },
		{ "last", ROUTE_API_SERIES, QUERY_LAST },
		{ "statistics", ROUTE_API_SERIES, QUERY_STATISTICS },
		{ "sessions", ROUTE_API_SESSIONS, 0 },
		{ "openapi.json", ROUTE_API_DOCUMENT, 0 },
		{ "keep", ROUTE_API_KEEP, 0 },
		{ "collectors", ROUTE_API_COLLECTORS, 0 },
		{ "diets", ROUTE_API_DIETS, 0 },
		{ "expected", ROUTE_API_EXPECTED, 0 },
		{ "routes", ROUTE_API_ROUTES, 0 },
		{ "route", ROUTE_API_ROUTE, 0 },
		{ "compare", ROUTE_API_COMPARE, 0 },
		{ "hosts", ROUTE_API_HOSTS, 0 },
		{ "", ROUTE_API_ROOT, 0 },
		{ "advice", ROUTE_API_ADVICE, 0 },
		{ "health", ROUTE_API_HEALTH, 0 },
	};
	struct route r = { .page = ROUTE_API_NONE, .query = query };
	size_t i;

	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (strcmp(what, fixed[i].path) == 0) {
			r.page = fixed[i].page;
			r.what = fixed[i].what;
		}
	if (r.page == ROUTE_API_SESSIONS || r.page == ROUTE_API_ROUTE)
		r.bad = session_filter_parse(&r.filter, query) < 0;
	if (strncmp(what, hosts, sizeof(hosts) - 1) == 0)
		parse_api_host(what + sizeof(hosts) - 1, &r);
	if (strncmp(what, sessions, sizeof(sessions) - 1) == 0)
		r = parse_api_session(what + sizeof(sessions) - 1, query);
	return r;
}

struct route
route_parse(const char *path, const char *query)
{
	static const char session[] = "/session/", host[] = "/host/", one_route[] = "/route/",
			  api[] = "/api/v1/", other_api[] = "/api/";
	static const struct {
		const char *path;
		enum route_page page;
	} fixed[] = {
		{ "", ROUTE_SESSIONS },
		{ "/", ROUTE_SESSIONS },
		{ "/sessions.json", ROUTE_SESSIONS_JSON },
		{ "/routes", ROUTE_ROUTES },
		{ "/routes.json", ROUTE_ROUTES_JSON },
		{ "/route", ROUTE_ROUTE },
		{ "/route.json", ROUTE_ROUTE_JSON },
		{ "/route.csv", ROUTE_ROUTE_CSV },
		{ "/compare", ROUTE_COMPARE },
		{ "/compare.csv", ROUTE_COMPARE_CSV },
		{ "/api", ROUTE_API_ROOT },
		{ "/api/", ROUTE_API_ROOT },
		{ "/api/v1", ROUTE_API_ROOT },
		{ "/hosts", ROUTE_HOSTS },
		{ "/host", ROUTE_HOST },
		{ "/keep", ROUTE_KEEP },
		{ "/keep.json", ROUTE_KEEP_JSON },
		{ "/health", ROUTE_HEALTH },
		{ "/healthz", ROUTE_HEALTHZ },
		{ "/readyz", ROUTE_READYZ },
		{ "/metrics", ROUTE_METRICS },
		{ "/access", ROUTE_ACCESS },
		{ "/style.css", ROUTE_STYLE },
		{ "/narrows.js", ROUTE_SCRIPT },
		{ "/icon.svg", ROUTE_ICON },
	};
	struct route r = { .page = ROUTE_NONE };
	size_t i;

	if (strncmp(path, session, sizeof(session) - 1) == 0)
		return parse_session(path + sizeof(session) - 1, query);
	if (strncmp(path, api, sizeof(api) - 1) == 0)
		return parse_api(path + sizeof(api) - 1, query);
	if (strncmp(path, other_api, sizeof(other_api) - 1) == 0)
		r.page = ROUTE_API_NONE;
	if (strncmp(path, host, sizeof(host) - 1) == 0 &&
	    parse_figure(path + sizeof(host) - 1, ".csv", &r))
		r.page = ROUTE_HOST_FIGURE;
	if (strncmp(path, one_route, sizeof(one_route) - 1) == 0 &&
	    parse_figure(path + sizeof(one_route) - 1, ".csv", &r))
		r.page = ROUTE_ROUTE_FIGURE;
	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (strcmp(path, fixed[i].path) == 0)
			r.page = fixed[i].page;
	if (r.page == ROUTE_SESSIONS || r.page == ROUTE_SESSIONS_JSON ||
	    (r.page >= ROUTE_ROUTE && r.page <= ROUTE_ROUTE_FIGURE) || r.page == ROUTE_HOST ||
	    r.page == ROUTE_HOST_FIGURE)
		r.bad = session_filter_parse(&r.filter, query) < 0;
	if (r.page == ROUTE_COMPARE || r.page == ROUTE_COMPARE_CSV || r.page == ROUTE_HOSTS)
		r.query = query;
	return r;
}
