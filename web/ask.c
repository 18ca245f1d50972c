/* SPDX-License-Identifier: BSD-3-Clause */
/* What handlers share. */
#include "web/ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "narrows/err.h"
#include "web/http/body.h"
#include "web/resource.h"

enum { PARAM_SHOWN = 40 }; /* bytes of an unknown name that a message repeats */

int
ask_document(struct ask *q, int rc, json_t *doc)
{
	return rc == NW_OK ? body_put_document(q->body, doc) : rc;
}

void
ask_refuse_value(struct ask *q, const struct param *p)
{
	if (p == NULL)
		return;
	snprintf(q->why_text, sizeof(q->why_text), "%s: %s", p->name, p->form);
	q->why = q->why_text;
}

int
ask_id(struct ask *q)
{
	return q->to.id == ROUTE_LAST ? store_session_last(q->r, &q->to.id) : NW_OK;
}

char *
ask_field(const char *form, const char *name)
{
	struct evkeyvalq fields;
	const char *value;
	char *copy = NULL;

	if (form == NULL || evhttp_parse_query_str(form, &fields) != 0)
		return NULL;
	if ((value = evhttp_find_header(&fields, name)) != NULL)
		copy = strdup(value);
	evhttp_clear_headers(&fields);
	return copy;
}

/* A parameter without effect would seem to have an effect. The handler reads an address {path}. */
static int
params_check(struct ask *q)
{
	const struct resource *row = q->to.resource;
	const char *at = q->query;
	size_t len;

	if (at == NULL || strstr(row->path, "{path}") != NULL)
		return NW_OK;
	for (; *at != '\0'; at += len + (at[len] == '&')) {
		len = strcspn(at, "&");
		if (len == 0 || resource_knows(row, at, strcspn(at, "=&")))
			continue;
		q->why = q->why_text;
		snprintf(q->why_text, sizeof(q->why_text), "%.*s: there is no such parameter",
		    (int)(strcspn(at, "=&") < PARAM_SHOWN ? strcspn(at, "=&") : PARAM_SHOWN), at);
		return NW_EINVAL;
	}
	return NW_OK;
}

int
ask_run(struct ask *q, ask_fn *handler)
{
	int rc;

	q->h.out = q->body;
	q->type = q->to.resource->type;
	if ((rc = params_check(q)) < 0)
		return rc;
	rc = handler(q);
	return rc == NW_OK && q->h.failed ? NW_ENOMEM : rc;
}

int
ask_code(int rc)
{
	switch (rc) {
	case NW_OK: return 200;
	case NW_EINVAL:
	case NW_ETOOBIG: return 400;
	case NW_ENOTFOUND: return 404;
	case NW_ENOMEM:
	case NW_EFULL: return 503;
	}
	return 500;
}
