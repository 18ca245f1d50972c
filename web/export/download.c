/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *	start --> slice --> wait until the slice is sent --> slice ... --> end
 *	                                  client gone --> forget
 *
 * An empty slice (many series, none with data) is followed by the next slice in another turn.
 */
#include "web/export/download.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>

#include "narrows/err.h"
#include "web/query/gzip.h"

struct download {
	struct evhttp_request *req;
	struct stream stream;
	struct evbuffer *slice, *packed;
	struct gzip *gzip; /* NULL: not compressed */
	struct turns *turns;
	struct turn turn;
	char *owner;
};

static void download_step(struct download *d);

static void
download_free(struct download *d)
{
	stream_free(&d->stream);
	gzip_free(d->gzip);
	if (d->slice != NULL)
		evbuffer_free(d->slice);
	if (d->packed != NULL)
		evbuffer_free(d->packed);
	turns_leave(d->turns, &d->turn);
	free(d->owner);
	free(d);
}

static void
download_end(struct download *d)
{
	struct evhttp_request *req = d->req;
	struct evhttp_connection *evcon = evhttp_request_get_connection(req);

	if (evcon != NULL)
		evhttp_connection_set_closecb(evcon, NULL, NULL);
	download_free(d);
	evhttp_send_reply_end(req);
}

static void
on_close(struct evhttp_connection *evcon, void *arg)
{
	struct download *d = arg;
	struct evhttp_request *req = d->req;

	(void)evcon;
	download_free(d);
	/*
	 * evhttp has let go of a request whose client left: the end of the reply frees the request
	 */
	if (evhttp_request_get_connection(req) == NULL)
		evhttp_send_reply_end(req);
}

/* In a turn, never from within evhttp: a step may free the connection. Without memory the
 * connection breaks, and on_close follows. */
static void
download_again(struct download *d)
{
	struct evhttp_connection *evcon = evhttp_request_get_connection(d->req);

	if (turns_wait(d->turns, &d->turn) < 0)
		shutdown(bufferevent_getfd(evhttp_connection_get_bufferevent(evcon)), SHUT_RDWR);
}

static void
on_sent(struct evhttp_connection *evcon, void *arg)
{
	(void)evcon;
	download_again(arg);
}

static void
on_turn(void *arg)
{
	download_step(arg);
}

static int
add_to_slice(void *arg, const char *text, size_t len)
{
	struct download *d = arg;

	return evbuffer_add(d->slice, text, len) == 0 ? NW_OK : NW_ENOMEM;
}

static int
next_slice(struct download *d, bool *done)
{
	int rc = d->stream.next(d->stream.state, add_to_slice, d, done);

	if (rc == NW_OK && d->gzip != NULL && (*done || evbuffer_get_length(d->slice) > 0))
		rc = gzip_add(d->gzip, d->slice, d->packed, *done);
	return rc;
}

static void
download_step(struct download *d)
{
	struct evbuffer *out = d->gzip != NULL ? d->packed : d->slice;
	bool done;

	if (next_slice(d, &done) < 0) {
		/* a broken connection, so that half a table does not look like a whole table */
		struct evhttp_connection *evcon = evhttp_request_get_connection(d->req);

		evhttp_connection_free(evcon); /* runs on_close */
		return;
	}
	if (done) {
		if (evbuffer_get_length(out) > 0)
			evhttp_send_reply_chunk(d->req, out);
		download_end(d);
	} else if (evbuffer_get_length(out) > 0)
		evhttp_send_reply_chunk_with_cb(d->req, out, on_sent, d);
	else
		download_again(d);
}

int
download_start(struct turns *turns, const char *owner, struct evhttp_request *req, struct stream *s,
    struct evbuffer *begun, bool packed)
{
	struct download *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NW_ENOMEM;
	d->req = req;
	d->turns = turns;
	if ((d->owner = strdup(owner)) == NULL || (d->slice = evbuffer_new()) == NULL ||
	    (d->packed = evbuffer_new()) == NULL || (packed && (d->gzip = gzip_new()) == NULL) ||
	    evbuffer_add_buffer(d->slice, begun) != 0) {
		download_free(d);
		return NW_ENOMEM;
	}
	d->turn = (struct turn){ .owner = d->owner, .run = on_turn, .arg = d };
	d->stream = *s;
	s->state = NULL;
	evhttp_connection_set_closecb(evhttp_request_get_connection(req), on_close, d);
	evhttp_send_reply_start(req, 200, "OK");
	download_again(d);
	return NW_OK;
}
