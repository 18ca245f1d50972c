/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keys of documents as enumerators: KEY_verdict_stage is the key "stage" of the object
 * "verdict". The list itself, with kinds, units and meanings, is result_keys.def.
 */
#ifndef NARROWS_RESULT_KEYS_H
#define NARROWS_RESULT_KEYS_H

#include "narrows/counters.h"

/* The type of a key's value, unless the value is null. */
enum result_kind {
	RESULT_TEXT,
	RESULT_NUMBER,
	RESULT_INTEGER,
	RESULT_FLAG,    /* true or false */
	RESULT_NS,      /* nanoseconds since 1970 as text: they do not fit a JavaScript number */
	RESULT_SCALAR,  /* a number or a text */
	RESULT_OBJECT,  /* the object `child` */
	RESULT_LIST,    /* a list of objects `child` */
	RESULT_TEXTS,   /* a list of texts */
	RESULT_NUMBERS, /* a list of numbers and nulls */
	RESULT_TIMES,   /* a list of RESULT_NS */
	RESULT_ROWS,    /* a list of lists of RESULT_SCALAR and nulls */
	RESULT_MAP      /* an object with keys of the sender's choice */
};

enum result_object {
#define OBJECT(object, meaning) OBJECT_##object,
#define KEY(object, key, kind, child, unit, meaning)
#include "narrows/result_keys.def"
#undef OBJECT
#undef KEY
	OBJECT_none /* child of keys that hold no object; number of all objects */
};

enum result_key {
#define OBJECT(object, meaning)
#define KEY(object, key, kind, child, unit, meaning) KEY_##object##_##key,
#include "narrows/result_keys.def"
#undef OBJECT
#undef KEY
	RESULT_KEYS /* number of all keys */
};

struct result_key_info {
	enum result_object object;
	const char *name;
	enum result_kind kind;
	enum result_object child;
	const char *unit; /* UCUM; "" for kinds without a unit */
	const char *meaning;
};

/* Name of a key in the document. */
const char *result_key_name(enum result_key key);
const struct result_key_info *result_key_info(enum result_key key);

struct result_object_info {
	const char *name, *meaning;
};
const struct result_object_info *result_object_info(enum result_object object);

/* "disk write" for "disk.write", for readers of documents; an unknown stage is its own name. NULL
 * stays NULL. */
const char *result_stage_words(const char *stage);
/* Words of every sentence about a program that keeps its own pace. */
#define RESULT_PACE "paces itself"
/* Words of every sentence whose session had limits in succession. */
#define RESULT_CHANGED "changed on the way"
/*
 * The verdict in a few words, for lists: the stage of most of the time, or a program's own pace;
 * else RESULT_CHANGED, "two stages at once" or "cannot tell". Static text, or the stage; any
 * argument may be NULL.
 */
const char *result_limit_words(const char *stage, const char *confidence, const char *sentence);

#endif
