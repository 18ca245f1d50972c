/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwrun/collect/collect_wire.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/lib/caliper_doc.h"
#include "host/nwrun/collect/proc_facts.h"
#include "narrows/clock.h"
#include "narrows/err.h"

enum { HEADER_BYTES = 5, FLUSH_BYTES = 64 << 10, READ_BYTES = 64 << 10, POLL_MS_MAX = 60000 };

#define REPLY_NS (10 * INT64_C(1000000000)) /* patience of the reader, whose sender never sleeps */

void
wire_clear(struct wire *w)
{
	if (w->fd >= 0)
		close(w->fd);
	free(w->out);
	free(w->in);
	memset(w, 0, sizeof(*w));
	w->fd = -1;
}

/* --- bytes --- */

static bool
wait_for(int fd, short events, int64_t deadline_mono_ns)
{
	struct pollfd p = { .fd = fd, .events = events };
	int64_t left_ms;
	int rc;

	do {
		left_ms = (deadline_mono_ns - nw_mono_ns()) / 1000000 + 1;
		left_ms = left_ms < 0 ? 0 : left_ms > POLL_MS_MAX ? POLL_MS_MAX : left_ms;
		rc = poll(&p, 1, (int)left_ms);
	} while ((rc < 0 && errno == EINTR) || (rc == 0 && left_ms == POLL_MS_MAX));
	return rc > 0;
}

static int
out_reserve(struct wire *w, size_t more)
{
	size_t cap = w->out_cap;
	uint8_t *out;

	if (w->out_len + more <= cap)
		return NW_OK;
	while (cap < w->out_len + more)
		cap = cap > 0 ? 2 * cap : 4096;
	if ((out = realloc(w->out, cap)) == NULL)
		return NW_ENOMEM;
	w->out = out;
	w->out_cap = cap;
	return NW_OK;
}

int
wire_flush(struct wire *w, int64_t deadline_mono_ns)
{
	size_t done = 0;
	ssize_t n;

	while (done < w->out_len) {
		n = send(w->fd, w->out + done, w->out_len - done, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n > 0)
			done += (size_t)n;
		else if (errno != EAGAIN && errno != EINTR)
			return NW_ECLOSED;
		else if (!wait_for(w->fd, POLLOUT, deadline_mono_ns))
			return NW_EAGAIN;
	}
	w->out_len = 0;
	return NW_OK;
}

/* Makes room behind the waiting bytes. */
static int
in_reserve(struct wire *w, size_t more)
{
	uint8_t *in;

	if (w->in_at > 0)
		memmove(w->in, w->in + w->in_at, w->in_len - w->in_at);
	w->in_len -= w->in_at;
	w->in_at = 0;
	if (w->in_len + more <= w->in_cap)
		return NW_OK;
	if ((in = realloc(w->in, w->in_len + more)) == NULL)
		return NW_ENOMEM;
	w->in = in;
	w->in_cap = w->in_len + more;
	return NW_OK;
}

/* NW_OK: a message was taken. NW_EAGAIN: the message's end has not come. */
static int
message_take(struct wire *w, struct wire_message *out)
{
	size_t have = w->in_len - w->in_at;
	uint32_t len;

	if (have < HEADER_BYTES)
		return NW_EAGAIN;
	memcpy(&len, w->in + w->in_at, sizeof(len));
	if (len > WIRE_MESSAGE_MAX_BYTES)
		return NW_EPROTO;
	if (have - HEADER_BYTES < len)
		return NW_EAGAIN;
	out->type = w->in[w->in_at + sizeof(len)];
	out->body = w->in + w->in_at + HEADER_BYTES;
	out->len = len;
	w->in_at += HEADER_BYTES + len;
	return NW_OK;
}

int
wire_read(struct wire *w, int64_t deadline_mono_ns, struct wire_message *out)
{
	ssize_t n;
	int rc;

	if (w->in == NULL && (rc = in_reserve(w, READ_BYTES)) < 0)
		return rc;
	while ((rc = message_take(w, out)) == NW_EAGAIN) {
		if ((rc = in_reserve(w, READ_BYTES)) < 0)
			return rc;
		if (!wait_for(w->fd, POLLIN, deadline_mono_ns)) /* mostly nothing is there yet */
			return NW_EAGAIN;
		n = recv(w->fd, w->in + w->in_len, w->in_cap - w->in_len, MSG_DONTWAIT);
		if (n > 0)
			w->in_len += (size_t)n;
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return NW_ECLOSED;
	}
	return rc;
}

