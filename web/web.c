/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The web thread: listeners, routes, answers. The thread owns an event base, a store reader and its
 * connections. Other threads reach the thread through one eventfd, which means stop.
 *
 * Sizes and times of requests and the number of connections are limited.
 */
#include "narrows/web.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <netdb.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/listener.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "web/http/conns.h"
#include "web/page/page.h"
#include "web/pagepool.h"
#include "web/query/turns.h"
#include "web/resource.h"
#include "web/web_in.h"

enum {
	HEADERS_MAX_BYTES = 8192,
	BODY_READ_MAX_BYTES = 65536, /* a longer body ends the connection at once */
	IO_TIMEOUT_S = 20            /* without any progress */
};
#define NS_PER_S    INT64_C(1000000000)
#define STOP_MAX_NS (2 * NS_PER_S)
static const struct conns_limits default_limits = {
	.max = 128,
	.per_address_max = 32,
	.ask_max_ns = 10 * NS_PER_S,
	.answer_max_ns = 60 * NS_PER_S,
	.sweep_ns = NS_PER_S,
};

/* --- requests --- */

static void
on_request(struct evhttp_request *req, void *arg)
{
	struct port *port = arg;

	conns_asked(port->conns, req);
	port->web->n_requests++;
	request_answer(port, req);
}

/* --- the thread --- */

static void
on_drained(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval soon = { .tv_usec = 20000 };
	struct web *w = arg;
	size_t i, n = 0;

	(void)fd, (void)what;
	for (i = 0; i < PORTS; i++)
		n += w->ports[i].conns != NULL ? conns_count(w->ports[i].conns) : 0;
	if (n == 0 || nw_mono_ns() - w->stop_mono_ns > STOP_MAX_NS)
		event_base_loopbreak(w->base);
	else
		event_add(w->on_drained, &soon);
}

/* Stops listening. Requests that have begun get their answer, within STOP_MAX_NS; long answers are
 * refused. */
static void
on_stop(evutil_socket_t fd, short what, void *arg)
{
	struct web *w = arg;
	struct port *p;

	for (p = w->ports; p < w->ports + PORTS; p++) {
		if (p->bound == NULL)
			continue;
		evhttp_del_accept_socket(p->http, p->bound);
		p->bound = NULL;
		conns_stop(p->conns);
	}
	w->stop_mono_ns = nw_mono_ns();
	pool_stop(w->pool);
	on_drained(fd, what, w);
}

static void *
web_main(void *arg)
{
	struct web *w = arg;
	sigset_t all;

	/* signals belong to the main thread; a client that leaves is an error of its connection */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	(void)pthread_setname_np(pthread_self(), "web");
	event_base_dispatch(w->base);
	return NULL;
}

/* --- start and stop --- */

/* "127.0.0.1/8080", "::1/8080" */
static bool
parse_listen(const char *listen, char *host, size_t size, uint16_t *port)
{
	const char *slash = strrchr(listen, '/');
	char *end;
	long v;

	if (slash == NULL || slash == listen || (size_t)(slash - listen) >= size ||
	    slash[1] < '0' || slash[1] > '9')
		return false;
	memcpy(host, listen, (size_t)(slash - listen));
	host[slash - listen] = '\0';
	v = strtol(slash + 1, &end, 10);
	if (*end != '\0' || v > 65535)
		return false;
	*port = (uint16_t)v;
	return true;
}

static bool
is_loopback(const struct sockaddr_storage *ss)
{
	return ss->ss_family == AF_INET6
	    ? IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)ss)->sin6_addr)
	    : ntohl(((const struct sockaddr_in *)ss)->sin_addr.s_addr) >> 24 == 127;
}

static void
name_address(struct port *p, const char *listen)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof(ss);
	char host[96], port[8];

	if (getsockname(evhttp_bound_socket_get_fd(p->bound), (struct sockaddr *)&ss, &len) == 0 &&
	    getnameinfo((struct sockaddr *)&ss, len, host, sizeof(host), port, sizeof(port),
		NI_NUMERICHOST | NI_NUMERICSERV) == 0)
		snprintf(p->address, sizeof(p->address), "%s/%s", host, port);
	else
		snprintf(p->address, sizeof(p->address), "%s", listen);
	p->on_loopback = is_loopback(&ss);
}

