/* SPDX-License-Identifier: BSD-3-Clause */
/* The right to write: one process at a time. Two writers would each believe in their own copy of
 * the tail. */
#ifndef STORE_LOCK_H
#define STORE_LOCK_H

#include "narrows/store.h"

/* Takes the store at path until *fd is closed. NW_ECONFLICT: another process has the store. The
 * file PATH-lock stays afterwards: removing the file would race with the next owner. */
int lock_take(const char *path, int *fd, char why[STORE_WHY_BYTES]);

#endif
