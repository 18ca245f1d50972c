/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Documents: what is accepted is BSON for libbson, too; what is delivered is text and JSON that the
 * rest of the house may print; and a row that is encoded again decodes to itself.
 */
#include <bson/bson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/doc.h"
#include "narrows/err.h"
#include "narrows/frame.h"
#include "narrows/hist.h"

#define MUST(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct nw_doc_limits small = { .doc_max_bytes = 4096,
	.depth_max = 5,
	.items_max = 3,
	.fields_max = 4,
	.rows_max = 5,
	.text_max_bytes = 20 };
static struct nw_doc_decoder *decoder, *small_decoder, *second_decoder, *second_text;
static struct nw_doc_buf buf;

/* libbson can walk all of it. (Its bson_validate() would also refuse text that is not UTF-8.) */
static void
check_bson(bson_iter_t *it)
{
	bson_iter_t child;

	while (bson_iter_next(it))
		if (BSON_ITER_HOLDS_DOCUMENT(it) || BSON_ITER_HOLDS_ARRAY(it)) {
			MUST(bson_iter_recurse(it, &child));
			check_bson(&child);
		}
	MUST(it->err_off == 0);
}

static void
check_document(const uint8_t *data, size_t len)
{
	bson_iter_t it;
	bson_t b;

	MUST(bson_init_static(&b, data, len) && bson_iter_init(&it, &b));
	check_bson(&it);
}

static void
check_text(const char *s, bool may_be_empty)
{
	MUST(bson_utf8_validate(s, strlen(s), false));
	MUST(may_be_empty || s[0] != '\0');
}

/* A checker of JSON's grammar (RFC 8259). Each call returns what follows one value. */
static const char *
json_text(const char *p)
{
	MUST(*p++ == '"');
	for (; *p != '"'; p++) {
		MUST((unsigned char)*p >= 0x20);
		if (*p != '\\')
			continue;
		p++;
		MUST(*p != '\0' && strchr("\"\\/bfnrtu", *p) != NULL);
		if (*p == 'u') {
			MUST(strspn(p + 1, "0123456789abcdefABCDEF") >= 4);
			p += 4;
		}
	}
	return p + 1;
}

static const char *
json_number(const char *p)
{
	size_t n;

	p += *p == '-';
	n = strspn(p, "0123456789");
	MUST(n == 1 || (n > 1 && *p != '0'));
	p += n;
	if (*p == '.') {
		n = strspn(p + 1, "0123456789");
		MUST(n > 0);
		p += 1 + n;
	}
	if (*p == 'e' || *p == 'E') {
		p += p[1] == '-' || p[1] == '+' ? 2 : 1;
		n = strspn(p, "0123456789");
		MUST(n > 0);
		p += n;
	}
	return p;
}

static const char *
json_value(const char *p)
{
	char close;

	if (*p == '"')
		return json_text(p);
	if (strncmp(p, "true", 4) == 0 || strncmp(p, "null", 4) == 0)
		return p + 4;
	if (strncmp(p, "false", 5) == 0)
		return p + 5;
	if (*p != '{' && *p != '[')
		return json_number(p);
	close = *p == '{' ? '}' : ']';
	if (p[1] == close)
		return p + 2;
	do {
		p++;
		if (close == '}') {
			p = json_text(p);
			MUST(*p++ == ':');
		}
		p = json_value(p);
	} while (*p == ',');
	MUST(*p == close);
	return p + 1;
}

static int
on_meta(void *arg, const struct nw_meta *m)
{
	const struct nw_subject *s = &m->subject;
	const char *const texts[] = { s->task_id, s->xfer_id, s->stream_id, s->type, s->src, s->dst,
		s->resource, s->hostname, m->pid };
	size_t i;

	(void)arg;
	check_text(m->id, false);
	check_text(m->event_type, false);
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i] != NULL)
			check_text(texts[i], false);
	check_text(m->subject_json, false);
	check_text(m->params_json, false);
	MUST(m->subject_json[0] == '{' && *json_value(m->subject_json) == '\0');
	MUST(m->params_json[0] == '{' && *json_value(m->params_json) == '\0');
	MUST(!isinf(m->dt_s) && !isinf(m->ts_s));
	check_document(m->raw, m->raw_len);
	return 0;
}

