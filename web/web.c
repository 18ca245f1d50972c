/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The web thread: listeners, routes, answers. The thread owns an event base, a store reader and its
 * connections. Other threads reach the thread through one eventfd, which means stop.
 *
 * Requests are hostile. Methods, sizes, times and the number of connections are limited. Of a
 * request only the path, the query, forms of the paths that take them, and the headers of
 * compression, tags, logins and origin are used. Host decides whether the request is meant for the
 * box, and no link is made of Host.
 */
#include "narrows/web.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <netdb.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/listener.h>
#include <event2/keyvalq_struct.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "web/answer/api.h"
#include "web/http/body.h"
#include "web/answer/expected.h"
#include "web/answer/feedback.h"
#include "web/answer/health.h"
#include "web/answer/hosts.h"
#include "web/http/host_check.h"
#include "web/http/login.h"
#include "web/answer/notes.h"
#include "web/answer/metrics.h"
#include "web/openapi.h"
#include "web/http/conns.h"
#include "web/export/download.h"
#include "narrows/export.h"
#include "web/page/lines.h"
#include "web/page/page.h"
#include "web/query/prom.h"
#include "web/http/reply.h"
#include "web/route.h"
#include "web/query/series_answer.h"
#include "web/draw/script.h"
#include "web/answer/session_list.h"
#include "web/export/shape.h"
#include "web/draw/style.h"

enum {
	HEADERS_MAX_BYTES = 8192,
	BODY_MAX_BYTES = 8192,
	BODY_READ_MAX_BYTES = 65536, /* a longer body ends the connection at once */
	ENROLMENT_BYTES = 10240,     /* two certificates and a name */
	IO_TIMEOUT_S = 20,           /* without any progress */
	WHOLE_MAX_BYTES = 1 << 20    /* of an answer that is not streamed */
};
#define NS_PER_S     INT64_C(1000000000)
#define WHOLE_MAX_NS (NS_PER_S / 20) /* time to make it in */
#define STOP_MAX_NS  (2 * NS_PER_S)
static const struct conns_limits default_limits = {
	.max = 128,
	.per_address_max = 32,
	.ask_max_ns = 10 * NS_PER_S,
	.answer_max_ns = 60 * NS_PER_S,
	.sweep_ns = NS_PER_S,
};

/* One listening address: plain, or with connections from opts.wrap. */
struct port {
	struct web *web;
	struct evhttp *http;
	struct evhttp_bound_socket *bound;
	struct conns *conns;
	char address[128];
	bool on_loopback, wants_login;
};

enum { PORT_HTTP, PORT_HTTPS, PORTS };

struct web {
	struct event_base *base;
	struct port ports[PORTS];
	struct store_reader *reader;
	struct lines_cache *lines; /* NULL: memory was short */
	struct session_index *index;
	struct expected_list expected;
	struct login *login; /* NULL: no port wants one */
	struct event *on_stop, *on_drained;
	struct event *on_follow; /* the index reads the sessions before the first question */
	int stop_fd;
	int64_t stop_mono_ns;
	uint64_t n_requests, n_misdirected, n_malformed;
	char own_headers[REPLY_LINES_BYTES];
	pthread_t thread;
	struct web_opts opts;
};

/* --- pages --- */

static bool
read_health(const struct web *w, struct nw_health *health)
{
	const struct conns_stats *stats;
	const struct port *p;

	*health = (struct nw_health){ 0 };
	if (w->opts.health == NULL)
		return false;
	w->opts.health(w->opts.health_arg, health);
	snprintf(health->listen_http, sizeof(health->listen_http), "%.63s", web_address(w));
	snprintf(health->listen_https, sizeof(health->listen_https), "%.63s", web_address_https(w));
	health->counts.http_requests = w->n_requests;
	health->counts.http_misdirected = w->n_misdirected;
	health->counts.http_malformed = w->n_malformed;
	for (p = w->ports; p < w->ports + PORTS; p++) {
		if (p->conns == NULL)
			continue;
		stats = conns_get_stats(p->conns);
		health->counts.http_connections += conns_count(p->conns);
		health->counts.http_refused += stats->refused;
		health->counts.http_timeouts += stats->timeouts;
		health->counts.http_malformed += stats->malformed;
	}
	health_judge(health);
	return true;
}

/* What is expected now; NULL where that cannot be read. */
static const struct expected_list *
read_expected(struct web *w, const struct nw_health *health)
{
	int rc = expected_read(&w->expected, w->reader, w->opts.expect,
	    health != NULL ? health->started_wall_ns : 0, nw_wall_ns(), nw_mono_ns());

	return rc == NW_OK ? &w->expected : NULL;
}

static void
answer_expected(struct reply *a)
{
	struct nw_health health;
	const struct nw_health *known = read_health(a->w, &health) ? &health : NULL;
	const struct expected_list *l = read_expected(a->w, known);

	reply_rc(
	    a, l != NULL ? body_put_document(a->body, expected_document(l, nw_wall_ns())) : NW_EIO);
}

/* What the states of collectors are judged by. */
static struct hosts_now
hosts_now(const struct web *w)
{
	struct nw_health health;
	bool known = read_health(w, &health);

	return (struct hosts_now){ known ? health.started_wall_ns : 0, nw_wall_ns(), w->index };
}

static void
answer_hosts(struct reply *a, const struct route *to)
{
	struct hosts_now now = hosts_now(a->w);
	struct html h = { .out = a->body };
	struct hosts_query q;

	if (hosts_query_parse(&q, to->query))
		reply_html(a, &h, page_hosts(&h, a->w->reader, &now, &q));
	else
		reply_error(a, 400);
}

static void
answer_host(struct reply *a, const struct route *to)
{
	struct hosts_now now = hosts_now(a->w);
	struct html h = { .out = a->body };

	if (to->filter.host[0] != '\0')
		reply_html(a, &h, page_host(&h, a->w->reader, &now, to->filter.host));
	else {
		reply_header(a, "Location", "/hosts");
		reply_send(a, 303);
	}
}

