/* SPDX-License-Identifier: BSD-3-Clause */
/* The result document of a session ("narrows-result/1"): an analysis as one JSON object. */
#ifndef NARROWS_RESULTDOC_H
#define NARROWS_RESULTDOC_H

#include <stdint.h>

#include "narrows/analysis.h"

/* A verdict that a later run replaced, because the closed session opened again. */
struct result_before {
	int64_t run_id, replaced_wall_ns;
	char *why, *stage, *sentence; /* stage NULL: cannot tell */
	double bytes_per_s;
};

struct result_run {
	int64_t id;
	int64_t started_wall_ns, took_ns;
	struct analysis_params params;
	const struct result_before *before; /* oldest first */
	size_t n_before;
};

/* A line of JSON, to be given to free(). NULL: no memory. */
char *resultdoc_build(const struct analysis *a, const struct result_run *run);

#endif
