/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which of the five document schemas is this, and where are its items?
 *
 *   generation 1   {version, meta: [{_id, _pid, event_type, params, subject}],
 *                            data: [{_mid, event_type, values: {_sample, "sum.v", ..}}]}
 *   generation 2   {version, meta: [{id, pid, type | event_type, params, subject}],
 *                            data: [{mid, values: [[ts, v], ..]}]}
 *   generation 3   {id, eventType, parameters, subject}          {mid, data: {ts, _sample, sum_v, ..}}
 *   generation 4   the same in a list, or single                 {mid, data: [{ts, value}, ..]}
 *
 * Senders mix them, so each part of an item is looked for under all its names. Every part of an
 * accepted document has been walked once: rows by doc_data.c, everything else by item_read().
 */
#include <stdlib.h>

#include "xsp/decoder.h"
#include "narrows/frame.h"

const struct nw_doc_limits nw_doc_limits_default = { .doc_max_bytes = 1 << 20,
	.depth_max = 16,
	.items_max = 4096,
	.fields_max = 256,
	.rows_max = 65536,
	.text_max_bytes = 4096 };

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

const struct nw_doc_stats *
nw_doc_decoder_stats(const struct nw_doc_decoder *d)
{
	return &d->stats;
}

int
decode_fail(struct nw_doc_decoder *d, int rc, const char *why)
{
	d->why = why;
	return rc;
}

int
decode_walk_fail(struct nw_doc_decoder *d, int rc)
{
	return decode_fail(d, rc, walk_why(rc));
}

int
decode_id(struct nw_doc_decoder *d, const struct element *e, char hex[25], const char **out)
{
	static const char digits[] = "0123456789abcdef";
	size_t len;
	int i;

	if (e->type == BSON_TYPE_OID) {
		for (i = 0; i < 12; i++) {
			hex[2 * i] = digits[e->value[i] >> 4];
			hex[2 * i + 1] = digits[e->value[i] & 15];
		}
		hex[24] = '\0';
		*out = hex;
		return NW_OK;
	}
	if (e->type != BSON_TYPE_UTF8)
		return decode_fail(d, NW_EPROTO, "an id or event type is not text");
	*out = element_text(e, &len);
	if (len == 0)
		return decode_fail(d, NW_EPROTO, "an id or event type is empty");
	if (!text_is_valid(*out, len))
		return decode_fail(d, NW_EPROTO, "an id or event type is not UTF-8");
	return NW_OK;
}

/* The type is not to be trusted: calipers declared `data` an array and gave it names. The first key
 * tells. */
bool
element_is_list(const struct element *container)
{
	struct element first;
	struct walk w;
	uint32_t i;

	walk_enter(&w, container, UINT32_MAX);
	if (walk_next(&w, &first) <= 0)
		return container->type == BSON_TYPE_ARRAY;
	for (i = 0; i < first.key_len; i++)
		if (first.key[i] < '0' || first.key[i] > '9')
			return false;
	return i > 0;
}

static enum part
part_of_key(const struct element *e)
{
	static const struct {
		const char *key;
		uint8_t len, part;
	} known[] = {
		{ "mid", 3, PART_MID },
		{ "data", 4, PART_DATA },
		{ "_mid", 4, PART_MID_OLD },
		{ "values", 6, PART_VALUES },
		{ "id", 2, PART_ID },
		{ "_id", 3, PART_ID_OLD },
		{ "pid", 3, PART_PID },
		{ "_pid", 4, PART_PID },
		{ "eventType", 9, PART_EVENT_TYPE },
		{ "event_type", 10, PART_EVENT_TYPE },
		{ "type", 4, PART_TYPE },
		{ "subject", 7, PART_SUBJECT },
		{ "parameters", 10, PART_PARAMS },
		{ "params", 6, PART_PARAMS },
		{ "param", 5, PART_PARAMS },
		{ "meta", 4, PART_META },
		{ "version", 7, PART_VERSION },
		{ "$schema", 7, PART_UNIS },
		{ "selfRef", 7, PART_UNIS },
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (e->key_len == known[i].len && memcmp(e->key, known[i].key, e->key_len) == 0)
			return (enum part)known[i].part;
	return PART_COUNT;
}

/* Finds the parts of an item. Values, data and meta are left to who uses them, everything else is
 * checked here. */
static int
item_read(struct nw_doc_decoder *d, const uint8_t *doc, size_t len, uint32_t depth, struct item *it)
{
	struct element e;
	struct walk w;
	enum part p;
	int rc;

	it->doc = doc;
	it->len = len;
	it->depth = depth;
	it->have = 0;
	it->in_envelope = it->is_list = false;
	if (depth > d->lim.depth_max)
		return decode_walk_fail(d, NW_ETOOBIG);
	if ((rc = walk_open(&w, doc, len, &d->lim)) < 0)
		return decode_fail(d, rc, "length of the document differs from its own");
	while ((rc = walk_next(&w, &e)) > 0) {
		p = part_of_key(&e);
		if (p == PART_COUNT && e.key_len == 1 && e.key[0] == '0' &&
		    element_is_container(&e))
			it->is_list = true;
		if (p != PART_COUNT && !item_has(it, p)) {
			it->part[p] = e;
			it->have |= 1u << p;
			if (p == PART_VALUES || p == PART_DATA || p == PART_META)
				continue;
		} else if (p != PART_COUNT && p != PART_UNIS) {
			d->stats.duplicate_keys++;
		}
		if (element_is_container(&e) &&
		    (rc = walk_check(e.value, e.value_len, &d->lim, depth + 1)) < 0)
			return decode_walk_fail(d, rc);
	}
	return rc < 0 ? decode_walk_fail(d, rc) : NW_OK;
}

int
item_check_rest(struct nw_doc_decoder *d, const struct item *it, uint32_t used)
{
	static const enum part left[] = { PART_VALUES, PART_DATA, PART_META };
	const struct element *e;
	size_t i;
	int rc;

	for (i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
		e = &it->part[left[i]];
		if (!item_has(it, left[i]) || used >> left[i] & 1 || !element_is_container(e))
			continue;
		if ((rc = walk_check(e->value, e->value_len, &d->lim, it->depth + 1)) < 0)
			return decode_walk_fail(d, rc);
	}
	return NW_OK;
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

/* The items of a list, or the one item that came without a list. */
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

	/* Metadata first, though originals write data first: their readers had to search anyway. */
	if (rc == NW_OK && item_has(top, PART_META))
		rc = list_decode(d, &top->part[PART_META], top->depth + 1, true);
	if (rc == NW_OK && item_has(top, PART_DATA))
		rc = list_decode(d, &top->part[PART_DATA], top->depth + 1, true);
	return rc;
}

static int
document_decode(struct nw_doc_decoder *d, const uint8_t *buf, size_t len)
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
		d->stats.bad_values++;
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
	else
		rc = opt == NW_OPT_BATCH ? batch_doc_decode(d, buf, len)
					 : document_decode(d, buf, len);
	if (rc < 0)
		*why = d->why;
	return rc;
}
