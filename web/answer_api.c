/* SPDX-License-Identifier: BSD-3-Clause */
/* Documents, series and tables for programs. */
#include <stdlib.h>
#include <string.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "web/answer/active_tests.h"
#include "web/answer/api.h"
#include "web/answer/compare.h"
#include "web/answer/esmond.h"
#include "web/answer/expected.h"
#include "web/answer/hosts.h"
#include "web/answer/incidents.h"
#include "web/answer/notes.h"
#include "web/page/page.h"
#include "web/query/prom.h"
#include "web/query/series_answer.h"
#include "web/resource.h"
#include "web/web_in.h"

int
answer_api_root(struct ask *q)
{
	strcpy(q->location, "/api/v1/openapi.json");
	return NW_OK;
}

/* --- lists of sessions, routes --- */

static int
filter_take(struct ask *q, struct session_filter *f)
{
	int rc = session_filter_parse(f, q->query);

	if (rc < 0)
		ask_refuse_value(q, f->bad);
	return rc;
}

int
answer_api_sessions(struct ask *q)
{
	struct session_filter f;
	int rc = filter_take(q, &f);

	return rc < 0 ? rc : api_sessions(q->body, q->r, q->web != NULL ? q->web->index : NULL, &f);
}

int
answer_api_routes(struct ask *q)
{
	return api_routes(q->body, q->r);
}

int
answer_api_route(struct ask *q)
{
	struct session_filter f;
	int rc = filter_take(q, &f);

	return rc < 0 ? rc : api_route_or_none(q->body, q->r, f.route, f.program);
}

int
answer_route_json(struct ask *q)
{
	struct session_filter f;
	int rc = filter_take(q, &f);

	return rc < 0 ? rc : api_route(q->body, q->r, f.route, f.program);
}

int
answer_route_csv(struct ask *q)
{
	struct session_filter f;
	int rc = filter_take(q, &f);

	return rc < 0 ? rc : api_route_csv(q->body, q->r, f.route, f.program);
}

int
answer_api_incidents(struct ask *q)
{
	struct incidents_query list;
	json_t *doc = NULL;
	int rc;

	if (!incidents_query_parse(&list, q->query)) {
		ask_refuse_value(q, list.bad);
		return NW_EINVAL;
	}
	rc = incidents_document(q->r, &list, &doc);
	return ask_document(q, rc, doc);
}

static int
compared_read(struct ask *q, json_t **doc)
{
	struct compare_query sessions;
	int64_t missing;

	compare_parse(&sessions, q->query); /* fewer than two are a short list, and no error */
	q->why = sessions.why;
	return sessions.why != NULL ? NW_EINVAL : compare_document(q->r, &sessions, doc, &missing);
}

int
answer_api_compare(struct ask *q)
{
	json_t *doc = NULL;
	int rc = compared_read(q, &doc);

	return ask_document(q, rc, doc);
}

int
answer_compare_csv(struct ask *q)
{
	json_t *doc = NULL;
	int rc = compared_read(q, &doc);

	if (rc == NW_OK) {
		rc = api_compare_csv(q->body, doc);
		json_decref(doc);
	}
	return rc;
}

/* --- a session --- */

int
answer_api_session(struct ask *q)
{
	int rc = ask_id(q);

	return rc == NW_OK ? api_session(q->body, q->r, q->to.id) : rc;
}

int
answer_api_figures(struct ask *q)
{
	json_t *doc = NULL;
	int rc = ask_id(q);

	if (rc == NW_OK)
		rc = page_session_figures(q->r, q->to.id, &doc);
	return ask_document(q, rc, doc);
}

int
answer_api_figure(struct ask *q)
{
	int rc = ask_id(q);

	q->why = rc == NW_ENOTFOUND
	    ? "There is no session."
	    : "There is no such session, or no such figure: sessions/{id}/figures has them all.";
	return rc == NW_OK ? answer_session_figure(q) : rc;
}

int
answer_api_notes(struct ask *q)
{
	json_t *doc = NULL;
	int rc = ask_id(q);

	if (rc == NW_ENOTFOUND)
		q->why = "There is no session.";
	else if (rc == NW_OK)
		rc = notes_document(q->r, q->to.id, &doc);
	return ask_document(q, rc, doc);
}

/* --- hosts, the box --- */

static int
hosts_take(struct ask *q, struct hosts_query *list)
{
	if (hosts_query_parse(list, q->query))
		return NW_OK;
	ask_refuse_value(q, list->bad);
	return NW_EINVAL;
}

