/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages of the box, its hosts and routes, and the state of the box for programs. */
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>

#include "narrows/err.h"
#include "web/answer/api.h"
#include "web/answer/health.h"
#include "web/answer/hosts.h"
#include "web/answer/metrics.h"
#include "web/draw/script.h"
#include "web/draw/style.h"
#include "web/page/page.h"
#include "web/resource.h"
#include "web/web_in.h"

int
answer_nothing(struct ask *q)
{
	(void)q;
	return NW_ENOTFOUND;
}

int
take_nothing(struct ask *q)
{
	(void)q;
	return NW_ENOTFOUND;
}

int
answer_sessions(struct ask *q)
{
	struct session_filter f;
	struct nw_health health;
	const struct nw_health *known = web_read_health(q->web, &health);

	if (session_filter_parse(&f, q->query) < 0)
		return NW_EINVAL;
	return page_sessions(
	    &q->h, q->r, q->web->index, &f, known, web_read_expected(q->web, known));
}

int
answer_routes(struct ask *q)
{
	return page_routes(&q->h, q->r);
}

int
answer_route(struct ask *q)
{
	struct session_filter f;

	return session_filter_parse(&f, q->query) < 0
	    ? NW_EINVAL
	    : page_route_history(&q->h, q->r, f.route, f.program);
}

int
answer_compare(struct ask *q)
{
	int rc = page_compare(&q->h, q->r, q->web->index, q->query, &q->status);

	if (q->status == 200)
		q->status = 0;
	return rc;
}

int
answer_hosts(struct ask *q)
{
	struct hosts_now now = web_hosts_now(q->web);
	struct hosts_query list;

	return hosts_query_parse(&list, q->query) ? page_hosts(&q->h, q->r, &now, &list)
						  : NW_EINVAL;
}

int
answer_host(struct ask *q)
{
	struct hosts_now now = web_hosts_now(q->web);
	struct session_filter f;

	if (session_filter_parse(&f, q->query) < 0)
		return NW_EINVAL;
	if (f.host[0] != '\0')
		return page_host(&q->h, q->r, &now, f.host);
	strcpy(q->location, "/hosts");
	return NW_OK;
}

/* The numbers of a figure, which are freed. */
static int
figure_put(struct ask *q, int rc, char *text, size_t len)
{
	if (rc == NW_OK && evbuffer_add(q->body, text, len) != 0)
		rc = NW_ENOMEM;
	free(text);
	return rc;
}

int
answer_route_figure(struct ask *q)
{
	struct session_filter f;
	char *text = NULL;
	size_t len = 0;
	int rc = session_filter_parse(&f, q->query);

	if (rc == NW_OK)
		rc = page_route_figure(q->r, f.route, f.program, q->to.figure, &text, &len);
	return figure_put(q, rc, text, len);
}

int
answer_host_figure(struct ask *q)
{
	struct session_filter f;
	char *text = NULL;
	size_t len = 0;
	int rc = session_filter_parse(&f, q->query);

	if (rc == NW_OK)
		rc = page_host_figure(q->r, f.host, q->to.figure, &text, &len);
	return figure_put(q, rc, text, len);
}

int
answer_session_figure(struct ask *q)
{
	struct session_query part;
	char *text = NULL;
	size_t len = 0;
	int rc = session_query_parse(&part, q->query) ? NW_OK : NW_EINVAL;

	if (rc == NW_OK)
		rc = page_session_figure(q->r, q->to.id, &part, q->to.figure, &text, &len);
	return figure_put(q, rc, text, len);
}

int
answer_keep(struct ask *q)
{
	return page_keep(&q->h, q->r);
}

int
answer_healthz(struct ask *q)
{
	struct nw_health health;
	const struct nw_health *known = web_read_health(q->web, &health);

	q->status = known != NULL && known->ok ? 200 : 503;
	return api_health(q->body, known);
}

int
answer_readyz(struct ask *q)
{
	struct nw_health health;
	int64_t last;
	bool can_read = store_meta_last(q->r, &last) == NW_OK;

	if (web_read_health(q->web, &health) == NULL)
		return NW_EIO;
	q->status = can_read && health_is_ready(&health) ? 200 : 503;
	return api_ready(q->body, &health, can_read);
}

int
answer_metrics(struct ask *q)
{
	bool open = metrics_is_open(reply_request_header(q->reply, "Accept"));
	struct nw_health health;

	q->type = metrics_content_type(open);
	q->status = 200;
	return web_read_health(q->web, &health) != NULL ? metrics_write(q->body, &health, open)
							: NW_EIO;
}

static int
constant_put(struct ask *q, const char *text)
{
	return evbuffer_add_reference(q->body, text, strlen(text), NULL, NULL) == 0 ? NW_OK
										    : NW_ENOMEM;
}

int
answer_style(struct ask *q)
{
	return constant_put(q, style_css);
}

int
answer_script(struct ask *q)
{
	return constant_put(q, script_js);
}

int
answer_icon(struct ask *q)
{
	return constant_put(q, style_icon_svg);
}
