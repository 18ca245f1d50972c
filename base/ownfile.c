/* SPDX-License-Identifier: BSD-3-Clause */
#include "narrows/ownfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char ROOT_STATE[] = "/var/lib/narrows-host";

/* Closes the descriptor. Returns -1. */
static int
refuse(int fd, int error)
{
	close(fd);
	errno = error;
	return -1;
}

int
ownfile_open(const char *path, int flags)
{
	int fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_nlink != 1 || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return refuse(fd, EPERM);
	return fd;
}

int
ownfile_make(const char *path, mode_t mode)
{
	if (unlink(path) != 0 && errno != ENOENT)
		return -1;
	return open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

FILE *
ownfile_stream(const char *path, mode_t mode)
{
	int fd = ownfile_make(path, mode);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (fd >= 0 && f == NULL)
		close(fd);
	return f;
}

/* Returns true if only this user and root can put names into the directory. */
static bool
is_closed(const struct stat *dir)
{
	return (dir->st_uid == 0 || dir->st_uid == geteuid()) &&
	    (dir->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

int
ownfile_read_at(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st, dir;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) != 0 || fstat(dir_fd, &dir) != 0 || !S_ISREG(st.st_mode))
		return refuse(fd, EPERM);
	if (st.st_nlink > 1 && !is_closed(&dir) &&
	    (st.st_uid == 0 || st.st_uid == geteuid() || st.st_uid != dir.st_uid))
		return refuse(fd, EPERM);
	return fd;
}

int
ownfile_read(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
	int dir_fd = dir == NULL ? -1 : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd, error;

	free(dir);
	if (dir_fd < 0)
		return -1;
	fd = ownfile_read_at(dir_fd, slash == NULL ? path : slash + 1);
	error = errno;
	close(dir_fd);
	errno = error;
	return fd;
}

/* Makes a directory and its parents. */
static int
dirs_make(char *path)
{
	char *at;

	for (at = path + 1; (at = strchr(at, '/')) != NULL; *at++ = '/') {
		*at = '\0';
		if (mkdir(path, 0755) != 0 && errno != EEXIST) {
			*at = '/';
			return -1;
		}
	}
	return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : -1;
}

int
ownfile_state_dir(char *path, size_t cap)
{
	const char *given = secure_getenv("STATE_DIRECTORY"),
		   *xdg = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
	struct stat st;
	int n;

	if (given != NULL && given[0] == '/')
		n = snprintf(path, cap, "%.*s", (int)strcspn(given, ":"), given);
	else if (xdg != NULL && xdg[0] == '/')
		n = snprintf(path, cap, "%s/narrows", xdg);
	else if (geteuid() == 0)
		n = snprintf(path, cap, "%s", ROOT_STATE);
	else if (home != NULL && home[0] == '/')
		n = snprintf(path, cap, "%s/.local/state/narrows", home);
	else
		return errno = ENOENT, -1;
	if (n < 0 || (size_t)n >= cap)
		return errno = ENAMETOOLONG, -1;
	if (dirs_make(path) != 0 || stat(path, &st) != 0)
		return -1;
	return S_ISDIR(st.st_mode) && is_closed(&st) ? 0 : (errno = EPERM, -1);
}
