/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request from its first check to its answer: whether it is meant for the box, the requested
 * resource, the caller, and the answer. Requests are hostile. Of a request only the path, the
 * query, forms of the paths that take them, and the headers of compression, tags, logins and origin
 * are used. Host decides whether the request is meant for the box, and no link is made of Host.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>

#include "narrows/err.h"
#include "web/http/conns.h"
#include "web/http/host_check.h"
#include "web/later.h"
#include "web/page/page.h"
#include "web/resource.h"
#include "web/web_in.h"

/* "last" leads to the session that is the newest now; a page without its query. */
static int
answer_last(struct ask *q)
{
	const char *ending = resource_ending(q->to.resource),
		   *query = *ending != '\0' && q->query != NULL ? q->query : "";
	int rc = ask_id(q);

	snprintf(q->location, sizeof(q->location), "/session/%" PRId64 "%s%s%s", q->to.id, ending,
	    *query != '\0' ? "?" : "", query);
	return rc;
}

/* --- login --- */

/* A page of another site may make a browser send forms, but not without its name. */
static bool
is_foreign(const struct reply *a)
{
	const char *origin = reply_request_header(a, "Origin"),
		   *host = reply_request_header(a, "Host"),
		   *site = reply_request_header(a, "Sec-Fetch-Site"),
		   *scheme = request_is_secure(a) ? "https://" : "http://";

	if (site != NULL)
		return strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
	if (origin == NULL)
		return false;
	return host == NULL || strncasecmp(origin, scheme, strlen(scheme)) != 0 ||
	    strcasecmp(origin + strlen(scheme), host) != 0;
}

/* Whether the body has the type; a program may leave the type of a form out. A page of another site
 * cannot make a browser send JSON without a question to the box before (CORS). */
static bool
is_typed(const struct reply *a, const struct resource *row)
{
	const char *wanted =
	    row->body == BODY_JSON ? "application/json" : "application/x-www-form-urlencoded";
	const char *type = reply_request_header(a, "Content-Type");

	return type == NULL ? row->body != BODY_JSON
			    : strncasecmp(type, wanted, strlen(wanted)) == 0;
}

/* Whether a person reads the answer and needs a form instead of an error. */
static bool
is_browser(const struct reply *a)
{
	const char *accept = reply_request_header(a, "Accept");

	return accept != NULL && strstr(accept, "text/html") != NULL;
}

static void
refuse_nobody(struct reply *a, const struct evhttp_uri *uri, const char *path)
{
	const char *query = evhttp_uri_get_query(uri);
	char next[1024], location[3200], *packed;

	if (!is_browser(a) || a->who.by_token) {
		a->errors = REPLY_PROBLEM;
		reply_header(a, "WWW-Authenticate", "Bearer realm=\"narrows\"");
		reply_error(a, 401);
		return;
	}
	snprintf(next, sizeof(next), "%s%s%s", path, query != NULL ? "?" : "",
	    query != NULL ? query : "");
	packed = evhttp_uriencode(login_next_ok(next) ? next : "/", -1, 0);
	snprintf(location, sizeof(location), "/login?next=%s", packed != NULL ? packed : "%2F");
	free(packed);
	reply_header(a, "Location", location);
	reply_send(a, 303);
}

/* Programs get every error as a problem document. */
static void
refuse(struct reply *a, const struct resource *row, int code)
{
	if (code == 405)
		reply_header(a, "Allow", resource_allow(row));
	else if (!is_browser(a))
		a->errors = REPLY_PROBLEM;
	reply_error(a, code);
}

static enum method
method_of(const struct reply *a, const struct resource *row)
{
	switch (evhttp_request_get_command(a->req)) {
	case EVHTTP_REQ_GET:
	case EVHTTP_REQ_HEAD: return METHOD_GET;
	case EVHTTP_REQ_POST: return METHOD_POST;
	case EVHTTP_REQ_PUT: return row->body == BODY_JSON ? METHOD_POST : METHOD_OTHER;
	default: return METHOD_OTHER;
	}
}

/* A form that changes something comes from a page of the box or from a program. */
static bool
form_passes(struct reply *a, const struct resource *row)
{
	if (row->body == BODY_ANY)
		return true;
	if (is_foreign(a)) {
		a->why = "The form comes from a page of another site.";
		reply_error(a, 403);
		return false;
	}
	if (row->body == BODY_DOCUMENT || is_typed(a, row))
		return true;
	reply_error(a, 415);
	return false;
}

/* The most bytes that a body for the resource may have. */
static size_t
body_max(const struct resource *row)
{
	return row->body_max > 0 ? row->body_max : ASK_BODY_BYTES;
}

