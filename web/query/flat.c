/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/query/flat.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

char *
flat_text(const char *json)
{
	json_t *object = json != NULL ? json_loads(json, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const char *key, *sep = "";
	char *flat = NULL, *value;
	size_t len = 0;
	json_t *v;
	FILE *f;

	if (!json_is_object(object)) {
		json_decref(object);
		return strdup(json != NULL ? json : "");
	}
	if ((f = open_memstream(&flat, &len)) == NULL)
		goto out;
	json_object_foreach(object, key, v)
	{
		fprintf(f, "%s%s=", sep, key);
		sep = ";";
		if (json_is_string(v))
			fputs(json_string_value(v), f);
		else if ((value = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT)) != NULL) {
			fputs(value, f);
			free(value);
		}
	}
	if (fclose(f) != 0) {
		free(flat);
		flat = NULL;
	}
out:
	json_decref(object);
	return flat;
}
