/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses mean exactly what they should, and all others nothing. */
#include "web/route.h"

#include "tests/check.h"

#define BAD (-1)

static const struct {
	const char *path, *query;
	enum route_page page;
	int64_t id, before;
} cases[] = {
	{ "", NULL, ROUTE_SESSIONS, 0, 0 },
	{ "/", NULL, ROUTE_SESSIONS, 0, 0 },
	{ "/", "", ROUTE_SESSIONS, 0, 0 },
	{ "/", "before=12", ROUTE_SESSIONS, 0, 12 },
	{ "/", "a=1&before=7&b", ROUTE_SESSIONS, 0, 7 },
	{ "/", "x", ROUTE_SESSIONS, 0, 0 },
	{ "/", "&&", ROUTE_SESSIONS, 0, 0 },
	{ "/", "before=", ROUTE_SESSIONS, 0, BAD },
	{ "/", "before=0", ROUTE_SESSIONS, 0, BAD },
	{ "/", "before=-1", ROUTE_SESSIONS, 0, BAD },
	{ "/", "before=1x", ROUTE_SESSIONS, 0, BAD },
	{ "/", "before= 1", ROUTE_SESSIONS, 0, BAD },
	{ "/", "before=1&before=x", ROUTE_SESSIONS, 0, BAD },
	{ "/", "before=9223372036854775807", ROUTE_SESSIONS, 0, INT64_MAX },
	{ "/", "before=9223372036854775808", ROUTE_SESSIONS, 0, BAD },
	{ "/sessions.json", "before=5", ROUTE_SESSIONS_JSON, 0, 5 },
	{ "/sessions.json", "before=z", ROUTE_SESSIONS_JSON, 0, BAD },
	{ "/session/12", NULL, ROUTE_SESSION, 12, 0 },
	{ "/session/12.json", NULL, ROUTE_SESSION_JSON, 12, 0 },
	{ "/session/12.csv", "before=x", ROUTE_SESSION_CSV, 12, 0 },
	{ "/session/12.ndjson", "x", ROUTE_SESSION_NDJSON, 12, 0 },
	{ "/session/12.lp", NULL, ROUTE_SESSION_LP, 12, 0 },
	{ "/session/last.bson", "shape=g1", ROUTE_SESSION_BSON, ROUTE_LAST, 0 },
	{ "/session/12.lpx", NULL, ROUTE_NONE, 0, 0 },
	{ "/session/last", NULL, ROUTE_SESSION, ROUTE_LAST, 0 },
	{ "/session/last.csv", NULL, ROUTE_SESSION_CSV, ROUTE_LAST, 0 },
	{ "/session/9223372036854775807", NULL, ROUTE_SESSION, INT64_MAX, 0 },
	{ "/session/9223372036854775808", NULL, ROUTE_NONE, 0, 0 },
	{ "/session/", NULL, ROUTE_NONE, 0, 0 },
	{ "/session", NULL, ROUTE_NONE, 0, 0 },
	{ "/session/0", NULL, ROUTE_NONE, 0, 0 },
	{ "/session/012", NULL, ROUTE_NONE, 0, 0 },
	{ "/session/-1", NULL, ROUTE_NONE, 0, 0 },
	{ "/session/+1", NULL, ROUTE_NONE, 0, 0 },
	{ "/session/1e3", NULL, ROUTE_NONE, 0, 0 },
	{ "/session/12.", NULL, ROUTE_NONE, 0, 0 },
	{ "/session/12.jsonx", NULL, ROUTE_NONE, 0, 0 },
	{ "/session/12/", NULL, ROUTE_NONE, 0, 0 },
	{ "/session/12/p-held.csv", NULL, ROUTE_SESSION_FIGURE, 12, 0 },
	{ "/session/12/p-held", NULL, ROUTE_NONE, 0, 0 },
	{ "/session/12/.csv", NULL, ROUTE_NONE, 0, 0 },
	{ "/session/12/../x.csv", NULL, ROUTE_NONE, 0, 0 },
	{ "/session/12/P.csv", NULL, ROUTE_NONE, 0, 0 },
	{ "/session/12/p.csv.csv", NULL, ROUTE_NONE, 0, 0 },
	{ "/session/12/ppppppppppppppppppppppppppppppppppppppppppppppppp.csv", NULL, ROUTE_NONE, 0,
	    0 },
	{ "/session/last/p.csv", NULL, ROUTE_NONE, 0, 0 },
	{ "/session/lastx", NULL, ROUTE_NONE, 0, 0 },
	{ "/session/las", NULL, ROUTE_NONE, 0, 0 },
	{ "/session/../health", NULL, ROUTE_NONE, 0, 0 },
	{ "//", NULL, ROUTE_NONE, 0, 0 },
	{ "/%2e%2e/etc", NULL, ROUTE_NONE, 0, 0 },
	{ "/keep", NULL, ROUTE_KEEP, 0, 0 },
	{ "/keep.json", NULL, ROUTE_KEEP_JSON, 0, 0 },
	{ "/keep/", NULL, ROUTE_NONE, 0, 0 },
	{ "/api/v1/keep", NULL, ROUTE_API_KEEP, 0, 0 },
	{ "/health", NULL, ROUTE_HEALTH, 0, 0 },
	{ "/healthz", "verbose", ROUTE_HEALTHZ, 0, 0 },
	{ "/healthzz", NULL, ROUTE_NONE, 0, 0 },
	{ "/style.css", NULL, ROUTE_STYLE, 0, 0 },
	{ "/icon.svg", NULL, ROUTE_ICON, 0, 0 },
	{ "/narrows.js", NULL, ROUTE_SCRIPT, 0, 0 },
};

int
main(void)
{
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct route r = route_parse(cases[i].path, cases[i].query);

		CHECK_INT(r.page, cases[i].page);
		if (r.page != cases[i].page)
			fprintf(stderr, "  %s?%s\n", cases[i].path,
			    cases[i].query != NULL ? cases[i].query : "");
		CHECK_INT(r.bad, cases[i].before == BAD);
		if (r.page == ROUTE_NONE || r.bad)
			continue;
		CHECK_INT(r.id, cases[i].id);
		CHECK_INT(r.filter.before, cases[i].before);
	}
	return check_done("test_route");
}
