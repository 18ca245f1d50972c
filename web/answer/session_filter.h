/* SPDX-License-Identifier: BSD-3-Clause */
/* Which sessions a list shows: the query of "/", "/sessions.json" and "/api/v1/sessions". */
#ifndef NARROWS_WEB_SESSION_FILTER_H
#define NARROWS_WEB_SESSION_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "narrows/store.h"
#include "web/query/param.h"

enum {
	SESSION_FILTER_BYTES = 96,
	SESSION_HOST_BYTES = 256,
	SESSION_ROUTE_BYTES = 600,    /* two names of hosts, or an address */
	SESSION_LIST_MAX = 50,        /* sessions of a list that asks for no number */
	SESSION_LIST_LIMIT_MAX = 1000 /* the most that a list may ask for */
};

/* Orders of the list: the newest first, or by a number, the largest or smallest first. */
enum session_sort { SORT_NEWEST, SORT_SLOWEST, SORT_FASTEST, SORT_LONGEST, SORT_LARGEST };

#define SESSION_SLOWER 1.1 /* usual rate over the rate from which a session is slower */

struct session_filter {
	enum session_sort sort;
	int64_t before; /* the list goes on behind this session; 0: from the begin */
	int64_t limit;  /* sessions of the list; 0: SESSION_LIST_MAX */
	char text[SESSION_FILTER_BYTES]; /* part of the task, route, program or sentence; "": any */
	char stage[SESSION_FILTER_BYTES]; /* stage that limited, or "none"; "": any */
	/* equal to these; "": any */
	char program[SESSION_FILTER_BYTES], label[SESSION_FILTER_BYTES];
	char host[SESSION_HOST_BYTES];        /* one of the names in the route; "": any */
	char route[SESSION_ROUTE_BYTES];      /* equal to the route; "": any */
	char state[SESSION_FILTER_BYTES];     /* open, failed, slower (than usual); "": any */
	int64_t since_wall_ns, until_wall_ns; /* of the begin; 0: any */
	double rate_min, rate_max;            /* bytes/s; 0: any */
	const struct param *bad; /* after NW_EINVAL: parameter whose value makes no sense */
};

/* Parameters of lists of sessions, and of addresses of one route and of one host, which the same
 * parser reads. */
extern const struct param session_params[], route_params[], host_params[];

/* Writes the nanoseconds of a time, ISO 8601 or a span before now: of struct param. */
bool session_filter_take_time(void *at, const char *text);
/* Unknown parameters are ignored: ask_run() refuses them. NW_EINVAL: f->bad has a value that makes
 * no sense. */
int session_filter_parse(struct session_filter *f, const char *query);
bool session_filter_passes(const struct session_filter *f, const struct nw_session_rec *s,
    const struct nw_result_rec *res);
/* Whether a session of the list has moved nothing. */
bool session_is_idle(const struct nw_session_rec *s, const struct nw_result_rec *res);

/* The value of the parameter `sort`. */
const char *session_sort_name(enum session_sort sort);

/* Parts of session_filter_passes(). */
bool session_route_has(const char *route, const char *host);
bool session_state_passes(const char *state, bool open, double exit_status, double usual);
bool
session_numbers_pass(const struct session_filter *f, int64_t start_wall_ns, double bytes_per_s);
int64_t session_start_wall_ns(const struct nw_session_rec *s, const struct nw_result_rec *res);

#endif
