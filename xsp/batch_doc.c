/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * BATCH (option 0x87): rows of one metadata, packed in columns, for rates where a BSON document per
 * row is waste. Goes only to peers that say "batch" in their HELLO. A BATCH is a document and has a
 * single number, however many rows.
 *
 *	byte      1: this version
 *	text      mid, NUL terminated
 *	varint    number of fields, 1 to 256
 *	text      the names of the fields, each NUL terminated, in the order of the columns
 *	varint    number of rows, 1 to 65,536
 *	8 bytes   time of the first row, int64 little endian, nanoseconds since 1970 UTC
 *	varint    for each further row: its time less the time of the row before, zigzag
 *	columns   for each field and each row: 8 bytes, double little endian; NaN is "no value"
 *
 * A varint is LEB128, at most ten bytes; zigzag maps 0, -1, 1, -2 to 0, 1, 2, 3. Nothing follows
 * the last column. The names are in every BATCH, not once per connection: a document must mean the
 * same when it comes from a spool, over another connection, to a restarted box. With ten rows the
 * names are a byte per value.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "narrows/hist.h"
#include "xsp/decoder.h"

enum { VERSION = 1, VARINT_MAX_BYTES = 10 };

/* --- to bytes --- */

static uint8_t *
put_text(uint8_t *p, const char *text)
{
	size_t n = strlen(text) + 1;

	memcpy(p, text, n);
	return p + n;
}

static uint8_t *
put_varint(uint8_t *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)v | 0x80;
	*p++ = (uint8_t)v;
	return p;
}

/* Differences wrap around, as the decoder's sums do, so no pair of times is too far apart. */
static uint8_t *
put_times(uint8_t *p, const int64_t *t, size_t n)
{
	uint64_t step;
	size_t i;

	put_le64(p, (uint64_t)t[0]);
	for (p += 8, i = 1; i < n; i++) {
		step = (uint64_t)t[i] - (uint64_t)t[i - 1];
		p = put_varint(p, step << 1 ^ (step >> 63 ? UINT64_MAX : 0));
	}
	return p;
}

static size_t
encoded_bound(const struct nw_data *d)
{
	size_t n = 1 + strlen(d->mid) + 1 + 2 * VARINT_MAX_BYTES + 8 +
	    d->n_rows * (VARINT_MAX_BYTES + 8 * d->n_fields),
	       i;

	for (i = 0; i < d->n_fields; i++)
		n += strlen(d->fields[i]) + 1;
	return n;
}

int
nw_batch_doc_encode(struct nw_doc_buf *out, const struct nw_data *d)
{
	size_t bound, i, k;
	uint8_t *p;

	out->len = 0;
	if (d->mid == NULL || d->mid[0] == '\0' || d->n_fields == 0 || d->n_rows == 0)
		return NW_EINVAL;
	if (d->n_rows > nw_doc_limits_default.rows_max ||
	    d->n_fields > nw_doc_limits_default.fields_max)
		return NW_ETOOBIG;
	if ((bound = encoded_bound(d)) > out->cap) {
		if ((p = realloc(out->data, bound)) == NULL)
			return NW_ENOMEM;
		out->data = p;
		out->cap = bound;
	}
	p = out->data;
	*p++ = VERSION;
	p = put_varint(put_text(p, d->mid), d->n_fields);
	for (k = 0; k < d->n_fields; k++)
		p = put_text(p, d->fields[k]);
	p = put_times(put_varint(p, d->n_rows), d->t_wall_ns, d->n_rows);
	for (k = 0; k < d->n_fields; k++)
		for (i = 0; i < d->n_rows; i++, p += 8)
			put_le_double(p, d->values[i * d->n_fields + k]);
	out->len = (size_t)(p - out->data);
	return NW_OK;
}

/* --- from bytes --- */

struct bytes {
	const uint8_t *at, *end;
};

static int
cut_short(struct nw_doc_decoder *d)
{
	return decode_fail(d, NW_EPROTO, "packed rows are cut short");
}

static int
take_text(struct nw_doc_decoder *d, struct bytes *b, const char **text, size_t *len)
{
	const uint8_t *nul = memchr(b->at, 0, (size_t)(b->end - b->at));

	if (nul == NULL)
		return cut_short(d);
	*text = (const char *)b->at;
	*len = (size_t)(nul - b->at);
	b->at = nul + 1;
	return *len > d->lim.text_max_bytes ? decode_fail(d, NW_ETOOBIG, "text too long") : NW_OK;
}

static int
take_varint(struct nw_doc_decoder *d, struct bytes *b, uint64_t *v)
{
	size_t n;

	/* Steady clocks tick in steps of four or five bytes; of all other numbers most are
	 * small. */
	if (b->at < b->end && *b->at < 0x80) {
		*v = *b->at++;
		return NW_OK;
	}
	if ((n = nw_hist_get_varint(b->at, (size_t)(b->end - b->at), v)) == 0)
		return cut_short(d);
	b->at += n;
	return NW_OK;
}

