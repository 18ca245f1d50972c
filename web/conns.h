/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many HTTP connections there are and how long each may take, which evhttp leaves open: without this a client that
 * sends one byte every few seconds keeps a descriptor for hours, and a thousand of them keep them all.
 */
#ifndef NARROWS_WEB_CONNS_H
#define NARROWS_WEB_CONNS_H

#include <stddef.h>
#include <stdint.h>

struct bufferevent;
struct event_base;
struct evhttp;
struct evhttp_bound_socket;
struct evhttp_request;

struct conns;

struct conns_limits {
	size_t max;                             /* connections; above, they wait unaccepted */
	int64_t ask_max_ns;                     /* from the connection to the end of the request's header */
	int64_t answer_max_ns;                  /* from there to the end of the answer */
	int64_t sweep_ns;                       /* how often that is looked at */
};

/* Counts the connections of `http` from now on. NULL: no memory. */
struct conns *conns_new(struct event_base *base, struct evhttp *http, struct evhttp_bound_socket *bound,
    const struct conns_limits *limits);
/* Who makes a connection's bufferevent instead of us; it closes all below it when freed. NULL from it: no memory. */
void conns_set_maker(struct conns *c, struct bufferevent *(*make)(struct event_base *base, void *arg), void *arg);
void conns_free(struct conns *c);               /* after evhttp_free() */
size_t conns_count(const struct conns *c);
void conns_stop(struct conns *c);               /* the listener goes away: nothing to switch on or off any more */

/* The request has arrived whole, its answer may take the usual time ... */
void conns_asked(struct conns *c, struct evhttp_request *req);
/* ... or, for exports, as long as the client keeps reading. */
void conns_streams(struct conns *c, struct evhttp_request *req);

#endif
