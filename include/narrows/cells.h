/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations counted in cells of size by duration. A size octave k holds sizes above 2^(k-1) and up
 * to 2^k bytes, so that powers of two, the sizes of most programs, stand at the upper end of their
 * octave. Durations have four linear steps per octave. The cells of one file and direction fill one
 * table with the shape of a histogram (hist.h): row k of NW_HIST_SUB cells is size octave k. So
 * tables are encoded, stored, added up and rolled up as histograms are; event types `nw:cells:*`
 * say that the rows are sizes.
 */
#ifndef NARROWS_CELLS_H
#define NARROWS_CELLS_H

#include <stdint.h>

#include "narrows/hist.h"

enum {
	NW_CELL_FIRST_BIT = 5, /* durations below 2^5 ns share the first cell */
	NW_CELL_STEP_BITS = 2,
	NW_CELL_DURATIONS = 116, /* up to 2^34 ns, 17 s; the last cell counts longer durations */
	NW_CELL_OCTAVES = NW_HIST_OCTAVES
};

static inline unsigned
nw_cell_duration(uint64_t ns)
{
	unsigned top, i;

	if (ns < 1u << NW_CELL_FIRST_BIT)
		return 0;
	top = 63u - (unsigned)__builtin_clzll(ns);
	i = (top - NW_CELL_FIRST_BIT) << NW_CELL_STEP_BITS |
	    (unsigned)(ns >> (top - NW_CELL_STEP_BITS) & ((1u << NW_CELL_STEP_BITS) - 1));
	return i < NW_CELL_DURATIONS ? i : NW_CELL_DURATIONS - 1;
}

/* The cell holds low <= duration < high. */
static inline void
nw_cell_duration_bounds(unsigned i, double *low_ns, double *high_ns)
{
	unsigned steps = 1u << NW_CELL_STEP_BITS, octave = i / steps + NW_CELL_FIRST_BIT;
	double width = (double)(1ull << octave) / steps;

	*low_ns = i == 0 ? 0 : (double)(1ull << octave) + i % steps * width;
	*high_ns = (double)(1ull << octave) + (i % steps + 1) * width;
}

static inline unsigned
nw_cell_octave(uint64_t bytes)
{
	unsigned k = bytes <= 1 ? 0 : 64u - (unsigned)__builtin_clzll(bytes - 1);

	return k < NW_CELL_OCTAVES ? k : NW_CELL_OCTAVES - 1;
}

static inline double
nw_cell_octave_bytes(unsigned octave)
{
	return (double)(1ull << octave);
}

#endif
