/* SPDX-License-Identifier: BSD-3-Clause */
/* Which sessions a list shows: the query of "/", "/sessions.json" and "/api/v1/sessions". */
#ifndef NARROWS_WEB_SESSION_FILTER_H
#define NARROWS_WEB_SESSION_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "narrows/store.h"

enum {
	SESSION_FILTER_BYTES = 96,
	SESSION_HOST_BYTES = 256,
	SESSION_ROUTE_BYTES = 600, /* two names of hosts, or an address */
	SESSION_LIST_MAX = 50,
	SESSION_SCAN_MAX = 20000
};

/* Orders of the list: the newest first, or by a number, the largest or smallest first. */
enum session_sort { SORT_NEWEST, SORT_SLOWEST, SORT_FASTEST, SORT_LONGEST, SORT_LARGEST };

#define SESSION_SLOWER 1.1 /* usual rate over the rate from which a session is slower */

struct session_filter {
	enum session_sort sort;
	int64_t before;                  /* numbers below this number; 0: all */
	char text[SESSION_FILTER_BYTES]; /* part of the task, route, program or sentence; "": any */
	char stage[SESSION_FILTER_BYTES]; /* stage that limited, or "none"; "": any */
	/* equal to these; "": any */
	char program[SESSION_FILTER_BYTES], label[SESSION_FILTER_BYTES];
	char host[SESSION_HOST_BYTES];        /* one of the names in the route; "": any */
	char route[SESSION_ROUTE_BYTES];      /* equal to the route; "": any */
	char state[SESSION_FILTER_BYTES];     /* open, failed, slower (than usual); "": any */
	int64_t since_wall_ns, until_wall_ns; /* of the begin; 0: any */
	double rate_min, rate_max;            /* bytes/s; 0: any */
};

/* The parameters of a query that say which sessions, without `before` and `sort`. */
struct session_param {
	const char *name, *meaning, *form, *example;
};
extern const struct session_param session_params[];
extern const size_t session_params_count;

/* Unknown parameters are ignored. NW_EINVAL: a value makes no sense. */
int session_filter_parse(struct session_filter *f, const char *query);
bool session_filter_passes(const struct session_filter *f, const struct nw_session_rec *s,
    const struct nw_result_rec *res);
/* Whether a session of the list has moved nothing. */
bool session_is_idle(const struct nw_session_rec *s, const struct nw_result_rec *res);

/* The value of the parameter `sort`. */
const char *session_sort_name(enum session_sort sort);

/*
 * At most SESSION_LIST_MAX sessions that pass, in the order asked for; looks at SESSION_SCAN_MAX at
 * most, the newest. *next is where to go on (`before`), 0 behind the last session. By a number,
 * sessions without that number are left out, and the list goes on with the sessions not looked at.
 */
int session_filter_list(struct store_reader *r, const struct session_filter *f,
    store_session_fn *fn, void *arg, int64_t *next);

#endif
