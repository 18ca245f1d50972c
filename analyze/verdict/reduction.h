/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Per host and program of a session: of all that the host measured of itself, the few metrics that
 * follow the program's delivered rate (or the time its operations took).
 *
 * Rows are those of the session's grid, not finer than a second, over the `window` that ends with
 * the session. Earlier sessions of the same program on that host which reach into the window count
 * as well, so that short ones add up.
 */
#ifndef REDUCTION_H
#define REDUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/verdict/evidence.h"
#include "analyze/verdict/hostmetrics.h"
#include "analyze/verdict/response.h"
#include "narrows/analysis.h"
#include "narrows/reduce.h"

struct reduction {
	struct response response; /* of which host and program */
	const char *status;       /* "ok", or why there is none; static text */
	size_t n_rows;            /* that have a response */
	const struct hostmetrics *metrics;
	struct nw_reduction result; /* empty unless it was computed */
};

struct reductions {
	struct hostmetrics *metrics; /* of each host */
	size_t n_hosts;
	struct reduction *list;
	size_t n;
	int64_t step_ns;
	size_t n_rows;
	struct nw_reduce_options options;
};

/* the busiest of a host, the latest */
enum { REDUCTION_PROGRAMS_MAX = 4, REDUCTION_SESSIONS_MAX = 32, REDUCTION_ROWS_MAX = 3600 };

/* Reads responses and what the hosts measured: call it in the snapshot of the evidence. */
int reductions_load(struct store_reader *r, const struct evidence *e,
    const struct reduction_params *params, struct reductions *out);
/* Computes. NW_ENOMEM. */
int reductions_find(const struct reduction_params *params, struct reductions *out);
void reductions_clear(struct reductions *s);

#endif
