/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which page an address means. Paths and queries are hostile: an address that is not exactly right
 * is ROUTE_NONE.
 */
#ifndef NARROWS_WEB_ROUTE_H
#define NARROWS_WEB_ROUTE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "web/page/lines.h"
#include "web/query/series_query.h"
#include "web/answer/session_filter.h"

enum route_page {
	ROUTE_NONE, /* 404 */
	ROUTE_SESSIONS,
	ROUTE_SESSIONS_JSON,
	ROUTE_SESSION,
	ROUTE_SESSION_JSON,
	ROUTE_SESSION_HTML,
	ROUTE_SESSION_CSV,
	ROUTE_SESSION_NDJSON,
	ROUTE_SESSION_LP,
	ROUTE_SESSION_LOG,
	ROUTE_SESSION_BSON,
	ROUTE_SESSION_LINES,
	ROUTE_SESSION_NOTE, /* takes a form */
	ROUTE_SESSION_RIGHT,
	ROUTE_SESSION_FIGURE,
	ROUTE_ROUTES,
	ROUTE_ROUTES_JSON,
	ROUTE_ROUTE,
	ROUTE_ROUTE_JSON,
	ROUTE_ROUTE_CSV,
	ROUTE_ROUTE_FIGURE,
	ROUTE_COMPARE,
	ROUTE_COMPARE_CSV,
	ROUTE_HOSTS,
	ROUTE_HOST,
	ROUTE_HOST_FIGURE,
	ROUTE_KEEP,
	ROUTE_KEEP_JSON,
	ROUTE_HEALTH,
	ROUTE_HEALTHZ,
	ROUTE_READYZ,
	ROUTE_METRICS,
	ROUTE_API_SERIES,
	ROUTE_API_SESSIONS,
	ROUTE_API_SESSION,
	ROUTE_API_DOCUMENT,
	ROUTE_API_KEEP,
	ROUTE_API_COLLECTORS,
	ROUTE_API_DIETS,
	ROUTE_API_EXPECTED,
	ROUTE_API_ROUTES,
	ROUTE_API_ROUTE,
	ROUTE_API_FIGURES,
	ROUTE_API_FIGURE,
	ROUTE_API_LINES,
	ROUTE_API_NOTES,
	ROUTE_API_ADVICE,
	ROUTE_API_HEALTH,
	ROUTE_API_COMPARE,
	ROUTE_API_ROOT,
	ROUTE_API_HOSTS,
	ROUTE_API_HOST,
	ROUTE_API_SETTINGS,
	ROUTE_API_NONE, /* below /api/ without a page */
	ROUTE_ACCESS,
	ROUTE_STYLE,
	ROUTE_SCRIPT,
	ROUTE_ICON,
};

enum { ROUTE_LAST = 0 }; /* id that means the newest session */

struct route {
	enum route_page page;
	int64_t id;                   /* ROUTE_SESSION*: a session or ROUTE_LAST */
	struct session_filter filter; /* of lists of sessions; host: of ROUTE_API_HOST, too */
	enum query_what what;         /* ROUTE_API_SERIES */
	enum lines_form form;         /* ROUTE_SESSION_LINES */
	char figure[48];              /* of ROUTE_*_FIGURE: its id */
	const char *query;            /* of an export: as given, the caller's */
	bool bad;                     /* 400: the query makes no sense */
};

static inline bool
route_is_session(enum route_page page)
{
	return page >= ROUTE_SESSION && page <= ROUTE_SESSION_FIGURE;
}

static inline bool
route_is_api_session(enum route_page page)
{
	return page == ROUTE_API_SESSION || (page >= ROUTE_API_FIGURES && page <= ROUTE_API_NOTES);
}

/* Pages and paths that take a form besides. */
static inline bool
route_takes_form(enum route_page page)
{
	return page == ROUTE_SESSION_NOTE || page == ROUTE_SESSION_RIGHT || page == ROUTE_API_NOTES;
}

/* ".csv" and so on, of a session's export; NULL of all else. */
const char *route_export_ending(enum route_page page);

/* query: text behind the '?', or NULL. */
struct route route_parse(const char *path, const char *query);

#endif
