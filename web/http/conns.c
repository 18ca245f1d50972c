/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/http/conns.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "narrows/clock.h"

enum {
	/* input limit of a connection, more than a whole request of small body: further bytes
	 * stay unread */
	INPUT_MAX_BYTES = 20480,
	ADDRESS_BYTES = 8, /* bytes of an IPv6 address that count */
	ANSWERS_MAX = 100  /* on one connection */
};

/*
 *	ASKING --the whole request--> ANSWERING --a download--> STREAMING
 *	ASKING --evhttp answers by itself--> REFUSED
 *	ANSWERING --the answer is out, and conns_keep()--> ASKING
 *	any --evhttp lets go, late, or others need its place--> FREE
 */
enum conn_state { CONN_FREE, CONN_ASKING, CONN_REFUSED, CONN_ANSWERING, CONN_STREAMING };

/*
 * A reference of our own: evhttp takes its callbacks off when a connection is done. The descriptor
 * must stay open until we let go as well, or the next connection gets the same number while
 * libevent still watches the old one: hence BEV_OPT_CLOSE_ON_FREE.
 */
struct conn {
	struct conns *owner;
	struct bufferevent *bev;
	struct evbuffer_cb_entry *on_output; /* while ASKING or REFUSED */
	enum conn_state state;
	int64_t since_mono_ns;
	unsigned n_answers;                 /* behind which the connection stayed open */
	bool placed;                        /* whether the address is known and was counted */
	uint8_t address[1 + ADDRESS_BYTES]; /* after the family */
};

struct conns {
	struct event *sweep, *fresh;
	struct evconnlistener *listener;
	struct conns_limits limits;
	struct conns_stats stats;
	const char *headers;
	struct bufferevent *(*make)(struct event_base *base, void *arg);
	void *make_arg;
	size_t n, n_slots;
	struct conn conn[];
};

static void
arm_sweep(struct conns *c, int64_t after_ns)
{
	const struct timeval after = { .tv_sec = after_ns / 1000000000,
		.tv_usec = after_ns / 1000 % 1000000 };

	evtimer_add(c->sweep, &after);
}

/* --- one connection --- */

static bool
is_abandoned(struct bufferevent *bev)
{
	bufferevent_event_cb on_event;

	bufferevent_getcb(bev, NULL, NULL, &on_event, NULL);
	return on_event == NULL;
}

/* No answer of the web room is expected on this connection any more. */
static bool
is_spare(const struct conn *conn)
{
	return conn->state == CONN_ASKING || conn->state == CONN_REFUSED;
}

static void
output_ignore(struct conn *conn)
{
	if (conn->on_output != NULL)
		evbuffer_remove_cb_entry(bufferevent_get_output(conn->bev), conn->on_output);
	conn->on_output = NULL;
}

static void
conn_release(struct conn *conn)
{
	conn->owner->n--;
	output_ignore(conn);
	bufferevent_decref(conn->bev);
	*conn = (struct conn){ 0 };
}

static void
conn_end(struct conn *conn)
{
	if (!is_abandoned(conn->bev))
		bufferevent_trigger_event(conn->bev, BEV_EVENT_TIMEOUT | BEV_EVENT_READING, 0);
	if (is_abandoned(conn->bev))
		conn_release(conn);
}

static bool
is_late(const struct conns *c, const struct conn *conn, int64_t now_mono_ns)
{
	int64_t age_ns = now_mono_ns - conn->since_mono_ns;

	return (conn->state == CONN_ASKING && age_ns > c->limits.ask_max_ns) ||
	    ((conn->state == CONN_ANSWERING || conn->state == CONN_REFUSED) &&
		age_ns > c->limits.answer_max_ns);
}

/*
 * evhttp answers input that is not HTTP, or too big, without asking the web room, and leaves the
 * connection open. The first line of such an answer is the status line; our headers go behind that
 * line.
 */
static void
on_output(struct evbuffer *output, const struct evbuffer_cb_info *info, void *arg)
{
	struct conn *conn = arg;
	char status[12] = "";

	evbuffer_copyout(output, status, sizeof(status));
	if (conn->state == CONN_ASKING && info->n_added > 0 && memcmp(status + 9, "100", 3) != 0) {
		conn->state = CONN_REFUSED;
		conn->owner->stats.malformed++;
		evbuffer_add(output, conn->owner->headers, strlen(conn->owner->headers));
	} else if (conn->state == CONN_REFUSED && evbuffer_get_length(output) == 0)
		/* the next sweep closes the connection */
		shutdown(bufferevent_getfd(conn->bev), SHUT_WR);
}

/* Between two requests. */
static bool
is_idle(const struct conn *conn)
{
	return conn->state == CONN_ASKING && conn->n_answers > 0 &&
	    evbuffer_get_length(bufferevent_get_input(conn->bev)) == 0;
}

/* --- the list of connections --- */

static void
abandoned_release(struct conns *c)
{
	struct conn *conn;

	for (conn = c->conn; conn < c->conn + c->n_slots; conn++)
		if (conn->state != CONN_FREE && is_abandoned(conn->bev))
			conn_release(conn);
}

