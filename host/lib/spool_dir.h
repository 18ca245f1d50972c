/* SPDX-License-Identifier: BSD-3-Clause */
/* Which directory a provider's spool is in. */
#ifndef HOST_SPOOL_DIR_H
#define HOST_SPOOL_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include "host/lib/spool_file.h"

struct spool_place {
	const char *dir; /* this one; NULL: one below NARROWS_SPOOL; without that: none */
	const char *software, *task_id; /* what the one below is named after; task_id may be NULL */
	uint64_t bytes_max;
};

/*
 * *out stays NULL when no directory is wanted. Below NARROWS_SPOOL a name that another process has gets a number behind
 * it, and a program that cannot have any goes without; a directory that was asked for by name must
 * be had: errors as spool_file_open(). What is below NARROWS_SPOOL goes when it is empty.
 */
int spool_dir_open(const struct spool_place *place, const char *new_uuid, struct meta_table *metas,
    struct spool_file **out, struct spool_past *past);

/* Calls fn with each directory below NARROWS_SPOOL that has documents, until it returns false. */
void spool_dir_each(bool (*fn)(void *arg, const char *dir), void *arg);

#endif
