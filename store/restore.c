/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A copy becomes the store. All steps that can fail happen beside the store: the copy is copied
 * next to the store, brought up to this version and checked there. Then the old store gets a second
 * name, and one rename() puts the new store in its place. After an interruption at any point the
 * old or the new store is there, whole.
 */
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "narrows/maintenance.h"
#include "narrows/err.h"
#include "store/backup.h"
#include "store/ground/lock.h"
#include "store/read/reader.h"
#include "store/write/migrate.h"

static int
failed(char why[STORE_WHY_BYTES], const char *doing)
{
	snprintf(why, STORE_WHY_BYTES, "%s: %s", doing, strerror(errno));
	return NW_EIO;
}

/* Moves the WAL of the old store into its file, if the store can be read at all. */
static void
wal_empty(const char *path)
{
	sqlite3 *db = NULL;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK)
		sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	sqlite3_close(db);
}

/* Moves or deletes a companion of the old store, such as PATH-wal: SQLite would take the file for a
 * part of the new store. */
static int
companion_move(const char *path, const char *old, const char *end, bool keep)
{
	char *from = sqlite3_mprintf("%s%s", path, end), *to = sqlite3_mprintf("%s%s", old, end);
	int rc = from == NULL || to == NULL ? -1 : 0;
	struct stat sb;

	if (rc == 0 && stat(from, &sb) == 0)
		rc = keep && sb.st_size > 0 ? rename(from, to) : unlink(from);
	sqlite3_free(from);
	sqlite3_free(to);
	return rc;
}

/* Keeps the old store under another name. A WAL goes even without its store: SQLite would take the
 * WAL for a part of the new store. */
static int
old_keep(const char *path, bool there, char kept[STORE_WHY_BYTES], char why[STORE_WHY_BYTES])
{
	time_t now = time(NULL);
	struct tm tm;
	size_t n;

	gmtime_r(&now, &tm);
	if ((n = (size_t)snprintf(kept, STORE_WHY_BYTES, "%s.old-", path)) +
		sizeof("20261120T101500Z-wal") >
	    STORE_WHY_BYTES) {
		errno = ENAMETOOLONG;
		return failed(why, "the store of before");
	}
	strftime(kept + n, STORE_WHY_BYTES - n, "%Y%m%dT%H%M%SZ", &tm);
	if (there)
		wal_empty(path);
	if (companion_move(path, kept, "-wal", true) == -1 ||
	    companion_move(path, kept, "-journal", true) == -1 ||
	    companion_move(path, kept, "-shm", false) == -1)
		return failed(why, "the store of before");
	if (!there)
		kept[0] = '\0';
	if (!there || link(path, kept) == 0)
		return NW_OK;
	/* a file system without second names */
	if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS)
		return rename(path, kept) == 0 ? NW_OK : failed(why, kept);
	return failed(why, kept);
}

typedef int part_fn(sqlite3 *db, char why[STORE_WHY_BYTES]);

/* Does something with the copy of the copy. */
static int
with_part(const struct backup_file *f, part_fn *fn, char why[STORE_WHY_BYTES])
{
	sqlite3 *db = NULL;
	int rc = NW_EIO;

	if (sqlite3_open_v2(f->part, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ==
	    SQLITE_OK)
		rc = fn(db, why);
	else
		db_why(db, why, STORE_WHY_BYTES);
	sqlite3_close(db);
	return rc;
}

/* Sets the mode of the writer now: later the change would need an exclusive connection. */
static int
to_wal(sqlite3 *db, char why[STORE_WHY_BYTES])
{
	int rc = db_exec(db, "PRAGMA journal_mode = WAL");

	if (rc != NW_OK)
		db_why(db, why, STORE_WHY_BYTES);
	return rc;
}

static int
prepare(struct backup_file *f, const char *from, const char *path, const char *like,
    const struct store_watch *watch, char why[STORE_WHY_BYTES])
{
	struct store_reader *r = NULL;
	int rc;

	if ((rc = reader_open_old(from, &r, why)) != NW_OK)
		return rc;
	if ((rc = store_reader_begin(r)) != NW_OK)
		db_why(r->db, why, STORE_WHY_BYTES);
	else if ((rc = backup_begin(f, like, why, "%s", path)) == NW_OK)
		rc = backup_copy(f, r->db, watch, why);
	store_reader_close(r);
	if (rc == NW_OK && (rc = with_part(f, migrate_upgrade, why)) == NW_OK &&
	    (rc = backup_check(f, watch, why)) == NW_OK)
		rc = with_part(f, to_wal, why);
	if (rc == NW_ECLOSED)
		snprintf(why, STORE_WHY_BYTES, "interrupted");
	return rc;
}

int
store_restore(const char *from, const char *path, bool force, const struct store_watch *watch,
    char kept[STORE_WHY_BYTES], char why[STORE_WHY_BYTES])
{
	struct backup_file f = { NULL, NULL };
	char *copy = strdup(path), *dir = copy == NULL ? NULL : dirname(copy);
	int fd = -1, rc = NW_ENOMEM;
	bool there = false;
	struct stat sb;

	kept[0] = '\0';
	snprintf(why, STORE_WHY_BYTES, "out of memory");
	if (dir == NULL || (rc = lock_take(path, &fd, why)) != NW_OK)
		goto out;
	there = access(path, F_OK) == 0;
	if (there && !force) {
		snprintf(why, STORE_WHY_BYTES, "there is a store");
		rc = NW_ECONFLICT;
		goto out;
	}
	if (geteuid() == 0 && stat(dir, &sb) == 0 && fchown(fd, sb.st_uid, sb.st_gid) == -1) {
		rc = failed(why, "the lock"); /* the daemon is not root */
		goto out;
	}
	if ((rc = prepare(&f, from, path, there ? path : dir, watch, why)) == NW_OK &&
	    (rc = old_keep(path, there, kept, why)) == NW_OK)
		rc = backup_publish(&f, true, why);
	if (rc == NW_OK)
		lock_commit_set(
		    fd, LOCK_NO_COMMIT); /* the numbers of the copy count from here on */
out:
	backup_end(&f);
	if (fd != -1)
		close(fd);
	free(copy);
	return rc;
}
