/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *	start --> slice --> slice ... --done--> whole answer, or an error
 *	            |  large or slow: --------> download
 *	            |  client gone: ----------> forget
 */
#include "web/later.h"

#include <stdio.h>
#include <stdlib.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "web/ask.h"
#include "web/export/download.h"
#include "web/http/conns.h"
#include "web/web_in.h"

#define WHOLE_MAX_NS INT64_C(50000000) /* time to make an answer that is not streamed */
enum { WHOLE_MAX_BYTES = 1 << 20 };

struct later {
	struct reply a;
	struct stream s;
	struct event *again;
	int64_t spent_ns;
	char why[ASK_WHY_BYTES];
};

void
answer_stream(struct reply *a, struct stream *s)
{
	int rc = NW_EFULL;

	if (evhttp_request_get_command(a->req) == EVHTTP_REQ_HEAD) {
		stream_free(s);
		reply_begin_stream(a);
		evhttp_send_reply(a->req, 200, reply_reason(200), NULL);
		return;
	}
	if (conns_streams(a->port->conns, a->req))
		rc = download_start(a->w->base, a->req, s, a->body, reply_begin_stream(a));
	if (rc < 0) {
		stream_free(s);
		evhttp_clear_headers(evhttp_request_get_output_headers(a->req));
		a->type = NULL;
		conns_asked(a->port->conns, a->req);
		reply_rc(a, rc);
	}
}

static void
later_free(struct later *l)
{
	stream_free(&l->s);
	if (l->again != NULL)
		event_free(l->again);
	if (l->a.body != NULL)
		evbuffer_free(l->a.body);
	free(l);
}

static void
on_close(struct evhttp_connection *evcon, void *arg)
{
	struct later *l = arg;
	struct evhttp_request *req = l->a.req;

	(void)evcon;
	later_free(l);
	/* evhttp has let go of the request: the end of the reply frees the request */
	if (evhttp_request_get_connection(req) == NULL)
		evhttp_send_reply_end(req);
}

static int
add_to_body(void *arg, const char *bytes, size_t len)
{
	return evbuffer_add(arg, bytes, len) == 0 ? NW_OK : NW_ENOMEM;
}

/* Answers, and ends the wait. */
static void
later_end(struct later *l, int rc, bool done)
{
	evhttp_connection_set_closecb(evhttp_request_get_connection(l->a.req), NULL, NULL);
	if (rc == NW_OK && !done)
		answer_stream(&l->a, &l->s);
	else {
		if (rc < 0 && stream_why(&l->s) != NULL) {
			snprintf(l->why, sizeof(l->why), "%s", stream_why(&l->s));
			l->a.why = l->why;
		}
		reply_rc(&l->a, rc);
	}
	later_free(l);
}

static void
on_again(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval now = { 0 };
	struct later *l = arg;
	int64_t begin = nw_mono_ns();
	bool done = false;
	int rc = l->s.next(l->s.state, add_to_body, l->a.body, &done);

	(void)fd, (void)what;
	l->spent_ns += nw_mono_ns() - begin;
	if (rc == NW_OK && !done &&
	    (stream_may_refuse(&l->s) ||
		(evbuffer_get_length(l->a.body) < WHOLE_MAX_BYTES && l->spent_ns < WHOLE_MAX_NS)))
		event_add(l->again, &now);
	else
		later_end(l, rc, done);
}

int
later_start(struct reply *a, struct stream *s)
{
	static const struct timeval now = { 0 };
	struct later *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NW_ENOMEM;
	if ((l->again = evtimer_new(a->w->base, on_again, l)) == NULL) {
		free(l);
		return NW_ENOMEM;
	}
	event_priority_set(l->again, EVENTS_SLOW);
	event_add(l->again, &now);
	l->a = *a;
	l->s = *s;
	a->body = NULL;
	s->state = NULL;
	evhttp_connection_set_closecb(evhttp_request_get_connection(a->req), on_close, l);
	return NW_OK;
}