/* Hosts for programs. */
static void
answer_api_hosts(struct reply *a, const struct route *to)
{
	struct hosts_now now = hosts_now(a->w);
	struct store_reader *r = a->w->reader;
	struct hosts_query q;
	json_t *doc;
	int rc;

	if (!hosts_query_parse(&q, to->query)) {
		a->why = "offset: a number of hosts; limit: 1 to 1000; before: nanoseconds since "
			 "1970";
		reply_error(a, 400);
		return;
	}
	rc = to->page == ROUTE_API_HOSTS ? hosts_document(r, &now, &q, &doc)
	    : to->page == ROUTE_API_HOST
	    ? host_document(r, &now, to->filter.host, &doc)
	    : host_settings_document(r, to->filter.host, q.before_wall_ns, &doc);
	if (rc == NW_ENOTFOUND)
		a->why = "The box has no host of this name; /api/v1/hosts lists all.";
	reply_rc(a, rc == NW_OK ? body_put_document(a->body, doc) : rc);
}

static void
answer_health(struct reply *a)
{
	struct html h = { .out = a->body };
	struct nw_health health;
	const struct nw_health *known = read_health(a->w, &health) ? &health : NULL;

	page_health(&h, a->w->reader, known, read_expected(a->w, known));
	reply_html(a, &h, NW_OK);
}

static void
answer_healthz(struct reply *a)
{
	struct nw_health health;
	bool known = read_health(a->w, &health);
	int rc = api_health(a->body, known ? &health : NULL);

	if (rc < 0)
		reply_rc(a, rc);
	else
		reply_send(a, known && health.ok ? 200 : 503);
}

static void
answer_sessions(struct reply *a, const struct route *to)
{
	struct html h = { .out = a->body };
	struct nw_health health;
	const struct nw_health *known = read_health(a->w, &health) ? &health : NULL;

	reply_html(a, &h,
	    page_sessions(
		&h, a->w->reader, a->w->index, &to->filter, known, read_expected(a->w, known)));
}

static void
answer_readyz(struct reply *a)
{
	struct nw_health health;
	int64_t last;
	bool can_read = store_meta_last(a->w->reader, &last) == NW_OK,
	     known = read_health(a->w, &health);
	int rc = known ? api_ready(a->body, &health, can_read) : NW_EIO;

	if (rc < 0)
		reply_rc(a, rc);
	else
		reply_send(a, can_read && health_is_ready(&health) ? 200 : 503);
}

static void
answer_metrics(struct reply *a)
{
	bool open = metrics_is_open(reply_request_header(a, "Accept"));
	struct nw_health health;
	int rc = read_health(a->w, &health) ? metrics_write(a->body, &health, open) : NW_EIO;

	a->type = metrics_content_type(open);
	if (rc < 0)
		reply_rc(a, rc);
	else
		reply_send(a, 200);
}

static void
answer_constant(struct reply *a, const char *type, const char *text)
{
	a->type = type;
	if (evbuffer_add_reference(a->body, text, strlen(text), NULL, NULL) != 0)
		reply_error(a, 503);
	else
		reply_send_tagged(a);
}

/* Streams the answer, which is no longer the caller's. */
static void
answer_stream(struct reply *a, struct stream *s)
{
	int rc = NW_EFULL;

	if (evhttp_request_get_command(a->req) == EVHTTP_REQ_HEAD) {
		stream_free(s);
		reply_begin_stream(a);
		evhttp_send_reply(a->req, 200, reply_reason(200), NULL);
		return;
	}
	if (conns_streams(a->port->conns, a->req))
		rc = download_start(a->w->base, a->req, s, a->body, reply_begin_stream(a));
	if (rc < 0) {
		stream_free(s);
		evhttp_clear_headers(evhttp_request_get_output_headers(a->req));
		a->type = NULL;
		conns_asked(a->port->conns, a->req);
		reply_rc(a, rc);
	}
}

static void
answer_export(struct reply *a, const struct route *to)
{
	struct export_opts opts;
	struct export *x;
	struct stream stream;
	char name[96];
	const char *why;
	int rc;

	if (export_opts_parse(&opts, route_export_ending(to->page), to->query, &why) < 0) {
		reply_error(a, 400);
		return;
	}
	if ((rc = export_new(a->w->reader, to->id, &opts, &x)) < 0) {
		reply_rc(a, rc);
		return;
	}
	snprintf(name, sizeof(name), "attachment; filename=\"narrows-session-%" PRId64 "%s\"",
	    to->id, export_ending(&opts));
	a->type = export_content_type(&opts);
	reply_header(a, "Content-Disposition", name);
	stream = export_stream(x);
	answer_stream(a, &stream);
}

static int
add_to_body(void *arg, const char *bytes, size_t len)
{
	return evbuffer_add(arg, bytes, len) == 0 ? NW_OK : NW_ENOMEM;
}

/* A small answer goes out whole, with its tag; the slices of a large one wait for their reader. */
static void
answer_slices(struct reply *a, struct stream *s)
{
	int64_t begin = nw_mono_ns();
	bool done = false;
	int rc = NW_OK;

	while (rc == NW_OK && !done && evbuffer_get_length(a->body) < WHOLE_MAX_BYTES &&
	    nw_mono_ns() - begin < WHOLE_MAX_NS)
		rc = s->next(s->state, add_to_body, a->body, &done);
	if (rc == NW_OK && !done) {
		answer_stream(a, s);
		return;
	}
	stream_free(s);
	reply_rc(a, rc);
}

static void
answer_series(struct reply *a, const struct route *to)
{
	char why[QUERY_WHY_BYTES];
	struct query q;
	struct stream s;
	int rc;

	if (query_parse(&q, to->what, to->query, why) < 0) {
		a->why = why;
		reply_error(a, 400);
		return;
	}
	if ((rc = series_stream(a->w->reader, &q, &s)) < 0) {
		reply_rc(a, rc);
		return;
	}
	a->type = series_content_type(&q);
	answer_slices(a, &s);
}

/* The comparison as CSV or JSON. */
static void
answer_compared(struct reply *a, const struct route *to)
{
	struct compare_query q;
	json_t *doc;
	int64_t missing;
	int rc;

	compare_parse(&q, to->query); /* fewer than two are a short list, and no error */
	if (q.why != NULL) {
		a->why = q.why;
		reply_error(a, 400);
		return;
	}
	rc = compare_document(a->w->reader, &q, &doc, &missing);
	if (rc == NW_OK && to->page == ROUTE_COMPARE_CSV) {
		a->type = "text/csv; charset=utf-8";
		rc = api_compare_csv(a->body, doc);
		json_decref(doc);
	} else if (rc == NW_OK)
		rc = body_put_document(a->body, doc);
	reply_rc(a, rc);
}

