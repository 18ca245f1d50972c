/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that come all together or not at all. Each is written beside its place under a name of its
 * own; staged_commit() renames all of them. Without a commit nothing stays, no directory either.
 */
#ifndef HOST_JOIN_STAGED_H
#define HOST_JOIN_STAGED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "narrows/conftable.h"

enum { STAGED_FILES = 8, STAGED_DIRS = 8 };

struct staged {
	struct staged_file {
		char *temp, *path;
		bool was_there; /* and has the temporary name since the commit */
	} files[STAGED_FILES];
	size_t n_files;
	char *dirs[STAGED_DIRS]; /* new directories, each behind its parent */
	size_t n_dirs;
};

/* Makes a directory and the missing ones above. NW_EIO. */
int staged_dir(struct staged *s, const char *dir, char why[CONF_WHY_BYTES]);
/* Writes a file to the disk. gid -1 leaves the group. *temp, unless NULL, gets the file's present
 * name, on loan until the commit. NW_EIO. */
int staged_put(struct staged *s, const char *path, const char *text, mode_t mode, gid_t gid,
    const char **temp, char why[CONF_WHY_BYTES]);
/* Gives all files their names. NW_EIO: none has. */
int staged_commit(struct staged *s, char why[CONF_WHY_BYTES]);
/* Removes everything that was not committed, and frees. */
void staged_drop(struct staged *s);

#endif
