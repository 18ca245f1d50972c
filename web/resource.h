/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The resources of the report: one row of resources.def per address. Parser, dispatch, redirects,
 * access check, answers without a box, OpenAPI and the list in narrowsd(8) read the row.
 *
 * A path may have names in braces. The longest literal text decides between rows that fit, and not
 * their order:
 *
 *	{id}      number of a session, or "last"      {number}  number of a session
 *	{figure}  id of a figure                      {host}    encoded name of a host
 *	{path}    everything that follows
 */
#ifndef NARROWS_WEB_RESOURCE_H
#define NARROWS_WEB_RESOURCE_H

#include <stdbool.h>
#include <string.h>

#include "narrows/account.h"
#include "web/ask.h"
#include "web/http/reply.h"
#include "web/query/param.h"

/* The least role that a method is granted to. Without a grant the method is refused. */
enum grant {
	GRANT_NONE,
	GRANT_ANYBODY,
	GRANT_TRACES,
	GRANT_METRICS,
	GRANT_VIEWER,
	GRANT_OPERATOR,
	GRANT_ADMIN
};
enum method { METHOD_GET, METHOD_POST, METHOD_OTHER }; /* HEAD counts as GET */

/* Ports that serve the resource: every port, ports with a login, ports that enrol hosts, ports of a
 * box that takes traces. */
enum resource_port { PORT_ANY, PORT_LOGIN, PORT_ENROL, PORT_TRACES };

/* The body of a post. All but BODY_ANY must come from a page of the box, or from no page. */
enum resource_body {
	BODY_ANY,      /* every sender's; the handler looks for itself */
	BODY_FORM,     /* a form */
	BODY_DOCUMENT, /* of any type */
	BODY_JSON      /* of that type, by PUT as well */
};

enum { RESOURCE_PARAMS_MAX = 2, RESOURCE_BODY_MAX_BYTES = 256 << 10 };

struct resource {
	const char *path;
	enum grant get, post;
	enum resource_body body;
	size_t body_max; /* most bytes of a body; 0: ASK_BODY_BYTES */
	enum resource_port port;
	bool last_redirects; /* "last" leads to the address with the number */
	bool local;          /* narrows -s has the answer without a box */
	bool is_long;        /* made by the pool: the handler uses neither web nor reply */
	bool at_once;        /* costs next to nothing: made without a turn */
	ask_fn *answer, *take;
	int form;         /* kind of document, if `answer` makes several kinds */
	const char *type; /* of the answer; NULL: HTML */
	enum reply_errors errors;
	const struct param *params[RESOURCE_PARAMS_MAX]; /* lists of the query's parameters */
	const struct param *fields;                      /* fields of the form that POST takes */
	const char *document; /* its schema in the OpenAPI document; NULL: no JSON document */
	/* of the operations in the OpenAPI document; NULL: not there */
	const char *id, *post_id;
	const char *words, *post_words;     /* for OpenAPI and manual */
	const char *example, *post_example; /* arguments of curl, the address without its begin */
};
/* Resources that answer an error with a JSON document. */
#define JSON_ERROR   .type = reply_type_json, .errors = REPLY_JSON
#define JSON_PROBLEM .type = reply_type_json, .errors = REPLY_PROBLEM

extern const struct resource resources[];
extern const size_t resources_count;

/* The handlers of all rows. */
#define RESOURCE(path, answer, take, ...) ask_fn answer, take;
#include "web/resources.def"
#undef RESOURCE

/* 0, 401, 403 or 405. */
int resource_access(const struct resource *r, enum method method, enum account_role role);
/* Whether the resource has a parameter with the name of len bytes. */
static inline bool
resource_knows(const struct resource *r, const char *name, size_t len)
{
	char text[PARAM_NAME_BYTES];
	size_t i;

	if (len >= sizeof(text))
		return false;
	memcpy(text, name, len);
	text[len] = '\0';
	for (i = 0; i < RESOURCE_PARAMS_MAX && r->params[i] != NULL; i++)
		if (param_find(r->params[i], text, (unsigned)r->form) != NULL)
			return true;
	return false;
}
/* "GET, HEAD, POST" */
const char *resource_allow(const struct resource *r);
/* The path behind its last name: ".csv", "/lifelines.json". */
static inline const char *
resource_ending(const struct resource *r)
{
	const char *brace = strrchr(r->path, '}');

	return brace != NULL ? brace + 1 : "";
}

#endif
