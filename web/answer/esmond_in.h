/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the two kinds of metadata: routes (esmond.c) and active tests (esmond_tests.c). */
#ifndef NARROWS_WEB_ESMOND_IN_H
#define NARROWS_WEB_ESMOND_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/keyvalq_struct.h>
#include <jansson.h>

#include "narrows/store.h"

enum { ESMOND_KEY_BYTES = 17, ESMOND_POINTS_MAX = 100000 };
#define ESMOND_NS INT64_C(1000000000) /* of a second */

struct esmond_query {
	struct evkeyvalq fields;
	bool has_times;
	int64_t from_s, to_s; /* of a point's end, both within */
	size_t limit, offset;
	char *why;
	size_t why_size;
};

/* A list in the making: takes a metadata's reference, and keeps the metadata if the metadata passes
 * the query. newest_s: second of its newest point. NW_ENOMEM. */
struct esmond_list;
int esmond_list_take(struct esmond_list *l, json_t *metadata, int64_t newest_s);
int esmond_point_put(json_t *list, int64_t ts_s, json_t *value);
/* An event type of the metadata `key`; summaries of means if has_means. */
json_t *esmond_type_make(const char *key, const char *name, bool has_means, int64_t updated_s);

/* The pairs of active tests as metadata. */
int esmond_tests_list(struct store_reader *r, struct esmond_list *l);
/*
 * What `key` has if it is a pair of active tests: the metadata (type ""), an event type (what ""),
 * or its points (what "base"). NW_ENOTFOUND: no such pair, type or kind of answer.
 */
int esmond_tests_one(struct store_reader *r, const char *key, const char *type, const char *what,
    const struct esmond_query *q, json_t **out);

#endif
