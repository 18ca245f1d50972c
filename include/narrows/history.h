/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether the hour or the weekday matters to the rates of a route. Sessions of one unit (a day's
 * hours) count as one value. Kruskal and Wallis' statistic of the groups, its chance by
 * permutation; groups with fewer than three units are left out.
 *
 * test_history.c simulates how often a pattern is seen where there is none.
 */
#ifndef NARROWS_HISTORY_H
#define NARROWS_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nw_pattern {
	bool real;
	size_t slow, fast;             /* groups */
	double slow_ratio, fast_ratio; /* their medians over that of all */
	double p;                      /* NaN: fewer than two groups with three units each */
};

/* `unit` and `group` of each rate, units in any order; groups below n_groups. Each rate is
 * divided by its level first. NW_ENOMEM */
int nw_pattern(const double *rate, const int64_t *unit, const unsigned *group, size_t n,
    size_t n_groups, const double *level, struct nw_pattern *out);

#endif