static int
on_data_again(void *arg, const struct nw_data *again)
{
	const struct nw_data *d = arg;
	size_t i, k = 0;

	MUST(again->n_rows == 1 && again->t_wall_ns[0] == d->t_wall_ns[0] &&
	    strcmp(again->mid, d->mid) == 0);
	for (i = 0; i < d->n_fields; i++) {
		if (isnan(d->values[i]))
			continue;
		MUST(k < again->n_fields && strcmp(again->fields[k], d->fields[i]) == 0);
		MUST(again->values[k] == d->values[i]);
		k++;
	}
	MUST(k == again->n_fields && again->hist_len == d->hist_len);
	return NW_EFULL;
}

static int
on_data(void *arg, const struct nw_data *d)
{
	static uint64_t counts[NW_HIST_BUCKETS];
	struct nw_doc_sink again = { (void *)(uintptr_t)d, NULL, on_data_again };
	const char *why;
	size_t i;
	int rc;

	(void)arg;
	check_text(d->mid, false);
	if (d->event_type != NULL)
		check_text(d->event_type, false);
	MUST(d->n_fields > 0 && d->n_rows > 0);
	for (i = 0; i < d->n_fields; i++)
		check_text(d->fields[i], false);
	for (i = 0; i < d->n_rows * d->n_fields; i++)
		MUST(!isinf(d->values[i]));
	for (i = 0; i < d->n_rows; i++)
		MUST(d->t_wall_ns[i] != NW_TIME_BY_SAMPLE || d->sample_number[i] >= 0);
	if (d->hist != NULL) {
		memset(counts, 0, sizeof(counts));
		MUST(d->n_rows == 1 && nw_hist_decode_add(d->hist, d->hist_len, counts) == NW_OK);
	}
	if (d->t_wall_ns[0] == NW_TIME_BY_SAMPLE || d->n_rows > 1)
		return 0;
	MUST(nw_data_encode(&buf, d->mid, d->t_wall_ns[0], d->fields, d->values, d->n_fields,
		 d->hist, d->hist_len) == NW_OK);
	rc = nw_doc_decode(second_decoder, NW_OPT_DATA, buf.data, buf.len, &again, &why);
	MUST(rc == NW_EFULL || rc == NW_ETOOBIG);
	return 0;
}

static void
check_kv(const uint8_t *data, size_t len)
{
	struct nw_kv kv[16], again[16];
	const char *why = NULL;
	size_t n, n_again, i;

	if (nw_kv_decode(data, len, kv, 16, &n, &why) != NW_OK) {
		MUST(why != NULL);
		return;
	}
	MUST(nw_kv_encode(&buf, kv, n) == NW_OK);
	MUST(nw_kv_decode(buf.data, buf.len, again, 16, &n_again, &why) == NW_OK && n_again == n);
	for (i = 0; i < n; i++) {
		MUST(strcmp(kv[i].key, again[i].key) == 0 && kv[i].type == again[i].type);
		if (kv[i].type == NW_KV_TEXT)
			MUST(strcmp(kv[i].v.text, again[i].v.text) == 0);
		else
			MUST(kv[i].v.i == again[i].v.i);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct nw_doc_sink sink = { NULL, on_meta, on_data };
	const char *why = NULL;
	int rc;

	if (decoder == NULL) {
		decoder = nw_doc_decoder_new(NULL);
		second_decoder = nw_doc_decoder_new(NULL);
		small_decoder = nw_doc_decoder_new(&small);
		second_text = nw_doc_decoder_new(NULL);
		MUST(second_text != NULL && decoder != NULL && second_decoder != NULL &&
		    small_decoder != NULL);
	}
	rc = nw_doc_decode(decoder, NW_OPT_META, data, len, &sink, &why);
	if (rc == NW_OK)
		check_document(data, len);
	else
		MUST((rc == NW_EPROTO || rc == NW_ETOOBIG) && why != NULL);
	rc = nw_doc_decode(small_decoder, NW_OPT_DATA, data, len, &sink, &why);
	MUST(rc == NW_OK || rc == NW_EPROTO || rc == NW_ETOOBIG);
	rc = nw_doc_decode(second_text, NW_OPT_XFER_UPDATE, data, len, &sink, &why);
	MUST(rc == NW_OK || rc == NW_EPROTO || rc == NW_ETOOBIG);
	check_kv(data, len);
	return 0;
}
