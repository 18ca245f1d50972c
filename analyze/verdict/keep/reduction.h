/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction: per host and program of a session, the few metrics of the host that follow the
 * program's delivered rate (or the time of its operations).
 *
 * Rows lie on the session's grid, a second or more each, over the `window` before the end of the
 * session. Earlier sessions of the same program on the host in the window count, too, so short
 * sessions add up.
 */
#ifndef REDUCTION_H
#define REDUCTION_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/verdict/evidence/evidence.h"
#include "analyze/verdict/evidence/hostmetrics.h"
#include "analyze/verdict/keep/response.h"
#include "narrows/analysis.h"
#include "narrows/reduce.h"
#include "narrows/timerival.h"

struct reduction {
	struct response response; /* of a host and program */
	const char *status;       /* "ok", or the reason for no result; static text */
	size_t n_rows;            /* rows with a response */
	const struct hostmetrics *metrics;
	/* time as a rival; parts is 0 in the faithful mode. The result is about the rest. */
	struct nw_time_rival time;
	struct nw_reduction result; /* empty without status ok */
	struct nw_worth worth;      /* worth of the result; numbers are NaN in the faithful mode */
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

/* the busiest programs of a host, the latest sessions */
enum { REDUCTION_PROGRAMS_MAX = 4, REDUCTION_SESSIONS_MAX = 32, REDUCTION_ROWS_MAX = 3600 };

/* Reads responses and metrics of hosts, in the snapshot of the evidence. */
int reductions_load(struct store_reader *r, const struct evidence *e,
    const struct reduction_params *params, struct reductions *out);
/* Computes the reductions. NW_ENOMEM. */
int reductions_find(const struct reduction_params *params, struct reductions *out);
void reductions_clear(struct reductions *s);

#endif
