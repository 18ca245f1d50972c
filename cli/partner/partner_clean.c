/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A partner's documents become documents for this box (form: shape_docs.c): hosts get the name of
 * the partner's site, so no record of a host of ours changes, and no document names a task of the
 * partner's. By the task of a document the box knows the session's series (ingest.c).
 */
#include "cli/partner/partner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bson.h>

#include "narrows/cert.h"
#include "narrows/doc.h"
#include "narrows/err.h"
#include "narrows/eventtype.h"
#include "narrows/frame.h"
#include "narrows/log.h"
#include "narrows/xmalloc.h"

enum { DEPTH_MAX = 16, HOST_MAX_CHARS = 180, HOSTS_MAX_CHARS = 500 };
/* Rows may lie outside of the session by the wrongness of clocks, and those of clocks by as much as
 * the box looks at (evidence_clocks.c). */
static const int64_t SLACK_NS = INT64_C(60) * 1000000000,
		     CLOCK_SLACK_NS = INT64_C(700) * 1000000000;

enum fate { FATE_OUT = 1, FATE_SESSION, FATE_HOST };

struct text {
	FILE *f;
	char *bytes;
	size_t len;
};

struct cleaning {
	struct clean *c;
	struct nw_doc_decoder *decoder;
	json_t *fates;       /* "SENDER MID": enum fate */
	char *sender, *host; /* of the documents in hand; NULL: they are left out */
	struct text out[2];  /* the second of hosts alone */
	bool told[2];        /* the sender stands in the output */
	/* of the document in hand */
	int fate;
	uint64_t n_values, n_series;
};

/* --- BSON --- */

static const bson_t *
document_at(const char *at, const char *end, bson_t *doc)
{
	uint32_t len;

	if (end - at < 5)
		return NULL;
	memcpy(&len, at, sizeof(len));
	len = BSON_UINT32_FROM_LE(len);
	if (len < 5 || len > (size_t)(end - at) ||
	    !bson_init_static(doc, (const uint8_t *)at, len) ||
	    !bson_validate(doc, BSON_VALIDATE_NONE, NULL))
		return NULL;
	return doc;
}

static bool
is_sender(const bson_t *doc)
{
	bson_iter_t i;

	return bson_iter_init(&i, doc) && bson_iter_next(&i) &&
	    strcmp(bson_iter_key(&i), "sender") == 0;
}

static const char *
text_of(const bson_t *doc, const char *key)
{
	bson_iter_t i;
	uint32_t len;
	const char *text;

	if (!bson_iter_init_find(&i, doc, key) || !BSON_ITER_HOLDS_UTF8(&i))
		return NULL;
	text = bson_iter_utf8(&i, &len);
	return strlen(text) == len ? text : NULL;
}

/* Any word does: the box knows the session from the sender. */
static const char ANY_TASK[] = "partner";

static bool copy_tasks_hidden(bson_t *to, const bson_t *from, unsigned depth);

static bool
child_copy(bson_t *to, bson_iter_t *i, unsigned depth)
{
	const bool is_list = BSON_ITER_HOLDS_ARRAY(i);
	const uint8_t *bytes;
	uint32_t len;
	bson_t from, child;
	bool good;

	if (is_list)
		bson_iter_array(i, &len, &bytes);
	else
		bson_iter_document(i, &len, &bytes);
	if (!bson_init_static(&from, bytes, len))
		return false;
	good = is_list ? bson_append_array_begin(to, bson_iter_key(i), -1, &child)
		       : bson_append_document_begin(to, bson_iter_key(i), -1, &child);
	if (!good)
		return false;
	good = copy_tasks_hidden(&child, &from, depth + 1);
	return (is_list ? bson_append_array_end(to, &child)
			: bson_append_document_end(to, &child)) &&
	    good;
}

static bool
copy_tasks_hidden(bson_t *to, const bson_t *from, unsigned depth)
{
	bson_iter_t i;

	if (depth > DEPTH_MAX || !bson_iter_init(&i, from))
		return false;
	while (bson_iter_next(&i)) {
		if (strcmp(bson_iter_key(&i), "task_id") == 0) {
			if (!bson_append_utf8(to, "task_id", -1, ANY_TASK, -1))
				return false;
		} else if (BSON_ITER_HOLDS_DOCUMENT(&i) || BSON_ITER_HOLDS_ARRAY(&i)
			? !child_copy(to, &i, depth)
			: !bson_append_iter(to, NULL, -1, &i))
			return false;
	}
	return true;
}

static void
put(struct text *t, const bson_t *doc)
{
	if (t->f == NULL && (t->f = open_memstream(&t->bytes, &t->len)) == NULL)
		fatalx("out of memory");
	if (fwrite(bson_get_data(doc), 1, doc->len, t->f) != doc->len)
		fatalx("out of memory");
}

/* --- senders --- */

static void
sender_forget(struct cleaning *cl)
{
	free(cl->sender);
	free(cl->host);
	cl->sender = cl->host = NULL;
	cl->told[0] = cl->told[1] = false;
}

