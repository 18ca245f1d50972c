/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the hour or the weekday matters to the rates of a route. */
#include "narrows/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/change/history_in.h"
#include "analyze/quantile.h"
#include "narrows/err.h"
#include "narrows/incident.h"

enum { UNITS_MIN = 3, GROUPS_MAX = 32, PERMUTATIONS = 999 };
static const double PATTERN_ALPHA = 0.01; /* hours and weekdays are two questions */

struct cell {
	int64_t unit;
	unsigned group;
	double y;
};

static int
cell_compare(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->unit < y->unit ? -1 : x->unit > y->unit;
}

/* One cell for each unit of a group, with the mean; in the order of groups. */
static size_t
cells_join(struct cell *cell, size_t n)
{
	size_t i, j, k, kept = 0;
	double sum;

	qsort(cell, n, sizeof(*cell), cell_compare);
	for (i = 0; i < n; i = j) {
		for (sum = 0, j = i; j < n && cell_compare(&cell[i], &cell[j]) == 0; j++)
			sum += cell[j].y;
		k = kept++;
		cell[k] = cell[i];
		cell[k].y = sum / (double)(j - i);
	}
	return kept;
}

/* Groups with few units go. */
static size_t
cells_thin(struct cell *cell, size_t n)
{
	size_t i, j, kept = 0;

	for (i = 0; i < n; i = j) {
		for (j = i; j < n && cell[j].group == cell[i].group; j++)
			;
		if (j - i < UNITS_MIN)
			continue;
		memmove(&cell[kept], &cell[i], (j - i) * sizeof(*cell));
		kept += j - i;
	}
	return kept;
}

/* The sum over groups of squared rank sums by size: Kruskal and Wallis' H but for constants. */
static double
groups_apart(const struct cell *cell, const double *rank, size_t n)
{
	double h = 0, sum;
	size_t i, j;

	for (i = 0; i < n; i = j) {
		for (sum = 0, j = i; j < n && cell[j].group == cell[i].group; j++)
			sum += rank[j];
		h += sum * sum / (double)(j - i);
	}
	return h;
}

static double
groups_chance(const struct cell *cell, double *rank, size_t n)
{
	double observed = groups_apart(cell, rank, n);
	uint64_t seed = 0x70617474 + n;
	size_t i, above = 0;

	for (i = 0; i < PERMUTATIONS && (double)above <= PATTERN_ALPHA * PERMUTATIONS; i++) {
		history_shuffle(rank, n, &seed);
		above += groups_apart(cell, rank, n) >= observed * (1 - 1e-12);
	}
	return (double)(above + 1) / (double)(i + 1);
}

static double
middle(const struct cell *cell, size_t n, double *room)
{
	size_t i;

	for (i = 0; i < n; i++)
		room[i] = cell[i].y;
	return quantile(room, n, 0.5);
}

static void
groups_name(const struct cell *cell, size_t n, double *room, struct nw_pattern *out)
{
	double all = middle(cell, n, room), m;
	size_t i, j;

	out->slow_ratio = INFINITY;
	out->fast_ratio = 0;
	for (i = 0; i < n; i = j) {
		for (j = i; j < n && cell[j].group == cell[i].group; j++)
			;
		m = exp(middle(cell + i, j - i, room) - all);
		if (m < out->slow_ratio) {
			out->slow_ratio = m;
			out->slow = cell[i].group;
		}
		if (m > out->fast_ratio) {
			out->fast_ratio = m;
			out->fast = cell[i].group;
		}
	}
}

int
nw_pattern(const double *rate, const int64_t *unit, const unsigned *group, size_t n,
    size_t n_groups, const double *level, struct nw_pattern *out)
{
	struct cell *cell = malloc((n + 1) * sizeof(*cell));
	double *y = malloc((2 * n + 1) * sizeof(*y));
	size_t i, kept;
	int rc = NW_OK;

	*out = (struct nw_pattern){ .slow_ratio = NAN, .fast_ratio = NAN, .p = NAN };
	if (cell == NULL || y == NULL || n_groups > GROUPS_MAX) {
		rc = NW_ENOMEM;
		goto out;
	}
	for (i = 0; i < n; i++)
		cell[i] = (struct cell){ unit[i], group[i], log(rate[i] / level[i]) };
	kept = cells_thin(cell, cells_join(cell, n));
	if (kept == 0 || cell[0].group == cell[kept - 1].group)
		goto out;
	for (i = 0; i < kept; i++)
		y[i] = cell[i].y;
	if ((rc = history_ranks(y, kept, y + n)) < 0)
		goto out;
	out->p = groups_chance(cell, y + n, kept);
	groups_name(cell, kept, y, out);
	out->real = out->p <= PATTERN_ALPHA && out->fast_ratio / out->slow_ratio >= NW_USEFUL;
out:
	free(cell);
	free(y);
	return rc;
}
