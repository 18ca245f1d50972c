/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/gate/traces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "field/fieldtext.h"
#include "narrows/err.h"
#include "narrows/log.h"
#include "narrows/rucio.h"
#include "narrows/xmalloc.h"

enum { AT_ONCE = 32, WAY_BYTES = 1 << 20 };

struct traces {
	int in, out; /* the web thread sends into `in` */
	struct event *event;
	struct nw_networks from;
	traces_fn *fn;
	void *arg;
};

/* A transfer under way. */
struct passing {
	char sender[NW_ANNOUNCE_ADDRESS_BYTES];
	struct nw_announcement n;
};

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct traces *t = arg;
	struct passing p;
	int i;

	(void)what;
	for (i = 0; i < AT_ONCE; i++) {
		if (recv(fd, &p, sizeof(p), MSG_DONTWAIT) != (ssize_t)sizeof(p))
			return;
		t->fn(t->arg, p.sender, &p.n);
	}
}

static int
way_open(struct traces *t, struct event_base *base, char why[CONF_WHY_BYTES])
{
	int fd[2], size = WAY_BYTES;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) != 0) {
		(void)snprintf(why, CONF_WHY_BYTES, "take-traces: %s", strerror(errno));
		return NW_EIO;
	}
	t->in = fd[0];
	t->out = fd[1];
	(void)setsockopt(t->in, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	t->event = event_new(base, t->out, EV_READ | EV_PERSIST, on_readable, t);
	if (t->event == NULL || event_add(t->event, NULL) != 0)
		fatalx("events: libevent refuses");
	return NW_OK;
}

int
traces_start(struct event_base *base, const char *from, traces_fn *fn, void *arg,
    struct traces **out, char why[CONF_WHY_BYTES])
{
	struct traces *t = xcalloc(1, sizeof(*t));
	const char *fault;
	int rc = NW_OK;

	t->in = t->out = -1;
	t->fn = fn;
	t->arg = arg;
	if (strcmp(from, "none") != 0 && (rc = nw_networks_parse(from, &t->from, &fault)) < 0)
		(void)snprintf(why, CONF_WHY_BYTES, "announce-from: %s", fault);
	if (rc == NW_OK)
		rc = way_open(t, base, why);
	if (rc < 0)
		traces_stop(t);
	else
		*out = t;
	return rc;
}

void
traces_stop(struct traces *t)
{
	if (t == NULL)
		return;
	if (t->event != NULL)
		event_free(t->event);
	if (t->in >= 0)
		close(t->in);
	if (t->out >= 0)
		close(t->out);
	free(t);
}

/* --- web thread --- */

struct sending {
	const struct traces *t;
	const char *sender;
	bool is_full;
};

static void
on_transfer(void *arg, const struct nw_announcement *n)
{
	struct sending *s = arg;
	struct passing p = { .n = *n };

	fieldtext_copy(p.sender, sizeof(p.sender), s->sender, strlen(s->sender));
	if (!s->is_full && send(s->t->in, &p, sizeof(p), MSG_NOSIGNAL) != (ssize_t)sizeof(p))
		s->is_full = true;
}

int
traces_take(void *traces, const char *sender, const char *body, char *out, size_t cap)
{
	char address[NW_ANNOUNCE_ADDRESS_BYTES];
	struct sending s = { .t = traces, .sender = address };
	struct nw_rucio_got got;
	const char *why;

	if (!fieldtext_address(sender, address) || !nw_networks_have_text(&s.t->from, address)) {
		(void)snprintf(out, cap, "announce-from of the box does not have %s\n", sender);
		return 403;
	}
	if (nw_rucio_read(body, strlen(body), address, on_transfer, &s, &got, &why) < 0) {
		(void)snprintf(out, cap, "%s\n", why);
		return 400;
	}
	(void)snprintf(
	    out, cap, s.is_full ? "The box is busy: send the trace again.\n" : "Created\n");
	return s.is_full ? 503 : 201;
}
