/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metrics worth keeping: one reduction for each route and program over days. The candidates are the
 * metrics of all hosts of the sessions, both ends; the response is what the program delivered, or
 * any series that the program tells. The list says in what share of half-samples each metric is
 * chosen, whether the whole predicts stretches of time left out of the fit, and how its metrics do
 * on other routes of the program, whose hosts are of the same configuration if they have the same
 * metrics.
 *
 * The work for a list is bounded: the newest sessions up to 1,800 rows, at most 3,000 moving
 * metrics, three other routes with 300 rows each, 50 half-samples.
 */
#ifndef NARROWS_KEEPLIST_H
#define NARROWS_KEEPLIST_H

#include "narrows/analysis.h"
#include "narrows/reduce.h"
#include "narrows/store.h"

/* A route and program, with the newest of their closed sessions. */
struct keeplist_group {
	char *route, *program; /* program may be NULL */
	struct keeplist_session {
		int64_t id, duration_ns;
	} * session; /* newest first */
	size_t n_sessions;
	size_t n_more; /* sessions beyond KEEPLIST_SESSIONS_MAX, left out */
};

struct keeplist_groups {
	struct keeplist_group *group;
	size_t n;
	size_t n_more; /* sessions of routes beyond KEEPLIST_GROUPS_MAX, left out */
};

enum { KEEPLIST_GROUPS_MAX = 64, KEEPLIST_SESSIONS_MAX = 500 };

/* Groups of the sessions that ended since from_wall_ns, the route with the newest session first.
 * The store's code. */
int keeplist_groups_find(struct store_reader *r, int64_t from_wall_ns, struct keeplist_groups *out);
void keeplist_groups_clear(struct keeplist_groups *g);

struct diet_book;

/*
 * The list of a group, as a record to store; keeplist_clear() frees the record's texts. `hook` (may
 * be NULL) is called now and then; `diets` (narrows/diet.h, may be NULL) learns what the list says
 * of each series. NW_ENOTFOUND: the sessions have no rows. NW_ECLOSED: the hook
 * ended the work. NW_ENOMEM or the store's code.
 */
int keeplist_make(struct store_reader *r, const struct keeplist_groups *groups, size_t which,
    const struct reduction_params *params, const struct nw_progress_hook *hook,
    struct diet_book *diets, struct nw_keeplist_rec *out);
void keeplist_clear(struct nw_keeplist_rec *rec);

#endif
