/* SPDX-License-Identifier: BSD-3-Clause */
/* Which directory a provider's spool is in. */
#ifndef HOST_SPOOL_DIR_H
#define HOST_SPOOL_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include "host/lib/spool_file.h"

struct spool_place {
	/* path of the directory; NULL means a directory below NARROWS_SPOOL, if that is set */
	const char *dir;
	/* names for a directory below NARROWS_SPOOL; task_id may be NULL */
	const char *software, *task_id;
	uint64_t bytes_max;
};

/*
 * *out stays NULL when no directory is wanted. Below NARROWS_SPOOL, a name taken by another process
 * gets a number behind it, and a program that cannot have any directory goes without; a directory
 * asked for by path must be had: errors as spool_file_open(). An empty directory below
 * NARROWS_SPOOL is removed.
 */
int spool_dir_open(const struct spool_place *place, const char *new_uuid, struct meta_table *metas,
    struct spool_file **out, struct spool_past *past);

/* Calls fn with each directory below NARROWS_SPOOL that has documents, or knows of documents that
 * died with their process, until fn returns false. */
void spool_dir_each(bool (*fn)(void *arg, const char *dir), void *arg);

#endif
