/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze/change/history_in.h"

#include <stdlib.h>

#include "narrows/err.h"
#include "narrows/splitmix.h"

struct ranked {
	double value;
	size_t at;
};

static int
ranked_compare(const void *a, const void *b)
{
	double x = ((const struct ranked *)a)->value, y = ((const struct ranked *)b)->value;

	return x < y ? -1 : x > y;
}

/* Mid-ranks about their mean. */
int
history_ranks(const double *y, size_t n, double *rank)
{
	struct ranked *r = malloc((n + 1) * sizeof(*r));
	size_t i, j, k;

	if (r == NULL)
		return NW_ENOMEM;
	for (i = 0; i < n; i++)
		r[i] = (struct ranked){ y[i], i };
	qsort(r, n, sizeof(*r), ranked_compare);
	for (i = 0; i < n; i = j) {
		for (j = i + 1; j < n && r[j].value == r[i].value; j++)
			;
		for (k = i; k < j; k++)
			rank[r[k].at] = (double)(i + j - 1) / 2 - (double)(n - 1) / 2;
	}
	free(r);
	return NW_OK;
}

void
history_shuffle(double *v, size_t n, uint64_t *seed)
{
	size_t i, j;
	double kept;

	for (i = n; i > 1; i--) {
		j = (size_t)(nw_splitmix(seed) % i);
		kept = v[i - 1];
		v[i - 1] = v[j];
		v[j] = kept;
	}
}
