/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files in directories that other users may write. Such a user can put a link in place of a file,
 * or another name of a foreign file; these calls follow neither.
 *
 * The calls return a descriptor (O_CLOEXEC), or -1 with errno. Any thread.
 */
#ifndef NARROWS_OWNFILE_H
#define NARROWS_OWNFILE_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* Opens a file that this process's user made: regular, of that user, under one name, writable by
 * that user alone. ELOOP: a symbolic link; EPERM: another user's, or with a second name. */
int ownfile_open(const char *path, int flags);
/* Makes a new file, open for reading and writing, in place of anything that has the name. The mode
 * is narrowed by the umask. EEXIST: another process made the name at this moment. */
int ownfile_make(const char *path, mode_t mode);
/* The same as a stream for writing, NULL with errno. */
FILE *ownfile_stream(const char *path, mode_t mode);
/*
 * Opens another user's file for reading, which need not exist yet. ELOOP: a symbolic link; EPERM:
 * not a regular file, or a second name of a file in a directory that a user other than this
 * process's can write, unless the file belongs to that user.
 */
int ownfile_read(const char *path);
/* ownfile_read() below an open directory. */
int ownfile_read_at(int dir_fd, const char *name);
/* The directory for the state of this user's programs, made if it is missing: $STATE_DIRECTORY,
 * $XDG_STATE_HOME/narrows, /var/lib/narrows-host of root, else ~/.local/state/narrows. Returns 0;
 * -1 with errno, EPERM: the directory is another user's, or others may write it. */
int ownfile_state_dir(char *path, size_t cap);

#endif
