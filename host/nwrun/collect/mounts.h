/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mounts of measured files. A file on a block device of this host has none here: the device
 * says enough. The table of mounts is asked while the program runs, because a program may unmount
 * at its end.
 */
#ifndef HOST_MOUNTS_H
#define HOST_MOUNTS_H

#include "host/lib/mount.h"

enum { MOUNTS_KEPT = 64, MOUNTS_LOOKED = 16 };

struct mounts {
	bool asked, readable; /* readable: the process may read the own table */
	struct mount kept[MOUNTS_KEPT];
	unsigned n_kept;
	/* the latest answers, by process and device */
	struct {
		int pid;
		uint64_t dev;
		const struct mount *mount;
	} looked[MOUNTS_LOOKED];
	unsigned next;
};

/* The mount of a file of the process; on loan as long as `t`. `dev` is the file's, `magic` its file
 * system's f_type or 0, `path` its name or "". A mount of type "unknown" has no other text. NULL: a
 * block device. */
const struct mount *
mounts_find(struct mounts *t, int pid, uint64_t dev, uint32_t magic, const char *path);

#endif
