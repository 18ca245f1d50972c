/* SPDX-License-Identifier: BSD-3-Clause */
/* The incident of a session as its route's history tells it by now: a session's document knows the
 * sessions before it alone. */
#include <stdlib.h>
#include <string.h>

#include "narrows/result.h"
#include "narrows/store.h"
#include "web/answer/incidents.h"
#include "web/page/page.h"

static int
on_route(void *arg, const struct nw_route_rec *rec)
{
	json_t **doc = arg;

	*doc = rec->json != NULL ? json_loads(rec->json, 0, NULL) : NULL;
	return 1;
}

static bool
is_inside(const json_t *incident, int64_t start_wall_ns)
{
	const int64_t begin = result_ns(incident, KEY_incident_at_ns),
		      end = result_ns(incident, KEY_incident_end_ns);

	return begin > 0 && begin <= start_wall_ns && (end <= 0 || start_wall_ns < end);
}

json_t *
session_incident(struct store_reader *r, const json_t *doc)
{
	const json_t *s = result_get(doc, KEY_result_session), *row, *found = NULL;
	const char *route = result_text(s, KEY_session_route),
		   *program = result_text(s, KEY_session_program);
	const int64_t start = result_ns(s, KEY_session_start_ns);
	json_t *history = NULL, *out = NULL;
	size_t i;

	if (r == NULL || route == NULL || result_get(doc, KEY_result_usual) == NULL)
		return NULL;
	if (store_route_get(r, route, program != NULL ? program : "", on_route, &history) < 0)
		return NULL;
	json_array_foreach(result_list(history, KEY_route_incidents), i, row)
	{
		if (is_inside(row, start) &&
		    (found == NULL || incident_is(row, KEY_incident_kind, "step")))
			found = row;
	}
	out = found != NULL ? json_deep_copy(found) : NULL;
	json_decref(history);
	return out;
}
