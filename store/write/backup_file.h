/* SPDX-License-Identifier: BSD-3-Clause */
/* A file under a temporary name, which gets its own name once complete. */
#ifndef STORE_BACKUP_FILE_H
#define STORE_BACKUP_FILE_H

#include <sqlite3.h>

#include "narrows/maintenance.h"

struct backup_file {
	char *name, *part; /* final and present name; both NULL without a file */
};

/* Creates an empty file beside the name, which is given as to printf(). Owner and rights are
 * copied from a file, or from a directory without the right to search. */
int backup_begin(struct backup_file *f, const char *like, char why[STORE_WHY_BYTES],
    const char *name_fmt, ...) __attribute__((format(printf, 4, 5)));
/* Copies the snapshot of a connection into f->part; without WAL, so that the copy is a single
 * file. */
int backup_copy(const struct backup_file *f, sqlite3 *from, const struct store_watch *watch,
    char why[STORE_WHY_BYTES]);
/* Syncs the file, then renames it. NW_ECONFLICT: the name is taken, and replace is false. */
int backup_publish(struct backup_file *f, bool replace, char why[STORE_WHY_BYTES]);
/* Removes an unpublished file. */
void backup_end(struct backup_file *f);

#endif
