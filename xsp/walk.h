/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A walk over the elements of one BSON document that trusts no byte of it.
 *
 * Every length is checked against the document before anything is read, strings and documents must
 * end in their NUL, and a document must end where it says. libbson's iterator is as safe, but it
 * cannot tell a document's end from a key that runs into it, leaves sub-documents unchecked, and
 * costs several calls per element: a bare libbson walk takes longer than all of the decoding here
 * (tests/xsp/bench_doc.c). libbson accepts every document that this walk accepts
 * (tests/xsp/fuzz_doc.c).
 */
#ifndef XSP_WALK_H
#define XSP_WALK_H

#include <bson/bson.h>

#include "narrows/doc.h"
#include "narrows/err.h"
#include "xsp/wire.h"

struct element {
	const char *key;      /* NUL terminated, in the document */
	const uint8_t *value; /* bytes behind the key, length prefix included */
	uint32_t key_len;
	uint32_t value_len;
	uint8_t type; /* BSON_TYPE_*; 0 in an element without content */
};

struct walk {
	const uint8_t *at;
	const uint8_t *end; /* the document's final NUL: stops any search for a key's end */
	uint32_t text_max_bytes;
};

/* Bytes of a value of a type without fixed length; SIZE_MAX when not all of the bytes are there. */
size_t walk_value_len(uint8_t type, const uint8_t *p, size_t left);

/* Checks a whole document, `depth` levels down already. NW_EPROTO, or NW_ETOOBIG for text and depth
 * limits. */
int walk_check(const uint8_t *doc, size_t len, const struct nw_doc_limits *lim, uint32_t depth);

const char *walk_why(int rc);

static inline int
walk_open(struct walk *w, const uint8_t *doc, size_t len, const struct nw_doc_limits *lim)
{
	if (len < 5 || get_le32(doc) != len || doc[len - 1] != 0)
		return NW_EPROTO;
	w->at = doc + 4;
	w->end = doc + len - 1;
	w->text_max_bytes = lim->text_max_bytes;
	return NW_OK;
}

static inline bool
element_is_container(const struct element *e)
{
	return e->type == BSON_TYPE_DOCUMENT || e->type == BSON_TYPE_ARRAY;
}

/* 1: *e is filled; 0: no element is left; negative: the bytes are wrong. */
static inline int
walk_next(struct walk *w, struct element *e)
{
	const uint8_t *p = w->at;
	size_t left, n;

	if (p == w->end)
		return 0;
	e->type = *p++;
	e->key = (const char *)p;
	while (*p != 0)
		p++;
	if (p >= w->end)
		return NW_EPROTO;
	e->key_len = (uint32_t)(p - (const uint8_t *)e->key);
	e->value = ++p;
	left = (size_t)(w->end - p);
	switch (e->type) {
	case BSON_TYPE_DOUBLE:
	case BSON_TYPE_INT64: n = 8; break;
	case BSON_TYPE_INT32: n = 4; break;
	default: n = walk_value_len(e->type, p, left);
	}
	if (n > left)
		return NW_EPROTO;
	if (e->key_len > w->text_max_bytes ||
	    (e->type == BSON_TYPE_UTF8 && n - 5 > w->text_max_bytes))
		return NW_ETOOBIG;
	e->value_len = (uint32_t)n;
	w->at = p + n;
	return 1;
}

/* The walk of a container. Its ends were checked when the element was read. */
static inline void
walk_enter(struct walk *w, const struct element *e, uint32_t text_max_bytes)
{
	w->at = e->value + 4;
	w->end = e->value + e->value_len - 1;
	w->text_max_bytes = text_max_bytes;
}

/* Text of a BSON_TYPE_UTF8 element: NUL terminated, but possibly with more NULs inside and not
 * UTF-8. */
static inline const char *
element_text(const struct element *e, size_t *len)
{
	*len = e->value_len - 5;
	return (const char *)e->value + 4;
}

/* True if the container is a list: its first key is a number. Calipers declared `data` an array and
 * gave it names, so the declared type decides for empty containers only. */
bool element_is_list(const struct element *container);

/* NUMBER_NONE stands for null and undefined. */
enum number_kind { NUMBER_OK, NUMBER_NONE, NUMBER_TEXT, NUMBER_OTHER };

/* Reads a number, a boolean, or a text whose bytes all belong to a decimal number. */
enum number_kind element_number(const struct element *e, double *out);

#endif