static bool
is_enrolment(const struct reply *a, const struct evhttp_uri *uri)
{
	return a->port == &a->w->ports[PORT_HTTPS] && a->w->opts.enroll != NULL && uri != NULL &&
	    evhttp_request_get_command(a->req) == EVHTTP_REQ_POST &&
	    strcmp(evhttp_uri_get_path(uri), "/enroll") == 0;
}

/*
 * A host with a token gets its certificate. No page can send the request, because no page has a
 * token.
 */
static void
answer_enrolment(struct reply *a)
{
	struct evbuffer *in = evhttp_request_get_input_buffer(a->req);
	char body[BODY_MAX_BYTES + 1], out[ENROLMENT_BYTES] = "", *peer = NULL;
	ssize_t n = evbuffer_copyout(in, body, BODY_MAX_BYTES);
	uint16_t port;
	int code;

	body[n > 0 ? n : 0] = '\0';
	evhttp_connection_get_peer(evhttp_request_get_connection(a->req), &peer, &port);
	code = a->w->opts.enroll(
	    a->w->opts.enroll_arg, peer != NULL ? peer : "?", body, out, sizeof(out));
	a->type = "text/plain; charset=utf-8";
	if (evbuffer_add(a->body, out, strlen(out)) != 0)
		reply_error(a, 503);
	else
		reply_send(a, code);
}

/* Paths of Prometheus take forms, too. NULL for all other requests. */
static const char *
prometheus_path(const struct reply *a, const struct evhttp_uri *uri)
{
	static const char begin[] = "/prometheus/api/v1/";
	enum evhttp_cmd_type command = evhttp_request_get_command(a->req);
	const char *path = uri != NULL ? evhttp_uri_get_path(uri) : "";

	if (command != EVHTTP_REQ_GET && command != EVHTTP_REQ_HEAD && command != EVHTTP_REQ_POST)
		return NULL;
	return strncmp(path, begin, sizeof(begin) - 1) == 0 ? path + sizeof(begin) - 1 : NULL;
}

static void
answer_prometheus(struct reply *a, const char *path, const struct evhttp_uri *uri)
{
	struct evbuffer *in = evhttp_request_get_input_buffer(a->req);
	char form[BODY_MAX_BYTES + 1], why[PROMQL_WHY_BYTES] = "";
	ssize_t n = evbuffer_copyout(in, form, BODY_MAX_BYTES);
	struct stream s;
	int rc;

	form[n > 0 ? n : 0] = '\0';
	a->errors = REPLY_PROMETHEUS;
	a->type = reply_type_json;
	a->why = why;
	rc = prom_stream(
	    a->w->reader, path, n > 0 ? form : evhttp_uri_get_query(uri), nw_wall_ns(), &s, why);
	if (rc == NW_OK)
		answer_slices(a, &s);
	else
		reply_error(a, rc == NW_EINVAL ? 400 : rc == NW_ENOTFOUND ? 404 : 500);
}

/* The report as a file to keep and to send on. */
static void
answer_file(struct reply *a, const struct route *to)
{
	struct evbuffer *doc = evbuffer_new();
	struct html h = { .out = a->body };
	char name[96];
	int rc = doc != NULL ? api_session(doc, a->w->reader, to->id) : NW_ENOMEM;

	if (rc == NW_OK && evbuffer_add(doc, "", 1) != 0)
		rc = NW_ENOMEM;
	if (rc == NW_OK)
		rc = page_session_file(&h, (const char *)evbuffer_pullup(doc, -1));
	if (doc != NULL)
		evbuffer_free(doc);
	snprintf(name, sizeof(name), "attachment; filename=\"narrows-session-%" PRId64 ".html\"",
	    to->id);
	if (rc == NW_OK)
		reply_header(a, "Content-Disposition", name);
	reply_html(a, &h, rc);
}

/* The numbers of a figure of the page. */
static void
answer_figure(struct reply *a, const struct route *to)
{
	struct session_query q;
	char *text = NULL;
	size_t len = 0;
	int rc = !session_query_parse(&q, to->query) ? NW_EINVAL
	    : to->page == ROUTE_ROUTE_FIGURE ? page_route_figure(a->w->reader, to->filter.route,
						   to->filter.program, to->figure, &text, &len)
	    : to->page == ROUTE_HOST_FIGURE
	    ? page_host_figure(a->w->reader, to->filter.host, to->figure, &text, &len)
	    : page_session_figure(a->w->reader, to->id, &q, to->figure, &text, &len);

	if (rc == NW_OK && evbuffer_add(a->body, text, len) != 0)
		rc = NW_ENOMEM;
	free(text);
	if (rc == NW_OK)
		a->type = "text/csv; charset=utf-8";
	if (rc == NW_EINVAL)
		reply_error(a, 400);
	else
		reply_rc(a, rc);
}

static void
answer_session(struct reply *a, const struct route *to)
{
	struct html h = { .out = a->body, .may_change = a->who.role >= ACCOUNT_OPERATOR };
	struct session_query q;

	if (session_query_parse(&q, to->query))
		reply_html(a, &h, page_session(&h, a->w->reader, to->id, &q));
	else
		reply_error(a, 400);
}

static void
answer_access(struct reply *a)
{
	struct html h = { .out = a->body };

	if (!a->port->wants_login)
		reply_error(a, 404);
	else if (a->who.role < ACCOUNT_ADMIN)
		reply_error(a, 403);
	else {
		page_access(&h, a->w->opts.access, a->who.name);
		reply_html(a, &h, NW_OK);
	}
}

static void
answer_lines(struct reply *a, const struct route *to)
{
	struct html h = { .out = a->body };
	const char *why = NULL;
	int rc = lines_answer(&h, a->w->reader, a->w->lines, to->id, to->form, to->query, &why);

	if (rc == NW_OK)
		a->type = lines_content_type(to->form);
	a->why = why;
	if (rc == NW_EINVAL)
		reply_error(a, 400);
	else
		reply_html(a, &h, rc);
}

static void
answer_collectors(struct reply *a)
{
	struct hosts_now now = hosts_now(a->w);

	reply_rc(a, api_collectors(a->body, a->w->reader, &now));
}

/* The state of the box is another one each time: it has no tag. */
static void
answer_api_health(struct reply *a)
{
	struct nw_health health;
	bool known = read_health(a->w, &health);
	int rc = api_health(a->body, known ? &health : NULL);

	if (rc < 0)
		reply_rc(a, rc);
	else
		reply_send(a, 200);
}