static struct conns_limits
limits_of(const struct web_opts *o)
{
	struct conns_limits l = default_limits;

	if (o->connections_max > 0)
		l.max = o->connections_max;
	if (o->connections_per_address_max > 0)
		l.per_address_max = o->connections_per_address_max;
	if (o->request_max_ns > 0)
		l.ask_max_ns = o->request_max_ns;
	if (o->answer_max_ns > 0)
		l.answer_max_ns = o->answer_max_ns;
	if (o->active_tests != NULL)
		l.body_max_bytes = RESOURCE_BODY_MAX_BYTES;
	return l;
}

/* Binds as evhttp_bind_socket does, but looks the address up without AI_ADDRCONFIG, with which a
 * machine without a global address cannot listen on 127.0.0.1. */
static struct evhttp_bound_socket *
port_bind(
    struct event_base *base, struct evhttp *http, const char *host, uint16_t port, const char **why)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM };
	struct evhttp_bound_socket *bound = NULL;
	struct evconnlistener *l;
	struct addrinfo *ai = NULL;
	char service[8];
	int rc;

	snprintf(service, sizeof(service), "%u", port);
	if ((rc = getaddrinfo(host, service, &hints, &ai)) != 0) {
		*why = gai_strerror(rc);
		return NULL;
	}
	errno = ENOMEM;
	l = evconnlistener_new_bind(base, NULL, NULL,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE, 128, ai->ai_addr,
	    (int)ai->ai_addrlen);
	freeaddrinfo(ai);
	*why = strerror(errno);
	if (l != NULL && (bound = evhttp_bind_listener(http, l)) == NULL)
		evconnlistener_free(l);
	return bound;
}

/* evhttp must not end a connection before its own limit does, which counts. */
static int
io_timeout_s(const struct conns_limits *l)
{
	int64_t ask_s = l->ask_max_ns / NS_PER_S + 5;

	return ask_s > IO_TIMEOUT_S ? (int)(ask_s < INT_MAX ? ask_s : INT_MAX) : IO_TIMEOUT_S;
}

static int
open_port(struct web *w, struct port *p, const char *directive, const char *listen,
    char why[STORE_WHY_BYTES])
{
	const struct conns_limits limits = limits_of(&w->opts);
	const char *reason;
	char host[96];
	uint16_t port;

	if (!parse_listen(listen, host, sizeof(host), &port)) {
		snprintf(why, STORE_WHY_BYTES, "%s: \"%s\" is not ADDRESS/PORT", directive, listen);
		return NW_EINVAL;
	}
	p->web = w;
	if ((p->http = evhttp_new(w->base)) == NULL) {
		snprintf(why, STORE_WHY_BYTES, "%s", nw_strerror(NW_ENOMEM));
		return NW_ENOMEM;
	}
	if ((p->bound = port_bind(w->base, p->http, host, port, &reason)) == NULL) {
		snprintf(why, STORE_WHY_BYTES, "%s %s: %s", directive, listen, reason);
		return NW_EIO;
	}
	if ((p->conns = conns_new(w->base, p->http, p->bound, &limits, w->own_headers)) == NULL) {
		snprintf(why, STORE_WHY_BYTES, "%s", nw_strerror(NW_ENOMEM));
		return NW_ENOMEM;
	}
	name_address(p, listen);
	p->wants_login =
	    w->login != NULL && (w->opts.access->wants == WEB_ALWAYS || !p->on_loopback);
	evhttp_set_allowed_methods(p->http,
	    EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST | EVHTTP_REQ_PUT |
		EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH | EVHTTP_REQ_TRACE);
	evhttp_set_max_headers_size(p->http, HEADERS_MAX_BYTES);
	evhttp_set_max_body_size(p->http, BODY_READ_MAX_BYTES + limits.body_max_bytes);
	evhttp_set_timeout(p->http, io_timeout_s(&limits));
	evhttp_set_gencb(p->http, on_request, p);
	return NW_OK;
}

/* Behind each slice of a slow answer the thread looks for events that came meanwhile. */
static struct event_base *
base_new(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base = NULL;

	if (config != NULL &&
	    event_config_set_max_dispatch_interval(config, NULL, 1, EVENTS_SLOW) == 0 &&
	    (base = event_base_new_with_config(config)) != NULL &&
	    event_base_priority_init(base, EVENTS_PRIORITIES) != 0) {
		event_base_free(base);
		base = NULL;
	}
	if (config != NULL)
		event_config_free(config);
	return base;
}

