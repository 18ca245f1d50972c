/* SPDX-License-Identifier: BSD-3-Clause */
/* Which disks, interfaces and file systems are sampled, by lists of shell patterns. */
#ifndef HOST_FILTER_H
#define HOST_FILTER_H

#include <stdbool.h>

/* Patterns parted by blanks. */
struct filter {
	const char *include; /* NULL includes every name */
	const char *exclude; /* NULL excludes none; goes before include */
};

bool filter_takes(const struct filter *f, const char *name);

#endif
