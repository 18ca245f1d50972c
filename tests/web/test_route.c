/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses mean exactly what they should, and all others nothing. */
#include "web/resource.h"

#include <string.h>

#include "tests/check.h"

static const struct {
	const char *path, *row; /* NULL: nothing */
	int64_t id;
} cases[] = {
	{ "", "/", 0 },
	{ "/", "/", 0 },
	{ "/session/12", "/session/{id}", 12 },
	{ "/session/12.json", "/session/{id}.json", 12 },
	{ "/session/12.csv", "/session/{id}.csv", 12 },
	{ "/session/12.ndjson", "/session/{id}.ndjson", 12 },
	{ "/session/12.lp", "/session/{id}.lp", 12 },
	{ "/session/last.bson", "/session/{id}.bson", ROUTE_LAST },
	{ "/session/12.lpx", NULL, 0 },
	{ "/session/last", "/session/{id}", ROUTE_LAST },
	{ "/session/last.csv", "/session/{id}.csv", ROUTE_LAST },
	{ "/session/9223372036854775807", "/session/{id}", INT64_MAX },
	{ "/session/9223372036854775808", NULL, 0 },
	{ "/session/", NULL, 0 },
	{ "/session", NULL, 0 },
	{ "/session/0", NULL, 0 },
	{ "/session/012", NULL, 0 },
	{ "/session/-1", NULL, 0 },
	{ "/session/+1", NULL, 0 },
	{ "/session/1e3", NULL, 0 },
	{ "/session/12.", NULL, 0 },
	{ "/session/12.jsonx", NULL, 0 },
	{ "/session/12/", NULL, 0 },
	{ "/session/12/p-held.csv", "/session/{number}/{figure}.csv", 12 },
	{ "/session/12/p-held", NULL, 0 },
	{ "/session/12/.csv", NULL, 0 },
	{ "/session/12/../x.csv", NULL, 0 },
	{ "/session/12/P.csv", NULL, 0 },
	{ "/session/12/p.csv.csv", NULL, 0 },
	{ "/session/12/ppppppppppppppppppppppppppppppppppppppppppppppppp.csv", NULL, 0 },
	{ "/session/last/p.csv", NULL, 0 },
	{ "/session/lastx", NULL, 0 },
	{ "/session/las", NULL, 0 },
	{ "/session/../health", NULL, 0 },
	{ "//", NULL, 0 },
	{ "/%2e%2e/etc", NULL, 0 },
	{ "/keep", "/keep", 0 },
	{ "/keep.json", "/keep.json", 0 },
	{ "/keep/", NULL, 0 },
	{ "/api/v1/keep", "/api/v1/keep", 0 },
	{ "/health", "/health", 0 },
	{ "/healthz", "/healthz", 0 },
	{ "/healthzz", NULL, 0 },
	{ "/style.css", "/style.css", 0 },
	{ "/icon.svg", "/icon.svg", 0 },
	{ "/narrows.js", "/narrows.js", 0 },
	{ "/session/12/lifelines", "/session/{id}/lifelines", 12 },
	{ "/session/12/lifelines.csv", "/session/{id}/lifelines.csv", 12 },
	{ "/session/last/lifelines.otlp.json", "/session/{id}/lifelines.otlp.json", ROUTE_LAST },
	{ "/session/12/lifelines.x", NULL, 0 },
	{ "/session/12/note", "/session/{number}/note", 12 },
	{ "/session/last/note", NULL, 0 },
	{ "/session/12/right", "/session/{number}/right", 12 },
	{ "/api", "/api", 0 },
	{ "/api/v1/", "/api/v1/", 0 },
	{ "/api/v1/sessions/last/figures/p-held", "/api/v1/sessions/{id}/figures/{figure}",
	    ROUTE_LAST },
	{ "/api/v1/sessions/7/notes", "/api/v1/sessions/{id}/notes", 7 },
	{ "/api/v1/sessions/x", "/api/{path}", 0 },
	{ "/api/v1/hosts/dtn1", "/api/v1/hosts/{host}", 0 },
	{ "/api/v1/hosts/a%2Fb/settings", "/api/v1/hosts/{host}/settings", 0 },
	{ "/api/v1/hosts/%00", "/api/{path}", 0 },
	{ "/api/v1/hosts/", "/api/{path}", 0 },
	{ "/api/v9/", "/api/{path}", 0 },
	{ "/prometheus/api/v1/query", "/prometheus/api/v1/{path}", 0 },
	{ "/prometheus/", NULL, 0 },
	{ "/login", "/login", 0 },
	{ "/{path}", NULL, 0 },
};

int
main(void)
{
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct route r = route_parse(cases[i].path);

		CHECK_STR(r.resource->path, cases[i].row != NULL ? cases[i].row : "/{path}");
		CHECK_INT(r.id, cases[i].id);
	}
	CHECK_STR(route_parse("/session/7/p-held.csv").figure, "p-held");
	CHECK_STR(route_parse("/api/v1/hosts/a%2Fb+c/settings").host, "a/b+c");
	CHECK_STR(route_parse("/prometheus/api/v1/label/x/values").rest, "label/x/values");
	return check_done("test_route");
}