/* The parts of a session beside its document. */
static void
answer_api_part(struct reply *a, const struct route *to, int rc, int64_t id)
{
	struct route part = *to;
	json_t *doc;

	part.id = id;
	a->why = rc == NW_ENOTFOUND ? "There is no session."
	    : to->page == ROUTE_API_FIGURE
	    ? "There is no such session, or no such figure: sessions/{id}/figures has them all."
	    : NULL;
	if (rc < 0)
		reply_rc(a, rc);
	else if (to->page == ROUTE_API_FIGURE)
		answer_figure(a, &part);
	else if (to->page == ROUTE_API_LINES)
		answer_lines(a, &part);
	else
		reply_rc(a,
		    (rc = notes_document(a->w->reader, id, &doc)) == NW_OK
			? body_put_document(a->body, doc)
			: rc);
}

static void
answer_api(struct reply *a, const struct route *to)
{
	struct store_reader *r = a->w->reader;
	int64_t id = to->id;
	json_t *doc;
	int rc = NW_OK;

	a->errors = REPLY_PROBLEM;
	a->type = reply_type_json;
	if (to->bad) {
		a->why = "before: a session's number; times: ISO 8601 or a span; texts: at most 95 "
			 "bytes";
		reply_error(a, 400);
		return;
	}
	if (route_is_api_session(to->page) && id == ROUTE_LAST)
		rc = store_session_last(r, &id);
	switch (to->page) {
	case ROUTE_API_SERIES: answer_series(a, to); break;
	case ROUTE_API_SESSIONS:
		reply_rc(a, api_sessions(a->body, r, a->w->index, &to->filter));
		break;
	case ROUTE_API_SESSION: reply_rc(a, rc == NW_OK ? api_session(a->body, r, id) : rc); break;
	case ROUTE_API_DOCUMENT: reply_rc(a, openapi_write(a->body)); break;
	case ROUTE_API_KEEP: reply_rc(a, api_keep(a->body, r)); break;
	case ROUTE_API_COLLECTORS: answer_collectors(a); break;
	case ROUTE_API_DIETS: reply_rc(a, api_diets(a->body, r)); break;
	case ROUTE_API_EXPECTED: answer_expected(a); break;
	case ROUTE_API_FIGURES:
		if (rc == NW_OK)
			rc = page_session_figures(r, id, &doc);
		reply_rc(a, rc == NW_OK ? body_put_document(a->body, doc) : rc);
		break;
	case ROUTE_API_FIGURE:
	case ROUTE_API_LINES:
	case ROUTE_API_NOTES: answer_api_part(a, to, rc, id); break;
	case ROUTE_API_ADVICE: reply_rc(a, api_advice(a->body, r)); break;
	case ROUTE_API_HEALTH: answer_api_health(a); break;
	case ROUTE_API_ROOT:
		reply_header(a, "Location", "/api/v1/openapi.json");
		reply_send(a, 303);
		break;
	case ROUTE_API_HOSTS:
	case ROUTE_API_HOST:
	case ROUTE_API_SETTINGS: answer_api_hosts(a, to); break;
	case ROUTE_API_COMPARE: answer_compared(a, to); break;
	case ROUTE_API_ROUTES: reply_rc(a, api_routes(a->body, r)); break;
	case ROUTE_API_ROUTE:
		reply_rc(a, api_route_or_none(a->body, r, to->filter.route, to->filter.program));
		break;
	default: reply_error(a, 404);
	}
}

static void
answer_last(struct reply *a, const struct route *to)
{
	char lines[32];
	const char *ending = to->page == ROUTE_SESSION_JSON ? ".json"
	    : to->page == ROUTE_SESSION_HTML                ? ".html"
	    : to->page == ROUTE_SESSION_LINES               ? lines
							    : route_export_ending(to->page);
	const char *query = ending != NULL && to->query != NULL ? to->query : "";
	char location[1024];
	int64_t id;
	int rc = store_session_last(a->w->reader, &id);

	snprintf(lines, sizeof(lines), "/lifelines%s", lines_endings[to->form]);
	if (rc < 0) {
		reply_rc(a, rc);
		return;
	}
	if (snprintf(location, sizeof(location), "/session/%" PRId64 "%s%s%s", id,
		ending != NULL ? ending : "", *query != '\0' ? "?" : "",
		query) >= (int)sizeof(location)) {
		reply_error(a, 400);
		return;
	}
	reply_header(a, "Location", location);
	reply_send(a, 303);
}

static void
answer_compare(struct reply *a, const struct route *to)
{
	struct html h = { .out = a->body };
	int status, rc = page_compare(&h, a->w->reader, a->w->index, to->query, &status);

	if (rc < 0 || h.failed)
		reply_rc(a, rc < 0 ? rc : NW_ENOMEM);
	else if (status != 200)
		reply_send(a, status);
	else
		reply_rc(a, NW_OK);
}

