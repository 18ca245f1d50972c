/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Evaluates a query at a time or at the steps of a range, series by series. Memory: the samples of
 * a series in a stretch of the range (SAMPLES_MAX), the values of a series, and the groups of
 * aggregations and matches of joins (GROUPS_MAX_BYTES). A query that needs more fails with
 * NW_ETOOBIG.
 *
 * The cost of a query is known before its first value is computed: the rows that are read, and the
 * steps of all series. A query that costs more than cost_max (0: no limit) fails with NW_ETOOBIG,
 * and stream_why() names the parameter to change. A slice takes about 10 ms.
 */
#ifndef NARROWS_WEB_PROM_EVAL_H
#define NARROWS_WEB_PROM_EVAL_H

#include "narrows/store.h"
#include "web/query/promql.h"
#include "web/query/out_stream.h"

enum { PROM_STEPS_MAX = 11000 };

struct prom_range {
	bool instant; /* one time, start */
	int64_t start_ns, step_ns;
	size_t n_steps;
};

/* NW_ENOMEM. */
int prom_eval_stream(struct store_reader *r, const struct promql *q, const struct prom_range *range,
    double cost_max, struct stream *out);

#endif
