/* SPDX-License-Identifier: BSD-3-Clause */
/* Between backup.c and restore.c. */
#ifndef STORE_BACKUP_H
#define STORE_BACKUP_H

#include "narrows/maintenance.h"
#include "store/write/backup_file.h"

/* Whether the copy is whole: NW_OK, NW_ECORRUPT with the number of faults in why, NW_ECLOSED if the
 * watch ended the check, or the code of the store. */
int backup_check(
    const struct backup_file *f, const struct store_watch *watch, char why[STORE_WHY_BYTES]);

#endif
