/* SPDX-License-Identifier: BSD-3-Clause */
/* The mount of a file. */
#ifndef IOMODEL_MOUNT_H
#define IOMODEL_MOUNT_H

enum { MOUNT_TEXT_BYTES = 256 };

struct mount {
	char point[MOUNT_TEXT_BYTES], type[MOUNT_TEXT_BYTES], device[MOUNT_TEXT_BYTES];
};

/* NW_ENOTFOUND: the system does not tell. */
int mount_find(const char *file, struct mount *out);
/* The same out of a text in the form of /proc/self/mountinfo; `path` is absolute. */
int mount_find_in(const char *mountinfo, const char *path, struct mount *out);

#endif
