/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/cmd/httpget.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

#include "daemon/conf.h"
#include "narrows/err.h"

enum { TIMEOUT_SECONDS = 60 };

struct get {
	struct event_base *base;
	httpget_fn *fn;
	void *arg;
	int *status;
	int rc;
};

static void
body_pass(struct get *g, struct evhttp_request *req)
{
	struct evbuffer *in = evhttp_request_get_input_buffer(req);
	size_t len;

	*g->status = evhttp_request_get_response_code(req);
	while (g->rc == NW_OK && (len = evbuffer_get_contiguous_space(in)) > 0) {
		g->rc = g->fn(g->arg, (const char *)evbuffer_pullup(in, (ev_ssize_t)len), len);
		evbuffer_drain(in, len);
	}
	if (g->rc < 0)
		event_base_loopbreak(g->base);
}

static void
on_chunk(struct evhttp_request *req, void *arg)
{
	body_pass(arg, req);
}

static void
on_done(struct evhttp_request *req, void *arg)
{
	struct get *g = arg;

	if (req == NULL || evhttp_request_get_response_code(req) == 0) {
		if (g->rc == NW_OK)
			g->rc = NW_ECLOSED;
	} else
		body_pass(g, req);
	event_base_loopbreak(g->base);
}

/* Nobody may be told half a file as a whole one. */
static void
on_error(enum evhttp_request_error error, void *arg)
{
	struct get *g = arg;

	(void)error;
	g->rc = NW_ECLOSED;
}

int
httpget(const char *base, const char *path, httpget_fn *fn, void *arg, int *status)
{
	struct get g = { .fn = fn, .arg = arg, .status = status };
	struct evhttp_connection *c = NULL;
	struct evhttp_request *req;
	char host[256], address[300];
	uint16_t port;

	if (strncmp(base, "http://", 7) == 0)
		base += 7;
	snprintf(address, sizeof(address), "%s", base);
	if (strlen(address) > 0 && address[strlen(address) - 1] == '/')
		address[strlen(address) - 1] = '\0';
	if (conf_address(address, host, &port) < 0)
		return NW_EINVAL;
	if ((g.base = event_base_new()) == NULL)
		return NW_ENOMEM;
	c = evhttp_connection_base_new(g.base, NULL, host, port);
	req = c != NULL ? evhttp_request_new(on_done, &g) : NULL;
	if (req == NULL)
		g.rc = NW_ENOMEM;
	else {
		evhttp_connection_set_timeout(c, TIMEOUT_SECONDS);
		evhttp_request_set_chunked_cb(req, on_chunk);
		evhttp_request_set_error_cb(req, on_error);
		evhttp_add_header(evhttp_request_get_output_headers(req), "Host", address);
		evhttp_add_header(evhttp_request_get_output_headers(req), "Connection", "close");
		if (evhttp_make_request(c, req, EVHTTP_REQ_GET, path) != 0)
			g.rc = NW_ECLOSED;
		else
			event_base_dispatch(g.base);
	}
	if (c != NULL)
		evhttp_connection_free(c);
	event_base_free(g.base);
	return g.rc;
}