static int
open_ports(struct web *w, char why[STORE_WHY_BYTES])
{
	struct port *https = &w->ports[PORT_HTTPS];
	int rc;

	if ((w->base = base_new()) == NULL) {
		snprintf(why, STORE_WHY_BYTES, "%s", nw_strerror(NW_ENOMEM));
		return NW_ENOMEM;
	}
	if ((rc = open_port(w, &w->ports[PORT_HTTP], "listen-http", w->opts.listen, why)) < 0 ||
	    w->opts.listen_https == NULL)
		return rc;
	if ((rc = open_port(w, https, "listen-https", w->opts.listen_https, why)) == NW_OK)
		conns_set_maker(https->conns, w->opts.wrap, w->opts.wrap_arg);
	return rc;
}

/* Stretches, with answers to requests in between. */
static void
on_follow(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval soon = { 0, 1000 };
	struct web *w = arg;
	bool done = false;

	(void)fd;
	(void)what;
	if (w->index != NULL &&
	    session_index_follow(w->index, w->reader, SESSION_FOLLOW, &done) == NW_OK && !done)
		evtimer_add(w->on_follow, &soon);
}

static int
open_events(struct web *w, char why[STORE_WHY_BYTES])
{
	static const struct timeval at_once = { 0, 0 };

	if ((w->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0 ||
	    (w->on_stop = event_new(w->base, w->stop_fd, EV_READ, on_stop, w)) == NULL ||
	    (w->on_drained = evtimer_new(w->base, on_drained, w)) == NULL ||
	    (w->on_follow = evtimer_new(w->base, on_follow, w)) == NULL ||
	    (w->turns = turns_new(w->base)) == NULL ||
	    event_priority_set(w->on_follow, EVENTS_SLOW) != 0 ||
	    event_add(w->on_stop, NULL) != 0 || evtimer_add(w->on_follow, &at_once) != 0) {
		snprintf(why, STORE_WHY_BYTES, "web: %s", strerror(errno));
		return NW_ENOMEM;
	}
	return NW_OK;
}

static void
web_free(struct web *w)
{
	struct port *p;

	pool_free(w->pool);
	for (p = w->ports; p < w->ports + PORTS; p++) {
		if (p->http != NULL)
			evhttp_free(p->http);
		conns_free(p->conns);
	}
	turns_free(w->turns);
	if (w->on_drained != NULL)
		event_free(w->on_drained);
	if (w->on_stop != NULL)
		event_free(w->on_stop);
	if (w->on_follow != NULL)
		event_free(w->on_follow);
	if (w->stop_fd >= 0)
		close(w->stop_fd);
	if (w->base != NULL)
		event_base_free(w->base);
	store_reader_close(w->reader);
	expected_clear(&w->expected);
	session_index_free(w->index);
	login_free(w->login);
	free(w);
}

int
web_start(const struct web_opts *opts, struct web **out, char why[STORE_WHY_BYTES])
{
	struct web *w = calloc(1, sizeof(*w));
	int rc;

	why[0] = '\0';
	if (w == NULL)
		return NW_ENOMEM;
	w->stop_fd = -1;
	w->opts = *opts;
	reply_lines(w->own_headers);
	if (opts->access != NULL && opts->access->wants != WEB_NEVER &&
	    (w->login = login_new(opts->access)) == NULL) {
		web_free(w);
		return NW_ENOMEM;
	}
	w->index = session_index_new();
	if ((rc = store_reader_open(opts->store_path, &w->reader, why)) < 0 ||
	    (rc = open_ports(w, why)) < 0 || (rc = open_events(w, why)) < 0 ||
	    (rc = pool_new(w->base, opts->store_path, &w->pool, why)) < 0)
		goto fail;
	if ((errno = pthread_create(&w->thread, NULL, web_main, w)) != 0) {
		snprintf(why, STORE_WHY_BYTES, "web thread: %s", strerror(errno));
		rc = NW_EIO;
		goto fail;
	}
	*out = w;
	return NW_OK;
fail:
	web_free(w);
	return rc;
}

void
web_stop(struct web *w)
{
	static const uint64_t one = 1;

	if (w == NULL)
		return;
	if (write(w->stop_fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
		abort(); /* a write of 8 bytes to an eventfd with one writer succeeds */
	pthread_join(w->thread, NULL);
	web_free(w);
}

const char *
web_address(const struct web *w)
{
	return w->ports[PORT_HTTP].address;
}

const char *
web_address_https(const struct web *w)
{
	return w->ports[PORT_HTTPS].address;
}
