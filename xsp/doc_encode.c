/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Documents of generation 3, and the flat control documents, written into the caller's buffer: rows
 * of one time by the functions here, everything else with libbson.
 *
 * The buffer is made large enough first, from an upper bound of the document: libbson answers a
 * failed allocation with abort(), and this code runs inside other people's programs. libbson itself
 * allocates one small handle.
 */
#include <bson/bson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xsp/decoder.h"
#include "xsp/wire.h"

/* type, key's NUL, length and NUL of text, or 8 bytes of number */
enum { ELEMENT_MAX_BYTES = 1 + 1 + 4 + 1 + 8 };

void
nw_doc_buf_clear(struct nw_doc_buf *b)
{
	free(b->data);
	b->data = NULL;
	b->len = b->cap = 0;
}

/* libbson wants a function that grows the buffer; the bounds below keep libbson from calling this
 * function. */
static void *
buffer_realloc(void *p, size_t n, void *ctx)
{
	(void)ctx;
	return realloc(p, n);
}

/* Makes room for a document of n bytes. Returns false without memory, or above the largest
 * document. */
static bool
buffer_fit(struct nw_doc_buf *b, size_t n)
{
	uint8_t *p;

	if (n > INT32_MAX / 2)
		return false;
	if (n <= b->cap)
		return true;
	if ((p = realloc(b->data, n)) == NULL)
		return false;
	b->data = p;
	b->cap = n;
	return true;
}

/* Opens a document of n bytes; NULL as buffer_fit(). */
static bson_t *
document_begin(struct nw_doc_buf *b, size_t n)
{
	static const uint8_t empty[5] = { 5 };

	b->len = 0;
	if (!buffer_fit(b, n + 64))
		return NULL;
	memcpy(b->data, empty, sizeof(empty));
	return bson_new_from_buffer(&b->data, &b->cap, buffer_realloc, NULL);
}

/* The length stands in the bytes: libbson aligns a bson_t on the heap less than the type asks. */
static int
document_end(struct nw_doc_buf *b, bson_t *doc, bool ok)
{
	b->len = ok ? get_le32(b->data) : 0;
	bson_destroy(doc);
	return ok ? NW_OK : NW_EINVAL;
}

static size_t
kv_bound(const struct nw_kv *kv, size_t n)
{
	size_t bytes = 0, i;

	for (i = 0; i < n; i++)
		bytes += ELEMENT_MAX_BYTES + strlen(kv[i].key) +
		    (kv[i].type == NW_KV_TEXT && kv[i].v.text != NULL ? strlen(kv[i].v.text) : 0);
	return bytes;
}

static bool
kv_append(bson_t *doc, const struct nw_kv *kv, size_t n)
{
	bool ok = true;
	size_t i;

	for (i = 0; ok && i < n; i++) {
		switch (kv[i].type) {
		case NW_KV_TEXT:
			if (kv[i].v.text != NULL)
				ok = bson_append_utf8(doc, kv[i].key, -1, kv[i].v.text, -1);
			break;
		case NW_KV_INT: ok = bson_append_int64(doc, kv[i].key, -1, kv[i].v.i); break;
		case NW_KV_REAL: ok = bson_append_double(doc, kv[i].key, -1, kv[i].v.d); break;
		case NW_KV_BOOL: ok = bson_append_bool(doc, kv[i].key, -1, kv[i].v.i != 0); break;
		}
	}
	return ok;
}

static bool
kv_append_document(bson_t *doc, const char *key, const struct nw_kv *kv, size_t n)
{
	bson_t child;

	return bson_append_document_begin(doc, key, -1, &child) && kv_append(&child, kv, n) &&
	    bson_append_document_end(doc, &child);
}

int
nw_meta_encode(struct nw_doc_buf *out, const char *id, const char *pid, const char *event_type,
    const struct nw_kv *subject, size_t n_subject, const struct nw_kv *params, size_t n_params)
{
	const struct nw_kv head[] = {
		{ "id", NW_KV_TEXT, { .text = id } },
		{ "pid", NW_KV_TEXT, { .text = pid } },
		{ "eventType", NW_KV_TEXT, { .text = event_type } },
	};
	bson_t *doc;
	bool ok;

	out->len = 0;
	if (id == NULL || id[0] == '\0' || event_type == NULL || event_type[0] == '\0')
		return NW_EINVAL;
	doc = document_begin(
	    out, kv_bound(head, 3) + kv_bound(subject, n_subject) + kv_bound(params, n_params));
	if (doc == NULL)
		return NW_ENOMEM;
	ok = kv_append(doc, head, 3) && kv_append_document(doc, "subject", subject, n_subject) &&
	    kv_append_document(doc, "parameters", params, n_params);
	return document_end(out, doc, ok);
}

