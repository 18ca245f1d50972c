/* SPDX-License-Identifier: BSD-3-Clause */
/* Density classes of how long operations took: one curve per host, kind of operation and size of
 * operation. */
#ifndef CLASSES_H
#define CLASSES_H

#include <stddef.h>

#include "analyze/verdict/evidence.h"
#include "narrows/analysis.h"
#include "narrows/density.h"

enum { CLASSES_OPS_MIN = 200 }; /* of fewer operations every lone one is a peak */

struct op_classes {
	const struct evidence_durations *of;
	double n, sum_s;
	double clock_step_s;
	struct nw_density density; /* of nanoseconds; INSUFFICIENT also below CLASSES_OPS_MIN */
	struct nw_classes classes;
};

struct op_classes_list {
	struct op_classes *list;
	size_t n;
};

/* Those on which most time was spent first. e must outlive it. NW_ENOMEM. */
int classes_find(
    const struct evidence *e, const struct classes_params *params, struct op_classes_list *out);
void classes_clear(struct op_classes_list *l);

#endif
