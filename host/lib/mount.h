/* SPDX-License-Identifier: BSD-3-Clause */
/* The mount of a file. Texts that do not fit are cut. */
#ifndef HOST_MOUNT_H
#define HOST_MOUNT_H

#include <stdbool.h>
#include <stdint.h>

enum { MOUNT_TEXT_BYTES = 256 };

struct mount {
	char point[MOUNT_TEXT_BYTES], type[MOUNT_TEXT_BYTES], device[MOUNT_TEXT_BYTES];
	char address[MOUNT_TEXT_BYTES]; /* of the server, from the option addr=; "" without it */
	uint64_t dev;                   /* major number << 32 | minor number */
};

/* NW_ENOTFOUND: the system does not tell. */
int mount_find(const char *file, struct mount *out);
/* The same out of a text in the form of /proc/self/mountinfo; `path` is absolute. */
int mount_find_in(const char *mountinfo, const char *path, struct mount *out);
/* The mount of the file with the name and the number of the device, as statx(2) has it. A name
 * alone decides where no mount has the number: a file system may give its parts numbers of their
 * own. `path` may be empty. */
int mount_find_device(const char *mountinfo, uint64_t dev, const char *path, struct mount *out);
/* The mount table of a process, or of this process for 0; free() the text. NULL: unreadable. */
char *mount_table_read(int pid);

#endif
