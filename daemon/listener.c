/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/listener.h"

#include <netdb.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <event2/event.h>
#include <event2/listener.h>

#include "daemon/box.h"
#include "daemon/gate/bindlist.h"
#include "daemon/peer.h"
#include "narrows/err.h"
#include "narrows/log.h"
#include "narrows/xmalloc.h"

struct listeners {
	struct box *box;
	enum peer_port port;
	struct bindlist sockets;
	struct evconnlistener *l[CONF_LISTENERS_MAX]; /* of each socket */
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

static int
listen_one(void *arg, const struct addrinfo *ai)
{
	struct listeners *ls = arg;
	struct evconnlistener *l = evconnlistener_new_bind(ls->box->base, on_connection, ls,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE, 1024, ai->ai_addr,
	    (int)ai->ai_addrlen);

	if (l == NULL)
		return -1;
	evconnlistener_set_error_cb(l, on_accept_error);
	ls->l[ls->sockets.n] = l;
	return evconnlistener_get_fd(l);
}

int
listeners_start(struct box *box, const char *directive, enum peer_port port, const char *addresses,
    struct listeners **out, char why[CONF_WHY_BYTES])
{
	struct listeners *ls = xcalloc(1, sizeof(*ls));
	int rc;

	ls->box = box;
	ls->port = port;
	ls->sockets = (struct bindlist){ .directive = directive,
		.type = SOCK_STREAM,
		.most = CONF_LISTENERS_MAX,
		.fn = listen_one,
		.arg = ls };
	if ((rc = bindlist_open(&ls->sockets, addresses, why)) < 0) {
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
	for (i = 0; i < ls->sockets.n; i++)
		evconnlistener_free(ls->l[i]);
	free(ls);
}

const char *
listeners_addresses(const struct listeners *ls)
{
	return ls->sockets.addresses;
}
