/* SPDX-License-Identifier: BSD-3-Clause */
/* All that is found out about one session, from one snapshot of the store: what its result document is made of. */
#ifndef ANALYSIS_H
#define ANALYSIS_H

#include <stdint.h>

#include "daemon/verdict/classes.h"
#include "daemon/verdict/evidence.h"
#include "daemon/verdict/judge.h"
#include "daemon/verdict/reduction.h"
#include "daemon/verdict/segments.h"
#include "narrows/store.h"

struct conf;

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

void analysis_params_init(struct analysis_params *p, const struct conf *c);
/* NW_ENOTFOUND, NW_ENOMEM or what the store says; analysis_clear() only after NW_OK. */
int analysis_run(struct store_reader *r, int64_t session_id, const struct analysis_params *p, struct analysis *out);
void analysis_clear(struct analysis *a);

#endif
