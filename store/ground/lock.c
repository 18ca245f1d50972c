/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/ground/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "narrows/err.h"

enum { MARK_BYTES = 32 }; /* "commit NUMBER", blanks, a line end */

int
lock_take(const char *path, int *fd, char why[STORE_WHY_BYTES])
{
	char *name = sqlite3_mprintf("%s-lock", path);
	int rc = NW_OK;

	if (name == NULL)
		return NW_ENOMEM;
	if ((*fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644)) == -1) {
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

void
lock_commit_set(int fd, int64_t commit)
{
	char text[MARK_BYTES + 1];

	snprintf(text, sizeof(text), "commit %-24" PRId64 "\n", commit);
	/* A failure leaves an older number, without an alarm. */
	if (pwrite(fd, text, MARK_BYTES, 0) != MARK_BYTES)
		return;
}

int64_t
lock_commit_get(int fd)
{
	char text[MARK_BYTES + 1] = "";
	int64_t commit;

	if (pread(fd, text, MARK_BYTES, 0) != MARK_BYTES ||
	    sscanf(text, "commit %" SCNd64, &commit) != 1 || commit < 0)
		return LOCK_NO_COMMIT;
	return commit;
}

int64_t
lock_commit_of(const char *path)
{
	char *name = sqlite3_mprintf("%s-lock", path);
	int fd = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC);
	int64_t commit = fd == -1 ? LOCK_NO_COMMIT : lock_commit_get(fd);

	if (fd != -1)
		close(fd);
	sqlite3_free(name);
	return commit;
}
