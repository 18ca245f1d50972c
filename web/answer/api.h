/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The JSON side of the pages. Each function writes one document. After a return of NW_E* the output
 * is incomplete and must be dropped.
 */
#ifndef NARROWS_WEB_API_H
#define NARROWS_WEB_API_H

#include <stdint.h>

#include <jansson.h>

#include "narrows/store.h"
#include "narrows/web.h"
#include "web/answer/session_list.h"

struct evbuffer;

/* A text of a document; null for NULL, for an empty text and for text that is not UTF-8. */
json_t *api_text_or_null(const char *text);

int api_sessions(struct evbuffer *out, struct store_reader *r, struct session_index *x,
    const struct session_filter *f);
/*
 * The result document as stored. Without a result: the state of the session, so that a program can
 * wait for the rest.
 */
int api_session(struct evbuffer *out, struct store_reader *r, int64_t id);
/* Cost and health of the programs that measure hosts. */
struct hosts_now;
int api_collectors(struct evbuffer *out, struct store_reader *r, const struct hosts_now *now);
/* Series proposed for slower sampling, and those sampled so. */
int api_diets(struct evbuffer *out, struct store_reader *r);
/* Writes the outcomes of advice, by rule. */
int api_advice(struct evbuffer *out, struct store_reader *r);
/* Metrics worth keeping. */
int api_keep(struct evbuffer *out, struct store_reader *r);
/* Routes in short; the new document instead of text. */
int api_routes(struct evbuffer *out, struct store_reader *r);
int api_routes_document(struct store_reader *r, json_t **out);
int api_route_or_none(
    struct evbuffer *out, struct store_reader *r, const char *route, const char *program);
/* The history of a route with the active tests of its path, and its sessions as CSV, latest first.
 * NW_ENOTFOUND */
int
api_route_document(struct store_reader *r, const char *route, const char *program, json_t **out);
int api_route(struct evbuffer *out, struct store_reader *r, const char *route, const char *program);
int
api_route_csv(struct evbuffer *out, struct store_reader *r, const char *route, const char *program);
/* The rows of a comparison (web/answer/compare.h): a line for each, a column for each session. */
int api_compare_csv(struct evbuffer *out, const json_t *doc);
/* NULL: the box does not tell */
int api_health(struct evbuffer *out, const struct nw_health *health);
/* Whether the box can take measurements and show reports, part by part. */
int api_ready(struct evbuffer *out, const struct nw_health *health, bool can_read);

#endif