/* --- writing messages --- */

static void
put(struct wire *w, const void *bytes, size_t len)
{
	if (out_reserve(w, len) < 0)
		abort(); /* out of memory ends the collector */
	if (len > 0)
		memcpy(w->out + w->out_len, bytes, len);
	w->out_len += len;
}

/* A text is its length with the NUL, then the bytes; a missing text has the length 0. */
static void
put_text(struct wire *w, const char *text)
{
	uint32_t len = text != NULL ? (uint32_t)strlen(text) + 1 : 0;

	put(w, &len, sizeof(len));
	put(w, text, len);
}

static size_t
message_begin(struct wire *w, enum wire_type type)
{
	uint8_t head[HEADER_BYTES] = { 0, 0, 0, 0, (uint8_t)type };
	size_t at = w->out_len;

	put(w, head, sizeof(head));
	return at;
}

static int
message_end(struct wire *w, size_t at)
{
	uint32_t len = (uint32_t)(w->out_len - at - HEADER_BYTES);

	memcpy(w->out + at, &len, sizeof(len));
	return w->out_len < FLUSH_BYTES ? NW_OK : wire_flush(w, nw_mono_ns() + REPLY_NS);
}

int
wire_put(struct wire *w, enum wire_type type, const void *body, size_t len)
{
	size_t at = message_begin(w, type);

	put(w, body, len);
	return message_end(w, at);
}

static void
put_kv(struct wire *w, const struct nw_kv *kv, size_t n)
{
	uint32_t count = (uint32_t)n;
	size_t i;

	put(w, &count, sizeof(count));
	for (i = 0; i < n; i++) {
		uint8_t type = (uint8_t)kv[i].type;

		put_text(w, kv[i].key);
		put(w, &type, 1);
		if (kv[i].type == NW_KV_TEXT)
			put_text(w, kv[i].v.text);
		else
			put(w, &kv[i].v, sizeof(kv[i].v));
	}
}

static int
say_meta(void *arg, const char *id, const char *pid, const char *event_type,
    const struct nw_kv *subject, size_t n_subject, const struct nw_kv *params, size_t n_params)
{
	struct wire *w = arg;
	size_t at = message_begin(w, WIRE_META);

	put_text(w, id);
	put_text(w, pid);
	put_text(w, event_type);
	put_kv(w, subject, n_subject);
	put_kv(w, params, n_params);
	return message_end(w, at);
}

static int
say_data(void *arg, const char *mid, int64_t t_wall_ns, const char *const *fields,
    const double *values, size_t n_fields, const uint8_t *hist, size_t hist_len)
{
	struct wire *w = arg;
	uint32_t n = (uint32_t)n_fields, len = (uint32_t)hist_len;
	size_t at = message_begin(w, WIRE_DATA), i;

	put_text(w, mid);
	put(w, &t_wall_ns, sizeof(t_wall_ns));
	put(w, &n, sizeof(n));
	for (i = 0; i < n_fields; i++) {
		put_text(w, fields[i]);
		put(w, &values[i], sizeof(values[i]));
	}
	put(w, &len, sizeof(len));
	put(w, hist, hist_len);
	return message_end(w, at);
}

static int
say_caliper(void *arg, const char *mid, int64_t t_wall_ns, const struct nw_caliper_window *window)
{
	uint8_t hist[NW_HIST_ENCODED_MAX_BYTES];
	double values[CALIPER_FIELDS];
	size_t hist_len = caliper_doc_fill(window, values, hist);

	return say_data(
	    arg, mid, t_wall_ns, caliper_doc_names, values, CALIPER_FIELDS, hist, hist_len);
}

static void
say_end(void *arg, const char *mid)
{
	struct wire *w = arg;
	size_t at = message_begin(w, WIRE_END);

	put_text(w, mid);
	(void)message_end(w, at);
}

/* Asks the sender. Without an answer there is no work left for the reader. */
static void
ask(struct wire *w, enum wire_type type, const void *question, size_t len, void *out,
    size_t out_len)
{
	int64_t deadline_mono_ns = nw_mono_ns() + REPLY_NS;
	struct wire_message m;

	if (wire_put(w, type, question, len) < 0 || wire_flush(w, deadline_mono_ns) < 0 ||
	    wire_read(w, deadline_mono_ns, &m) < 0 || m.type != WIRE_ANSWER || m.len != out_len)
		_exit(1);
	memcpy(out, m.body, out_len);
}