static int
take_mid(struct nw_doc_decoder *d, struct bytes *b, const char **mid)
{
	size_t len;
	int rc;

	if ((rc = take_text(d, b, mid, &len)) < 0)
		return rc;
	if (len == 0 || !text_is_valid(*mid, len))
		return decode_fail(d, NW_EPROTO, "packed rows without a valid id");
	return NW_OK;
}

/* Only fields have columns: a time or histogram of the same name would be lost. */
static int
take_fields(struct nw_doc_decoder *d, struct bytes *b, struct rows *r)
{
	const char *text;
	struct name *name;
	uint64_t n;
	size_t len;
	int rc;

	if ((rc = take_varint(d, b, &n)) < 0)
		return rc;
	if (n == 0 || n > r->fields_max)
		return decode_fail(d, NW_ETOOBIG, "packed rows with no or too many fields");
	names_make_room(&d->names);
	r->item++;
	for (r->n_fields = 0; r->n_fields < n; r->n_fields++) {
		if ((rc = take_text(d, b, &text, &len)) < 0)
			return rc;
		if ((rc = names_get(&d->names, text, (uint32_t)len, &name)) < 0)
			return decode_fail(d, rc,
			    rc == NW_EPROTO ? "bad field name"
					    : "field names too long or too many");
		if (name->kind != NAME_FIELD || name->item == r->item)
			return decode_fail(
			    d, NW_EPROTO, "a field name that is repeated or not a field's");
		name->item = r->item;
		r->fields[r->n_fields] = name->spelling;
	}
	return NW_OK;
}

/* Memory is reserved only for rows whose bytes have arrived. */
static int
take_row_count(struct nw_doc_decoder *d, struct bytes *b, struct rows *r)
{
	uint64_t n;
	int rc;

	if ((rc = take_varint(d, b, &n)) < 0)
		return rc;
	if (n == 0 || n > d->lim.rows_max)
		return decode_fail(d, NW_ETOOBIG, "packed rows with no or too many rows");
	if ((size_t)(b->end - b->at) < 8 + (n - 1) + 8 * n * r->n_fields)
		return cut_short(d);
	if ((rc = rows_reserve(d, r, n)) < 0 || (rc = values_reserve(d, r, n * r->n_fields)) < 0)
		return rc;
	r->n = n;
	return NW_OK;
}

static int
take_times(struct nw_doc_decoder *d, struct bytes *b, struct rows *r)
{
	uint64_t t = get_le64(b->at), step;
	size_t i;
	int rc;

	b->at += 8;
	for (i = 0;; i++) {
		if ((int64_t)t == NW_TIME_BY_SAMPLE)
			return decode_fail(d, NW_EPROTO, "packed rows without time");
		r->t_wall_ns[i] = (int64_t)t;
		r->sample_number[i] = -1;
		if (i + 1 == r->n)
			return NW_OK;
		if ((rc = take_varint(d, b, &step)) < 0)
			return rc;
		t += step >> 1 ^ (step & 1 ? UINT64_MAX : 0);
	}
}

/* Columns become rows. Values that are no numbers become NaN, as in documents. */
static void
take_columns(struct bytes *b, struct rows *r)
{
	size_t i, k;

	for (k = 0; k < r->n_fields; k++) {
		bool is_deviation = name_is_deviation(r->fields[k]);
		double *out = r->values + k, v;

		for (i = 0; i < r->n; i++, out += r->n_fields, b->at += 8) {
			v = get_le_double(b->at);
			*out = fabs(v) < DBL_MAX && !(is_deviation && v < 0) ? v : NAN;
		}
	}
}

int
batch_doc_decode(struct nw_doc_decoder *d, const uint8_t *buf, size_t len)
{
	struct bytes b = { buf, buf + len };
	struct rows *r = d->rows;
	const char *mid;
	int rc;

	if (len == 0 || *b.at++ != VERSION)
		return decode_fail(d, NW_EPROTO, "packed rows of an unknown version");
	r->hist = NULL;
	if ((rc = take_mid(d, &b, &mid)) < 0 || (rc = take_fields(d, &b, r)) < 0 ||
	    (rc = take_row_count(d, &b, r)) < 0 || (rc = take_times(d, &b, r)) < 0)
		return rc;
	if ((size_t)(b.end - b.at) != 8 * r->n * r->n_fields)
		return decode_fail(
		    d, NW_EPROTO, "packed columns are not as long as they should be");
	take_columns(&b, r);
	r->stride = r->n_fields;
	return rows_deliver(d, r, mid, NULL);
}
