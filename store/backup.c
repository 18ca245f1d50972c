/* SPDX-License-Identifier: BSD-3-Clause */
/* A copy while the writer works: one read transaction lasts over all steps, so that SQLite reads
 * one snapshot and need not begin again after a commit. The price is a WAL that grows meanwhile. */
#include "store/backup.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "store/read/reader.h"

int
backup_check(
    const struct backup_file *f, const struct store_watch *watch, char why[STORE_WHY_BYTES])
{
	struct store_counts n;
	struct store_reader *r;
	int rc;

	if ((rc = store_reader_open(f->part, &r, why)) != NW_OK)
		return rc;
	if ((rc = store_check(r, watch, &n)) == NW_ECORRUPT)
		snprintf(why, STORE_WHY_BYTES, "it is damaged: %llu faults",
		    (unsigned long long)n.faults);
	else if (rc != NW_OK)
		snprintf(
		    why, STORE_WHY_BYTES, "%s", rc == NW_ECLOSED ? "interrupted" : nw_strerror(rc));
	store_reader_close(r);
	return rc;
}

static bool
same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
	    sa.st_ino == sb.st_ino;
}

/* --- the note of the newest copy --- */

static bool
note_path(char *out, size_t size, const char *store_path, const char *ending)
{
	return snprintf(out, size, "%s.last-backup%s", store_path, ending) < (int)size;
}

/* The directory may belong to another user than root, and root makes copies: no link is followed,
 * and the note belongs to the store's owner. */
static FILE *
note_create(const char *store_path, const char *part)
{
	struct stat st;
	FILE *f;
	int fd;

	unlink(part);
	if ((fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)) < 0)
		return NULL;
	if ((geteuid() == 0 &&
		(stat(store_path, &st) != 0 || fchown(fd, st.st_uid, st.st_gid) != 0)) ||
	    fchmod(fd, 0644) != 0 || (f = fdopen(fd, "w")) == NULL) {
		close(fd);
		return NULL;
	}
	return f;
}

/* A copy without a note is a copy all the same: faults are of no consequence. */
static void
note_write(const char *store_path, const char *to)
{
	char path[PATH_MAX], part[PATH_MAX], whole[PATH_MAX];
	struct stat st;
	FILE *f;

	if (!note_path(path, sizeof(path), store_path, "") ||
	    !note_path(part, sizeof(part), store_path, ".new") || realpath(to, whole) == NULL ||
	    stat(to, &st) != 0 || (f = note_create(store_path, part)) == NULL)
		return;
	fprintf(f, "%lld %lld %s\n", (long long)nw_wall_ns(), (long long)st.st_size, whole);
	if (fclose(f) != 0 || rename(part, path) != 0)
		unlink(part);
}

int
store_backup_last(const char *store_path, struct store_backup_note *out)
{
	char path[PATH_MAX];
	int rc = NW_ENOTFOUND, fd = -1;
	long long t, bytes;
	FILE *f = NULL;

	if (note_path(path, sizeof(path), store_path, ""))
		fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && (f = fdopen(fd, "r")) == NULL)
		close(fd);
	if (f != NULL && fscanf(f, "%lld %lld %255[^\n]", &t, &bytes, out->path) == 3 && t > 0) {
		out->t_wall_ns = t;
		out->bytes = bytes;
		rc = NW_OK;
	}
	if (f != NULL)
		fclose(f);
	return rc;
}

int
store_backup(const char *path, const char *to, bool force, const struct store_watch *watch,
    char why[STORE_WHY_BYTES])
{
	struct backup_file f = { NULL, NULL };
	struct store_reader *r = NULL;
	int rc;

	if ((rc = store_reader_open(path, &r, why)) != NW_OK)
		goto out;
	if (same_file(path, to) || (!force && access(to, F_OK) == 0)) {
		snprintf(why, STORE_WHY_BYTES, "%s",
		    same_file(path, to) ? "this is the store itself" : "there is such a file");
		rc = NW_ECONFLICT;
		goto out;
	}
	if ((rc = backup_begin(&f, path, why, "%s", to)) != NW_OK)
		goto out;
	if ((rc = store_reader_begin(r)) != NW_OK) {
		db_why(r->db, why, STORE_WHY_BYTES);
		goto out;
	}
	rc = backup_copy(&f, r->db, watch, why);
	store_reader_end(r);
	if (rc == NW_OK && (rc = backup_check(&f, watch, why)) == NW_OK)
		rc = backup_publish(&f, force, why);
	if (rc == NW_OK)
		note_write(path, to);
	if (rc == NW_ECLOSED)
		snprintf(why, STORE_WHY_BYTES, "interrupted");
out:
	backup_end(&f);
	store_reader_close(r);
	return rc;
}
