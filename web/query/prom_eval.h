/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Evaluates a query at a time or at the steps of a range, series by series. Memory: the samples of
 * a series in a stretch of the range (SAMPLES_MAX), the values of a series, and the groups of
 * aggregations (GROUPS_MAX_BYTES). A query that needs more fails with NW_ETOOBIG.
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
    struct stream *out);

#endif