static void
sender_take(struct cleaning *cl, const bson_t *doc)
{
	const char *sender = text_of(doc, "sender"), *host = text_of(doc, "host");

	sender_forget(cl);
	if (sender == NULL || host == NULL || !nw_cert_name_ok(host) ||
	    strlen(host) > HOST_MAX_CHARS || strlen(sender) > HOST_MAX_CHARS)
		return;
	cl->sender = xstrdup(sender);
	cl->host = cl->c->site != NULL ? xasprintf("%s@%s", host, cl->c->site) : xstrdup(host);
}

static void
sender_begin(struct cleaning *cl, struct text *out, const char *sender)
{
	bson_t doc = BSON_INITIALIZER;

	bson_append_utf8(&doc, "sender", -1, sender, -1);
	bson_append_utf8(&doc, "host", -1, cl->host, -1);
	bson_append_utf8(&doc, "task_id", -1, cl->c->task, -1);
	put(out, &doc);
	bson_destroy(&doc);
}

/* The bound of the boxes' clocks, for the verdict, as a series of the host. */
static void
boxes_put(struct cleaning *cl)
{
	static const char id[] = "boxes";
	struct text *out = &cl->out[cl->c->apart];
	bson_t meta = BSON_INITIALIZER, data = BSON_INITIALIZER, inner;

	sender_begin(cl, out, "narrows-boxes");
	bson_append_utf8(&meta, "id", -1, id, -1);
	bson_append_utf8(&meta, "event_type", -1, NW_TYPE_BOXES, -1);
	bson_append_document_begin(&meta, "subject", -1, &inner);
	bson_append_document_end(&meta, &inner);
	put(out, &meta);
	bson_append_utf8(&data, "mid", -1, id, -1);
	bson_append_document_begin(&data, "data", -1, &inner);
	bson_append_int64(&inner, "ts_ns", -1, cl->c->from_wall_ns);
	bson_append_double(&inner, "ts", -1, (double)cl->c->from_wall_ns / 1e9);
	bson_append_double(&inner, "bound_s", -1, cl->c->boxes_bound_s);
	bson_append_document_end(&data, &inner);
	put(out, &data);
	bson_destroy(&meta);
	bson_destroy(&data);
}

static void
sender_put(struct cleaning *cl, struct text *out)
{
	struct clean *c = cl->c;
	bool is_new = c->hosts == NULL || strstr(c->hosts, cl->host) == NULL;
	char *all;

	if (c->hosts == NULL)
		c->hosts = xstrdup(cl->host);
	else if (is_new && strlen(c->hosts) < HOSTS_MAX_CHARS) {
		all = xasprintf("%s, %s", c->hosts, cl->host);
		free(c->hosts);
		c->hosts = all;
	}
	if (is_new && c->boxes_bound_s > 0)
		boxes_put(cl);
	sender_begin(cl, out, cl->sender);
}

/* --- documents --- */

/* One fate for a document with several items: the strictest. */
static void
fate_note(struct cleaning *cl, int fate)
{
	if (cl->fate == 0 || cl->fate == fate)
		cl->fate = fate;
	else
		cl->fate = FATE_OUT;
}

static bool
is_of_session_ends(const struct cleaning *cl, const struct nw_subject *s)
{
	const struct clean *c = cl->c;
	struct partner_end e;
	json_t *list;
	size_t n, i;
	bool good;

	if (s->src == NULL && s->dst == NULL)
		return true;
	for (i = 0; i < c->n_ends; i++)
		if ((s->src == NULL || strcmp(s->src, c->ends[i].src) == 0) &&
		    (s->dst == NULL || strcmp(s->dst, c->ends[i].dst) == 0) &&
		    (s->sport == 0 || s->sport == c->ends[i].sport) &&
		    (s->dport == 0 || s->dport == c->ends[i].dport))
			return true;
	if (s->src == NULL || s->dst == NULL || s->sport == 0 || s->dport == 0)
		return false;
	/* another form of the same addresses */
	list = json_pack("[[s, i, s, i]]", s->src, s->sport, s->dst, s->dport);
	good = ends_read(list, &e, &n) == NW_OK && end_in(c->ends, c->n_ends, &e);
	json_decref(list);
	return good;
}

/* Collectors stay out: the partner's box alone hears whether one of its hosts falls silent. */
static bool
is_type_ok(const char *type)
{
	return (nw_type_begins(type, NW_TYPE_HOST) || nw_type_begins(type, NW_TYPE_RUN) ||
		   nw_type_begins(type, NW_TYPE_CALIPER) ||
		   nw_type_begins(type, NW_TYPE_CALIPER_OLD)) &&
	    !nw_type_begins(type, NW_TYPE_COLLECTOR) && !nw_type_begins(type, NW_TYPE_CONFIG) &&
	    !nw_type_begins(type, NW_TYPE_ANNOUNCED);
}

static char *
fate_key(const struct cleaning *cl, const char *mid)
{
	return xasprintf("%s %s", cl->sender, mid);
}

