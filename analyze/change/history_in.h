/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks and permutations, for the files of history. */
#ifndef ANALYZE_HISTORY_IN_H
#define ANALYZE_HISTORY_IN_H

#include <stddef.h>
#include <stdint.h>

/* Ranks about their mean, equal values with equal ranks. NW_ENOMEM */
int history_ranks(const double *y, size_t n, double *rank);
void history_shuffle(double *v, size_t n, uint64_t *seed);

#endif
