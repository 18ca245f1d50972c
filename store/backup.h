/* SPDX-License-Identifier: BSD-3-Clause */
/* One file that is written beside its name and gets it when it is complete. backup.c, restore.c,
 * migrate.c. */
#ifndef STORE_BACKUP_H
#define STORE_BACKUP_H

#include <sqlite3.h>

#include "narrows/maintenance.h"

struct backup_file {
	char *name, *part; /* what it will be, and what it is until then; both NULL: nothing */
};

/*
 * An empty file beside the name, which is given as to printf(), with owner and rights like those of
 * a file, or of a directory without those to search.
 */
int backup_begin(struct backup_file *f, const char *like, char why[STORE_WHY_BYTES],
    const char *name_fmt, ...) __attribute__((format(printf, 4, 5)));
/* What the connection sees, into f->part; without WAL, so that it is one file wherever it is
 * opened. */
int backup_copy(const struct backup_file *f, sqlite3 *from, const struct store_watch *watch,
    char why[STORE_WHY_BYTES]);
/* Is the copy whole? */
int backup_check(
    const struct backup_file *f, const struct store_watch *watch, char why[STORE_WHY_BYTES]);
/* On disk, then under its name. NW_ECONFLICT: there is such a file, and it shall stay. */
int backup_publish(struct backup_file *f, bool replace, char why[STORE_WHY_BYTES]);
/* Removes what has not been published. */
void backup_end(struct backup_file *f);

#endif
