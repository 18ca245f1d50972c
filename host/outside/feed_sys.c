/* SPDX-License-Identifier: BSD-3-Clause */
/* The system calls of preload_object.c, asked on behalf of the watched process. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host/outside/feed_in.h"

enum { LINK_BYTES = 64 };

bool sealed; /* never */

static uint32_t about_pid;
static const struct feed_fd *about_fd;

void
sys_about(const struct feed_proc *p, const struct feed_fd *f)
{
	about_pid = p->pid;
	about_fd = f;
}

void
sys_about_fd(const struct feed_proc *p, int fd)
{
	struct feed_fd *f;

	HASH_FIND_INT(p->fds, &fd, f);
	sys_about(p, f);
}

static long
read_link(const char *link, char *path, size_t cap)
{
	ssize_t n = readlink(link, path, cap);

	return n < 0 ? -errno : n;
}

void
sys_fd_path(uint32_t pid, int fd, char path[NWSHM_PATH_BYTES])
{
	char link[LINK_BYTES];
	long n;

	snprintf(link, sizeof(link), "/proc/%u/fd/%d", pid, fd);
	n = read_link(link, path, NWSHM_PATH_BYTES - 1);
	path[n > 0 ? n : 0] = '\0';
}

/* The process's own descriptor: its name as noted when the file was open, or now. */
static long
answer_link(const char *link, char *path, size_t cap)
{
	static const char own[] = "/proc/self/fd/";
	char other[LINK_BYTES];
	size_t len;

	if (about_fd != NULL && about_fd->path != NULL) {
		len = strlen(about_fd->path);
		if (len > cap)
			len = cap;
		memcpy(path, about_fd->path, len);
		return (long)len;
	}
	if (strncmp(link, own, sizeof(own) - 1) != 0)
		return -ENOENT;
	snprintf(other, sizeof(other), "/proc/%u/fd/%.10s", about_pid, link + sizeof(own) - 1);
	return read_link(other, path, cap);
}

/* A path in the process's view. */
static bool
path_of(int dir, const char *name, char out[2 * NWSHM_PATH_BYTES])
{
	int n;

	if (name[0] == '/')
		n = snprintf(out, 2 * NWSHM_PATH_BYTES, "/proc/%u/root%s", about_pid, name);
	else if (dir == AT_FDCWD)
		n = snprintf(out, 2 * NWSHM_PATH_BYTES, "/proc/%u/cwd/%s", about_pid, name);
	else
		n = snprintf(out, 2 * NWSHM_PATH_BYTES, "/proc/%u/fd/%d/%s", about_pid, dir, name);
	return n > 0 && n < 2 * NWSHM_PATH_BYTES;
}

/* The descriptor is closed by now: the file's name leads to the file, unless the name changed. */
static long
answer_fd(struct statx *st)
{
	char path[2 * NWSHM_PATH_BYTES];

	if (about_fd == NULL || about_fd->path == NULL ||
	    !path_of(AT_FDCWD, about_fd->path, path) ||
	    statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_SIZE | STATX_INO, st) != 0)
		return -ENOENT;
	return st->stx_ino == about_fd->ino ? 0 : -ENOENT;
}

static long
answer_statx(int dir, const char *name, int flags, unsigned mask, struct statx *st)
{
	char path[2 * NWSHM_PATH_BYTES];

	if ((flags & AT_EMPTY_PATH) != 0)
		return answer_fd(st);
	if (!path_of(dir, name, path) || statx(AT_FDCWD, path, flags, mask, st) != 0)
		return -ENOENT;
	return 0;
}

static long
answer_cwd(char *path, size_t cap)
{
	char link[LINK_BYTES];
	long n;

	snprintf(link, sizeof(link), "/proc/%u/cwd", about_pid);
	if ((n = read_link(link, path, cap - 1)) <= 0)
		return -ENOENT;
	path[n] = '\0';
	return n + 1;
}

long
sys_call(long number, long a, long b, long c, long d, long e, long f)
{
	(void)f;
	switch (number) {
	case SYS_readlinkat: return answer_link((const char *)b, (char *)c, (size_t)d);
	case SYS_statx:
		return answer_statx(
		    (int)a, (const char *)b, (int)c, (unsigned)d, (struct statx *)e);
	case SYS_getcwd: return answer_cwd((char *)a, (size_t)b);
	case SYS_clock_gettime: return clock_gettime((clockid_t)a, (struct timespec *)b);
	}
	return -ENOSYS; /* among them getsockopt(2): the collector asks the kernel itself */
}
