/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bad disk for one program: LD_PRELOAD it, and while the file $BADDISK.read (.write, .sync) is
 * there, each such call on a store fails with EIO. While the file $BADDISK.hang.NAME is there, the
 * thread NAME waits in such calls.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

static void
hang(const char *switches)
{
	char path[512], name[32];

	if (prctl(PR_GET_NAME, name) != 0)
		return;
	snprintf(path, sizeof(path), "%s.hang.%s", switches, name);
	while (access(path, F_OK) == 0)
		usleep(20000);
}

ssize_t pread64(int fd, void *buf, size_t n, off_t at);
ssize_t pwrite64(int fd, const void *buf, size_t n, off_t at);

static int
is_bad(int fd, const char *what)
{
	const char *switches = getenv("BADDISK");
	char link[64], path[512];
	ssize_t n;

	if (switches == NULL)
		return 0;
	hang(switches);
	snprintf(path, sizeof(path), "%s.%s", switches, what);
	if (access(path, F_OK) != 0)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if ((n = readlink(link, path, sizeof(path) - 1)) < 0)
		return 0;
	path[n] = '\0';
	return strstr(path, "/narrows.db") != NULL && strstr(path, "-lock") == NULL;
}

ssize_t
pread64(int fd, void *buf, size_t n, off_t at)
{
	static ssize_t (*next)(int, void *, size_t, off_t);

	if (next == NULL)
		next = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread64");
	if (is_bad(fd, "read")) {
		errno = EIO;
		return -1;
	}
	return next(fd, buf, n, at);
}

ssize_t
pwrite64(int fd, const void *buf, size_t n, off_t at)
{
	static ssize_t (*next)(int, const void *, size_t, off_t);

	if (next == NULL)
		next = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite64");
	if (is_bad(fd, "write")) {
		errno = EIO;
		return -1;
	}
	return next(fd, buf, n, at);
}

static int
sync_as(int fd, const char *name)
{
	int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);

	if (is_bad(fd, "sync")) {
		errno = EIO;
		return -1;
	}
	return next(fd);
}

int
fsync(int fd)
{
	return sync_as(fd, "fsync");
}

int
fdatasync(int fd)
{
	return sync_as(fd, "fdatasync");
}
