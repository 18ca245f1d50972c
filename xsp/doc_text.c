/* SPDX-License-Identifier: BSD-3-Clause */
/* Text out of documents: made valid UTF-8, and written as JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "narrows/hex.h"
#include "narrows/jsontext.h"
#include "narrows/utf8.h"
#include "xsp/decoder.h"

int
scratch_reserve(struct scratch *s, size_t n)
{
	char *p;

	s->len = 0;
	if (n <= s->cap)
		return NW_OK;
	if ((p = realloc(s->p, n)) == NULL)
		return NW_ENOMEM;
	s->p = p;
	s->cap = n;
	return NW_OK;
}

void
scratch_put(struct scratch *s, const char *p, size_t n)
{
	if (s->len <= s->cap && n <= s->cap - s->len)
		memcpy(s->p + s->len, p, n);
	s->len += n;
}

/* Length of the character at p; 0 where no character begins, and of NUL. */
static size_t
character_length(const char *p, size_t left)
{
	return *p == '\0' ? 0 : utf8_length(p, left);
}

bool
text_is_valid(const char *p, size_t len)
{
	const unsigned char *u = (const unsigned char *)p;
	size_t i = 0, n;

	while (i < len) {
		if (u[i] - 1u < 0x7f) {
			i++;
			continue;
		}
		if ((n = character_length(p + i, len - i)) == 0)
			return false;
		i += n;
	}
	return true;
}

static const char replacement[] = "\xef\xbf\xbd";

const char *
text_repair(struct scratch *s, const char *p, size_t len)
{
	const char *out = s->p + s->len;
	size_t i = 0, n;

	while (i < len) {
		if ((n = character_length(p + i, len - i)) > 0)
			scratch_put(s, p + i, n);
		else
			scratch_put(s, replacement, 3);
		i += n ? n : 1;
	}
	scratch_put(s, "", 1);
	return s->len <= s->cap ? out : "";
}

int
number_text(char out[32], double v)
{
	int n = snprintf(out, 32, "%.15g", v);

	return strtod(out, NULL) == v ? n : snprintf(out, 32, "%.17g", v);
}

static void
on_piece(void *arg, const char *bytes, size_t len)
{
	scratch_put(arg, bytes, len);
}

static void
json_scalar(struct scratch *s, const struct element *e)
{
	char buf[32];
	const char *text;
	double v;
	size_t n;

	switch (e->type) {
	case BSON_TYPE_UTF8:
		text = element_text(e, &n);
		jsontext_pieces(text, n, on_piece, s);
		return;
	case BSON_TYPE_DOUBLE:
		v = get_le_double(e->value);
		if (isfinite(v))
			scratch_put(s, buf, (size_t)number_text(buf, v));
		else
			scratch_put(s, "null", 4);
		return;
	case BSON_TYPE_INT32:
		scratch_put(s, buf,
		    (size_t)snprintf(buf, sizeof(buf), "%" PRId32, (int32_t)get_le32(e->value)));
		return;
	case BSON_TYPE_INT64:
	case BSON_TYPE_DATE_TIME: /* milliseconds since 1970 */
		scratch_put(s, buf,
		    (size_t)snprintf(buf, sizeof(buf), "%" PRId64, (int64_t)get_le64(e->value)));
		return;
	case BSON_TYPE_BOOL:
		scratch_put(s, e->value[0] ? "true" : "false", e->value[0] ? 4 : 5);
		return;
	case BSON_TYPE_OID:
		scratch_put(s, "\"", 1);
		nw_hex_put(buf, e->value, 12);
		scratch_put(s, buf, 24);
		scratch_put(s, "\"", 1);
		return;
	}
	scratch_put(s, "null", 4);
}

/* Is there an element of the same name before e in its document? Quadratic, on documents of
 * fields_max elements. */
static bool
is_repeated(const struct element *container, const struct element *e, uint32_t text_max_bytes)
{
	struct element earlier;
	struct walk w;

	walk_enter(&w, container, text_max_bytes);
	while (walk_next(&w, &earlier) > 0 && earlier.key != e->key)
		if (earlier.key_len == e->key_len && memcmp(earlier.key, e->key, e->key_len) == 0)
			return true;
	return false;
}

int
json_put(struct nw_doc_decoder *d, struct scratch *s, const struct element *container)
{
	bool is_array = container->type == BSON_TYPE_ARRAY && element_is_list(container);
	struct element e;
	struct walk w;
	uint32_t n = 0, n_put = 0;
	int rc;

	scratch_put(s, is_array ? "[" : "{", 1);
	walk_enter(&w, container, d->lim.text_max_bytes);
	while ((rc = walk_next(&w, &e)) > 0) {
		if (!is_array && ++n > d->lim.fields_max)
			return decode_fail(d, NW_ETOOBIG, "too many keys in one object");
		if (!is_array && is_repeated(container, &e, d->lim.text_max_bytes))
			continue;
		if (n_put++ > 0)
			scratch_put(s, ",", 1);
		if (!is_array) {
			jsontext_pieces(e.key, e.key_len, on_piece, s);
			scratch_put(s, ":", 1);
		}
		if (!element_is_container(&e))
			json_scalar(s, &e);
		else if ((rc = json_put(d, s, &e)) < 0)
			return rc;
	}
	scratch_put(s, is_array ? "]" : "}", 1);
	return rc < 0 ? decode_walk_fail(d, rc) : NW_OK;
}
