/* SPDX-License-Identifier: BSD-3-Clause */
/* Density classes of the durations of operations: a curve per host, kind and size of operation. */
#ifndef CLASSES_H
#define CLASSES_H

#include <stddef.h>

#include "analyze/verdict/evidence/evidence.h"
#include "narrows/analysis.h"
#include "narrows/density.h"

enum { CLASSES_OPS_MIN = 200 }; /* below, every lone operation is a peak */

struct op_classes {
	const struct evidence_durations *of;
	double n, sum_s;
	double clock_step_s;
	struct nw_density density; /* over nanoseconds; INSUFFICIENT below CLASSES_OPS_MIN */
	struct nw_classes classes;
};

struct op_classes_list {
	struct op_classes *list;
	size_t n;
};

/* Orders the list by time spent. `out` points into e. NW_ENOMEM. */
int classes_find(
    const struct evidence *e, const struct classes_params *params, struct op_classes_list *out);
void classes_clear(struct op_classes_list *l);

#endif