/* The oldest connection without a request, of one address, or of any address for NULL. */
static struct conn *
spare_oldest(struct conns *c, const uint8_t *address)
{
	struct conn *conn, *oldest = NULL;

	for (conn = c->conn; conn < c->conn + c->n_slots; conn++)
		if (is_spare(conn) &&
		    (address == NULL ||
			(conn->placed &&
			    memcmp(conn->address, address, sizeof(conn->address)) == 0)) &&
		    (oldest == NULL || conn->since_mono_ns < oldest->since_mono_ns))
			oldest = conn;
	return oldest;
}

/*
 * A connection that has just come may be about to ask. While many others are being answered, the
 * few new connections should not displace each other: the newest then waits.
 */
static bool
is_open(const struct conns *c)
{
	size_t i, n_spare = 0;

	for (i = 0; i < c->n_slots; i++)
		n_spare += is_spare(&c->conn[i]);
	return c->n < c->limits.max || (c->n == c->limits.max && n_spare > c->limits.max / 4);
}

/* Sweeps come more often while the port is full. */
static void
listener_set(struct conns *c)
{
	bool open = is_open(c);

	if (c->listener != NULL)
		(open ? evconnlistener_enable : evconnlistener_disable)(c->listener);
	if (!open)
		arm_sweep(c, c->limits.sweep_ns / 20);
	else if (c->n > 0 && !evtimer_pending(c->sweep, NULL))
		arm_sweep(c, c->limits.sweep_ns);
}

/* Forgets ended connections and ends late ones. */
static void
on_sweep(evutil_socket_t fd, short what, void *arg)
{
	struct conns *c = arg;
	int64_t now = nw_mono_ns();
	struct conn *conn;

	(void)fd, (void)what;
	abandoned_release(c);
	for (conn = c->conn; conn < c->conn + c->n_slots; conn++) {
		if (conn->state == CONN_REFUSED &&
		    evbuffer_get_length(bufferevent_get_output(conn->bev)) == 0)
			conn_end(conn);
		else if (conn->state != CONN_FREE && is_late(c, conn, now)) {
			c->stats.timeouts += !is_idle(conn);
			conn_end(conn);
		}
	}
	listener_set(c);
}

/* --- addresses --- */

/* evhttp reports the descriptor after on_connection(), and the address never. */
static void
address_take(struct conn *conn)
{
	struct sockaddr_storage ss = { 0 };
	const struct in6_addr *v6 = &((const struct sockaddr_in6 *)&ss)->sin6_addr;
	socklen_t len = sizeof(ss);

	conn->placed = true;
	if (getpeername(bufferevent_getfd(conn->bev), (struct sockaddr *)&ss, &len) != 0)
		return;
	conn->address[0] = ss.ss_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(v6);
	if (conn->address[0] != 0)
		memcpy(conn->address + 1, v6, ADDRESS_BYTES);
	else
		memcpy(conn->address + 1,
		    ss.ss_family == AF_INET
			? (const void *)&((const struct sockaddr_in *)&ss)->sin_addr
			: (const void *)(v6->s6_addr + 12),
		    4);
}

static size_t
address_count(const struct conns *c, const uint8_t *address)
{
	size_t i, n = 0;

	for (i = 0; i < c->n_slots; i++)
		n += c->conn[i].state != CONN_FREE && c->conn[i].placed &&
		    memcmp(c->conn[i].address, address, sizeof(c->conn[i].address)) == 0;
	return n;
}

/*
 * Above the limit of its address, a new connection takes the place of one without a request, or is
 * closed itself.
 */
static void
on_fresh(evutil_socket_t fd, short what, void *arg)
{
	struct conns *c = arg;
	struct conn *conn;

	(void)fd, (void)what;
	abandoned_release(c);
	for (conn = c->conn; conn < c->conn + c->n_slots; conn++) {
		if (conn->state == CONN_FREE || conn->placed)
			continue;
		address_take(conn);
		if (address_count(c, conn->address) > c->limits.per_address_max && is_spare(conn)) {
			c->stats.refused++;
			conn_end(spare_oldest(c, conn->address));
		}
	}
}

/* --- callbacks of evhttp --- */

static struct bufferevent *
make_plain(struct event_base *base, void *arg)
{
	(void)arg;
	return bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
}

static void
room_make(struct conns *c)
{
	struct conn *oldest;

	if (c->n >= c->limits.max)
		abandoned_release(c);
	if (c->n < c->limits.max || (oldest = spare_oldest(c, NULL)) == NULL)
		return;
	c->stats.refused++;
	conn_end(oldest);
}

/* evhttp sets its callbacks after this function returns: the first read must come later */
static struct bufferevent *
on_connection(struct event_base *base, void *arg)
{
	struct conns *c = arg;
	struct bufferevent *bev = c->make(base, c->make_arg);
	struct conn *conn = c->conn;

	if (bev == NULL)
		return NULL;
	bufferevent_setwatermark(bev, EV_READ, 0, INPUT_MAX_BYTES + c->limits.body_max_bytes);
	room_make(c);
	while (conn < c->conn + c->n_slots && conn->state != CONN_FREE)
		conn++;
	if (conn == c->conn + c->n_slots)
		return bev; /* evhttp's own limit of time must do */
	bufferevent_incref(bev);
	*conn = (struct conn){
		.owner = c, .bev = bev, .state = CONN_ASKING, .since_mono_ns = nw_mono_ns()
	};
	conn->on_output = evbuffer_add_cb(bufferevent_get_output(bev), on_output, conn);
	c->n++;
	event_active(c->fresh, EV_TIMEOUT, 0);
	listener_set(c);
	return bev;
}

