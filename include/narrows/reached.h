/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rate that a route reaches without a session's limit, from the rates of earlier sessions.
 *
 * Rates are compared by their logarithms. The level is the group of the highest rates: below it is
 * a gap of at least NW_REACHED_GAP between neighbours, and the judged rate lies below the gap. The
 * next session of the level falls into the interval with a chance of 90 % at least: the interval is
 * Student's prediction interval of the level's rates, widened by the spread between times. Beside
 * the spread of few rates the usual spread of routes counts. A level needs NW_REACHED_MIN sessions,
 * since two rates are alike by chance: so a route whose sessions differ widely, or that was never
 * faster, has no level.
 *
 * `calibrate reached` simulates how often the next session of the level falls into the interval.
 */
#ifndef NARROWS_REACHED_H
#define NARROWS_REACHED_H

#include <stddef.h>

enum { NW_REACHED_MIN = 3 };
#define NW_REACHED_GAP 1.5

struct nw_reached {
	size_t n;                /* sessions of the level; 0: no level */
	size_t best;             /* index of the highest rate; number of rates without any */
	double low, about, high; /* of the next session at the level, bytes/s; NaN without level */
};

/* Rates that are not positive and finite are left out. NW_ENOMEM */
int nw_reached(const double *earlier, size_t n, double rate, struct nw_reached *out);

#endif
