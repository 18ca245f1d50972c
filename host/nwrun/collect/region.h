/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of a run, shared with the programs (nwshm.h): made by nwrun, sparse but for the begin
 * of each table, readable by its owner alone. The collector locks the file for life, so that a
 * later nwrun tells the files of living collectors from the leftovers of killed collectors, and
 * removes the leftovers.
 */
#ifndef HOST_REGION_H
#define HOST_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "host/nwrun/preload/nwshm.h"

enum { REGION_PATH_BYTES = NWSHM_FILE_BYTES };

struct region {
	int fd; /* holds the lock; -1 without a file */
	uint64_t bytes;
	int64_t base_mono_ns; /* birth of the region; times in the region count from here */
	char path[REGION_PATH_BYTES];
};

/* Makes the file, and removes leftovers beside it. Text on failure. */
const char *region_new(struct region *r);
/* Makes the pages of all tables, for a user that takes slots without asking for their pages. False
 * without memory. */
bool region_fill(const struct region *r);
/* The region's first clock, good until the collector has a better clock: `clock` has its first
 * reading. */
void region_start_clock(const struct region *r, struct nw_cycles *clock);
/* Unlinks the file and releases the lock. Maps stay. */
void region_free(struct region *r);
/* The region in memory: the whole, or where address space is short the first chunk, as r->bytes
 * then tells. NULL: no memory for the first chunk. */
struct nwshm *region_map(struct region *r);
void region_unmap(const struct region *r, struct nwshm *shm);

#endif
