/* SPDX-License-Identifier: BSD-3-Clause */
/* The durations of a finished cell, out of its files. */
#ifndef IOMODEL_DURATIONS_H
#define IOMODEL_DURATIONS_H

#include <stdint.h>

#include "narrows/hist.h"

/* Operations by the share of their pages in memory before. */
enum durations_keep { KEEP_ALL, KEEP_IN_MEMORY, KEEP_NOT_IN_MEMORY };

struct durations {
	uint64_t n;
	double sum_s;
	uint64_t counts[NW_HIST_BUCKETS];
};

/* Adds the operations without error of all threads. NW_ENOTFOUND: the cell has no file. */
int durations_add(struct durations *d, const char *folder, enum durations_keep keep);

#endif
