/* SPDX-License-Identifier: BSD-3-Clause */
/* The JSON schema of all documents, made from result_keys.def. */
#include "narrows/result.h"

static json_t *
reference(enum result_object object)
{
	return json_pack(
	    "{s:o}", "$ref", json_sprintf("#/$defs/%s", result_object_info(object)->name));
}

static json_t *
list_of(json_t *items)
{
	return json_pack("{s:[ss], s:o}", "type", "array", "null", "items", items);
}

static json_t *
kind_schema(const struct result_key_info *k)
{
	static const char digits[] = "^-?[0-9]+$";

	switch (k->kind) {
	case RESULT_TEXT: return json_pack("{s:[ss]}", "type", "string", "null");
	case RESULT_NUMBER: return json_pack("{s:[ss]}", "type", "number", "null");
	case RESULT_INTEGER: return json_pack("{s:[ss]}", "type", "integer", "null");
	case RESULT_FLAG: return json_pack("{s:[ss]}", "type", "boolean", "null");
	case RESULT_NS:
		return json_pack("{s:[ss], s:s}", "type", "string", "null", "pattern", digits);
	case RESULT_SCALAR: return json_pack("{s:[sss]}", "type", "number", "string", "null");
	case RESULT_OBJECT:
		return json_pack("{s:[o{s:s}]}", "anyOf", reference(k->child), "type", "null");
	case RESULT_LIST: return list_of(reference(k->child));
	case RESULT_TEXTS: return list_of(json_pack("{s:s}", "type", "string"));
	case RESULT_NUMBERS: return list_of(json_pack("{s:[ss]}", "type", "number", "null"));
	case RESULT_TIMES:
		return list_of(json_pack("{s:s, s:s}", "type", "string", "pattern", digits));
	case RESULT_ROWS:
		return list_of(list_of(json_pack("{s:[sss]}", "type", "number", "string", "null")));
	case RESULT_MAP: return json_pack("{s:[ss]}", "type", "object", "null");
	}
	return NULL;
}

static json_t *
object_schema(enum result_object object)
{
	json_t *properties = json_object(), *key;
	int k;

	for (k = 0; k < RESULT_KEYS; k++) {
		const struct result_key_info *info = result_key_info((enum result_key)k);

		if (info->object != object)
			continue;
		key = kind_schema(info);
		json_object_set_new(key, "description", json_string(info->meaning));
		if (info->unit[0] != '\0')
			json_object_set_new(key, "x-unit", json_string(info->unit));
		json_object_set_new(properties, info->name, key);
	}
	return json_pack("{s:s, s:s, s:o}", "type", "object", "description",
	    result_object_info(object)->meaning, "properties", properties);
}

/* Returns true if the object is a document by itself: no key holds such an object. */
static bool
is_document(enum result_object object)
{
	int k;

	for (k = 0; k < RESULT_KEYS; k++)
		if (result_key_info((enum result_key)k)->child == object)
			return false;
	return true;
}

json_t *
result_schema(void)
{
	json_t *objects = json_object(), *documents = json_array();
	int i;

	for (i = 0; i < OBJECT_none; i++) {
		json_object_set_new(objects, result_object_info((enum result_object)i)->name,
		    object_schema((enum result_object)i));
		if (is_document((enum result_object)i))
			json_array_append_new(documents, reference((enum result_object)i));
	}
	return json_pack("{s:s, s:s, s:o, s:o}", "$schema",
	    "https://json-schema.org/draft/2020-12/schema", "title", "Documents of Narrows",
	    "anyOf", documents, "$defs", objects);
}
