/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions over the samples of a window of time, as Prometheus 2 computes them. No allocation. */
#ifndef NARROWS_WEB_PROM_WINDOW_H
#define NARROWS_WEB_PROM_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "web/query/promql.h"

struct prom_sample {
	int64_t t_wall_ns;
	double v;
};

/*
 * Value of a function at `end` over samples with end - range <= t <= end, which rise in time; NaN
 * without enough samples. *has tells whether there is a value; the value may be NaN. `scratch`
 * has room for n numbers.
 */
double prom_window(const struct promql *q, const struct prom_sample *s, size_t n, int64_t end_ns,
    double *scratch, bool *has);

#endif