/* Has the handler of a request that is granted make the answer. */
static void
answer_granted(struct reply *a, const struct evhttp_uri *uri, struct route to, enum method method)
{
	struct evbuffer *in = evhttp_request_get_input_buffer(a->req);
	const struct resource *row = to.resource;
	struct ask q = { .to = to,
		.query = evhttp_uri_get_query(uri),
		.r = a->w->reader,
		.web = a->w,
		.reply = a,
		.resources = resources,
		.n_resources = resources_count,
		.cost_max = a->w->opts.query_cost_max,
		.body = a->body };
	char *form = NULL;
	ssize_t n;

	ask_fn *handler = method == METHOD_POST          ? row->take
	    : row->last_redirects && to.id == ROUTE_LAST ? answer_last
							 : row->answer;
	int rc;

	a->errors = row->errors;
	q.h.may_change = a->who.role >= ACCOUNT_OPERATOR;
	q.h.with_accounts = a->with_accounts;
	if (method == METHOD_POST) {
		if (!form_passes(a, row))
			return;
		if ((form = malloc(evbuffer_get_length(in) + 1)) == NULL) {
			reply_rc(a, NW_ENOMEM);
			return;
		}
		n = evbuffer_copyout(in, form, evbuffer_get_length(in));
		form[n > 0 ? n : 0] = '\0';
		q.form = form;
	}
	if (row->at_once || row->body == BODY_FORM || handler == answer_last)
		answer_send(a, &q, ask_run(&q, handler));
	else if ((rc = later_ask(a, &q, handler)) < 0)
		reply_rc(a, rc);
	free(form);
}

static bool
port_has(const struct port *p, const struct resource *row)
{
	switch (row->port) {
	case PORT_ANY: return true;
	case PORT_LOGIN: return p->wants_login;
	case PORT_TRACES: return p->web->opts.traces != NULL;
	case PORT_ENROL: return p == &p->web->ports[PORT_HTTPS] && p->web->opts.enroll != NULL;
	}
	return false;
}

/* The owner of the time that the answer takes. */
static void
owner_find(struct reply *a)
{
	if (a->who.name[0] != '\0')
		snprintf(a->owner, sizeof(a->owner), "%s %s", a->who.by_token ? "token" : "user",
		    a->who.name);
	else
		conns_place(a->port->conns, a->req, a->owner, sizeof(a->owner));
}

static void
route_answer(struct reply *a, const struct evhttp_uri *uri, struct route to)
{
	enum method method = method_of(a, to.resource);
	int code;

	a->who = (struct login_who){ .role = ACCOUNT_ADMIN };
	if (a->port->wants_login)
		a->who = login_who(a->w->login, a->req, request_is_secure(a));
	owner_find(a);
	code = resource_access(to.resource, method, a->who.role);
	if (code == 0)
		answer_granted(a, uri, to, method);
	else if (code == 401)
		refuse_nobody(a, uri, evhttp_uri_get_path(uri));
	else
		refuse(a, to.resource, code);
}

/* --- whether the request is meant for the box --- */

/*
 * The Host check of a request: of the header, and of the path if the path is a whole URL (RFC 9112,
 * section 3.2). Returns 0 or the status of the refusal.
 */
static int
misdirection(const struct reply *a, const struct evhttp_uri *uri)
{
	const char *names = a->w->opts.names != NULL ? a->w->opts.names : "";
	const char *in_uri = uri != NULL ? evhttp_uri_get_host(uri) : NULL, *host = NULL;
	const struct evkeyval *header;
	int code;

	TAILQ_FOREACH(header, evhttp_request_get_input_headers(a->req), next)
	{
		if (strcasecmp(header->key, "Host") != 0)
			continue;
		if (host != NULL)
			return 400;
		host = header->value;
	}
	if (host == NULL)
		return a->req->major > 1 || a->req->minor > 0 ? 400 : 0;
	code = host_check(host, names, a->port->on_loopback);
	return code == 0 && in_uri != NULL ? host_check(in_uri, names, a->port->on_loopback) : code;
}

void
request_answer(struct port *port, struct evhttp_request *req)
{
	struct reply a = { .w = port->web,
		.port = port,
		.req = req,
		.keep = port == &port->web->ports[PORT_HTTPS] ? port->conns : NULL,
		.body = evbuffer_new(),
		.error_page = page_error,
		.with_accounts = port->wants_login };
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
	struct route to = { .resource = route_nothing() };
	int code;

	if (uri != NULL && evhttp_uri_get_path(uri) != NULL)
		to = route_parse(evhttp_uri_get_path(uri));
	if (!port_has(port, to.resource))
		to.resource = route_nothing();
	a.errors = to.resource->errors == REPLY_PROBLEM ? REPLY_PROBLEM : REPLY_PAGE;
	if (a.body == NULL)
		evhttp_send_error(req, 503, NULL);
	else if ((code = misdirection(&a, uri)) != 0) {
		*(code == 421 ? &a.w->n_misdirected : &a.w->n_malformed) += 1;
		reply_error(&a, code);
	} else if (evbuffer_get_length(evhttp_request_get_input_buffer(req)) >
	    body_max(to.resource))
		reply_error(&a, 413);
	else if (uri == NULL)
		reply_error(&a, 400);
	else
		route_answer(&a, uri, to);
	if (a.body != NULL)
		evbuffer_free(a.body);
}