static int
hosts_put(struct ask *q, int rc, json_t *doc)
{
	if (rc == NW_ENOTFOUND)
		q->why = "The box has no host of this name; /api/v1/hosts lists all.";
	return ask_document(q, rc, doc);
}

int
answer_api_hosts(struct ask *q)
{
	struct hosts_now now = web_hosts_now(q->web);
	struct hosts_query list;
	json_t *doc = NULL;
	int rc = hosts_take(q, &list);

	if (rc == NW_OK)
		rc = hosts_document(q->r, &now, &list, &doc);
	return hosts_put(q, rc, doc);
}

int
answer_api_host(struct ask *q)
{
	struct hosts_now now = web_hosts_now(q->web);
	struct hosts_query list;
	json_t *doc = NULL;
	int rc = hosts_take(q, &list);

	if (rc == NW_OK)
		rc = host_document(q->r, &now, q->to.host, &doc);
	return hosts_put(q, rc, doc);
}

int
answer_api_settings(struct ask *q)
{
	struct hosts_query list;
	json_t *doc = NULL;
	int rc = hosts_take(q, &list);

	if (rc == NW_OK)
		rc = host_settings_document(q->r, q->to.host, list.before_wall_ns, &doc);
	return hosts_put(q, rc, doc);
}

int
answer_api_collectors(struct ask *q)
{
	struct hosts_now now = web_hosts_now(q->web);

	return api_collectors(q->body, q->r, &now);
}

int
answer_api_diets(struct ask *q)
{
	return api_diets(q->body, q->r);
}

int
answer_api_advice(struct ask *q)
{
	return api_advice(q->body, q->r);
}

int
answer_api_keep(struct ask *q)
{
	return api_keep(q->body, q->r);
}

/* The state of the box is another one each time: it has no tag. */
int
answer_api_health(struct ask *q)
{
	struct nw_health health;

	q->status = 200;
	return api_health(q->body, web_read_health(q->web, &health));
}

/* Without a box the learnt part alone: the rest stands in the configuration. */
int
answer_api_expected(struct ask *q)
{
	struct expected_list once = { .n = 0 };
	const struct expected_list *l = &once;
	struct nw_health health;
	int64_t now_wall_ns = nw_wall_ns();
	int rc = NW_OK;

	if (q->web != NULL)
		l = web_read_expected(q->web, web_read_health(q->web, &health));
	else
		rc = expected_read(&once, q->r, NULL, 0, now_wall_ns, nw_mono_ns());
	if (l == NULL)
		rc = NW_EIO;
	rc = ask_document(q, rc, rc == NW_OK ? expected_document(l, now_wall_ns) : NULL);
	expected_clear(&once);
	return rc;
}

/* --- series --- */

int
answer_series(struct ask *q)
{
	struct query series;

	q->why = q->why_text;
	if (query_parse(&series, (enum query_what)q->to.resource->form, q->query, q->why_text) < 0)
		return NW_EINVAL;
	q->why = NULL;
	q->type = series_content_type(&series);
	return series_stream(q->r, &series, q->cost_max, &q->stream);
}

int
answer_prometheus(struct ask *q)
{
	const char *form = q->form != NULL && *q->form != '\0' ? q->form : q->query;

	q->why = q->why_text;
	return prom_stream(
	    q->r, q->to.rest, form, nw_wall_ns(), q->cost_max, &q->stream, q->why_text);
}

int
answer_esmond(struct ask *q)
{
	json_t *doc;
	int rc = esmond_document(q->r, q->to.rest != NULL ? q->to.rest : "", q->query, q->why_text,
	    sizeof(q->why_text), &doc);

	q->why = q->why_text;
	return ask_document(q, rc, doc);
}

/* pScheduler takes any 2xx for success, and sends again after everything else. */
int
take_active_tests(struct ask *q)
{
	json_t *doc = NULL;
	int rc;

	if (q->web->opts.active_tests == NULL) {
		q->why = "The box takes no active tests: see active-tests in narrowsd.conf(5).";
		return NW_ENOTFOUND;
	}
	rc = active_tests_keep(q->web->opts.store_path, q->web->opts.active_tests, q->form, &doc,
	    q->why_text, sizeof(q->why_text));
	if (rc < 0 && rc != NW_ENOMEM)
		q->why = q->why_text;
	return ask_document(q, rc, doc);
}
