/* SPDX-License-Identifier: BSD-3-Clause */
/* Who may write: one process at a time. Two would each believe in their own copy of the tail. */
#ifndef STORE_LOCK_H
#define STORE_LOCK_H

#include "narrows/store.h"

/*
 * Until *fd is closed the store at path is ours. NW_ECONFLICT: it is another process's. The file
 * PATH-lock stays when the lock goes: removing it would race with the next owner.
 */
int lock_take(const char *path, int *fd, char why[STORE_WHY_BYTES]);

#endif
