/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/write/backup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "narrows/err.h"
#include "store/ground/db.h"

enum { STEP_PAGES = 256, RIGHTS = 0666 };

static int
failed(char why[STORE_WHY_BYTES], const char *name)
{
	snprintf(why, STORE_WHY_BYTES, "%.180s: %s", name, strerror(errno));
	return errno == ENOMEM ? NW_ENOMEM : NW_EIO;
}

/* --- the file --- */

/* Removes files with names of parts of the new file. */
static void
companions_remove(const char *name)
{
	static const char *const end[] = { "-journal", "-wal", "-shm" };
	char *path;
	size_t i;

	for (i = 0; i < sizeof(end) / sizeof(end[0]); i++) {
		path = sqlite3_mprintf("%s%s", name, end[i]);
		if (path != NULL)
			unlink(path);
		sqlite3_free(path);
	}
}

int
backup_begin(
    struct backup_file *f, const char *like, char why[STORE_WHY_BYTES], const char *name_fmt, ...)
{
	struct stat sb;
	va_list ap;
	int fd;

	va_start(ap, name_fmt);
	f->name = sqlite3_vmprintf(name_fmt, ap);
	va_end(ap);
	f->part = f->name == NULL ? NULL : sqlite3_mprintf("%s.part", f->name);
	snprintf(why, STORE_WHY_BYTES, "out of memory");
	if (f->part == NULL)
		return NW_ENOMEM;
	if (stat(like, &sb) == -1)
		return failed(why, like);
	unlink(f->part); /* left by an interrupted copy */
	companions_remove(f->part);
	if ((fd = open(f->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) == -1)
		return failed(why, f->part);
	if (geteuid() == 0 && fchown(fd, sb.st_uid, sb.st_gid) == -1) {
		close(fd);
		return failed(why, f->part);
	}
	fchmod(fd, sb.st_mode & RIGHTS);
	close(fd);
	return NW_OK;
}

static int
sync_path(const char *path, int flags, char why[STORE_WHY_BYTES])
{
	int fd = open(path, flags | O_CLOEXEC), rc = NW_OK;

	if (fd == -1 || fsync(fd) == -1)
		rc = failed(why, path);
	if (fd != -1)
		close(fd);
	return rc;
}

/* Not every file system can rename without replacing. */
static int
rename_new(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (access(to, F_OK) == 0) {
		errno = EEXIST;
		return -1;
	}
	return rename(from, to);
}

int
backup_publish(struct backup_file *f, bool replace, char why[STORE_WHY_BYTES])
{
	char *copy;
	int rc;

	if ((rc = sync_path(f->part, O_RDONLY, why)) != NW_OK)
		return rc;
	if (replace || access(f->name, F_OK) == -1)
		companions_remove(f->name);
	if ((replace ? rename(f->part, f->name) : rename_new(f->part, f->name)) == -1) {
		rc = errno == EEXIST ? NW_ECONFLICT : NW_EIO;
		failed(why, f->name);
		return rc;
	}
	sqlite3_free(f->part);
	f->part = NULL;
	if ((copy = strdup(f->name)) == NULL)
		return NW_ENOMEM;
	rc = sync_path(dirname(copy), O_RDONLY | O_DIRECTORY, why);
	free(copy);
	return rc;
}

void
backup_end(struct backup_file *f)
{
	if (f->part != NULL) {
		unlink(f->part);
		companions_remove(f->part);
	}
	sqlite3_free(f->part);
	sqlite3_free(f->name);
	f->part = f->name = NULL;
}

/* --- content --- */

static int
pages_copy(sqlite3 *to, sqlite3 *from, const struct store_watch *watch, char why[STORE_WHY_BYTES])
{
	sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");
	int rc = NW_OK, step = SQLITE_OK, end;
	uint64_t total;

	if (b == NULL) {
		db_why(to, why, STORE_WHY_BYTES);
		return db_code(sqlite3_errcode(to));
	}
	while (rc == NW_OK && step == SQLITE_OK) {
		step = sqlite3_backup_step(b, STEP_PAGES);
		total = (uint64_t)sqlite3_backup_pagecount(b);
		if (watch != NULL && watch->progress != NULL &&
		    watch->progress(watch->arg, "copying",
			total - (uint64_t)sqlite3_backup_remaining(b), total) != 0)
			rc = NW_ECLOSED;
	}
	end = sqlite3_backup_finish(b);
	if (rc == NW_OK && step != SQLITE_DONE) {
		db_why(to, why, STORE_WHY_BYTES);
		rc = db_code(end == SQLITE_OK ? step : end);
	}
	return rc == NW_OK && step != SQLITE_DONE ? NW_EIO : rc;
}

int
backup_copy(const struct backup_file *f, sqlite3 *from, const struct store_watch *watch,
    char why[STORE_WHY_BYTES])
{
	sqlite3 *to = NULL;
	int rc = NW_EIO;

	why[0] = '\0';
	if (sqlite3_open_v2(f->part, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ==
		SQLITE_OK &&
	    db_exec(to, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF") == NW_OK)
		rc = pages_copy(to, from, watch, why);
	else
		db_why(to, why, STORE_WHY_BYTES);
	sqlite3_close(to);
	to = NULL;
	/* The first page says WAL, as in the original. */
	if (rc == NW_OK &&
	    (sqlite3_open_v2(f->part, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
		    SQLITE_OK ||
		(rc = db_exec(to, "PRAGMA journal_mode = DELETE")) != NW_OK)) {
		db_why(to, why, STORE_WHY_BYTES);
		rc = rc == NW_OK ? NW_EIO : rc;
	}
	sqlite3_close(to);
	return rc;
}
