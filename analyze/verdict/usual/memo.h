/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of the result documents of earlier sessions, for comparisons with the sessions of a route.
 * A memo keeps the parts of the newest documents read: the same some hundred documents are compared
 * with each session of a busy route, and unpacking is most of the time of a judgement. A document
 * that was written again has another stamp, and is read again. And a memo keeps how far the stories
 * of the routes of the latest sessions have been read.
 */
#ifndef ANALYZE_VERDICT_USUAL_MEMO_H
#define ANALYZE_VERDICT_USUAL_MEMO_H

#include <jansson.h>

#include "narrows/analysis.h"
#include "narrows/incident.h"

struct analysis_memo *memo_new(void);
void memo_free(struct analysis_memo *m);
/*
 * Takes from a session's document: bottleneck stages, others of the verdict, bytes, connections and
 * files (null but for those with the most bytes), operations of densities with their counts, and
 * for each host of the timeline the lists of processors and disks, each with its mean alone. *doc
 * is a new reference, NULL without a document. The memo may be NULL. The store's code.
 */
int
memo_document(struct store_reader *r, struct analysis_memo *m, int64_t session_id, json_t **doc);
/* What is kept of the story of a route and program, for nw_story_go_on(); NULL: nothing. */
struct nw_story_memo *memo_story(struct analysis_memo *m, const char *route, const char *program);
/* The mean of the numbers of a list; NaN without any. */
double memo_mean(const json_t *list);

#endif
