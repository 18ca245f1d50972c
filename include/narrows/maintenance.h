/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Taking care of a store's file: is it whole, a copy of it, a copy back in its place. No daemon is
 * needed, and one that runs is not held up: all of it reads one snapshot. Any thread; each call is
 * one long piece of work.
 */
#ifndef NARROWS_MAINTENANCE_H
#define NARROWS_MAINTENANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "narrows/store.h"

/* What a call tells while it works; each may be NULL. Non-zero from either ends it with
 * NW_ECLOSED. */
struct store_watch {
	/* "copying", "checking" */
	int (*progress)(void *arg, const char *doing, uint64_t done, uint64_t total);
	int (*fault)(void *arg, const char *what); /* where and what, in words; on loan */
	void *arg;
};

struct store_counts {
	int64_t hosts, sessions, metas, layouts, results;
	int64_t chunks, rollups, tail_blobs;
	int64_t rows, values; /* that were decoded */
	uint64_t faults;
};

/*
 * SQLite's own checks, every reference, every chunk decoded and compared with what is said of it.
 * NW_OK, NW_ECORRUPT with faults, or why it could not be told. watch may be NULL; out may not.
 */
int store_check(struct store_reader *r, const struct store_watch *watch, struct store_counts *out);

/*
 * Copies the store at path, used or not, to one file, which appears under its name when it is
 * complete, checked and on disk. NW_ECONFLICT: there is such a file, and force is not set, or it is
 * the store itself.
 */
int store_backup(const char *path, const char *to, bool force, const struct store_watch *watch,
    char why[STORE_WHY_BYTES]);

/*
 * Puts a copy in the place of the store at path, checked before and of this version afterwards.
 * NW_ECONFLICT: the store is in use, or there is one and force is not set; with force it is kept,
 * and kept says under which name.
 */
int store_restore(const char *from, const char *path, bool force, const struct store_watch *watch,
    char kept[STORE_WHY_BYTES], char why[STORE_WHY_BYTES]);

#endif
