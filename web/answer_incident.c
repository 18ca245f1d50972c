/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages of incidents, and the form that accepts an incident. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "web/answer/incidents.h"
#include "web/page/page.h"
#include "web/resource.h"
#include "web/web_in.h"

int
answer_incidents(struct ask *q)
{
	struct incidents_query list;

	if (incidents_query_parse(&list, q->query))
		return page_incidents(&q->h, q->r, &list);
	ask_refuse_value(q, list.bad);
	return NW_EINVAL;
}

int
answer_incident(struct ask *q)
{
	return page_incident(&q->h, q->r, q->to.id);
}

static int
acceptance_take(struct ask *q, int64_t session_id)
{
	char *why = ask_field(q->form, "why");
	int rc = incident_accept(
	    q->r, q->web->opts.store_path, session_id, q->reply->who.name, why, &q->why);

	free(why);
	if (rc == NW_OK)
		web_changed(q, "incident.accept");
	return rc;
}

int
take_incident(struct ask *q)
{
	int rc = acceptance_take(q, q->to.id);

	snprintf(q->location, sizeof(q->location), "/incident/%" PRId64, q->to.id);
	return rc;
}

/* A program gets the list. */
int
take_api_acceptance(struct ask *q)
{
	char *text = ask_field(q->form, "session"), *end;
	int64_t session_id;
	int rc = NW_EINVAL;

	errno = 0;
	session_id = text != NULL ? strtoll(text, &end, 10) : 0;
	q->why = "session: the number of the incident's first session";
	if (session_id > 0 && errno == 0 && *end == '\0')
		rc = acceptance_take(q, session_id);
	free(text);
	return rc == NW_OK ? q->to.resource->answer(q) : rc;
}
