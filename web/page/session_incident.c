/* SPDX-License-Identifier: BSD-3-Clause */
/* The incident of a session, as the box knows it by now: a session's document knows the sessions
 * before it alone. */
#include <stdio.h>

#include "narrows/result.h"
#include "narrows/store.h"
#include "web/answer/incidents.h"
#include "web/page/page.h"

json_t *
session_incident(struct store_reader *r, const json_t *doc)
{
	const json_t *s = result_get(doc, KEY_result_session);
	const char *route = result_text(s, KEY_session_route),
		   *program = result_text(s, KEY_session_program);
	const int64_t start = result_ns(s, KEY_session_start_ns);
	struct incidents_query q = {
		.since_wall_ns = start, .before_wall_ns = start + 1, .limit = INCIDENTS_MAX
	};
	json_t *list, *out;

	if (r == NULL || route == NULL || start <= 0 || result_get(doc, KEY_result_usual) == NULL)
		return NULL;
	if ((size_t)snprintf(q.route, sizeof(q.route), "%s", route) >= sizeof(q.route) ||
	    (size_t)snprintf(q.program, sizeof(q.program), "%s", program != NULL ? program : "") >=
		sizeof(q.program) ||
	    incidents_document(r, &q, &list) < 0)
		return NULL;
	out = json_deep_copy(incidents_of_session(list, start));
	json_decref(list);
	return out;
}