static void
answer_page(struct reply *a, const struct route *to)
{
	struct store_reader *r = a->w->reader;
	struct html h = { .out = a->body };

	if (to->page == ROUTE_SESSIONS_JSON || to->page == ROUTE_SESSION_JSON ||
	    to->page == ROUTE_ROUTES_JSON || to->page == ROUTE_ROUTE_JSON ||
	    to->page == ROUTE_KEEP_JSON || to->page == ROUTE_HEALTHZ || to->page == ROUTE_READYZ) {
		a->type = reply_type_json;
		a->errors = REPLY_JSON;
	}
	if (route_is_session(to->page) && to->id == ROUTE_LAST) {
		answer_last(a, to);
		return;
	}
	if (to->bad && to->page != ROUTE_API_SESSIONS) {
		reply_error(a, 400);
		return;
	}
	switch (to->page) {
	case ROUTE_NONE: reply_error(a, 404); break;
	case ROUTE_SESSIONS: answer_sessions(a, to); break;
	case ROUTE_SESSIONS_JSON:
		reply_rc(a, api_sessions(a->body, r, a->w->index, &to->filter));
		break;
	case ROUTE_SESSION: answer_session(a, to); break;
	case ROUTE_SESSION_JSON: reply_rc(a, api_session(a->body, r, to->id)); break;
	case ROUTE_SESSION_HTML: answer_file(a, to); break;
	case ROUTE_SESSION_CSV:
	case ROUTE_SESSION_NDJSON:
	case ROUTE_SESSION_LP:
	case ROUTE_SESSION_LOG:
	case ROUTE_SESSION_BSON: answer_export(a, to); break;
	case ROUTE_SESSION_LINES: answer_lines(a, to); break;
	case ROUTE_SESSION_NOTE:
	case ROUTE_SESSION_RIGHT: reply_error(a, 405); break;
	case ROUTE_ROUTE_FIGURE:
	case ROUTE_HOST_FIGURE:
	case ROUTE_SESSION_FIGURE: answer_figure(a, to); break;
	case ROUTE_ROUTES: reply_html(a, &h, page_routes(&h, r)); break;
	case ROUTE_ROUTES_JSON: reply_rc(a, api_routes(a->body, r)); break;
	case ROUTE_ROUTE:
		reply_html(a, &h, page_route_history(&h, r, to->filter.route, to->filter.program));
		break;
	case ROUTE_ROUTE_JSON:
		reply_rc(a, api_route(a->body, r, to->filter.route, to->filter.program));
		break;
	case ROUTE_ROUTE_CSV:
		a->type = "text/csv; charset=utf-8";
		reply_rc(a, api_route_csv(a->body, r, to->filter.route, to->filter.program));
		break;
	case ROUTE_COMPARE: answer_compare(a, to); break;
	case ROUTE_COMPARE_CSV: answer_compared(a, to); break;
	case ROUTE_HOSTS: answer_hosts(a, to); break;
	case ROUTE_HOST: answer_host(a, to); break;
	case ROUTE_KEEP: reply_html(a, &h, page_keep(&h, r)); break;
	case ROUTE_KEEP_JSON: reply_rc(a, api_keep(a->body, r)); break;
	case ROUTE_HEALTH: answer_health(a); break;
	case ROUTE_HEALTHZ: answer_healthz(a); break;
	case ROUTE_READYZ: answer_readyz(a); break;
	case ROUTE_METRICS: answer_metrics(a); break;
	case ROUTE_API_SERIES:
	case ROUTE_API_SESSIONS:
	case ROUTE_API_SESSION:
	case ROUTE_API_DOCUMENT:
	case ROUTE_API_KEEP:
	case ROUTE_API_COLLECTORS:
	case ROUTE_API_DIETS:
	case ROUTE_API_EXPECTED:
	case ROUTE_API_ROUTES:
	case ROUTE_API_ROUTE:
	case ROUTE_API_FIGURES:
	case ROUTE_API_FIGURE:
	case ROUTE_API_LINES:
	case ROUTE_API_NOTES:
	case ROUTE_API_ADVICE:
	case ROUTE_API_HEALTH:
	case ROUTE_API_ROOT:
	case ROUTE_API_HOSTS:
	case ROUTE_API_HOST:
	case ROUTE_API_SETTINGS:
	case ROUTE_API_COMPARE:
	case ROUTE_API_NONE: answer_api(a, to); break;
	case ROUTE_ACCESS: answer_access(a); break;
	case ROUTE_STYLE: answer_constant(a, "text/css; charset=utf-8", style_css); break;
	case ROUTE_SCRIPT: answer_constant(a, "text/javascript; charset=utf-8", script_js); break;
	case ROUTE_ICON: answer_constant(a, "image/svg+xml", style_icon_svg); break;
	}
}

/* --- who asks --- */

/* The value of a field of a form or of a query; free() the result. NULL: there is no such field. */
static char *
field_get(const char *form, const char *name)
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

static bool
is_secure(const struct reply *a)
{
	return a->port == &a->w->ports[PORT_HTTPS];
}

/* The page of the login: empty, or what became of an attempt. */
static void
login_show(struct reply *a, const char *next, int tried, unsigned wait_s)
{
	struct html h = { .out = a->body };
	char seconds[16];

	page_login(&h, login_next_ok(next) ? next : "/", tried, wait_s,
	    a->who.role != ACCOUNT_NOBODY ? a->who.name : NULL);
	if (tried == 429) {
		snprintf(seconds, sizeof(seconds), "%u", wait_s);
		reply_header(a, "Retry-After", seconds);
	}
	if (h.failed)
		reply_error(a, 503);
	else
		reply_send(a, tried != 0 ? tried : 200);
}

static void
login_leave(struct reply *a, const char *cookie, const char *to)
{
	reply_header(a, "Set-Cookie", cookie);
	reply_header(a, "Location", to);
	reply_send(a, 303);
}

static void
answer_login(struct reply *a)
{
	struct evbuffer *in = evhttp_request_get_input_buffer(a->req);
	char form[BODY_MAX_BYTES + 1], cookie[LOGIN_COOKIE_BYTES];
	ssize_t n = evbuffer_copyout(in, form, BODY_MAX_BYTES);
	char *user, *password, *next;
	unsigned wait_s = 0;
	int code = 401;

	form[n > 0 ? n : 0] = '\0';
	user = field_get(form, "user");
	password = field_get(form, "password");
	next = field_get(form, "next");
	if (user != NULL && password != NULL)
		code =
		    login_try(a->w->login, a->req, user, password, is_secure(a), cookie, &wait_s);
	if (code == 303)
		login_leave(a, cookie, login_next_ok(next) ? next : "/");
	else if (code == 503)
		reply_error(a, code);
	else
		login_show(a, next, code, wait_s);
	free(user);
	free(password);
	free(next);
}

static void
answer_logout(struct reply *a)
{
	char cookie[LOGIN_COOKIE_BYTES];

	login_end(a->w->login, a->req, is_secure(a), cookie);
	login_leave(a, cookie, "/login");
}

/* A page of another site may make a browser send forms, but not without its name. */
static bool
is_foreign(const struct reply *a)
{
	const char *origin = reply_request_header(a, "Origin"),
		   *host = reply_request_header(a, "Host"),
		   *site = reply_request_header(a, "Sec-Fetch-Site"), *at;

	if (site != NULL)
		return strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
	if (origin == NULL)
		return false;
	at = strstr(origin, "://");
	return at == NULL || host == NULL || strcasecmp(at + 3, host) != 0;
}

/* Whether a person looks at the answer, who is led to a form instead of told of an error. */
static bool
is_browser(const struct reply *a)
{
	const char *accept = reply_request_header(a, "Accept");

	return accept != NULL && strstr(accept, "text/html") != NULL;
}

