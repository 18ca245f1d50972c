/* SPDX-License-Identifier: BSD-3-Clause */
/* Incidents of routes: the list as a document, and acceptances by operators. */
#ifndef NARROWS_WEB_INCIDENTS_H
#define NARROWS_WEB_INCIDENTS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "narrows/result_keys.h"
#include "narrows/store.h"
#include "web/answer/session_filter.h"
#include "web/query/param.h"

enum { INCIDENTS_MAX = 50, INCIDENTS_LIMIT_MAX = 1000 };

struct incidents_query {
	char route[SESSION_ROUTE_BYTES], program[SESSION_FILTER_BYTES]; /* "": any */
	char state[16];                                                 /* "": any */
	int64_t session_id;                                             /* first session; 0: any */
	int64_t since_wall_ns, before_wall_ns;                          /* 0: any */
	int64_t limit;
	const struct param *bad; /* the parameter whose value makes no sense, or NULL */
};
extern const struct param incidents_params[];
/* Returns false if a parameter is unknown, or its value breaks the bounds: q->bad. NULL: no
 * query. */
bool incidents_query_parse(struct incidents_query *q, const char *query);

/* The list, newest begin first, with what other routes vouch for; a new reference. The store's
 * code. */
int incidents_document(struct store_reader *r, const struct incidents_query *q, json_t **out);

/* The incident of such a list with a session of the route, on loan, or NULL; of two the step. */
const json_t *incidents_of_session(const json_t *doc, int64_t start_wall_ns);

/* Whether a member of an incident is this word. */
bool incident_is(const json_t *o, enum result_key key, const char *word);

/* Finds route and program of the open step that begins with a->session_id; the caller frees both
 * texts after any code. NW_ENOTFOUND, NW_ENOMEM, the store's code. */
int acceptance_find(struct store_reader *r, struct nw_acceptance_rec *a);

/* The form of an acceptance. */
extern const struct param acceptance_fields[];
/* Keeps an acceptance of the open incident with this first session. NW_EINVAL, NW_ENOTFOUND: *why
 * tells. */
int incident_accept(struct store_reader *r, const char *store_path, int64_t session_id,
    const char *who, const char *text, const char **why);

#endif
