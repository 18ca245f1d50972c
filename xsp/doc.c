/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells the six document schemas apart and finds the items of each.
 *
 *   generation 0   lines of text (doc_g0.c)
 *   generation 1   {version, meta: [{_id, _pid, event_type, params, subject}],
 *                            data: [{_mid, event_type, values: {_sample, "sum.v", ..}}]}
 *   generation 2   {version, meta: [{id, pid, type | event_type, params, subject}],
 *                            data: [{mid, values: [[ts, v], ..]}]}
 *   generation 3   {id, eventType, parameters, subject}      {mid, data: {ts, _sample, sum_v, ..}}
 *   generation 4   the same in a list, or single             {mid, data: [{ts, value}, ..]}
 *
 * Senders mix the schemas, so each part of an item is looked for under all its names. Every part of
 * an accepted document has been walked once: rows by doc_data.c, everything else by item_read().
 */
#include <stdlib.h>

#include "xsp/decoder.h"
#include "narrows/frame.h"

struct nw_doc_decoder *
nw_doc_decoder_new(const struct nw_doc_limits *lim)
{
	struct nw_doc_decoder *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->lim = lim != NULL ? *lim : nw_doc_limits_default;
	if (names_init(&d->names, d->lim.fields_max) < 0 ||
	    (d->rows = rows_new(d->lim.fields_max)) == NULL) {
		nw_doc_decoder_free(d);
		return NULL;
	}
	return d;
}

void
nw_doc_decoder_free(struct nw_doc_decoder *d)
{
	if (d == NULL)
		return;
	rows_free(d->rows);
	free(d->scratch.p);
	names_clear(&d->names);
	free(d);
}

static int
item_decode(struct nw_doc_decoder *d, const struct item *it)
{
	if (++d->n_items > d->lim.items_max)
		return decode_fail(d, NW_ETOOBIG, "too many items in one envelope");
	if (item_has(it, PART_MID) || item_has(it, PART_MID_OLD))
		return data_decode(d, it);
	if (item_has(it, PART_ID) || item_has(it, PART_ID_OLD))
		return meta_decode(d, it);
	return decode_fail(d, NW_EPROTO, "neither metadata nor data: no id");
}

static int
element_decode(struct nw_doc_decoder *d, const struct element *e, uint32_t depth, bool in_envelope)
{
	struct item it;
	int rc;

	if (!element_is_container(e))
		return decode_fail(d, NW_EPROTO, "an item is not a document");
	if ((rc = item_read(d, e->value, e->value_len, depth, &it)) < 0)
		return rc;
	it.in_envelope = in_envelope;
	return item_decode(d, &it);
}

/* The items of a list, or a single item without a list. */
static int
list_decode(struct nw_doc_decoder *d, const struct element *list, uint32_t depth, bool in_envelope)
{
	struct element e;
	struct walk w;
	int rc;

	if (!element_is_container(list) || !element_is_list(list))
		return element_decode(d, list, depth, in_envelope);
	walk_enter(&w, list, d->lim.text_max_bytes);
	while ((rc = walk_next(&w, &e)) > 0)
		if ((rc = element_decode(d, &e, depth + 1, in_envelope)) < 0)
			return rc;
	return rc < 0 ? decode_walk_fail(d, rc) : NW_OK;
}

static int
envelope_decode(struct nw_doc_decoder *d, const struct item *top)
{
	int rc = item_check_rest(d, top, 1u << PART_META | 1u << PART_DATA);

	/* Metadata goes first although originals write data first: readers of the originals had to
	 * search anyway. */
	if (rc == NW_OK && item_has(top, PART_META))
		rc = list_decode(d, &top->part[PART_META], top->depth + 1, true);
	if (rc == NW_OK && item_has(top, PART_DATA))
		rc = list_decode(d, &top->part[PART_DATA], top->depth + 1, true);
	return rc;
}

static int
whole_decode(struct nw_doc_decoder *d, const uint8_t *buf, size_t len)
{
	struct element whole = {
		.value = buf, .value_len = (uint32_t)len, .type = BSON_TYPE_DOCUMENT
	};
	struct item top;
	bool has_id;
	int rc;

	if ((rc = item_read(d, buf, len, 1, &top)) < 0)
		return rc;
	if (item_has(&top, PART_VERSION) && top.part[PART_VERSION].type == BSON_TYPE_ARRAY) {
		/* A schema that only ever carried test data (2011-02). */
		rc = walk_check(buf, len, &d->lim, 1);
		return rc < 0 ? decode_walk_fail(d, rc) : NW_OK;
	}
	has_id =
	    top.have & (1u << PART_MID | 1u << PART_MID_OLD | 1u << PART_ID | 1u << PART_ID_OLD);
	if (item_has(&top, PART_META) || (item_has(&top, PART_DATA) && !has_id))
		return envelope_decode(d, &top);
	if (top.is_list && top.have == 0)
		return list_decode(d, &whole, 1, false);
	return item_decode(d, &top);
}

static int
text_decode(struct nw_doc_decoder *d, const uint8_t *buf, size_t len)
{
	struct nw_doc_buf meta = { 0 }, data = { 0 };
	int rc;

	if ((rc = g0_encode(buf, len, &meta, &data)) < 0)
		decode_fail(d, rc, "neither a document nor the text of a transfer");
	else if ((rc = whole_decode(d, meta.data, meta.len)) == NW_OK && data.len > 0)
		rc = whole_decode(d, data.data, data.len);
	nw_doc_buf_clear(&meta);
	nw_doc_buf_clear(&data);
	return rc;
}

int
nw_doc_decode(struct nw_doc_decoder *d, uint16_t opt, const uint8_t *buf, size_t len,
    const struct nw_doc_sink *sink, const char **why)
{
	int rc;

	switch (opt) {
	case NW_OPT_META:
	case NW_OPT_DATA:
	case NW_OPT_XFER_NEW:
	case NW_OPT_XFER_END:
	case NW_OPT_XFER_UPDATE:
	case NW_OPT_BATCH: break;
	default: *why = "not an option that carries documents"; return NW_EUNSUPPORTED;
	}
	d->sink = sink;
	d->n_items = 0;
	d->why = "the receiver refused";
	if (len > d->lim.doc_max_bytes)
		rc = decode_fail(d, NW_ETOOBIG, "document too long");
	else if (opt == NW_OPT_BATCH)
		rc = batch_doc_decode(d, buf, len);
	else if (opt != NW_OPT_META && opt != NW_OPT_DATA && g0_is(buf, len))
		rc = text_decode(d, buf, len);
	else
		rc = whole_decode(d, buf, len);
	if (rc < 0)
		*why = d->why;
	return rc;
}

bool
nw_data_has(const struct nw_data *d, const char *field)
{
	size_t i;

	for (i = 0; i < d->n_fields; i++)
		if (strcmp(d->fields[i], field) == 0)
			return true;
	return false;
}
