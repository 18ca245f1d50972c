/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine-readable answers for callers in the same process: the same bytes as over HTTP. */
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>

#include "narrows/err.h"
#include "narrows/web.h"
#include "narrows/clock.h"
#include "web/answer/api.h"
#include "web/http/body.h"
#include "web/answer/collectors.h"
#include "web/answer/expected.h"
#include "narrows/export.h"
#include "web/page/lines.h"
#include "web/page/page.h"
#include "web/route.h"

static int
write_buffer(struct evbuffer *b, int (*write)(void *arg, const char *text, size_t len), void *arg)
{
	size_t len = evbuffer_get_length(b);
	const char *text = (const char *)evbuffer_pullup(b, -1);

	if (len == 0)
		return NW_OK;
	return text != NULL ? write(arg, text, len) : NW_ENOMEM;
}

/* The learnt part: the rest stands in the configuration, known to the running box only. */
static int
answer_expected(struct evbuffer *b, struct store_reader *r)
{
	struct expected_list l = { .n = 0 };
	int64_t now_wall_ns = nw_wall_ns();
	int rc = expected_read(&l, r, NULL, 0, now_wall_ns, nw_mono_ns());

	if (rc == NW_OK)
		rc = body_put_document(b, expected_document(&l, now_wall_ns));
	expected_clear(&l);
	return rc;
}

static int
answer_json(struct store_reader *r, const struct route *to,
    int (*write)(void *arg, const char *text, size_t len), void *arg)
{
	const struct hosts_now now = { .now_wall_ns = nw_wall_ns() };
	struct evbuffer *b = evbuffer_new();
	int rc;

	if (b == NULL)
		return NW_ENOMEM;
	rc = to->page == ROUTE_SESSIONS_JSON   ? api_sessions(b, r, NULL, &to->filter)
	    : to->page == ROUTE_KEEP_JSON      ? api_keep(b, r)
	    : to->page == ROUTE_ROUTES_JSON    ? api_routes(b, r)
	    : to->page == ROUTE_API_COLLECTORS ? api_collectors(b, r, &now)
	    : to->page == ROUTE_API_DIETS      ? api_diets(b, r)
	    : to->page == ROUTE_API_EXPECTED   ? answer_expected(b, r)
	    : to->page == ROUTE_ROUTE_JSON ? api_route(b, r, to->filter.route, to->filter.program)
					   : api_session(b, r, to->id);
	if (rc == NW_OK)
		rc = write_buffer(b, write, arg);
	evbuffer_free(b);
	return rc;
}

static int
answer_lines(struct store_reader *r, struct route *to,
    int (*write)(void *arg, const char *text, size_t len), void *arg)
{
	struct evbuffer *b = evbuffer_new();
	struct html h = { .out = b };
	const char *why = NULL;
	int rc =
	    b != NULL ? lines_answer(&h, r, NULL, to->id, to->form, to->query, &why) : NW_ENOMEM;

	if (rc == NW_OK)
		rc = write_buffer(b, write, arg);
	to->bad = rc == NW_EINVAL;
	if (b != NULL)
		evbuffer_free(b);
	return to->bad ? NW_OK : rc;
}

int
web_answer(struct store_reader *r, const char *path,
    int (*write)(void *arg, const char *text, size_t len), void *arg, int *status)
{
	size_t len = strcspn(path, "?");
	char *only = strndup(path, len);
	const char *ending, *why;
	struct export_opts opts;
	struct route to;
	int rc = NW_OK;

	if (only == NULL)
		return NW_ENOMEM;
	to = route_parse(only, path[len] == '?' ? path + len + 1 : NULL);
	free(only);
	if ((ending = route_export_ending(to.page)) != NULL &&
	    export_opts_parse(&opts, ending, to.query, &why) < 0)
		to.bad = true;
	if (route_is_session(to.page) && to.page != ROUTE_SESSION && to.id == ROUTE_LAST)
		rc = store_session_last(r, &to.id);
	if (rc == NW_OK && !to.bad) {
		if (to.page == ROUTE_SESSIONS_JSON || to.page == ROUTE_SESSION_JSON ||
		    to.page == ROUTE_KEEP_JSON || to.page == ROUTE_ROUTES_JSON ||
		    to.page == ROUTE_ROUTE_JSON || to.page == ROUTE_API_COLLECTORS ||
		    to.page == ROUTE_API_DIETS || to.page == ROUTE_API_EXPECTED)
			rc = answer_json(r, &to, write, arg);
		else if (to.page == ROUTE_SESSION_LINES)
			rc = answer_lines(r, &to, write, arg);
		else if (ending != NULL)
			rc = export_session(r, to.id, &opts, write, arg);
		else
			rc = NW_ENOTFOUND;
	}
	*status = to.bad || rc == NW_ETOOBIG ? 400
	    : rc == NW_OK                    ? 200
	    : rc == NW_ENOTFOUND             ? 404
					     : 500;
	return rc == NW_ENOTFOUND || rc == NW_ETOOBIG ? NW_OK : rc;
}

char *
web_report_file(const char *document_json)
{
	struct evbuffer *b = evbuffer_new();
	struct html h = { .out = b };
	char *text = NULL;
	size_t len;

	if (b != NULL && page_session_file(&h, document_json) == NW_OK && !h.failed) {
		len = evbuffer_get_length(b);
		if ((text = malloc(len + 1)) != NULL) {
			evbuffer_remove(b, text, len);
			text[len] = '\0';
		}
	}
	if (b != NULL)
		evbuffer_free(b);
	return text;
}
