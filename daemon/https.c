/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A filter between a socket and evhttp:
 *
 *	socket --wire--> on_input --plain--> evhttp --plain--> on_output --wire--> socket
 *
 * on_input answers the handshake; on_output has nothing to do before the handshake is over.
 *
 * evhttp first puts an answer into its buffer, then sets the callback for "sent", then allows
 * writing. A filter is called when the buffer changes: too early to write, and, in the middle of a
 * download, too early to report. Therefore only on_push() writes, called from the event loop at the
 * request of on_answer(). evhttp closes the connection when its buffer is empty: plain text stays
 * there until the kernel has the wire bytes.
 */
#include "daemon/https.h"

#include <stdlib.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "daemon/box.h"
#include "narrows/log.h"
#include "daemon/tlsctx.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"

enum { PLAIN_BYTES = 16 << 10 };

struct https {
	struct box *box;
	struct bufferevent *socket, *filter; /* the filter owns the socket, and us */
	struct event *push;
	struct nw_tls *tls;
	size_t sealed; /* bytes at the front of evhttp's buffer that are sent or on their way */
	bool pushing;  /* on_output() is called by on_push() */
	bool refused;
};

static void
https_free(void *arg)
{
	struct https *h = arg;

	if (h->push != NULL)
		event_free(h->push);
	nw_tls_free(h->tls);
	free(h);
}

/* Writes the output of TLS to the socket; bytes that the socket does not take wait in out. Returns
 * false while bytes wait. */
static bool
wire_write(struct https *h, struct evbuffer *out)
{
	const uint8_t *bytes;
	size_t len = nw_tls_output(h->tls, &bytes);
	ssize_t n = 0;

	if (len > 0 && evbuffer_get_length(out) == 0)
		n = send(bufferevent_getfd(h->socket), bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n > 0)
		nw_tls_sent(h->tls, (size_t)n);
	if ((len = nw_tls_output(h->tls, &bytes)) > 0) {
		while (evbuffer_add(out, bytes, len) != 0)
			xmalloc_spend();
		nw_tls_sent(h->tls, len);
	}
	return evbuffer_get_length(out) == 0;
}

/* Browsers break off for many harmless reasons: a counter and an informative line are enough. */
static enum bufferevent_filter_result
refuse(struct https *h)
{
	if (!h->refused) {
		counter_add(&h->box->counters.rejected_tls, 1);
		log_info("https.reject why=\"%s\"", nw_tls_why(h->tls));
		event_active(h->push, EV_TIMEOUT, 0);
	}
	h->refused = true;
	return BEV_ERROR;
}

static enum bufferevent_filter_result
plain_take(struct https *h, struct evbuffer *dst)
{
	enum bufferevent_filter_result result = BEV_NEED_MORE;
	uint8_t plain[PLAIN_BYTES];
	long n;

	while ((n = nw_tls_read(h->tls, plain, sizeof(plain))) > 0) {
		if (evbuffer_add(dst, plain, (size_t)n) != 0)
			return BEV_ERROR;
		result = BEV_OK;
	}
	return n == NW_EPROTO ? refuse(h) : result;
}

static enum bufferevent_filter_result
on_input(struct evbuffer *src, struct evbuffer *dst, ev_ssize_t limit,
    enum bufferevent_flush_mode mode, void *arg)
{
	enum bufferevent_filter_result result = BEV_NEED_MORE, got;
	struct https *h = arg;
	size_t len;
	int rc;

	(void)limit, (void)mode;
	while ((len = evbuffer_get_contiguous_space(src)) > 0 && result != BEV_ERROR) {
		nw_tls_feed(h->tls, evbuffer_pullup(src, (ev_ssize_t)len), len);
		rc = nw_tls_handshake(h->tls);
		got = rc == NW_OK     ? plain_take(h, dst)
		    : rc == NW_EAGAIN ? BEV_NEED_MORE
				      : refuse(h);
		if (got != BEV_NEED_MORE)
			result = got;
		evbuffer_drain(src, len);
	}
	(void)wire_write(h, bufferevent_get_output(h->socket));
	return result;
}

static enum bufferevent_filter_result
on_output(struct evbuffer *src, struct evbuffer *dst, ev_ssize_t limit,
    enum bufferevent_flush_mode mode, void *arg)
{
	enum bufferevent_filter_result result = BEV_NEED_MORE;
	struct https *h = arg;
	size_t len;
	long n;

	(void)limit, (void)mode;
	if (!h->pushing) {
		event_active(h->push, EV_TIMEOUT, 0);
		return BEV_NEED_MORE;
	}
	h->pushing = false;
	while (nw_tls_is_open(h->tls) && evbuffer_get_length(dst) == 0) {
		evbuffer_drain(src, h->sealed);
		if (h->sealed > 0)
			result = BEV_OK;
		h->sealed = 0;
		if ((len = evbuffer_get_contiguous_space(src)) == 0)
			return result;
		if (len > PLAIN_BYTES)
			len = PLAIN_BYTES;
		if ((n = nw_tls_write(h->tls, evbuffer_pullup(src, (ev_ssize_t)len), len)) < 0)
			return BEV_ERROR;
		h->sealed = (size_t)n;
		if (!wire_write(h, dst))
			return BEV_NEED_MORE;
	}
	return BEV_NEED_MORE;
}

static void
on_push(evutil_socket_t fd, short what, void *arg)
{
	struct https *h = arg;

	(void)fd, (void)what;
	if (h->refused) { /* a filter does not report errors; the call may free h */
		bufferevent_trigger_event(h->filter, BEV_EVENT_ERROR | BEV_EVENT_READING, 0);
		return;
	}
	h->pushing = true;
	bufferevent_flush(h->filter, EV_WRITE, BEV_FLUSH);
	h->pushing = false; /* the flush may not have called on_output */
}

static void
on_answer(struct evbuffer *output, const struct evbuffer_cb_info *info, void *arg)
{
	struct https *h = arg;

	(void)output;
	if (info->n_added > 0)
		event_active(h->push, EV_TIMEOUT, 0);
}

struct bufferevent *
https_wrap(struct event_base *base, void *arg)
{
	struct https *h = xcalloc(1, sizeof(*h));

	h->box = arg;
	while ((h->tls = tlsctx_accept(h->box->tlsctx, TLSCTX_HTTPS)) == NULL)
		xmalloc_spend();
	while ((h->push = event_new(base, -1, 0, on_push, h)) == NULL)
		xmalloc_spend();
	while ((h->socket = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE)) == NULL)
		xmalloc_spend();
	while ((h->filter = bufferevent_filter_new(
		    h->socket, on_input, on_output, BEV_OPT_CLOSE_ON_FREE, https_free, h)) == NULL)
		xmalloc_spend();
	while (evbuffer_add_cb(bufferevent_get_output(h->filter), on_answer, h) == NULL)
		xmalloc_spend();
	return h->filter;
}
