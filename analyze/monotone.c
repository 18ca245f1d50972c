/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools neighbours that fall (Ayer et al. 1955). See monotone.h. */
#include "analyze/monotone.h"

#include <stdlib.h>

#include "narrows/err.h"

/* Neighbours with the same fitted value. */
struct pool {
	double sum, weight;
	size_t n;
};

static double
pool_value(const struct pool *p)
{
	return p->sum / p->weight;
}

static double *
value_at(double *values, size_t stride, size_t i)
{
	return (double *)(void *)((char *)values + i * stride);
}

static double
weight_at(const double *weights, size_t stride, size_t i)
{
	return weights == NULL
	    ? 1
	    : *(const double *)(const void *)((const char *)weights + i * stride);
}

int
monotone_fit(double *values, const double *weights, size_t stride, size_t n)
{
	double w;
	struct pool *pools = malloc((n + 1) * sizeof(*pools));
	size_t i, k, at = 0, n_pools = 0;

	if (pools == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++) {
		w = weight_at(weights, stride, i);
		pools[n_pools++] = (struct pool){ *value_at(values, stride, i) * w, w, 1 };
		for (; n_pools > 1 &&
		     pool_value(&pools[n_pools - 2]) > pool_value(&pools[n_pools - 1]);
		     n_pools--) {
			pools[n_pools - 2].sum += pools[n_pools - 1].sum;
			pools[n_pools - 2].weight += pools[n_pools - 1].weight;
			pools[n_pools - 2].n += pools[n_pools - 1].n;
		}
	}
	for (k = 0; k < n_pools; k++)
		for (i = 0; i < pools[k].n; i++)
			*value_at(values, stride, at++) = pool_value(&pools[k]);
	free(pools);
	return NW_OK;
}
