/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/event.h>
#include <event2/listener.h>

#include "daemon/box.h"
#include "narrows/address.h"
#include "narrows/log.h"
#include "daemon/peer.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"

struct listeners {
	struct box *box;
	const char *directive;
	enum peer_port port;
	struct evconnlistener *l[CONF_LISTENERS_MAX];
	size_t n;
	char addresses[1024];
};

static void
on_connection(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *sa, int len, void *arg)
{
	struct listeners *ls = arg;

	(void)l;
	(void)len;
	peer_accept(ls->box, fd, sa, ls->port);
}

/* Without descriptors the present connections go on; accepting begins again after a second. */
static void
on_enable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	evconnlistener_enable(arg);
}

static void
on_accept_error(struct evconnlistener *l, void *arg)
{
	struct timeval tv = { 1, 0 };

	(void)arg;
	log_warn("listener.accept");
	evconnlistener_disable(l);
	event_base_once(evconnlistener_get_base(l), -1, EV_TIMEOUT, on_enable, l, &tv);
}

static void
address_note(struct listeners *ls, struct evconnlistener *l)
{
	char host[INET6_ADDRSTRLEN] = "?";
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	uint16_t port = 0;
	size_t at = strlen(ls->addresses);

	if (getsockname(evconnlistener_get_fd(l), (struct sockaddr *)&ss, &len) == 0) {
		if (ss.ss_family == AF_INET6) {
			inet_ntop(
			    AF_INET6, &((struct sockaddr_in6 *)&ss)->sin6_addr, host, sizeof(host));
			port = ntohs(((struct sockaddr_in6 *)&ss)->sin6_port);
		} else {
			inet_ntop(
			    AF_INET, &((struct sockaddr_in *)&ss)->sin_addr, host, sizeof(host));
			port = ntohs(((struct sockaddr_in *)&ss)->sin_port);
		}
	}
	snprintf(
	    ls->addresses + at, sizeof(ls->addresses) - at, "%s%s/%u", at ? " " : "", host, port);
}

static int
listen_one(struct listeners *ls, const char *address, char why[CONF_WHY_BYTES])
{
	struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM },
			*ai = NULL;
	struct evconnlistener *l = NULL;
	char host[256], service[8];
	uint16_t port;
	int rc;

	if (ls->n == CONF_LISTENERS_MAX || address_parse(address, host, &port) < 0) {
		snprintf(why, CONF_WHY_BYTES, "%s %.100s: not an address, or too many",
		    ls->directive, address);
		return NW_EINVAL;
	}
	snprintf(service, sizeof(service), "%u", port);
	if ((rc = getaddrinfo(host, service, &hints, &ai)) != 0) {
		snprintf(
		    why, CONF_WHY_BYTES, "%s %.100s: %s", ls->directive, address, gai_strerror(rc));
		return NW_EIO;
	}
	errno = 0;
	l = evconnlistener_new_bind(ls->box->base, on_connection, ls,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE, 1024, ai->ai_addr,
	    (int)ai->ai_addrlen);
	freeaddrinfo(ai);
	if (l == NULL) {
		snprintf(
		    why, CONF_WHY_BYTES, "%s %.100s: %s", ls->directive, address, strerror(errno));
		return NW_EIO;
	}
	evconnlistener_set_error_cb(l, on_accept_error);
	ls->l[ls->n++] = l;
	address_note(ls, l);
	return NW_OK;
}

int
listeners_start(struct box *box, const char *directive, enum peer_port port, const char *addresses,
    struct listeners **out, char why[CONF_WHY_BYTES])
{
	struct listeners *ls = xcalloc(1, sizeof(*ls));
	const char *p = conf_is_none(addresses) ? "" : addresses;
	char one[300];
	size_t len;
	int rc = NW_OK;

	ls->box = box;
	ls->directive = directive;
	ls->port = port;
	for (; *p != '\0' && rc == NW_OK; p += len, p += strspn(p, " \t")) {
		len = strcspn(p, " \t");
		snprintf(one, sizeof(one), "%.*s", (int)len, p);
		rc = listen_one(ls, one, why);
	}
	if (rc < 0) {
		listeners_stop(ls);
		return rc;
	}
	*out = ls;
	return NW_OK;
}

void
listeners_stop(struct listeners *ls)
{
	size_t i;

	if (ls == NULL)
		return;
	for (i = 0; i < ls->n; i++)
		evconnlistener_free(ls->l[i]);
	free(ls);
}

const char *
listeners_addresses(const struct listeners *ls)
{
	return ls->addresses;
}
