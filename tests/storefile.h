/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests of the store's inside share: the file under test, and random numbers that a seed
 * repeats. */
#ifndef TESTS_STOREFILE_H
#define TESTS_STOREFILE_H

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "narrows/splitmix.h"

static char path[64] __attribute__((unused));
static uint64_t rng;

static inline uint64_t
rnd(uint64_t n)
{
	return nw_splitmix(&rng) % n;
}

/* The store and what SQLite and the writer put beside it. */
static inline void
files_remove(void)
{
	static const char *const end[] = { "", "-wal", "-shm", "-lock" };
	char name[80];
	size_t i;

	for (i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "%s%s", path, end[i]);
		unlink(name);
	}
}

#endif
