/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread that finds the metrics worth keeping (narrows/keeplist.h): now and then one reduction
 * over days for each route and program, one after the other, at low priority. A list of a route is
 * made again once it is as old as the pause between two runs.
 */
#ifndef KEEPJOB_H
#define KEEPJOB_H

#include "narrows/analysis.h"
#include "narrows/store.h"

struct diets;
struct keepjob;

struct keepjob_opts {
	const struct reduction_params
	    *params;      /* its texts stay the caller's until keepjob_stop() */
	int64_t every_ns; /* 0: no thread */
	int64_t diet_after_ns, diet_interval_ns; /* narrows/diet.h */
	struct diets *diets;                     /* gets the proposals */
};

/* every_ns 0 starts no thread: `out` is NULL. A negative code comes with its reason in why. */
int keepjob_start(struct store *st, const char *store_path, const struct keepjob_opts *opts,
    struct keepjob **out, char why[STORE_WHY_BYTES]);
/* Ends the work at hand soon, joins the thread. The store must be open. NULL is fine. */
void keepjob_stop(struct keepjob *j);

#endif