int
nw_envelope_encode(struct nw_doc_buf *out, const uint8_t *meta, size_t len)
{
	bson_t *doc, list, item;
	bool ok;

	out->len = 0;
	if (len > INT32_MAX / 4 || !bson_init_static(&item, meta, len))
		return NW_EINVAL;
	if ((doc = document_begin(out, 64 + len)) == NULL)
		return NW_ENOMEM;
	ok = bson_append_utf8(doc, "version", 7, "0.1", 3) &&
	    bson_append_array_begin(doc, "meta", 4, &list) &&
	    bson_append_document(&list, "0", 1, &item) && bson_append_array_end(doc, &list) &&
	    bson_append_array_begin(doc, "data", 4, &list) && bson_append_array_end(doc, &list);
	return document_end(out, doc, ok);
}

/* An element's type and key. Returns the place of its value. */
static uint8_t *
key_put(uint8_t *to, bson_type_t type, const char *key)
{
	*to = (uint8_t)type;
	return (uint8_t *)stpcpy((char *)to + 1, key) + 1;
}

static uint8_t *
mid_put(uint8_t *to, const char *mid)
{
	size_t bytes = strlen(mid) + 1;

	to = key_put(to, BSON_TYPE_UTF8, "mid");
	put_le32(to, (uint32_t)bytes);
	return (uint8_t *)memcpy(to + 4, mid, bytes) + bytes;
}

static uint8_t *
double_put(uint8_t *to, const char *key, double v)
{
	to = key_put(to, BSON_TYPE_DOUBLE, key);
	put_le_double(to, v);
	return to + 8;
}

/* Length and end of a document from begin to end. Returns the place behind the document. */
static uint8_t *
document_close(uint8_t *begin, uint8_t *end)
{
	*end++ = 0;
	put_le32(begin, (uint32_t)(end - begin));
	return end;
}

static uint8_t *
row_put(uint8_t *to, int64_t t_wall_ns, const char *const *fields, const double *values,
    size_t n_fields, const uint8_t *hist, size_t hist_len)
{
	uint8_t *begin = to;
	size_t i;

	to = double_put(to + 4, "ts", (double)t_wall_ns / 1e9);
	to = key_put(to, BSON_TYPE_INT64, "ts_ns");
	put_le64(to, (uint64_t)t_wall_ns);
	to += 8;
	for (i = 0; i < n_fields; i++)
		if (!isnan(values[i]))
			to = double_put(to, fields[i], values[i]);
	if (hist_len > 0) {
		to = key_put(to, BSON_TYPE_BINARY, "h_dur");
		put_le32(to, (uint32_t)hist_len);
		to[4] = BSON_SUBTYPE_BINARY;
		memcpy(to + 5, hist, hist_len);
		to += 5 + hist_len;
	}
	return document_close(begin, to);
}

/* Written without libbson: an agent's sample is this document some twenty times, and libbson
 * allocates for each. */
int
nw_data_encode(struct nw_doc_buf *out, const char *mid, int64_t t_wall_ns,
    const char *const *fields, const double *values, size_t n_fields, const uint8_t *hist,
    size_t hist_len)
{
	size_t bound = 128 + hist_len, i;
	uint8_t *to;

	out->len = 0;
	if (mid == NULL || mid[0] == '\0' || hist_len > INT32_MAX / 4)
		return NW_EINVAL;
	bound += strlen(mid);
	for (i = 0; i < n_fields; i++)
		bound += ELEMENT_MAX_BYTES + strlen(fields[i]);
	if (!buffer_fit(out, bound))
		return NW_ENOMEM;
	to = key_put(mid_put(out->data + 4, mid), BSON_TYPE_DOCUMENT, "data");
	to = row_put(to, t_wall_ns, fields, values, n_fields, hist, hist_len);
	out->len = (size_t)(document_close(out->data, to) - out->data);
	return NW_OK;
}

