/* SPDX-License-Identifier: BSD-3-Clause */
/* The check of result documents from elsewhere against result_keys.def. */
#include <string.h>

#include "narrows/err.h"
#include "narrows/result.h"

enum { DEPTH_MAX = 16 }; /* of objects; a document of ours has six */

static int object_check(const json_t *o, enum result_object object, int depth, const char **why);

static int
fault(const char **why, const char *text)
{
	*why = text;
	return NW_EPROTO;
}

static bool
is_number_or_null(const json_t *v)
{
	return json_is_number(v) || json_is_null(v);
}

/* Digits with a sign at most, as of an int64_t. */
static bool
is_ns(const json_t *v)
{
	const char *text = json_string_value(v);
	size_t sign = text != NULL && *text == '-';

	return text != NULL && text[sign] != '\0' && strlen(text) <= 20 &&
	    strspn(text + sign, "0123456789") == strlen(text + sign);
}

/* True for an element of a list of texts, times or numbers. */
static bool
element_is(const json_t *v, enum result_kind kind)
{
	return kind == RESULT_TEXTS ? json_is_string(v)
	    : kind == RESULT_TIMES  ? is_ns(v)
				    : is_number_or_null(v);
}

static int
list_check(const json_t *list, const struct result_key_info *k, int depth, const char **why)
{
	const json_t *v;
	size_t i;
	int rc = NW_OK;

	if (!json_is_array(list))
		return fault(why, "a list is none");
	if (json_array_size(list) > RESULT_LIST_MAX)
		return fault(why, "a list is too long");
	json_array_foreach(list, i, v)
	{
		if (k->kind == RESULT_LIST)
			rc = object_check(v, k->child, depth, why);
		else if (!element_is(v, k->kind))
			rc = fault(why, "an element of a list is of another kind");
		if (rc < 0)
			return rc;
	}
	return NW_OK;
}

static bool
scalar_is(const json_t *v, enum result_kind kind)
{
	switch (kind) {
	case RESULT_TEXT: return json_is_string(v);
	case RESULT_NUMBER: return json_is_number(v);
	case RESULT_INTEGER: return json_is_integer(v);
	case RESULT_FLAG: return json_is_boolean(v);
	case RESULT_NS: return is_ns(v);
	default: return json_is_string(v) || json_is_number(v);
	}
}

static int
rows_check(const json_t *rows, const char **why)
{
	const json_t *row, *v;
	size_t i, k;

	if (!json_is_array(rows) || json_array_size(rows) > RESULT_LIST_MAX)
		return fault(why, "a list is none, or is too long");
	json_array_foreach(rows, i, row)
	{
		if (!json_is_array(row) || json_array_size(row) > RESULT_LIST_MAX)
			return fault(why, "a list is none, or is too long");
		json_array_foreach(row, k,
		    v) if (!json_is_null(v) && !scalar_is(v, RESULT_SCALAR)) return fault(why,
		    "an element of a list is of another kind");
	}
	return NW_OK;
}

static int
value_check(const json_t *v, const struct result_key_info *k, int depth, const char **why)
{
	switch (k->kind) {
	case RESULT_OBJECT: return object_check(v, k->child, depth, why);
	case RESULT_LIST:
	case RESULT_TEXTS:
	case RESULT_NUMBERS:
	case RESULT_TIMES: return list_check(v, k, depth, why);
	case RESULT_ROWS: return rows_check(v, why);
	case RESULT_MAP: return json_is_object(v) ? NW_OK : fault(why, "an object is none");
	default: return scalar_is(v, k->kind) ? NW_OK : fault(why, "a value is of another kind");
	}
}

static int
object_check(const json_t *o, enum result_object object, int depth, const char **why)
{
	int k, rc = NW_OK;

	if (!json_is_object(o))
		return fault(why, "an object is none");
	if (depth >= DEPTH_MAX)
		return fault(why, "objects within objects are too deep");
	for (k = 0; k < RESULT_KEYS && rc == NW_OK; k++) {
		const struct result_key_info *info = result_key_info((enum result_key)k);
		const json_t *v;

		if (info->object == object && (v = result_get(o, (enum result_key)k)) != NULL)
			rc = value_check(v, info, depth + 1, why);
	}
	return rc;
}

int
result_check(const json_t *doc, const char **why)
{
	const char *schema = result_text(doc, KEY_result_schema);

	if (schema == NULL || strcmp(schema, "narrows-result/1") != 0)
		return fault(why, "no result document of a known version");
	if (result_get(doc, KEY_result_verdict) == NULL ||
	    result_get(doc, KEY_result_session) == NULL || result_get(doc, KEY_result_run) == NULL)
		return fault(why, "the session had no verdict yet");
	return object_check(doc, OBJECT_result, 0, why);
}
