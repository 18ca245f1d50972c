/* SPDX-License-Identifier: BSD-3-Clause */
/* How long single operations took in the usual sessions of a route, from their result documents. */
#ifndef USUALOPS_H
#define USUALOPS_H

#include "analyze/verdict/usual/past.h"
#include "narrows/analysis.h"
#include "narrows/hist.h"

enum { USUAL_OPS_MAX = 16, USUAL_OPS_SESSIONS_MAX = 30 };

/* An operation on a host: which share of the operations took no longer than each quarter of octave
 * (narrows/hist.h), as quantiles over the sessions. */
struct usual_op {
	char *op, *host;
	size_t n; /* sessions with such operations */
	double low[NW_HIST_QUARTERS], median[NW_HIST_QUARTERS], high[NW_HIST_QUARTERS];
};

struct usual_ops {
	struct usual_op *op;
	size_t n;
};

/* Reads the newest documents of the sessions; operations of fewer than NW_USUAL_MIN sessions are
 * left out. The store's code. */
int usual_ops_find(struct store_reader *r, struct analysis_memo *memo,
    const struct past_session *session, size_t n, struct usual_ops *out);
void usual_ops_clear(struct usual_ops *o);

#endif