static bool
is_for_metrics(const char *path)
{
	return strcmp(path, "/metrics") == 0 || strcmp(path, "/healthz") == 0 ||
	    strcmp(path, "/readyz") == 0;
}

/* What the role does not suffice for: 401, 403, or 0. */
static int
refusal(const struct reply *a, const char *path)
{
	enum evhttp_cmd_type command = evhttp_request_get_command(a->req);
	bool reads = command == EVHTTP_REQ_GET || command == EVHTTP_REQ_HEAD ||
	    strncmp(path, "/prometheus/", 12) == 0;

	if (a->who.role == ACCOUNT_NOBODY)
		return 401;
	if (a->who.role == ACCOUNT_METRICS && !is_for_metrics(path))
		return 403;
	return reads || a->who.role >= ACCOUNT_OPERATOR ? 0 : 403;
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

/* The pages of the login itself. */
static bool
answer_login_pages(struct reply *a, const struct evhttp_uri *uri, const char *path)
{
	bool posts = evhttp_request_get_command(a->req) == EVHTTP_REQ_POST;
	char *next;

	if (strcmp(path, "/login") == 0 && !posts) {
		next = field_get(evhttp_uri_get_query(uri), "next");
		login_show(a, next, 0, 0);
		free(next);
	} else if (posts && is_foreign(a))
		reply_error(a, 403);
	else if (strcmp(path, "/login") == 0)
		answer_login(a);
	else if (strcmp(path, "/logout") == 0 && posts)
		answer_logout(a);
	else
		return false;
	return true;
}

/* On a port that wants a login: whether the request has had its answer. */
static bool
answer_stranger(struct reply *a, const struct evhttp_uri *uri)
{
	const char *path = uri != NULL ? evhttp_uri_get_path(uri) : NULL;
	int code;

	a->who = (struct login_who){ .role = ACCOUNT_ADMIN };
	if (!a->port->wants_login || path == NULL)
		return false;
	a->who = login_who(a->w->login, a->req);
	if (strcmp(path, "/style.css") == 0 || strcmp(path, "/icon.svg") == 0 ||
	    strcmp(path, "/narrows.js") == 0)
		return false;
	if (answer_login_pages(a, uri, path))
		return true;
	if ((code = refusal(a, path)) == 401)
		refuse_nobody(a, uri, path);
	else if (code != 0) {
		if (!is_browser(a))
			a->errors = REPLY_PROBLEM;
		reply_error(a, code);
	}
	return code != 0;
}

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

static void
note_changed(const struct reply *a, const char *event)
{
	const struct web_access *access = a->w->opts.access;
	char *peer = NULL;
	uint16_t port;

	evhttp_connection_get_peer(evhttp_request_get_connection(a->req), &peer, &port);
	if (access != NULL && access->changed != NULL)
		access->changed(access->arg, peer != NULL ? peer : "?", a->who.name, event);
}

/* Keeps a note of the form; then the page shows the note, and a program gets all notes. */
static void
answer_note(struct reply *a, const struct route *to)
{
	struct evbuffer *in = evhttp_request_get_input_buffer(a->req);
	char form[BODY_MAX_BYTES + 1], location[64];
	ssize_t n = evbuffer_copyout(in, form, BODY_MAX_BYTES);
	char *text, *at;
	int64_t id = to->id;
	int rc = id == ROUTE_LAST ? store_session_last(a->w->reader, &id) : NW_OK;

	form[n > 0 ? n : 0] = '\0';
	text = field_get(form, "text");
	at = field_get(form, "at");
	if (rc == NW_OK)
		rc = note_keep(a->w->reader, a->w->opts.store_path, id, at, text, &a->why);
	free(text);
	free(at);
	if (rc == NW_OK)
		note_changed(a, "note.add");
	if (rc == NW_EINVAL)
		reply_error(a, 400);
	else if (rc < 0)
		reply_rc(a, rc);
	else if (to->page == ROUTE_API_NOTES)
		answer_page(a, to);
	else {
		snprintf(location, sizeof(location), "/session/%" PRId64 "#notes", id);
		reply_header(a, "Location", location);
		reply_send(a, 303);
	}
}

/* "Was this right?" */
static void
answer_feedback(struct reply *a, int64_t session_id)
{
	struct evbuffer *in = evhttp_request_get_input_buffer(a->req);
	char form[BODY_MAX_BYTES + 1], why[STORE_WHY_BYTES], to[64], *right, *words;
	ssize_t n = evbuffer_copyout(in, form, BODY_MAX_BYTES);
	int rc;

	form[n > 0 ? n : 0] = '\0';
	right = field_get(form, "right");
	words = field_get(form, "text");
	rc = feedback_add(a->w->opts.store_path, session_id, right, words, why);
	free(right);
	free(words);
	if (rc != NW_OK) {
		reply_error(a, rc == NW_EINVAL ? 400 : rc == NW_ENOTFOUND ? 404 : 503);
		return;
	}
	note_changed(a, "verdict.right");
	snprintf(to, sizeof(to), "/session/%" PRId64 "#right", session_id);
	reply_header(a, "Location", to);
	reply_send(a, 303);
}

static bool
is_form(const struct reply *a)
{
	static const char form[] = "application/x-www-form-urlencoded";
	const char *type = reply_request_header(a, "Content-Type");

	return type == NULL || strncasecmp(type, form, sizeof(form) - 1) == 0;
}

/* A form that changes something; roles were looked at before. */
static void
answer_form(struct reply *a, const struct route *to)
{
	if (is_foreign(a)) {
		a->why = "The form comes from a page of another site.";
		reply_error(a, 403);
	} else if (!is_form(a))
		reply_error(a, 415);
	else if (to->page == ROUTE_SESSION_RIGHT)
		answer_feedback(a, to->id);
	else
		answer_note(a, to);
}

/* Answers somebody who may ask. */
static void
answer_known(struct reply *a, const struct evhttp_uri *uri)
{
	enum evhttp_cmd_type command = evhttp_request_get_command(a->req);
	const char *path;
	struct route to;

	if ((path = prometheus_path(a, uri)) != NULL) {
		answer_prometheus(a, path, uri);
		return;
	}
	if (uri == NULL) {
		reply_error(a, 400);
		return;
	}
	to = route_parse(evhttp_uri_get_path(uri), evhttp_uri_get_query(uri));
	if (command == EVHTTP_REQ_POST && route_takes_form(to.page))
		answer_form(a, &to);
	else if (command != EVHTTP_REQ_GET && command != EVHTTP_REQ_HEAD) {
		reply_header(
		    a, "Allow", route_takes_form(to.page) ? "GET, HEAD, POST" : "GET, HEAD");
		reply_error(a, 405);
	} else
		answer_page(a, &to);
}

/* Programs get each of their errors as a problem, whoever finds the error. */
static enum reply_errors
errors_of(const struct evhttp_uri *uri)
{
	static const char api[] = "/api/";
	const char *path = uri != NULL ? evhttp_uri_get_path(uri) : NULL;

	return path != NULL && strncmp(path, api, sizeof(api) - 1) == 0 ? REPLY_PROBLEM
									: REPLY_PAGE;
}

static void
on_request(struct evhttp_request *req, void *arg)
{
	struct port *port = arg;
	struct reply a = { .w = port->web,
		.port = port,
		.req = req,
		.body = evbuffer_new(),
		.error_page = page_error };
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
	int code;

	page_with_accounts = port->wants_login;
	conns_asked(port->conns, req);
	a.w->n_requests++;
	a.errors = errors_of(uri);
	if (a.body == NULL)
		evhttp_send_error(req, 503, NULL);
	else if ((code = misdirection(&a, uri)) != 0) {
		*(code == 421 ? &a.w->n_misdirected : &a.w->n_malformed) += 1;
		reply_error(&a, code);
	} else if (evbuffer_get_length(evhttp_request_get_input_buffer(req)) > BODY_MAX_BYTES)
		reply_error(&a, 413);
	else if (is_enrolment(&a, uri))
		answer_enrolment(&a);
	else if (!answer_stranger(&a, uri))
		answer_known(&a, uri);
	if (a.body != NULL)
		evbuffer_free(a.body);
}

/* --- the thread --- */

static void
on_drained(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval soon = { .tv_usec = 20000 };
	struct web *w = arg;
	size_t i, n = 0;

	(void)fd, (void)what;
	for (i = 0; i < PORTS; i++)
		n += w->ports[i].conns != NULL ? conns_count(w->ports[i].conns) : 0;
	if (n == 0 || nw_mono_ns() - w->stop_mono_ns > STOP_MAX_NS)
		event_base_loopbreak(w->base);
	else
		event_add(w->on_drained, &soon);
}

/* Stops listening. Requests that have begun get their answer, within STOP_MAX_NS. */
static void
on_stop(evutil_socket_t fd, short what, void *arg)
{
	struct web *w = arg;
	struct port *p;

	for (p = w->ports; p < w->ports + PORTS; p++) {
		if (p->bound == NULL)
			continue;
		evhttp_del_accept_socket(p->http, p->bound);
		p->bound = NULL;
		conns_stop(p->conns);
	}
	w->stop_mono_ns = nw_mono_ns();
	on_drained(fd, what, w);
}

static void *
web_main(void *arg)
{
	struct web *w = arg;
	sigset_t all;

	/* signals belong to the main thread; a client that leaves is an error of its connection */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	(void)pthread_setname_np(pthread_self(), "web");
	event_base_dispatch(w->base);
	return NULL;
}

/* --- start and stop --- */

/* "127.0.0.1/8080", "::1/8080" */
static bool
parse_listen(const char *listen, char *host, size_t size, uint16_t *port)
{
	const char *slash = strrchr(listen, '/');
	char *end;
	long v;

	if (slash == NULL || slash == listen || (size_t)(slash - listen) >= size ||
	    slash[1] < '0' || slash[1] > '9')
		return false;
	memcpy(host, listen, (size_t)(slash - listen));
	host[slash - listen] = '\0';
	v = strtol(slash + 1, &end, 10);
	if (*end != '\0' || v > 65535)
		return false;
	*port = (uint16_t)v;
	return true;
}

static bool
is_loopback(const struct sockaddr_storage *ss)
{
	return ss->ss_family == AF_INET6
	    ? IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)ss)->sin6_addr)
	    : ntohl(((const struct sockaddr_in *)ss)->sin_addr.s_addr) >> 24 == 127;
}