static int
on_meta(void *arg, const struct nw_meta *m)
{
	struct cleaning *cl = arg;
	int fate = FATE_HOST;
	char *key = fate_key(cl, m->id);
	const json_t *before = json_object_get(cl->fates, key);

	if (cl->c->site != NULL &&
	    (!is_type_ok(m->event_type) || m->subject.xfer_id != NULL ||
		!is_of_session_ends(cl, &m->subject)))
		fate = FATE_OUT;
	else if (m->subject.task_id != NULL || !nw_type_is_of_host(m->event_type))
		fate = FATE_SESSION;
	if (before != NULL && json_integer_value(before) != fate)
		fate = FATE_OUT;
	json_object_set_new(cl->fates, key, json_integer(fate));
	free(key);
	fate_note(cl, fate);
	cl->n_series++;
	return NW_OK;
}

static int
on_data(void *arg, const struct nw_data *d)
{
	struct cleaning *cl = arg;
	char *key = fate_key(cl, d->mid);
	const int fate = (int)json_integer_value(json_object_get(cl->fates, key));
	const int64_t slack = fate == FATE_HOST ? CLOCK_SLACK_NS : SLACK_NS;
	size_t i;

	free(key);
	fate_note(cl, fate != 0 ? fate : FATE_OUT);
	for (i = 0; i < d->n_rows; i++)
		if (d->t_wall_ns[i] != NW_TIME_BY_SAMPLE &&
		    (d->t_wall_ns[i] < cl->c->from_wall_ns - slack ||
			d->t_wall_ns[i] > cl->c->to_wall_ns + slack))
			fate_note(cl, FATE_OUT);
	for (i = 0; i < d->n_rows * d->n_fields; i++)
		cl->n_values += !isnan(d->values[i]);
	return NW_OK;
}

static int
document_take(struct cleaning *cl, const bson_t *doc, const char **why)
{
	const struct nw_doc_sink sink = { cl, on_meta, on_data };
	bson_t clean = BSON_INITIALIZER;
	size_t to;
	int rc;

	cl->fate = 0;
	cl->n_values = cl->n_series = 0;
	if (cl->sender == NULL)
		return NW_OK;
	if ((rc = nw_doc_decode(
		 cl->decoder, NW_OPT_META, bson_get_data(doc), doc->len, &sink, why)) < 0)
		return rc;
	if (cl->fate == FATE_OUT || cl->fate == 0 || !copy_tasks_hidden(&clean, doc, 0)) {
		cl->c->n_left_out += cl->n_series;
		bson_destroy(&clean);
		return NW_OK;
	}
	cl->c->n_series += cl->n_series;
	cl->c->n_values += cl->n_values;
	to = cl->c->apart && cl->fate == FATE_HOST;
	if (!cl->told[to])
		sender_put(cl, &cl->out[to]);
	cl->told[to] = true;
	put(&cl->out[to], &clean);
	bson_destroy(&clean);
	return NW_OK;
}

static void
text_end(struct text *t, char **bytes, size_t *len)
{
	if (t->f != NULL && fclose(t->f) != 0)
		fatalx("out of memory");
	*bytes = t->bytes;
	*len = t->len;
}

int
clean_take(struct clean *c, const char *docs, size_t len, const char **why)
{
	struct cleaning cl = {
		.c = c, .decoder = nw_doc_decoder_new(NULL), .fates = json_object()
	};
	const char *at = docs, *end = docs + len;
	bson_t doc;
	int rc = cl.decoder != NULL ? NW_OK : NW_ENOMEM;

	*why = "no documents";
	for (; rc == NW_OK && at < end; at += doc.len) {
		if (document_at(at, end, &doc) == NULL) {
			*why = "a document is cut off, or malformed";
			rc = NW_EPROTO;
		} else if (is_sender(&doc))
			sender_take(&cl, &doc);
		else
			rc = document_take(&cl, &doc, why);
	}
	sender_forget(&cl);
	json_decref(cl.fates);
	nw_doc_decoder_free(cl.decoder);
	text_end(&cl.out[0], &c->out, &c->out_len);
	text_end(&cl.out[1], &c->host_out, &c->host_out_len);
	return rc;
}

void
clean_clear(struct clean *c)
{
	free(c->out);
	free(c->host_out);
	free(c->hosts);
	c->out = c->host_out = c->hosts = NULL;
}

char *
clean_own(const char *docs, size_t len, size_t *out_len)
{
	const char *at = docs, *end = docs + len, *host;
	struct text own = { 0 };
	bool is_own = false;
	char *bytes;
	bson_t doc;

	for (; at < end && document_at(at, end, &doc) != NULL; at += doc.len) {
		if (is_sender(&doc)) {
			host = text_of(&doc, "host");
			is_own = host != NULL && strchr(host, '@') == NULL;
		}
		if (is_own)
			put(&own, &doc);
	}
	text_end(&own, &bytes, out_len);
	return bytes;
}
