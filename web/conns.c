/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/conns.h"

#include <stdbool.h>
#include <stdlib.h>

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "narrows/caliper.h"

/* More than a whole request: what a client sends beyond is not read. */
enum { INPUT_MAX_BYTES = 16384 };

enum conn_state { CONN_FREE, CONN_ASKING, CONN_ANSWERING, CONN_STREAMING };

/*
 * We hold a reference of our own; evhttp takes its callbacks off when it is done with a connection and tells the client
 * so. The descriptor must stay ours until we let go as well, or the next connection gets the same number while libevent
 * still watches the old one: hence BEV_OPT_CLOSE_ON_FREE.
 */
struct conn {
	struct bufferevent *bev;
	enum conn_state state;
	int64_t since_mono_ns;
};

struct conns {
	struct event *sweep;
	struct evconnlistener *listener;
	struct conns_limits limits;
	struct bufferevent *(*make)(struct event_base *base, void *arg);
	void *make_arg;
	size_t n;
	struct conn conn[];
};

static void
arm_sweep(struct conns *c, int64_t after_ns)
{
	const struct timeval after = { .tv_sec = after_ns / 1000000000, .tv_usec = after_ns / 1000 % 1000000 };

	evtimer_add(c->sweep, &after);
}

static bool
is_abandoned(struct bufferevent *bev)
{
	bufferevent_event_cb on_event;

	bufferevent_getcb(bev, NULL, NULL, &on_event, NULL);
	return on_event == NULL;
}

static void
conn_release(struct conns *c, struct conn *conn)
{
	bufferevent_decref(conn->bev);
	*conn = (struct conn){ 0 };
	c->n--;
}

static bool
is_late(const struct conns *c, const struct conn *conn, int64_t now_mono_ns)
{
	int64_t age_ns = now_mono_ns - conn->since_mono_ns;

	return (conn->state == CONN_ASKING && age_ns > c->limits.ask_max_ns) ||
	    (conn->state == CONN_ANSWERING && age_ns > c->limits.answer_max_ns);
}

/* Forgets what has ended and ends what is late. */
static void
conns_sweep(struct conns *c)
{
	int64_t now = nw_mono_ns();
	size_t i;

	for (i = 0; i < c->limits.max; i++) {
		struct conn *conn = &c->conn[i];

		if (conn->state == CONN_FREE)
			continue;
		if (!is_abandoned(conn->bev) && is_late(c, conn, now))
			bufferevent_trigger_event(conn->bev, BEV_EVENT_TIMEOUT | BEV_EVENT_READING, 0);
		if (is_abandoned(conn->bev))
			conn_release(c, conn);
	}
	if (c->n < c->limits.max && c->listener != NULL)
		evconnlistener_enable(c->listener);
}

static void
on_sweep(evutil_socket_t fd, short what, void *arg)
{
	struct conns *c = arg;

	(void)fd, (void)what;
	conns_sweep(c);
	if (c->n > 0)
		arm_sweep(c, c->limits.sweep_ns);
}

static struct bufferevent *
make_plain(struct event_base *base, void *arg)
{
	(void)arg;
	return bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
}

/* evhttp sets its callbacks after this returns: a sweep must not come before. */
static struct bufferevent *
on_connection(struct event_base *base, void *arg)
{
	struct conns *c = arg;
	struct bufferevent *bev = c->make(base, c->make_arg);
	size_t i;

	if (bev == NULL)
		return NULL;
	bufferevent_setwatermark(bev, EV_READ, 0, INPUT_MAX_BYTES);
	if (c->n == 0)
		arm_sweep(c, c->limits.sweep_ns);
	for (i = 0; i < c->limits.max && c->conn[i].state != CONN_FREE; i++)
		;
	if (i < c->limits.max) {
		bufferevent_incref(bev);
		c->conn[i] = (struct conn){ .bev = bev, .state = CONN_ASKING, .since_mono_ns = nw_mono_ns() };
		c->n++;
	}
	if (c->n == c->limits.max) {
		/* no more for now; most likely some have ended and are only to be swept up */
		if (c->listener != NULL)
			evconnlistener_disable(c->listener);
		arm_sweep(c, 0);
	}
	return bev;
}

struct conns *
conns_new(struct event_base *base, struct evhttp *http, struct evhttp_bound_socket *bound,
    const struct conns_limits *limits)
{
	struct conns *c = calloc(1, sizeof(*c) + limits->max * sizeof(c->conn[0]));

	if (c == NULL)
		return NULL;
	c->limits = *limits;
	c->make = make_plain;
	c->listener = evhttp_bound_socket_get_listener(bound);
	if ((c->sweep = evtimer_new(base, on_sweep, c)) == NULL) {
		free(c);
		return NULL;
	}
	evhttp_set_bevcb(http, on_connection, c);
	return c;
}

void
conns_set_maker(struct conns *c, struct bufferevent *(*make)(struct event_base *base, void *arg), void *arg)
{
	c->make = make;
	c->make_arg = arg;
}

void
conns_free(struct conns *c)
{
	size_t i;

	if (c == NULL)
		return;
	for (i = 0; i < c->limits.max; i++)
		if (c->conn[i].state != CONN_FREE)
			conn_release(c, &c->conn[i]);
	event_free(c->sweep);
	free(c);
}

void
conns_stop(struct conns *c)
{
	c->listener = NULL;
}

size_t
conns_count(const struct conns *c)
{
	size_t i, n = 0;

	for (i = 0; i < c->limits.max; i++)
		n += c->conn[i].state != CONN_FREE && !is_abandoned(c->conn[i].bev);
	return n;
}

static void
set_state(struct conns *c, struct evhttp_request *req, enum conn_state state)
{
	struct evhttp_connection *evcon = evhttp_request_get_connection(req);
	struct bufferevent *bev = evcon != NULL ? evhttp_connection_get_bufferevent(evcon) : NULL;
	size_t i;

	for (i = 0; bev != NULL && i < c->limits.max; i++)
		if (c->conn[i].bev == bev) {
			c->conn[i].state = state;
			c->conn[i].since_mono_ns = nw_mono_ns();
			return;
		}
}

void
conns_asked(struct conns *c, struct evhttp_request *req)
{
	set_state(c, req, CONN_ANSWERING);
}

void
conns_streams(struct conns *c, struct evhttp_request *req)
{
	set_state(c, req, CONN_STREAMING);
}
