/* SPDX-License-Identifier: BSD-3-Clause */
/* The JSON schema of result documents and of the list of sessions, made from result_keys.def. */
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

json_t *
result_schema(void)
{
	json_t *objects = json_object();
	int i;

	for (i = 0; i < OBJECT_none; i++)
		json_object_set_new(objects, result_object_info((enum result_object)i)->name,
		    object_schema((enum result_object)i));
	return json_pack("{s:s, s:s, s:[oooooooooooooo], s:o}", "$schema",
	    "https://json-schema.org/draft/2020-12/schema", "title",
	    "narrows-result/1, narrows-sessions/1, narrows-keep/1, narrows-routes/1, "
	    "narrows-route/1, narrows-hosts/1, narrows-host/1, narrows-settings/1, "
	    "narrows-figures/1, narrows-notes/1, narrows-advice/1, "
	    "narrows-collectors/1, narrows-diets/1 and narrows-expected/1",
	    "anyOf", reference(OBJECT_result), reference(OBJECT_sessions),
	    reference(OBJECT_keeplists), reference(OBJECT_routes), reference(OBJECT_route),
	    reference(OBJECT_collectors), reference(OBJECT_diets), reference(OBJECT_expected_list),
	    reference(OBJECT_hosts), reference(OBJECT_host), reference(OBJECT_settings),
	    reference(OBJECT_figures), reference(OBJECT_notes), reference(OBJECT_advice_scores),
	    "$defs", objects);
}
