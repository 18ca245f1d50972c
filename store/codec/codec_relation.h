/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that make a column out of other columns of the same rows. A mean is a sum over a count,
 * a total is a sum of its parts, and a standard deviation is nearly settled by count, mean and
 * extremes when the count is small. The function only has to be near: the codec writes down the
 * difference. */
#ifndef STORE_CODEC_RELATION_H
#define STORE_CODEC_RELATION_H

#include "store/codec/codec_bytes.h"

enum relation_op {
	RELATION_SAME,       /* a */
	RELATION_SUM,        /* a + b */
	RELATION_DIFFERENCE, /* a - b */
	RELATION_PRODUCT,    /* a * b */
	RELATION_QUOTIENT,   /* a / b */
	RELATION_SPREAD,     /* standard deviation; of count, mean, minimum, maximum */
	RELATION_POOLED, /* mean of count ratios u / v; of count, least, greatest, sum u, sum v */
	N_RELATIONS,
	RELATION_ARGS_MAX = 5
};

struct relation {
	enum relation_op op;
	uint32_t arg[RELATION_ARGS_MAX]; /* columns */
};

unsigned relation_args(enum relation_op op);

/* p[row] from the columns' values: O(n). Rows where the function has no value get 0. */
void
relation_compute(const struct relation *rel, const double *const *value, uint32_t n, double *p);

#endif
