/* SPDX-License-Identifier: BSD-3-Clause */
/* Two to six sessions side by side as a document: page, CSV and API show the same. */
#ifndef NARROWS_WEB_COMPARE_H
#define NARROWS_WEB_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "narrows/store.h"
#include "web/query/param.h"

enum { COMPARE_MIN = 2, COMPARE_MAX = 6, COMPARE_TEXT_BYTES = 200 };

enum compare_by { COMPARE_START, COMPARE_BYTES, COMPARE_CLOCK, COMPARE_WAYS };
extern const char *const compare_names[COMPARE_WAYS + 1]; /* NULL behind the last */
extern const struct param compare_params[];

struct compare_query {
	int64_t id[COMPARE_MAX]; /* each once */
	size_t n;
	enum compare_by by;
	const char *why;               /* what is wrong with the query; NULL: nothing */
	char text[COMPARE_TEXT_BYTES]; /* the sessions as asked for, as far as they fit */
};
/* "ids=3,7&by=bytes"; ids may come several times. Returns true if the sessions can be compared.
 * If why is NULL, too few sessions are chosen yet. */
bool compare_parse(struct compare_query *q, const char *query);

/* A new reference in *out. NW_ENOTFOUND: the box has no session *missing. */
int compare_document(
    struct store_reader *r, const struct compare_query *q, json_t **out, int64_t *missing);

/* The rows of the document: what differs in general, in settings and in metrics. */
struct compared {
	int64_t id;
	json_t *doc; /* the result document, or NULL */
};
int compare_rows(struct store_reader *r, const struct compared *session, size_t n, json_t *compare);

#endif
