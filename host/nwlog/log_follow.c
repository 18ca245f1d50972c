/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwlog/log_follow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/fnv.h"
#include "narrows/ownfile.h"

/* A program may go on writing into a file that was renamed, until it opens the log anew. */
#define GRACE_NS INT64_C(2000000000)
enum { READ_BYTES = 256 << 10 };

struct follow {
	char *path, *dir, *name;
	int fd; /* -1: the path has no file yet */
	struct place place;
	char *bytes; /* of the file from place.offset on */
	size_t at, len, cap;
	bool skipping;        /* the rest of a line that was too long */
	bool rotated;         /* the file has the path no more: after its end comes another one */
	int64_t left_mono_ns; /* when the path was found to lead elsewhere; 0: it does not */
};

static char *
part_of(const char *path, bool dir)
{
	const char *slash = strrchr(path, '/');

	if (!dir)
		return strdup(slash != NULL ? slash + 1 : path);
	return slash == NULL ? strdup(".")
			     : strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

struct follow *
follow_new(const char *path)
{
	struct follow *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->fd = -1;
	f->path = strdup(path);
	f->dir = part_of(path, true);
	f->name = part_of(path, false);
	if (f->path == NULL || f->dir == NULL || f->name == NULL) {
		follow_free(f);
		return NULL;
	}
	return f;
}

void
follow_free(struct follow *f)
{
	if (f == NULL)
		return;
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f->dir);
	free(f->name);
	free(f->bytes);
	free(f);
}

/* --- which file --- */

/* Hash of the first bytes (FNV-1a). Returns false if the file is shorter. */
static bool
head_hash(int fd, size_t len, uint64_t *out)
{
	uint8_t head[PLACE_HEAD_BYTES];

	*out = FNV_BEGIN;
	if (len > sizeof(head) || pread(fd, head, len, 0) != (ssize_t)len)
		return false;
	*out = fnv_bytes(*out, head, len);
	return true;
}

/* Does the file begin as the place's file did, and reach the place? */
static bool
head_fits(int fd, const struct place *p)
{
	struct stat st;
	uint64_t hash;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= p->offset &&
	    head_hash(fd, p->head_len, &hash) && (p->head_len == 0 || hash == p->head_hash);
}

static bool
inode_fits(int fd, const struct place *p)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == p->device && st.st_ino == p->inode;
}

static bool
is_packed(const char *name)
{
	static const char *const ends[] = { ".gz", ".xz", ".bz2", ".zst", ".nwlog" };
	size_t len = strlen(name), n, i;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (len > (n = strlen(ends[i])) && strcmp(name + len - n, ends[i]) == 0)
			return true;
	return false;
}

/* Calls fn with each open file beside the log whose name begins with the log's, until fn keeps one:
 * that descriptor, or -1. */
static int
siblings_each(struct follow *f, bool (*fn)(struct follow *f, int fd, void *arg), void *arg)
{
	size_t len = strlen(f->name);
	DIR *d = opendir(f->dir);
	struct dirent *e;
	int fd = -1;

	while (d != NULL && (e = readdir(d)) != NULL) {
		if (strncmp(e->d_name, f->name, len) != 0 || e->d_name[len] == '\0' ||
		    is_packed(e->d_name) || (fd = ownfile_read_at(dirfd(d), e->d_name)) < 0)
			continue;
		if (fn(f, fd, arg))
			break;
		close(fd);
		fd = -1;
	}
	if (d != NULL)
		closedir(d);
	return fd;
}

static bool
is_renamed(struct follow *f, int fd, void *arg)
{
	(void)f;
	return inode_fits(fd, arg) && head_fits(fd, arg);
}

static bool
is_copy(struct follow *f, int fd, void *arg)
{
	const struct place *p = arg;

	(void)f;
	return p->head_len > 0 && head_fits(fd, p);
}

/* --- opening --- */

/* Takes an open file, to be read from an offset on. */
static void
file_take(struct follow *f, int fd, off_t offset, bool rotated)
{
	struct stat st = { .st_size = 0 };

	if (f->fd >= 0)
		close(f->fd);
	f->fd = fd;
	f->at = f->len = 0;
	f->skipping = false;
	f->rotated = rotated;
	f->left_mono_ns = 0;
	(void)fstat(fd, &st);
	f->place = (struct place){ .device = st.st_dev, .inode = st.st_ino, .offset = offset };
	lseek(fd, offset, SEEK_SET);
}

static bool
path_open(struct follow *f)
{
	int fd = ownfile_read(f->path);

	if (fd >= 0)
		file_take(f, fd, 0, false);
	return fd >= 0;
}

bool
follow_seek(struct follow *f, const struct place *at)
{
	struct place want = *at;
	int fd = ownfile_read(f->path);

	if (fd >= 0 && inode_fits(fd, at) && head_fits(fd, at)) {
		file_take(f, fd, at->offset, false);
		return true;
	}
	if (fd >= 0)
		close(fd);
	if ((fd = siblings_each(f, is_renamed, &want)) >= 0 ||
	    (fd = siblings_each(f, is_copy, &want)) >= 0) {
		file_take(f, fd, at->offset, true);
		return true;
	}
	path_open(f);
	return false;
}

void
follow_seek_end(struct follow *f)
{
	off_t end;
	char c;

	if (!path_open(f))
		return;
	for (end = lseek(f->fd, 0, SEEK_END); end > 0; end--)
		if (pread(f->fd, &c, 1, end - 1) == 1 && c == '\n')
			break;
	f->place.offset = end;
	lseek(f->fd, end, SEEK_SET);
}

/* --- rotation --- */

