/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of the process and the host in /proc: before and after a cell, and every tenth of a
 * second. */
#ifndef IOMODEL_COUNTERS_H
#define IOMODEL_COUNTERS_H

#include <stdint.h>
#include <stdio.h>

enum { COUNTERS_MAX = 512, COUNTER_NAME_BYTES = 56 };

struct counters_taken {
	size_t n;
	struct {
		char name[COUNTER_NAME_BYTES];
		uint64_t value;
	} of[COUNTERS_MAX];
};

/* Reads /proc/self/io, /proc/vmstat, /proc/meminfo, and the NFS and Lustre clients' where they
 * are. */
void counters_take(struct counters_taken *c);
/* Writes name,before,after,difference of all changed counts and of all counts of the process. */
int counters_write(
    const char *path, const struct counters_taken *before, const struct counters_taken *after);

/* Samples every 0.1 s into stats-0.csv, on a thread of its own, in the first benchmark's
 * columns. */
struct sampler;
struct sampler *sampler_start(const char *path, const char *device, int64_t t0_mono_ns);
void sampler_stop(struct sampler *s);

#endif
