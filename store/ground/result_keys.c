/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables made of narrows/result_keys.def. */
#include "narrows/result_keys.h"

#include <string.h>

#include "narrows/stage_words.h"

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
};

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
	enum nw_stage_kind kind;

	return nw_stage_kind_find(stage, &kind) ? nw_stage_kind_words(kind) : stage;
}

/* A program with an own pace; the stage's words for all others. */
static const char *
pace_words(const char *stage, const char *sentence)
{
	static const struct {
		const char *stage, *words;
	} paces[] = { { "sender.host", "sending program's own pace" },
		{ "receiver.host", "receiving program's own pace" },
		{ "host", "program's own pace" } };
	size_t i;

	for (i = 0; sentence != NULL && i < sizeof(paces) / sizeof(paces[0]); i++)
		if (strcmp(stage, paces[i].stage) == 0 && strstr(sentence, RESULT_PACE) != NULL)
			return paces[i].words;
	return result_stage_words(stage);
}

const char *
result_limit_words(const char *stage, const char *confidence, const char *sentence)
{
	if (stage != NULL)
		return pace_words(stage, sentence);
	if (sentence != NULL && strstr(sentence, RESULT_CHANGED) != NULL)
		return RESULT_CHANGED;
	return confidence != NULL && strcmp(confidence, "none") != 0 ? "two stages at once"
								     : "cannot tell";
}