static void
name_address(struct port *p, const char *listen)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof(ss);
	char host[96], port[8];

	if (getsockname(evhttp_bound_socket_get_fd(p->bound), (struct sockaddr *)&ss, &len) == 0 &&
	    getnameinfo((struct sockaddr *)&ss, len, host, sizeof(host), port, sizeof(port),
		NI_NUMERICHOST | NI_NUMERICSERV) == 0)
		snprintf(p->address, sizeof(p->address), "%s/%s", host, port);
	else
		snprintf(p->address, sizeof(p->address), "%s", listen);
	p->on_loopback = is_loopback(&ss);
}

static struct conns_limits
limits_of(const struct web_opts *o)
{
	struct conns_limits l = default_limits;

	if (o->connections_max > 0)
		l.max = o->connections_max;
	if (o->connections_per_address_max > 0)
		l.per_address_max = o->connections_per_address_max;
	if (o->request_max_ns > 0)
		l.ask_max_ns = o->request_max_ns;
	if (o->answer_max_ns > 0)
		l.answer_max_ns = o->answer_max_ns;
	return l;
}

/* Binds as evhttp_bind_socket does, but looks the address up without AI_ADDRCONFIG, with which a
 * machine without a global address cannot listen on 127.0.0.1. */
static struct evhttp_bound_socket *
port_bind(
    struct event_base *base, struct evhttp *http, const char *host, uint16_t port, const char **why)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM };
	struct evhttp_bound_socket *bound = NULL;
	struct evconnlistener *l;
	struct addrinfo *ai = NULL;
	char service[8];
	int rc;

	snprintf(service, sizeof(service), "%u", port);
	if ((rc = getaddrinfo(host, service, &hints, &ai)) != 0) {
		*why = gai_strerror(rc);
		return NULL;
	}
	errno = ENOMEM;
	l = evconnlistener_new_bind(base, NULL, NULL,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE, 128, ai->ai_addr,
	    (int)ai->ai_addrlen);
	freeaddrinfo(ai);
	*why = strerror(errno);
	if (l != NULL && (bound = evhttp_bind_listener(http, l)) == NULL)
		evconnlistener_free(l);
	return bound;
}

