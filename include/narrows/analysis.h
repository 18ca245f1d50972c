/* SPDX-License-Identifier: BSD-3-Clause */
/* All that is found out about one session, from one snapshot of the store: what its result document
 * is made of. */
#ifndef NARROWS_ANALYSIS_H
#define NARROWS_ANALYSIS_H

#include <stdint.h>

#include "analyze/verdict/classes.h"
#include "analyze/verdict/evidence.h"
#include "analyze/verdict/judge.h"
#include "analyze/verdict/reduction.h"
#include "analyze/verdict/segments.h"
#include "narrows/store.h"

struct analysis_params {
	struct judge_params judge;
	struct segments_params segments;
	struct classes_params classes;
	struct reduction_params reduction;
};

struct analysis {
	struct evidence evidence;
	struct judgement judgement;
	struct segments segments;
	struct op_classes_list classes;
	struct reductions reductions;
};

/* NW_ENOTFOUND, NW_ENOMEM or what the store says; analysis_clear() only after NW_OK. */
int analysis_run(struct store_reader *r, int64_t session_id, const struct analysis_params *p,
    struct analysis *out);
void analysis_clear(struct analysis *a);

#endif
