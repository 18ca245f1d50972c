/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the web thread: the thread, its ports, and the state of the box. */
#ifndef NARROWS_WEB_WEB_IN_H
#define NARROWS_WEB_WEB_IN_H

#include <pthread.h>

#include "narrows/web.h"
#include "web/answer/expected.h"
#include "web/answer/hosts.h"
#include "web/http/reply.h"

struct evhttp_request;

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
	struct turns *turns;
	struct pool *pool;
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

/* The state of the box; returns `health`, or NULL: w is NULL or the box does not tell. */
const struct nw_health *web_read_health(const struct web *w, struct nw_health *health);
/* What is expected now; NULL if the store cannot be read. */
const struct expected_list *web_read_expected(struct web *w, const struct nw_health *health);
/* What the states of collectors are judged by; w may be NULL. */
struct hosts_now web_hosts_now(const struct web *w);

struct ask;
/* Writes a change by a form of the request to the audit log. */
void web_changed(const struct ask *q, const char *event);
/* Answers a request of a port. */
void request_answer(struct port *port, struct evhttp_request *req);
static inline bool
request_is_secure(const struct reply *a)
{
	return a->port == &a->w->ports[PORT_HTTPS];
}

#endif
