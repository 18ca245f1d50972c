/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * BSON documents in sequence: exports of `narrows export`, and recordings of any peer, in envelopes
 * and singly, of every generation. The box gets and keeps the same bytes.
 *
 *	{"sender":"...","host":"...","task_id":"..."}     sender of the documents behind
 *
 * Ids belong to the sender. Metadata go into the spool once each, apart from the data of the same
 * envelope: data have sequence numbers and are sent again only until the box has stored them,
 * metadata are always sent.
 */
#include <math.h>
#include <string.h>

#include "cli/import/import.h"
#include "narrows/xmalloc.h"
#include "narrows/err.h"
#include "narrows/frame.h"

enum { DOC_MIN_BYTES = 5, SENDER_KEYS_MAX = 16 };
#define NOBODY SIZE_MAX

struct bson_file {
	struct import *im;
	struct nw_doc_decoder *decoder, *checker; /* checker: decoder for envelopes made here */
	/* index of the current sender's host; no sender before the first */
	size_t host;
	const uint8_t *doc; /* in hand */
	size_t len;
	bool has_data;
	const char *given_session;
};

/* A number of bytes says more than a line. */
static int
bson_fail(struct bson_file *f, const char *why)
{
	return stat_fail(f->im->err, NW_EPROTO, "%s: document at byte %zu: %s", f->im->name,
	    (size_t)((const char *)f->doc - f->im->bytes), why);
}

static uint32_t
length_at(const char *at)
{
	const uint8_t *p = (const uint8_t *)at;

	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static bool
document_at(const char *at, const char *end, size_t *len)
{
	if (end - at < DOC_MIN_BYTES)
		return false;
	*len = length_at(at);
	return *len >= DOC_MIN_BYTES && *len <= (size_t)(end - at) && at[*len - 1] == '\0';
}

bool
import_is_bson(const struct import *im)
{
	size_t len;

	return document_at(im->bytes, im->end, &len);
}

/* --- senders --- */

static bool
is_sender(const struct bson_file *f)
{
	static const char begin[] = "\x02sender";

	return f->len > 4 + sizeof(begin) && memcmp(f->doc + 4, begin, sizeof(begin)) == 0;
}

static void
host_begin(struct bson_file *f, const char *name, const char *sender)
{
	f->host = import_host_index(f->im, name, sender);
}

static int
sender_take(struct bson_file *f)
{
	const char *sender = "", *host = f->im->host, *why = NULL;
	struct nw_kv kv[SENDER_KEYS_MAX];
	size_t n, i;

	if (nw_kv_decode(f->doc, f->len, kv, SENDER_KEYS_MAX, &n, &why) < 0)
		return bson_fail(f, why);
	for (i = 0; i < n; i++) {
		if (kv[i].type != NW_KV_TEXT || kv[i].v.text[0] == '\0')
			continue;
		if (strcmp(kv[i].key, "sender") == 0)
			sender = kv[i].v.text;
		else if (strcmp(kv[i].key, "host") == 0 && strlen(kv[i].v.text) <= 255)
			host = kv[i].v.text;
		else if (strcmp(kv[i].key, "task_id") == 0 && f->im->session == NULL)
			f->im->session = xstrdup(kv[i].v.text);
	}
	host_begin(f, host, sender);
	return NW_OK;
}

/* --- documents --- */

/* Spools one metadata: unchanged, or in an envelope, for which a metadata from outside any
 * envelope may be nested too deep. */
static int
meta_spool(struct bson_file *f, const struct nw_meta *m)
{
	struct nw_doc_sink none = { 0 };
	struct nw_doc_buf *doc = &f->im->doc;
	const char *why = NULL;

	if (m->generation == NW_GEN_3 || m->raw == f->doc)
		return import_spool(f->im, f->host, NW_OPT_META, m->raw, m->raw_len);
	if (nw_envelope_encode(doc, m->raw, m->raw_len) < 0)
		return NW_ENOMEM;
	if (nw_doc_decode(f->checker, NW_OPT_META, doc->data, doc->len, &none, &why) < 0)
		return bson_fail(f, why);
	return import_spool(f->im, f->host, NW_OPT_META, doc->data, doc->len);
}

static int
on_meta(void *arg, const struct nw_meta *m)
{
	struct bson_file *f = arg;
	struct import *im = f->im;
	const char *task = m->subject.task_id;
	struct series *s;
	bool is_new;
	int rc = catalog_add(&im->hosts[f->host].catalog, m, &s, &is_new);

	if (rc == NW_ENOMEM)
		return rc;
	if (rc < 0)
		return bson_fail(f, "too many metadata of one sender for a box: split the file");
	if (!is_new)
		return NW_OK;
	if (task != NULL && f->given_session != NULL && strcmp(task, f->given_session) != 0)
		return bson_fail(f, "the document names another session: import without --session");
	if (task != NULL && im->session == NULL)
		im->session = xstrdup(task);
	return meta_spool(f, m);
}

static int
on_data(void *arg, const struct nw_data *d)
{
	struct bson_file *f = arg;
	struct import *im = f->im;
	struct series *s;
	size_t row, k;
	int64_t t;

	if (!data_times_are_sane(d))
		return bson_fail(f, "a row from before 1970 or after 2199");
	if ((s = catalog_series_of(&im->hosts[f->host].catalog, d)) == NULL)
		return bson_fail(f, "data of a series without metadata before");
	for (row = 0; row < d->n_rows; row++) {
		if ((t = series_row_time(s, d, row, NW_TIME_BY_SAMPLE)) == NW_TIME_BY_SAMPLE)
			return bson_fail(f, "a row without a time");
		if (t < im->t_min_wall_ns)
			im->t_min_wall_ns = t;
		if (t > im->t_max_wall_ns)
			im->t_max_wall_ns = t;
	}
	for (k = 0; k < d->n_rows * d->n_fields; k++)
		im->n_values += !isnan(d->values[k]);
	f->has_data = true;
	return NW_OK;
}

static int
document_take(struct bson_file *f)
{
	struct nw_doc_sink sink = { .arg = f, .on_meta = on_meta, .on_data = on_data };
	const char *why = NULL;
	int rc;

	if (f->host == NOBODY)
		host_begin(f, f->im->host, "");
	f->has_data = false;
	f->im->err->text[0] = '\0';
	rc = nw_doc_decode(f->decoder, NW_OPT_META, f->doc, f->len, &sink, &why);
	if (rc < 0)
		return f->im->err->text[0] != '\0'
		    ? rc
		    : bson_fail(f, why != NULL ? why : nw_strerror(rc));
	return f->has_data ? import_spool(f->im, f->host, NW_OPT_DATA, f->doc, f->len) : NW_OK;
}

int
import_bson(struct import *im)
{
	char *given = xstrdup(im->session);
	struct bson_file f = { .im = im,
		.decoder = nw_doc_decoder_new(NULL),
		.checker = nw_doc_decoder_new(NULL),
		.host = NOBODY,
		.given_session = given };
	const char *at;
	int rc = f.decoder != NULL && f.checker != NULL ? NW_OK : NW_ENOMEM;

	for (at = im->bytes; rc == NW_OK && at < im->end; at += f.len) {
		f.doc = (const uint8_t *)at;
		if (!document_at(at, im->end, &f.len))
			rc = bson_fail(&f, "cut off, or not a BSON document");
		else
			rc = is_sender(&f) ? sender_take(&f) : document_take(&f);
	}
	free(given);
	nw_doc_decoder_free(f.checker);
	nw_doc_decoder_free(f.decoder);
	return rc;
}
