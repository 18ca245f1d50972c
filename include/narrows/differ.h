/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What differs between the sessions before a change of rates and those after it: index `split` is
 * the first one after. Missing values are NaN.
 *
 * A level (a metric) is judged by the rank sum of the sessions after the split, with ties and with
 * the memory of neighbours of their residues; with fewer than NW_DIFFER_AFTER_MIN sessions
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

/* Sessions in time order. The chance, 1 where nothing can be said; *before and *after are
 * medians. NW_ENOMEM is NaN. */
double nw_level_chance(const double *v, size_t n, size_t split, double *before, double *after);
/* q[i] of p[i]: the share of false discoveries if all with a chance up to p[i] are named. */
int nw_false_discoveries(const double *p, size_t n, double *q);

#endif
