/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *	ask --> turn: the handler --> whole answer, or an error
 *	 |                 |  stream: --> turn: slice --> turn: slice ... --done--> whole answer
 *	 |                 |                 |  large or slow: --> download
 *	 |  a long answer: |  large: --> download
 *	 `---> pool -------'
 *	any --client gone--> forget, at once or when the pool has stopped
 */
#include "web/later.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "web/export/download.h"
#include "web/http/conns.h"
#include "web/pagepool.h"
#include "web/resource.h"
#include "web/web_in.h"

#define WHOLE_MAX_NS INT64_C(50000000) /* time to make an answer that is not streamed */
enum { WHOLE_MAX_BYTES = 1 << 20, BODY_SLICE_BYTES = 64 << 10 };

struct later {
	struct turn turn;
	struct pool_job job;
	struct reply a; /* without req: the client has left while the pool is at work */
	struct ask q;
	ask_fn *handler;
	char *query, *form; /* copies for the handler */
	int64_t spent_ns;   /* on slices */
	struct event *gone; /* of an answer that takes long */
};

/* --- the answer goes out --- */

static void
head_put(struct reply *a, const struct ask *q)
{
	char disposition[128];

	a->type = q->type;
	if (q->file_name[0] == '\0')
		return;
	snprintf(disposition, sizeof(disposition), "attachment; filename=\"%s\"", q->file_name);
	reply_header(a, "Content-Disposition", disposition);
}

void
answer_send(struct reply *a, const struct ask *q, int rc)
{
	a->type = q->type;
	a->why = q->why;
	if (rc == NW_OK)
		head_put(a, q);
	if (rc < 0)
		reply_error(a, ask_code(rc));
	else if (q->location[0] != '\0') {
		reply_header(a, "Location", q->location);
		reply_send(a, 303);
	} else if (q->status != 0)
		reply_send(a, q->status);
	else
		reply_send_tagged(a);
}

/* Streams the answer from its present body on. Takes the stream. */
static void
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
		rc = download_start(
		    a->w->turns, a->owner, a->req, s, a->body, reply_begin_stream(a));
	if (rc < 0) {
		stream_free(s);
		evhttp_clear_headers(evhttp_request_get_output_headers(a->req));
		a->type = NULL;
		conns_asked(a->port->conns, a->req);
		reply_rc(a, rc);
	}
}

/* --- a large body as a stream --- */

static int
body_next(void *state, stream_write_fn *write, void *arg, bool *done)
{
	struct evbuffer *body = state;
	size_t len = evbuffer_get_length(body);
	int rc;

	if (len > BODY_SLICE_BYTES)
		len = BODY_SLICE_BYTES;
	rc = len > 0 ? write(arg, (const char *)evbuffer_pullup(body, (ssize_t)len), len) : NW_OK;
	evbuffer_drain(body, len);
	*done = evbuffer_get_length(body) == 0;
	return rc;
}

static void
body_free(void *state)
{
	evbuffer_free(state);
}

/* Turns the body of the answer into a stream. */
static int
body_stream(struct later *l)
{
	struct evbuffer *rest = evbuffer_new();

	if (rest == NULL)
		return NW_ENOMEM;
	l->q.stream = (struct stream){ .next = body_next, .free = body_free, .state = l->a.body };
	l->a.body = rest;
	return NW_OK;
}

/* --- whether the client is there --- */

/* evhttp reads nothing while an answer is made, and so sees no end of the connection. */
static void
on_gone(evutil_socket_t fd, short what, void *arg)
{
	struct later *l = arg;

	(void)fd, (void)what;
	evhttp_connection_free(evhttp_request_get_connection(l->a.req)); /* runs on_close */
}

static void
gone_watch(struct later *l)
{
	struct bufferevent *bev =
	    evhttp_connection_get_bufferevent(evhttp_request_get_connection(l->a.req));

	if (l->gone == NULL &&
	    (l->gone = event_new(l->a.w->base, bufferevent_getfd(bev), EV_CLOSED, on_gone, l)) !=
		NULL)
		(void)event_add(l->gone, NULL);
}

static void
gone_ignore(struct later *l)
{
	if (l->gone != NULL)
		event_free(l->gone);
	l->gone = NULL;
}

/* --- the way of a request --- */

static void
later_free(struct later *l)
{
	gone_ignore(l);
	turns_leave(l->a.w->turns, &l->turn);
	stream_free(&l->q.stream);
	if (l->a.body != NULL)
		evbuffer_free(l->a.body);
	free(l->query);
	free(l->form);
	free(l);
}

/* The request belongs to evhttp again. */
static void
request_release(struct evhttp_request *req)
{
	/* evhttp has let go of the request: the end of the reply frees the request */
	if (evhttp_request_get_connection(req) == NULL)
		evhttp_send_reply_end(req);
}

static void
on_close(struct evhttp_connection *evcon, void *arg)
{
	struct later *l = arg;
	struct evhttp_request *req = l->a.req;

	(void)evcon;
	if (l->handler == NULL || l->job.owner == NULL || pool_drop(l->a.w->pool, &l->job))
		later_free(l);
	else {
		l->a.req = NULL;
		gone_ignore(l);
	}
	request_release(req);
}

static void
close_unwatch(struct later *l)
{
	gone_ignore(l);
	evhttp_connection_set_closecb(evhttp_request_get_connection(l->a.req), NULL, NULL);
}

/* Answers whole, and ends the wait. */
static void
later_end(struct later *l, int rc)
{
	close_unwatch(l);
	if (rc < 0 && stream_why(&l->q.stream) != NULL) {
		snprintf(l->q.why_text, sizeof(l->q.why_text), "%s", stream_why(&l->q.stream));
		l->q.why = l->q.why_text;
	}
	answer_send(&l->a, &l->q, rc);
	later_free(l);
}

static void
later_stream(struct later *l)
{
	close_unwatch(l);
	head_put(&l->a, &l->q);
	answer_stream(&l->a, &l->q.stream);
	later_free(l);
}

static int
add_to_body(void *arg, const char *bytes, size_t len)
{
	return evbuffer_add(arg, bytes, len) == 0 ? NW_OK : NW_ENOMEM;
}

static void
turn_wait(struct later *l)
{
	int rc = turns_wait(l->a.w->turns, &l->turn);

	if (rc < 0)
		later_end(l, rc);
}

static void
slice(struct later *l)
{
	struct stream *s = &l->q.stream;
	int64_t begin = nw_mono_ns();
	bool done = false;
	int rc = s->next(s->state, add_to_body, l->a.body, &done);

	l->spent_ns += nw_mono_ns() - begin;
	if (rc < 0 || done)
		later_end(l, rc);
	else if (stream_may_refuse(s) ||
	    (evbuffer_get_length(l->a.body) < WHOLE_MAX_BYTES && l->spent_ns < WHOLE_MAX_NS)) {
		gone_watch(l);
		turn_wait(l);
	} else
		later_stream(l);
}

/* The handler has returned rc. */
static void
handler_done(struct later *l, int rc)
{
	l->handler = NULL;
	if (rc == NW_OK && l->q.stream.next == NULL && l->q.status == 0 &&
	    evbuffer_get_length(l->a.body) > WHOLE_MAX_BYTES) {
		rc = body_stream(l);
		l->q.is_download = true;
	}
	if (rc < 0 || l->q.stream.next == NULL)
		later_end(l, rc);
	else if (l->q.is_download)
		later_stream(l);
	else
		turn_wait(l);
}

static void
on_turn(void *arg)
{
	struct later *l = arg;

	if (l->handler != NULL)
		handler_done(l, ask_run(&l->q, l->handler));
	else
		slice(l);
}

/* --- in the pool --- */

/* A thread of the pool. The handler gets along without web and reply, as those of narrows -s. */
static void
on_run(struct pool_job *job, const struct pool_hand *hand)
{
	struct later *l = fairq_of(job, struct later, job);

	l->q.r = hand->reader;
	l->q.lines = hand->lines;
	l->q.web = NULL;
	l->q.reply = NULL;
	l->q.h.stop = &job->stop;
	l->q.status = ask_run(&l->q, l->handler);
}

/* The web thread. */
static void
on_done(struct pool_job *job)
{
	struct later *l = fairq_of(job, struct later, job);
	int rc = l->q.status;

	l->q.status = 0;
	if (l->a.req == NULL)
		later_free(l);
	else if (atomic_load(&job->stop)) {
		l->q.why = "The box ends.";
		later_end(l, NW_EFULL);
	} else
		handler_done(l, rc);
}

int
later_ask(struct reply *a, const struct ask *q, ask_fn *handler)
{
	struct later *l = calloc(1, sizeof(*l));
	int rc = NW_ENOMEM;

	if (l == NULL)
		return NW_ENOMEM;
	l->a = *a;
	l->q = *q;
	l->q.reply = &l->a;
	l->handler = handler;
	l->turn = (struct turn){ .owner = l->a.owner, .run = on_turn, .arg = l };
	if ((q->query == NULL || (l->q.query = l->query = strdup(q->query)) != NULL) &&
	    (q->form == NULL || (l->q.form = l->form = strdup(q->form)) != NULL)) {
		if (q->to.resource->is_long) {
			l->job.owner = l->a.owner;
			l->job.run = on_run;
			l->job.done = on_done;
			rc = pool_put(a->w->pool, &l->job);
		} else
			rc = turns_wait(a->w->turns, &l->turn);
	}
	a->body = NULL;
	if (rc == NW_OK) {
		evhttp_connection_set_closecb(evhttp_request_get_connection(a->req), on_close, l);
		if (q->to.resource->is_long)
			gone_watch(l);
		return NW_OK;
	}
	a->body = l->a.body;
	l->a.body = NULL;
	later_free(l);
	return rc;
}
