/* SPDX-License-Identifier: BSD-3-Clause */
/* Maintenance of a store's file: checks, copies, and copies put back. No daemon is needed, and a
 * running daemon is not held up: all work reads one snapshot. Any thread; each call is one long
 * piece of work. */
#ifndef NARROWS_MAINTENANCE_H
#define NARROWS_MAINTENANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "narrows/store.h"

/* Callbacks during the work, each may be NULL. A result other than 0 ends the work with
 * NW_ECLOSED. */
struct store_watch {
	/* "copying", "checking" */
	int (*progress)(void *arg, const char *doing, uint64_t done, uint64_t total);
	/* place and kind of a fault, in words; on loan */
	int (*fault)(void *arg, const char *what);
	void *arg;
};

struct store_counts {
	int64_t hosts, sessions, metas, layouts, results;
	int64_t chunks, rollups, tail_blobs;
	int64_t events;
	int64_t rows, values; /* number of rows and values decoded */
	uint64_t faults;
};

/* Runs SQLite's own checks, follows every reference, decodes every chunk and compares the chunk
 * with its row. NW_OK, NW_ECORRUPT with faults, or the reason why the check ended. watch may be
 * NULL; out may not. */
int store_check(struct store_reader *r, const struct store_watch *watch, struct store_counts *out);

/* Copies the store at path, in use or not, to one file. The file appears under its name once the
 * copy is complete, checked and on disk. NW_ECONFLICT: the file exists and force is not set, or the
 * file is the store itself. */
int store_backup(const char *path, const char *to, bool force, const struct store_watch *watch,
    char why[STORE_WHY_BYTES]);

/* What store_backup() made last of the store at path: noted in PATH.last-backup, where the caller
 * may write that. NW_ENOTFOUND: nothing is noted. */
struct store_backup_note {
	int64_t t_wall_ns, bytes;
	char path[256]; /* of the copy; a longer name is cut */
};
int store_backup_last(const char *path, struct store_backup_note *out);

/* Puts a copy in the place of the store at path, after a check and an upgrade to this version.
 * NW_ECONFLICT: the store is in use, or exists and force is not set; with force the old store is
 * kept, and kept gets its name. */
int store_restore(const char *from, const char *path, bool force, const struct store_watch *watch,
    char kept[STORE_WHY_BYTES], char why[STORE_WHY_BYTES]);

#endif