/* --- calls of the web room --- */

struct conns *
conns_new(struct event_base *base, struct evhttp *http, struct evhttp_bound_socket *bound,
    const struct conns_limits *limits, const char *headers)
{
	/* a connection may have been accepted when the last request had come */
	size_t n_slots = limits->max + 1;
	struct conns *c = calloc(1, sizeof(*c) + n_slots * sizeof(c->conn[0]));

	if (c == NULL)
		return NULL;
	c->limits = *limits;
	c->headers = headers;
	c->n_slots = n_slots;
	c->make = make_plain;
	c->listener = evhttp_bound_socket_get_listener(bound);
	c->sweep = evtimer_new(base, on_sweep, c);
	c->fresh = evtimer_new(base, on_fresh, c);
	if (c->sweep == NULL || c->fresh == NULL) {
		conns_free(c);
		return NULL;
	}
	evhttp_set_bevcb(http, on_connection, c);
	return c;
}

void
conns_set_maker(
    struct conns *c, struct bufferevent *(*make)(struct event_base *base, void *arg), void *arg)
{
	c->make = make;
	c->make_arg = arg;
}

void
conns_free(struct conns *c)
{
	struct conn *conn;

	if (c == NULL)
		return;
	for (conn = c->conn; conn < c->conn + c->n_slots; conn++)
		if (conn->state != CONN_FREE)
			conn_release(conn);
	if (c->fresh != NULL)
		event_free(c->fresh);
	if (c->sweep != NULL)
		event_free(c->sweep);
	free(c);
}

void
conns_stop(struct conns *c)
{
	struct conn *conn;

	c->listener = NULL;
	for (conn = c->conn; conn < c->conn + c->n_slots; conn++)
		if (conn->state != CONN_FREE && !is_abandoned(conn->bev) && is_idle(conn))
			conn_end(conn);
}

size_t
conns_count(const struct conns *c)
{
	size_t i, n = 0;

	for (i = 0; i < c->n_slots; i++)
		n += c->conn[i].state != CONN_FREE && !is_abandoned(c->conn[i].bev);
	return n;
}

const struct conns_stats *
conns_get_stats(const struct conns *c)
{
	return &c->stats;
}

static struct conn *
conn_of(struct conns *c, struct evhttp_request *req)
{
	struct evhttp_connection *evcon = evhttp_request_get_connection(req);
	struct bufferevent *bev = evcon != NULL ? evhttp_connection_get_bufferevent(evcon) : NULL;
	struct conn *conn;

	for (conn = c->conn; bev != NULL && conn < c->conn + c->n_slots; conn++)
		if (conn->bev == bev)
			return conn;
	return NULL;
}

void
conns_asked(struct conns *c, struct evhttp_request *req)
{
	struct conn *conn = conn_of(c, req);

	if (conn == NULL)
		return;
	output_ignore(conn);
	conn->state = CONN_ANSWERING;
	conn->since_mono_ns = nw_mono_ns();
}

/* The answer is out: the next request has the time of a first one. */
static void
on_answered(struct evhttp_request *req, void *arg)
{
	struct conn *conn = arg;

	(void)req;
	conn->state = CONN_ASKING;
	conn->since_mono_ns = nw_mono_ns();
	conn->on_output = evbuffer_add_cb(bufferevent_get_output(conn->bev), on_output, conn);
}

bool
conns_keep(struct conns *c, struct evhttp_request *req)
{
	struct conn *conn = conn_of(c, req);

	if (conn == NULL || c->listener == NULL || conn->n_answers == ANSWERS_MAX)
		return false;
	conn->n_answers++;
	evhttp_request_set_on_complete_cb(req, on_answered, conn);
	return true;
}

void
conns_place(struct conns *c, struct evhttp_request *req, char *out, size_t size)
{
	struct conn *conn = conn_of(c, req);
	uint64_t network;

	out[0] = '\0';
	if (conn == NULL)
		return;
	if (!conn->placed)
		address_take(conn);
	memcpy(&network, conn->address + 1, sizeof(network));
	snprintf(out, size, "ip%s %016" PRIx64, conn->address[0] != 0 ? "6" : "", network);
}

bool
conns_streams(struct conns *c, struct evhttp_request *req)
{
	struct conn *conn = conn_of(c, req);
	size_t i, n = 0;

	for (i = 0; i < c->n_slots; i++)
		n += c->conn[i].state == CONN_STREAMING;
	if (conn == NULL || n >= (c->limits.max + 1) / 2) {
		c->stats.refused++;
		return false;
	}
	conn->state = CONN_STREAMING;
	return true;
}