static void
ask_facts(void *arg, const struct proc_question *q, struct proc_facts *out)
{
	ask(arg, WIRE_ASK, q, sizeof(*q), out, sizeof(*out));
}

static void
ask_socket(void *arg, struct proc_socket *s)
{
	ask(arg, WIRE_ASK_SOCKET, s, sizeof(*s), s, sizeof(*s));
}

static void
ask_gone(void *arg, struct proc_gone *g)
{
	ask(arg, WIRE_ASK_GONE, g, sizeof(*g), g, sizeof(*g));
}

void
wire_sink_init(struct collect_sink *sink, struct wire *w)
{
	*sink = (struct collect_sink){ w, say_meta, say_caliper, say_data, say_end, ask_facts,
		ask_socket, ask_gone };
}

/* --- reading messages --- */

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static void
get(struct cursor *c, void *out, size_t len)
{
	if (c->bad || (size_t)(c->end - c->at) < len) {
		c->bad = true;
		memset(out, 0, len);
		return;
	}
	memcpy(out, c->at, len);
	c->at += len;
}

static uint32_t
get_count(struct cursor *c, uint32_t max)
{
	uint32_t n;

	get(c, &n, sizeof(n));
	if (n > max)
		c->bad = true;
	return c->bad ? 0 : n;
}

/* Points into the message; NULL for a missing text. */
static const char *
get_text(struct cursor *c)
{
	uint32_t len = get_count(c, WIRE_MESSAGE_MAX_BYTES);
	const char *text = (const char *)c->at;

	if (len == 0)
		return NULL;
	if ((size_t)(c->end - c->at) < len || memchr(text, '\0', len) != text + len - 1) {
		c->bad = true;
		return NULL;
	}
	c->at += len;
	return text;
}

static size_t
get_kv(struct cursor *c, struct nw_kv kv[WIRE_KV_MAX])
{
	uint32_t n = get_count(c, WIRE_KV_MAX), i;
	uint8_t type;

	for (i = 0; i < n; i++) {
		kv[i].key = get_text(c);
		get(c, &type, 1);
		kv[i].type = type;
		if (type == NW_KV_TEXT)
			kv[i].v.text = get_text(c);
		else
			get(c, &kv[i].v, sizeof(kv[i].v));
		if (kv[i].key == NULL ||
		    (type != NW_KV_TEXT && type != NW_KV_INT && type != NW_KV_REAL &&
			type != NW_KV_BOOL))
			c->bad = true;
	}
	return n;
}

static int
dispatch_meta(struct cursor *c, const struct collect_sink *sink)
{
	struct nw_kv subject[WIRE_KV_MAX], params[WIRE_KV_MAX];
	const char *id = get_text(c), *pid = get_text(c), *event_type = get_text(c);
	size_t n_subject = get_kv(c, subject), n_params = get_kv(c, params);

	if (c->bad || id == NULL || event_type == NULL)
		return NW_EPROTO;
	(void)sink->meta(sink->arg, id, pid, event_type, subject, n_subject, params, n_params);
	return NW_OK;
}

static int
dispatch_data(struct cursor *c, const struct collect_sink *sink)
{
	const char *fields[WIRE_FIELDS_MAX], *mid = get_text(c);
	double values[WIRE_FIELDS_MAX];
	int64_t t_wall_ns;
	uint32_t n, i, hist_len;

	get(c, &t_wall_ns, sizeof(t_wall_ns));
	n = get_count(c, WIRE_FIELDS_MAX);
	for (i = 0; i < n; i++) {
		fields[i] = get_text(c);
		get(c, &values[i], sizeof(values[i]));
		if (fields[i] == NULL)
			c->bad = true;
	}
	hist_len = get_count(c, NW_HIST_ENCODED_MAX_BYTES);
	if (c->bad || mid == NULL || (size_t)(c->end - c->at) < hist_len)
		return NW_EPROTO;
	(void)sink->data(
	    sink->arg, mid, t_wall_ns, fields, values, n, hist_len > 0 ? c->at : NULL, hist_len);
	return NW_OK;
}

int
wire_dispatch(const struct wire_message *m, const struct collect_sink *sink)
{
	struct cursor c = { m->body, m->body + m->len, false };
	const char *mid;

	switch (m->type) {
	case WIRE_META: return dispatch_meta(&c, sink);
	case WIRE_DATA: return dispatch_data(&c, sink);
	case WIRE_END:
		if ((mid = get_text(&c)) == NULL)
			return NW_EPROTO;
		sink->end(sink->arg, mid);
		return NW_OK;
	default: return NW_EPROTO;
	}
}
