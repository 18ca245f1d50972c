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
 * PATH-lock also holds the number of the newest acknowledged commit, the id of the commit's blob in
 * the tail. If the tail ends before the number, the store has lost commits: to SQLite a damaged
 * write-ahead log is a shorter log. The number is written after the commit and is not synced. After
 * a power cut the number may be too low, without an alarm.
 */
void lock_commit_set(int fd, int64_t commit);
/* LOCK_NO_COMMIT where no number is known. */
enum { LOCK_NO_COMMIT = 0 };
int64_t lock_commit_get(int fd);
int64_t lock_commit_of(const char *path);

#endif
