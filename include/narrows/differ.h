/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What differs between the sessions before a change of rates and those after it: index `split` is
 * the first one after. Missing values are NaN.
 *
 * A trait (a setting has the value that it has now) speaks for itself if it came or went while the
 * rates changed: between two of the sessions low - 1 .. high, the interval of the change. By chance
 * one of its changes lies there as often as that interval has places, of all places between two
 * sessions: 1 in 29 in a history of 30 sessions at least. With fewer than NW_DIFFER_AFTER_MIN
 * sessions after the split the chance is the share of earlier sessions with the trait.
 *
 * A level (a metric) is judged by the rank sum of the sessions after the split, with ties and with
 * the memory of neighbours as in narrows/history.h; with fewer than NW_DIFFER_AFTER_MIN sessions
 * after it, by Student's prediction interval of their mean.
 *
 * Many chances at once become shares of false discoveries q by the rule of Benjamini and Hochberg
 * (1995).
 */
#ifndef NARROWS_DIFFER_H
#define NARROWS_DIFFER_H

#include <stdbool.h>
#include <stddef.h>

enum { NW_DIFFER_AFTER_MIN = 4, NW_DIFFER_BEFORE_MIN = 4 };

/* Sessions in time order, low <= split <= high. 1 where nothing can be said. */
double nw_trait_chance(const bool *trait, size_t n, size_t split, size_t low, size_t high);
/* The chance, 1 where nothing can be said; *before and *after are medians. NW_ENOMEM is NaN. */
double nw_level_chance(const double *v, size_t n, size_t split, double *before, double *after);
/* q[i] of p[i]: the share of false discoveries if all with a chance up to p[i] are named. */
int nw_false_discoveries(const double *p, size_t n, double *q);

#endif