/* evhttp must not end a connection before its own limit does, which counts. */
static int
io_timeout_s(const struct conns_limits *l)
{
	int64_t ask_s = l->ask_max_ns / NS_PER_S + 5;

	return ask_s > IO_TIMEOUT_S ? (int)(ask_s < INT_MAX ? ask_s : INT_MAX) : IO_TIMEOUT_S;
}

static int
open_port(struct web *w, struct port *p, const char *directive, const char *listen,
    char why[STORE_WHY_BYTES])
{
	const struct conns_limits limits = limits_of(&w->opts);
	const char *reason;
	char host[96];
	uint16_t port;

	if (!parse_listen(listen, host, sizeof(host), &port)) {
		snprintf(why, STORE_WHY_BYTES, "%s: \"%s\" is not ADDRESS/PORT", directive, listen);
		return NW_EINVAL;
	}
	p->web = w;
	if ((p->http = evhttp_new(w->base)) == NULL) {
		snprintf(why, STORE_WHY_BYTES, "%s", nw_strerror(NW_ENOMEM));
		return NW_ENOMEM;
	}
	if ((p->bound = port_bind(w->base, p->http, host, port, &reason)) == NULL) {
		snprintf(why, STORE_WHY_BYTES, "%s %s: %s", directive, listen, reason);
		return NW_EIO;
	}
	if ((p->conns = conns_new(w->base, p->http, p->bound, &limits, w->own_headers)) == NULL) {
		snprintf(why, STORE_WHY_BYTES, "%s", nw_strerror(NW_ENOMEM));
		return NW_ENOMEM;
	}
	name_address(p, listen);
	p->wants_login =
	    w->login != NULL && (w->opts.access->wants == WEB_ALWAYS || !p->on_loopback);
	evhttp_set_allowed_methods(p->http,
	    EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST | EVHTTP_REQ_PUT |
		EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH | EVHTTP_REQ_TRACE);
	evhttp_set_max_headers_size(p->http, HEADERS_MAX_BYTES);
	evhttp_set_max_body_size(p->http, BODY_READ_MAX_BYTES);
	evhttp_set_timeout(p->http, io_timeout_s(&limits));
	evhttp_set_gencb(p->http, on_request, p);
	return NW_OK;
}

static int
open_ports(struct web *w, char why[STORE_WHY_BYTES])
{
	struct port *https = &w->ports[PORT_HTTPS];
	int rc;

	if ((w->base = event_base_new()) == NULL) {
		snprintf(why, STORE_WHY_BYTES, "%s", nw_strerror(NW_ENOMEM));
		return NW_ENOMEM;
	}
	if ((rc = open_port(w, &w->ports[PORT_HTTP], "listen-http", w->opts.listen, why)) < 0 ||
	    w->opts.listen_https == NULL)
		return rc;
	if ((rc = open_port(w, https, "listen-https", w->opts.listen_https, why)) == NW_OK)
		conns_set_maker(https->conns, w->opts.wrap, w->opts.wrap_arg);
	return rc;
}

/* Stretches, with answers to requests in between. */
static void
on_follow(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval soon = { 0, 1000 };
	struct web *w = arg;
	bool done = false;

	(void)fd;
	(void)what;
	if (w->index != NULL &&
	    session_index_follow(w->index, w->reader, SESSION_FOLLOW, &done) == NW_OK && !done)
		evtimer_add(w->on_follow, &soon);
}

static int
open_events(struct web *w, char why[STORE_WHY_BYTES])
{
	static const struct timeval at_once = { 0, 0 };

	if ((w->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0 ||
	    (w->on_stop = event_new(w->base, w->stop_fd, EV_READ, on_stop, w)) == NULL ||
	    (w->on_drained = evtimer_new(w->base, on_drained, w)) == NULL ||
	    (w->on_follow = evtimer_new(w->base, on_follow, w)) == NULL ||
	    event_add(w->on_stop, NULL) != 0 || evtimer_add(w->on_follow, &at_once) != 0) {
		snprintf(why, STORE_WHY_BYTES, "web: %s", strerror(errno));
		return NW_ENOMEM;
	}
	return NW_OK;
}

static void
web_free(struct web *w)
{
	struct port *p;

	for (p = w->ports; p < w->ports + PORTS; p++) {
		if (p->http != NULL)
			evhttp_free(p->http);
		conns_free(p->conns);
	}
	if (w->on_drained != NULL)
		event_free(w->on_drained);
	if (w->on_stop != NULL)
		event_free(w->on_stop);
	if (w->on_follow != NULL)
		event_free(w->on_follow);
	if (w->stop_fd >= 0)
		close(w->stop_fd);
	if (w->base != NULL)
		event_base_free(w->base);
	store_reader_close(w->reader);
	expected_clear(&w->expected);
	lines_cache_free(w->lines);
	session_index_free(w->index);
	login_free(w->login);
	free(w);
}

int
web_start(const struct web_opts *opts, struct web **out, char why[STORE_WHY_BYTES])
{
	struct web *w = calloc(1, sizeof(*w));
	int rc;

	why[0] = '\0';
	if (w == NULL)
		return NW_ENOMEM;
	w->stop_fd = -1;
	w->opts = *opts;
	reply_lines(w->own_headers);
	if (opts->access != NULL && opts->access->wants != WEB_NEVER &&
	    (w->login = login_new(opts->access)) == NULL) {
		web_free(w);
		return NW_ENOMEM;
	}
	w->lines = lines_cache_new();
	w->index = session_index_new();
	if ((rc = store_reader_open(opts->store_path, &w->reader, why)) < 0 ||
	    (rc = open_ports(w, why)) < 0 || (rc = open_events(w, why)) < 0)
		goto fail;
	if ((errno = pthread_create(&w->thread, NULL, web_main, w)) != 0) {
		snprintf(why, STORE_WHY_BYTES, "web thread: %s", strerror(errno));
		rc = NW_EIO;
		goto fail;
	}
	*out = w;
	return NW_OK;
fail:
	web_free(w);
	return rc;
}

void
web_stop(struct web *w)
{
	static const uint64_t one = 1;

	if (w == NULL)
		return;
	if (write(w->stop_fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
		abort(); /* a write of 8 bytes to an eventfd with one writer succeeds */
	pthread_join(w->thread, NULL);
	web_free(w);
}

const char *
web_address(const struct web *w)
{
	return w->ports[PORT_HTTP].address;
}

const char *
web_address_https(const struct web *w)
{
	return w->ports[PORT_HTTPS].address;
}
