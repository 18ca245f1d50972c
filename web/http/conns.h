/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The number of HTTP connections and the time each may take. evhttp limits neither: a client that
 * sends one byte every few seconds would keep a descriptor for hours, and a thousand such clients
 * all descriptors.
 *
 * A connection without a whole request makes room for a new connection, within its address and when
 * all places are taken. A connection with a request is answered.
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
	size_t max; /* connections at once; at most half may be downloads */
	/* connections of one IPv4 address, or of one IPv6 network of 64 bits */
	size_t per_address_max;
	int64_t ask_max_ns;    /* from the connection to the end of the request's header */
	int64_t answer_max_ns; /* from there to the end of the answer */
	int64_t sweep_ns;      /* time between two sweeps */
	/* longest body beside the small ones that every request may have; 0: none is longer */
	size_t body_max_bytes;
};

struct conns_stats {
	uint64_t refused; /* connections ended, or refused a download, by these limits */
	uint64_t timeouts;
	/* requests that evhttp refused by itself: not HTTP, or too big */
	uint64_t malformed;
};

/*
 * Counts the connections of `http` from now on. evhttp's own answers get `headers`, whole lines,
 * too; on loan. NULL: no memory.
 */
struct conns *conns_new(struct event_base *base, struct evhttp *http,
    struct evhttp_bound_socket *bound, const struct conns_limits *limits, const char *headers);
/*
 * Maker of a connection's bufferevent; freeing the bufferevent must close everything below. NULL
 * from the maker means: no memory.
 */
void conns_set_maker(
    struct conns *c, struct bufferevent *(*make)(struct event_base *base, void *arg), void *arg);
void conns_free(struct conns *c); /* after evhttp_free() */
size_t conns_count(const struct conns *c);
const struct conns_stats *conns_get_stats(const struct conns *c);
/* The listener goes away: nothing to switch on or off any more. Ends connections between two
 * requests. */
void conns_stop(struct conns *c);

/* A name for the address of the request's connection, the same for a network as in
 * conns_limits. */
void conns_place(struct conns *c, struct evhttp_request *req, char *out, size_t size);
/* The whole request has arrived: the answer may take the usual time. */
void conns_asked(struct conns *c, struct evhttp_request *req);
/* Whether the connection stays open behind this answer, before the answer goes out: a bounded
 * number of times, and not while the box ends. */
bool conns_keep(struct conns *c, struct evhttp_request *req);
/*
 * The answer is a download and may take as long as the client keeps reading. Returns false when too
 * many downloads are under way.
 */
bool conns_streams(struct conns *c, struct evhttp_request *req);

#endif
