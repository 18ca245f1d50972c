/* SPDX-License-Identifier: BSD-3-Clause */
/* Work that comes again: the period of a series. */
#ifndef ANALYZE_PERIOD_H
#define ANALYZE_PERIOD_H
#include <stddef.h>

#include "narrows/changepoint.h"

/*
 * Looks for a period of 4 values to a third of the series, by these tests in turn:
 *
 *   - a line spectrum: the series, freed from an AR(1), is white without a period. The periodogram
 *     at a frequency and at up to seven multiples is then a sum of exponential variables. Its tail
 *     must be below exp(-PERIOD_EVIDENCE) after division by the number of frequencies, and the
 *     values folded at the period must repeat: the profile explains a share of each cycle's
 *     variance that no memory reaches in so few cycles, or the line stands out of the spectrum
 *     beside the line, which a memory's broad rise does not. A wave counts by its first line alone.
 *     A multiple of the period is the period if the values repeat much better with that;
 *   - regular turns: the series goes up through a high level after a low level, and the distances
 *     of such turns, and the times above and below, vary by far less than those of a memory. This
 *     finds cycles whose length varies. Short pulses have levels of their own, and stricter
 *     bounds;
 *   - a line that stands far out of the spectrum beside the line. A strong slow wave passes for an
 *     AR(1), which hides the wave from the first test;
 *   - regular turns of running means: noise on a slow rise makes many turns of single values.
 *
 * Writes to `cyclic` (n values) the part of every value that comes again, with mean 0. Finds
 * nothing in a series with a level of more than half of its values. NW_ENOMEM. O(n log n).
 */
int period_find(const double *x, size_t n, struct nw_cycle *out, double *cyclic);

#endif
