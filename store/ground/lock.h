/* SPDX-License-Identifier: BSD-3-Clause */
/* The right to write: one process at a time. Two writers would each believe in their own copy of
 * the tail. */
#ifndef STORE_LOCK_H
#define STORE_LOCK_H

#include "narrows/store.h"

/* Takes the store at path until *fd is closed. NW_ECONFLICT: another process has the store. The
 * file PATH-lock stays afterwards: removing the file would race with the next owner. */
int lock_take(const char *path, int *fd, char why[STORE_WHY_BYTES]);

/*
 * PATH-lock also holds the number of the newest acknowledged commit, which is the id of the
 * commit's blob in the tail. A store whose tail ends before that number has lost commits: SQLite
 * takes a damaged write-ahead log for a shorter one. The number is written after the commit and is
 * not synced, so that after a power cut the number may be too low, which raises no alarm.
 */
void lock_commit_set(int fd, int64_t commit);
/* LOCK_NO_COMMIT where no number is known. */
enum { LOCK_NO_COMMIT = 0 };
int64_t lock_commit_get(int fd);
int64_t lock_commit_of(const char *path);

#endif
