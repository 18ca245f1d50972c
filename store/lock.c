/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "narrows/err.h"

int
lock_take(const char *path, int *fd, char why[STORE_WHY_BYTES])
{
	char *name = sqlite3_mprintf("%s-lock", path);
	int rc = NW_OK;

	if (name == NULL)
		return NW_ENOMEM;
	if ((*fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0644)) == -1) {
		snprintf(why, STORE_WHY_BYTES, "%s: %s", name, strerror(errno));
		rc = NW_EIO;
	} else if (flock(*fd, LOCK_EX | LOCK_NB) == -1) {
		snprintf(why, STORE_WHY_BYTES, "in use by another process");
		rc = NW_ECONFLICT;
		close(*fd);
		*fd = -1;
	}
	sqlite3_free(name);
	return rc;
}
