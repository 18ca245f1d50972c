/* SPDX-License-Identifier: BSD-3-Clause */
/* Small files of /proc, read in one call. */
#ifndef HOST_PROCREAD_H
#define HOST_PROCREAD_H

#include <stdbool.h>
#include <stddef.h>

/* Reads the beginning of a file into text, which ends with a NUL. Returns the bytes, 0 for an empty
 * file and for one that cannot be read; text is "" then. */
size_t procread_path(const char *path, char *text, size_t cap);
/* The same of /proc/PID/NAME. */
size_t procread(int pid, const char *name, char *text, size_t cap);

/* The value of a line "key<blanks>: value" or "key=value" of a file, without quotes around; false
 * without such a line. */
bool procread_key(const char *path, const char *key, char *out, size_t cap);

#endif
