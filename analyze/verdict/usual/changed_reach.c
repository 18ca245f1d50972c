/* SPDX-License-Identifier: BSD-3-Clause */
/* What other routes over the hosts of a slow route vouch for. */
#include "analyze/verdict/usual/changed.h"

#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/result.h"
#include "narrows/xmalloc.h"

static const char arrow[] = " -> ";

struct vouching {
	struct nw_reach_route *list;
	size_t n;
};

static int
on_vouch(void *arg, const struct nw_vouch_rec *rec)
{
	struct vouching *v = arg;

	v->list = xreallocarray(v->list, v->n + 1, sizeof(*v->list));
	v->list[v->n++] = (struct nw_reach_route){
		.route = xstrdup(rec->route), .fell = rec->fell, .spoke = rec->spoke || rec->fell
	};
	return 0;
}

static const char *
route_of(const struct changed_ask *ask)
{
	return result_text(result_get(ask->own, KEY_result_session), KEY_session_route);
}

int
changed_reach(struct store_reader *r, const struct changed_ask *ask, struct nw_reach *out)
{
	const char *route = route_of(ask), *to = route != NULL ? strstr(route, arrow) : NULL;
	const size_t before = ask->low > 0 ? ask->low - 1 : 0;
	const struct nw_incident_rec of = { .session_id = ask->session[ask->split].id,
		.from_wall_ns = ask->session[before].start_wall_ns,
		.to_wall_ns = ask->session[ask->high].start_wall_ns };
	struct vouching v = { .n = 0 };
	char *from;
	int rc;

	*out = (struct nw_reach){ .place = NW_REACH_UNKNOWN };
	if (to == NULL)
		return NW_OK;
	from = xasprintf("%.*s", (int)(to - route), route);
	rc = store_vouching(r, from, to + strlen(arrow), &of, on_vouch, &v);
	if (rc == NW_OK)
		*out = nw_reach_find(route, v.list, v.n);
	while (v.n > 0)
		free((char *)(uintptr_t)v.list[--v.n].route);
	free(v.list);
	free(from);
	return rc;
}

enum nw_cause_place
changed_place(const struct changed_ask *ask, const char *host)
{
	const char *route = route_of(ask), *to = route != NULL ? strstr(route, arrow) : NULL;
	size_t len;

	if (to == NULL || host == NULL)
		return NW_CAUSE_ANYWHERE;
	len = strlen(host);
	if (strcmp(to + strlen(arrow), host) == 0)
		return NW_CAUSE_TO;
	return (size_t)(to - route) == len && memcmp(route, host, len) == 0 ? NW_CAUSE_FROM
									    : NW_CAUSE_ANYWHERE;
}
