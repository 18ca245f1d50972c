/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The history of a route: how a session compares with earlier ones, after which session the rates
 * changed, and whether the hour or the weekday matters. Rates are ratios of each other, so all
 * comparisons are made on their logarithms.
 *
 * Usual. A session is compared with n earlier ones from NW_USUAL_MIN on. "Slower" is said if the
 * median is at least NW_USEFUL times its rate, and
 *
 *   n >= 19   its rank is among the lowest 5 %: (1 + number of lower or equal rates) / (n + 1) <=
 *             0.05, which holds in at most 5 % of sessions that are like the others, whatever the
 *             distribution of rates (a conformal p-value); or Student's prediction interval of the
 *             log rates excludes the rate at 0.5 %, so that the second slow session is slow, too
 *   n < 19    it is slower than all of them, and Student's prediction interval of the log rates
 *             excludes the rate at 5 %; or that interval excludes the rate at 0.5 %
 *
 * "Faster" likewise on the other side.
 *
 * Changes. The statistics are the largest t of the mean log rates, and the largest standardised sum
 * of ranks (Pettitt 1979), over all places where a history can be cut; the chance is the share of
 * permutations with a larger one: no distribution is assumed. Memory between neighbours looks like
 * changes: t and the sum are divided by the square root of (1 + r)/(1 - r), r the lag-1 correlation
 * of what is left without the change. Sums of ranks have a bound, below which a fall to a tenth may
 * drown with memory; a few far-off rates drown t. A change counts at a chance of NW_CHANGE_ALPHA,
 * shared equally by t and ranks, if the medians differ by NW_USEFUL. A single cut sees a fall that
 * ends again as memory, and misses half of such falls.
 * Both sides are then searched in turn. The interval has the places at which the likelihood of two
 * normal levels is within exp(-CUT) of the best.
 *
 * Patterns. Sessions of one unit (a day's hours) count as one value. Kruskal and Wallis' statistic
 * of the groups, its chance by permutation; groups with fewer than three units are left out.
 *
 * test_history.c simulates how often each says something where there is nothing.
 */
#ifndef NARROWS_HISTORY_H
#define NARROWS_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NW_USUAL_MIN = 8, NW_CHANGE_SIDE_MIN = 4, NW_HISTORY_CHANGES_MAX = 8 };
#define NW_USEFUL       1.1
#define NW_CHANGE_ALPHA 0.02

enum nw_against { NW_AGAINST_TOO_FEW, NW_AGAINST_USUAL, NW_AGAINST_SLOWER, NW_AGAINST_FASTER };

struct nw_usual {
	enum nw_against said;
	size_t n;                   /* number of earlier rates */
	double best, median, worst; /* NaN without an earlier rate */
	double low, high;           /* 10 % and 90 % quantile */
	double ratio;               /* median over the rate: above 1 is slower */
	double slower_than;         /* share of the earlier rates that are higher */
	double p;                   /* of the side on which the rate lies; NaN: too few */
};

/* Values that are not positive and finite are left out. NW_ENOMEM */
int nw_usual(const double *earlier, size_t n, double rate, struct nw_usual *out);

struct nw_route_change {
	size_t at;            /* index of the first session after the change */
	size_t low, high;     /* first and last index that the change may have */
	double before, after; /* medians of the rates on both sides, up to the next changes */
	double p;
};

struct nw_route_changes {
	size_t n; /* rising in at */
	struct nw_route_change change[NW_HISTORY_CHANGES_MAX];
};

/* Rates in time order, all positive and finite. NW_ENOMEM */
int nw_route_changes(const double *rate, size_t n, struct nw_route_changes *out);

struct nw_pattern {
	bool real;
	size_t slow, fast;             /* groups */
	double slow_ratio, fast_ratio; /* their medians over that of all */
	double p;                      /* NaN: fewer than two groups with three units each */
};

/* `unit` and `group` of each rate, units in any order; groups below n_groups. A change of level is
 * taken out first. NW_ENOMEM */
int nw_pattern(const double *rate, const int64_t *unit, const unsigned *group, size_t n,
    size_t n_groups, const struct nw_route_changes *changes, struct nw_pattern *out);

#endif
