/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many HTTP connections there are and how long each may take, which evhttp leaves open: without
 * this a client that sends one byte every few seconds keeps a descriptor for hours, and a thousand
 * of them keep them all.
 *
 * Who has not asked yet makes room for who comes: within an address, and when all places are taken.
 * Who has is answered.
 */
#ifndef NARROWS_WEB_CONNS_H
#define NARROWS_WEB_CONNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bufferevent;
struct event_base;
struct evhttp;
struct evhttp_bound_socket;
struct evhttp_request;

struct conns;

struct conns_limits {
	size_t max;             /* connections; half of them may be downloads */
	size_t per_address_max; /* of one IPv4 address, or one IPv6 network of 64 bits */
	int64_t ask_max_ns;     /* from the connection to the end of the request's header */
	int64_t answer_max_ns;  /* from there to the end of the answer */
	int64_t sweep_ns;       /* how often that is looked at */
};

struct conns_stats {
	uint64_t refused; /* ended, or not given a download, for these limits */
	uint64_t timeouts;
	/* requests that evhttp answered by itself: they are not HTTP, or too big */
	uint64_t malformed;
};

/*
 * Counts the connections of `http` from now on. evhttp's own answers get `headers`, whole lines,
 * too; on loan. NULL: no memory.
 */
struct conns *conns_new(struct event_base *base, struct evhttp *http,
    struct evhttp_bound_socket *bound, const struct conns_limits *limits, const char *headers);
/* Who makes a connection's bufferevent instead of us; it closes all below it when freed. NULL from
 * it: no memory. */
void conns_set_maker(
    struct conns *c, struct bufferevent *(*make)(struct event_base *base, void *arg), void *arg);
void conns_free(struct conns *c); /* after evhttp_free() */
size_t conns_count(const struct conns *c);
const struct conns_stats *conns_get_stats(const struct conns *c);
void conns_stop(struct conns *c); /* the listener goes away: nothing to switch on or off any more */

/* The request has arrived whole, its answer may take the usual time ... */
void conns_asked(struct conns *c, struct evhttp_request *req);
/* ... or, for downloads, as long as the client keeps reading. False: there are too many of them. */
bool conns_streams(struct conns *c, struct evhttp_request *req);

#endif