struct younger {
	struct timespec than, best;
	struct stat log; /* the file that has the path now */
	bool has_log;
	ino_t inode;
	bool found;
};

static bool
is_after(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

/* Looks for the oldest file that was written after the present one ended. */
static bool
younger_look(struct follow *f, int fd, void *arg)
{
	struct younger *y = arg;
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !is_after(st.st_mtim, y->than) ||
	    (y->has_log && st.st_ino == y->log.st_ino && st.st_dev == y->log.st_dev) ||
	    (f->place.head_len > 0 && head_fits(fd, &f->place)))
		return false;
	if (!y->found || is_after(y->best, st.st_mtim)) {
		y->found = true;
		y->best = st.st_mtim;
		y->inode = st.st_ino;
	}
	return false;
}

static bool
is_inode(struct follow *f, int fd, void *arg)
{
	struct stat st;

	(void)f;
	return fstat(fd, &st) == 0 && st.st_ino == *(const ino_t *)arg;
}

/* After the end of a file that was rotated away: the next one, in the order of their last writes,
 * or the file of the path. */
static bool
next_open(struct follow *f)
{
	struct younger y = { .found = false };
	struct stat st;
	int fd;

	if (fstat(f->fd, &st) == 0)
		y.than = st.st_mtim;
	y.has_log = stat(f->path, &y.log) == 0;
	siblings_each(f, younger_look, &y);
	if (y.found && (fd = siblings_each(f, is_inode, &y.inode)) >= 0) {
		file_take(f, fd, 0, true);
		return true;
	}
	return y.has_log && path_open(f);
}

/* At the end of the file: has it been written anew, or has the path another file? Returns whether
 * there is more to read. */
static bool
rotation_look(struct follow *f)
{
	struct place behind = f->place;
	struct stat log;
	int fd;

	if (f->rotated)
		return next_open(f);
	behind.offset += (off_t)(f->len - f->at);
	if (!head_fits(f->fd, &behind)) { /* emptied: the rest is in a copy */
		if ((fd = siblings_each(f, is_copy, &f->place)) < 0)
			return path_open(f);
		file_take(f, fd, behind.offset - (off_t)(f->len - f->at), true);
		return true;
	}
	if (stat(f->path, &log) != 0 ||
	    (log.st_ino == f->place.inode && log.st_dev == f->place.device)) {
		f->left_mono_ns = 0;
		return false;
	}
	if (f->left_mono_ns == 0)
		f->left_mono_ns = nw_mono_ns();
	if (nw_mono_ns() - f->left_mono_ns < GRACE_NS)
		return false;
	f->rotated = true;
	return f->at < f->len || next_open(f);
}

/* --- lines --- */

/* Notes how the file begins, as far as it has been read. */
static void
head_note(struct follow *f)
{
	size_t want = (size_t)(f->place.offset + (off_t)(f->len - f->at));

	if (want > PLACE_HEAD_BYTES)
		want = PLACE_HEAD_BYTES;
	if (f->place.head_len < want && head_hash(f->fd, want, &f->place.head_hash))
		f->place.head_len = want;
}

/* Reads on. 1: bytes have come; 0: the end; NW_E*. */
static int
bytes_read(struct follow *f)
{
	char *grown;
	ssize_t n;

	if (f->at > 0) {
		memmove(f->bytes, f->bytes + f->at, f->len - f->at);
		f->len -= f->at;
		f->at = 0;
	}
	if (f->cap - f->len < READ_BYTES) {
		if ((grown = realloc(f->bytes, f->len + READ_BYTES)) == NULL)
			return NW_ENOMEM;
		f->bytes = grown;
		f->cap = f->len + READ_BYTES;
	}
	if ((n = read(f->fd, f->bytes + f->len, READ_BYTES)) < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : NW_EIO;
	f->len += (size_t)n;
	if (n > 0)
		head_note(f);
	return n > 0;
}

static void
line_give(struct follow *f, size_t n, size_t end, const char **line, size_t *len)
{
	*line = f->bytes + f->at;
	*len = n;
	f->at += n + end;
	f->place.offset += (off_t)(n + end);
}

/* A line of the bytes in hand, if there is one. */
static bool
line_take(struct follow *f, size_t max, const char **line, size_t *len, bool *whole)
{
	const char *end;

	while (f->at < f->len) {
		end = memchr(f->bytes + f->at, '\n', f->len - f->at);
		if (f->skipping) {
			line_give(f,
			    end != NULL ? (size_t)(end - f->bytes) - f->at : f->len - f->at,
			    end != NULL, line, len);
			f->skipping = end == NULL;
			continue;
		}
		if (end == NULL && f->len - f->at <= max)
			return false;
		*whole = end != NULL && (size_t)(end - f->bytes) - f->at <= max;
		if (end != NULL) {
			line_give(f, (size_t)(end - f->bytes) - f->at, 1, line, len);
			return true;
		}
		line_give(f, max, 0, line, len);
		f->skipping = true;
		return true;
	}
	return false;
}

int
follow_line(struct follow *f, size_t max, const char **line, size_t *len, bool *whole)
{
	int rc;

	if (f->fd < 0 && !path_open(f))
		return errno == ENOENT ? 0 : NW_EIO;
	for (;;) {
		if (line_take(f, max, line, len, whole))
			return 1;
		if ((rc = bytes_read(f)) < 0)
			return rc;
		if (rc > 0)
			continue;
		if (f->rotated && f->at < f->len && !f->skipping) { /* a last line without end */
			*whole = true;
			line_give(f, f->len - f->at, 0, line, len);
			return 1;
		}
		if (!rotation_look(f))
			return 0;
	}
}

struct place
follow_place(const struct follow *f)
{
	return f->place;
}
