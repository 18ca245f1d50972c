/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables that narrows/result_keys.def becomes. */
#include "narrows/result_keys.h"

#include <string.h>

#define STAGE(stage, words)

static const struct result_object_info objects[] = {
#define OBJECT(object, meaning) [OBJECT_##object] = { #object, meaning },
#define KEY(object, key, kind, child, unit, meaning)
#include "narrows/result_keys.def"
#undef OBJECT
#undef KEY
};

static const struct result_key_info keys[] = {
#define OBJECT(object, meaning)
#define KEY(object, key, kind, child, unit, meaning) \
	[KEY_##object##_##                           \
	    key] = { OBJECT_##object, #key, RESULT_##kind, OBJECT_##child, unit, meaning },
#include "narrows/result_keys.def"
#undef KEY
#undef STAGE
};

const struct result_stage result_stages[] = {
#define KEY(object, key, kind, child, unit, meaning)
#define STAGE(stage, words) { stage, words },
#include "narrows/result_keys.def"
#undef OBJECT
#undef KEY
#undef STAGE
};

const size_t result_stages_count = sizeof(result_stages) / sizeof(result_stages[0]);

const char *
result_key_name(enum result_key key)
{
	return keys[key].name;
}

const struct result_key_info *
result_key_info(enum result_key key)
{
	return &keys[key];
}

const struct result_object_info *
result_object_info(enum result_object object)
{
	return &objects[object];
}

const char *
result_stage_words(const char *stage)
{
	size_t i;

	for (i = 0; stage != NULL && i < result_stages_count; i++)
		if (strcmp(result_stages[i].stage, stage) == 0)
			return result_stages[i].words;
	return stage;
}
