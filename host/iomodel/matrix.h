/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The standard matrix: 20 sizes, the layouts and states of the paper (Kunkel, 2016), both
 * directions, repeated. Each cell has a folder STATE-DIRECTION-LAYOUT-SIZE-REPEAT below the given
 * folder, so an interrupted matrix can continue. LAYOUT is the file's layout, or MEMORY+FILE if the
 * layout in memory is not off0 (rnd, seq, reverse0 as in the paper).
 */
#ifndef IOMODEL_MATRIX_H
#define IOMODEL_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/iomodel/cell.h"

extern const uint64_t matrix_sizes[]; /* of the paper, and the missing powers of two */
extern const size_t matrix_n_sizes;

struct matrix_opts {
	bool quick; /* fewer layouts and operations: minutes rather than hours */
	unsigned repeats;
};

/* Runs what is not done yet, with progress on standard error; the exit status. `like` has the rest
 * of the parameters. */
int matrix_run(const struct cell *like, const struct matrix_opts *o);

/* Prints the throughput of each finished cell, sizes down and states across; csv: a line for
 * each cell. */
int matrix_table(const char *folder, bool csv);

#endif
