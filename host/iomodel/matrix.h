/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The standard matrix: 20 sizes, the layouts and states of the paper (Kunkel, 2016), both
 * directions, repeated. Each cell has a folder STATE-DIRECTION-LAYOUT-SIZE-REPEAT below the given
 * one, so a matrix that was interrupted goes on where it was; LAYOUT is that of the file, or
 * MEMORY+FILE where the layout in memory is not off0 (rnd, seq, reverse0 where the paper has them).
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

/* Prints the throughput of each cell that is done, sizes down and states across; csv: one line a
 * cell. */
int matrix_table(const char *folder, bool csv);

#endif
