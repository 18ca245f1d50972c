/* SPDX-License-Identifier: BSD-3-Clause */
/* One item of a document: the top-level elements, under the names of every generation. */
#include "xsp/decoder.h"

#include "narrows/hex.h"

const struct nw_doc_limits nw_doc_limits_default = { .doc_max_bytes = 1 << 20,
	.depth_max = 16,
	.items_max = 4096,
	.fields_max = 256,
	.rows_max = 65536,
	.text_max_bytes = 4096 };

int
decode_id(struct nw_doc_decoder *d, const struct element *e, char hex[25], const char **out)
{
	size_t len;

	if (e->type == BSON_TYPE_OID) {
		nw_hex_put(hex, e->value, 12);
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

/* Finds the parts of an item. Values, data and meta are left to their readers; every other element
 * is checked here. */
int
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