int
nw_list_doc_encode(struct nw_doc_buf *out, const struct nw_data *d)
{
	size_t bound = 128, per_row = 64, i;
	uint8_t *to, *list;
	char key[24];

	out->len = 0;
	if (d->mid == NULL || d->mid[0] == '\0')
		return NW_EINVAL;
	if (d->n_rows > nw_doc_limits_default.rows_max ||
	    d->n_fields > nw_doc_limits_default.fields_max)
		return NW_ETOOBIG;
	for (i = 0; i < d->n_fields; i++)
		per_row += ELEMENT_MAX_BYTES + strlen(d->fields[i]);
	bound += strlen(d->mid) + d->n_rows * per_row;
	if (!buffer_fit(out, bound))
		return NW_ENOMEM;
	list = key_put(mid_put(out->data + 4, d->mid), BSON_TYPE_ARRAY, "data");
	for (i = 0, to = list + 4; i < d->n_rows; i++) {
		snprintf(key, sizeof(key), "%zu", i);
		to = row_put(key_put(to, BSON_TYPE_DOCUMENT, key), d->t_wall_ns[i], d->fields,
		    d->values + i * d->n_fields, d->n_fields, NULL, 0);
	}
	to = document_close(out->data, document_close(list, to));
	out->len = (size_t)(to - out->data);
	return NW_OK;
}

int
nw_kv_encode(struct nw_doc_buf *out, const struct nw_kv *kv, size_t n)
{
	bson_t *doc = document_begin(out, kv_bound(kv, n));

	if (doc == NULL)
		return NW_ENOMEM;
	return document_end(out, doc, kv_append(doc, kv, n));
}

/* Returns false for a type outside control documents. */
static bool
kv_from_element(const struct element *e, struct nw_kv *kv)
{
	double v;
	size_t len;

	kv->key = e->key;
	if (!text_is_valid(e->key, e->key_len))
		return false;
	switch (e->type) {
	case BSON_TYPE_UTF8:
		kv->type = NW_KV_TEXT;
		kv->v.text = element_text(e, &len);
		return text_is_valid(kv->v.text, len);
	case BSON_TYPE_INT64:
		kv->type = NW_KV_INT;
		kv->v.i = (int64_t)get_le64(e->value);
		return true;
	case BSON_TYPE_INT32:
	case BSON_TYPE_BOOL:
		(void)element_number(e, &v);
		kv->type = e->type == BSON_TYPE_BOOL ? NW_KV_BOOL : NW_KV_INT;
		kv->v.i = (int64_t)v;
		return true;
	case BSON_TYPE_DOUBLE:
		kv->type = NW_KV_REAL;
		kv->v.d = get_le_double(e->value);
		return true;
	}
	return false;
}

static bool
kv_has(const struct nw_kv *kv, size_t n, const char *key)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(kv[i].key, key) == 0)
			return true;
	return false;
}

int
nw_kv_decode(
    const uint8_t *buf, size_t len, struct nw_kv *kv, size_t cap, size_t *n, const char **why)
{
	struct element e;
	struct nw_kv one;
	struct walk w;
	int rc;

	*n = 0;
	if ((rc = walk_check(buf, len, &nw_doc_limits_default, 1)) < 0 ||
	    (rc = walk_open(&w, buf, len, &nw_doc_limits_default)) < 0) {
		*why = walk_why(rc);
		return rc;
	}
	while ((rc = walk_next(&w, &e)) > 0) {
		if (!kv_from_element(&e, &one) || kv_has(kv, *n, one.key))
			continue;
		if (*n == cap) {
			*why = "too many fields in a control document";
			return NW_ETOOBIG;
		}
		kv[(*n)++] = one;
	}
	return NW_OK;
}

int
nw_kv_decode_member(const uint8_t *buf, size_t len, const char *key, struct nw_kv *kv, size_t cap,
    size_t *n, const char **why)
{
	struct element e;
	struct walk w;
	int rc;

	*n = 0;
	if ((rc = walk_check(buf, len, &nw_doc_limits_default, 1)) < 0 ||
	    (rc = walk_open(&w, buf, len, &nw_doc_limits_default)) < 0) {
		*why = walk_why(rc);
		return rc;
	}
	while (walk_next(&w, &e) > 0)
		if (e.type == BSON_TYPE_DOCUMENT && strcmp(e.key, key) == 0)
			return nw_kv_decode(e.value, e.value_len, kv, cap, n, why);
	return NW_OK;
}
