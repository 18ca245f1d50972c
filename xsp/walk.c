/* SPDX-License-Identifier: BSD-3-Clause */
#include "xsp/walk.h"

#include <math.h>
#include <stdlib.h>

static size_t
cstring_len(const uint8_t *p, size_t left)
{
	const uint8_t *nul = memchr(p, 0, left);

	return nul == NULL ? SIZE_MAX : (size_t)(nul - p) + 1;
}

/* A 32-bit length of the bytes behind the length, the final NUL included. */
static size_t
string_len(const uint8_t *p, size_t left)
{
	uint32_t n;

	if (left < 5 || (n = get_le32(p)) < 1 || n > left - 4 || p[4 + n - 1] != 0)
		return SIZE_MAX;
	return 4 + (size_t)n;
}

static size_t
container_len(const uint8_t *p, size_t left)
{
	uint32_t n;

	if (left < 5 || (n = get_le32(p)) < 5 || n > left || p[n - 1] != 0)
		return SIZE_MAX;
	return n;
}

static size_t
binary_len(const uint8_t *p, size_t left)
{
	uint32_t n;

	if (left < 5 || (n = get_le32(p)) > left - 5)
		return SIZE_MAX;
	/* The old binary subtype holds a second length. */
	if (p[4] == BSON_SUBTYPE_BINARY_DEPRECATED && (n < 4 || get_le32(p + 5) != n - 4))
		return SIZE_MAX;
	return 5 + (size_t)n;
}

static size_t
regex_len(const uint8_t *p, size_t left)
{
	size_t first = cstring_len(p, left), second;

	if (first == SIZE_MAX)
		return SIZE_MAX;
	second = cstring_len(p + first, left - first);
	return second == SIZE_MAX ? SIZE_MAX : first + second;
}

/* Code with scope and database pointers are missing on purpose: both are deprecated, and no
 * provider measures in them. */
size_t
walk_value_len(uint8_t type, const uint8_t *p, size_t left)
{
	switch (type) {
	case BSON_TYPE_UTF8:
	case BSON_TYPE_CODE:
	case BSON_TYPE_SYMBOL: return string_len(p, left);
	case BSON_TYPE_DOCUMENT:
	case BSON_TYPE_ARRAY: return container_len(p, left);
	case BSON_TYPE_BINARY: return binary_len(p, left);
	case BSON_TYPE_REGEX: return regex_len(p, left);
	case BSON_TYPE_BOOL: return left >= 1 && p[0] <= 1 ? 1 : SIZE_MAX;
	case BSON_TYPE_NULL:
	case BSON_TYPE_UNDEFINED:
	case BSON_TYPE_MINKEY:
	case BSON_TYPE_MAXKEY: return 0;
	case BSON_TYPE_INT32: return 4;
	case BSON_TYPE_DOUBLE:
	case BSON_TYPE_INT64:
	case BSON_TYPE_DATE_TIME:
	case BSON_TYPE_TIMESTAMP: return 8;
	case BSON_TYPE_OID: return 12;
	case BSON_TYPE_DECIMAL128: return 16;
	}
	return SIZE_MAX;
}

int
walk_check(const uint8_t *doc, size_t len, const struct nw_doc_limits *lim, uint32_t depth)
{
	struct element e;
	struct walk w;
	int rc;

	if (depth > lim->depth_max)
		return NW_ETOOBIG;
	if ((rc = walk_open(&w, doc, len, lim)) < 0)
		return rc;
	while ((rc = walk_next(&w, &e)) > 0) {
		if (element_is_container(&e) &&
		    (rc = walk_check(e.value, e.value_len, lim, depth + 1)) < 0)
			return rc;
	}
	return rc;
}

const char *
walk_why(int rc)
{
	return rc == NW_ETOOBIG ? "BSON text too long or nested too deep" : "broken BSON";
}

static enum number_kind
text_number(const char *text, size_t len, double *out)
{
	char *end;

	if (len == 0 || strspn(text, "0123456789+-.eE") != len)
		return NUMBER_TEXT;
	*out = strtod(text, &end);
	return end == text + len ? NUMBER_OK : NUMBER_TEXT;
}

enum number_kind
element_number(const struct element *e, double *out)
{
	const char *text;
	size_t len;

	*out = NAN;
	switch (e->type) {
	case BSON_TYPE_DOUBLE: *out = get_le_double(e->value); return NUMBER_OK;
	case BSON_TYPE_INT32: *out = (int32_t)get_le32(e->value); return NUMBER_OK;
	case BSON_TYPE_INT64: *out = (double)(int64_t)get_le64(e->value); return NUMBER_OK;
	case BSON_TYPE_BOOL: *out = e->value[0]; return NUMBER_OK;
	case BSON_TYPE_NULL:
	case BSON_TYPE_UNDEFINED: return NUMBER_NONE;
	case BSON_TYPE_UTF8: text = element_text(e, &len); return text_number(text, len, out);
	}
	return NUMBER_OTHER;
}

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
