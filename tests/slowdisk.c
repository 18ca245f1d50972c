/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A slow disk for one program: LD_PRELOAD it, and every read(2) or write(2) of a regular file takes
 * as long as a disk of SLOWDISK_READ or SLOWDISK_WRITE bytes per second would need. The program
 * blocks in the call, as it would there.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static void
take_time(int fd, ssize_t bytes, const char *variable)
{
	const char *text = getenv(variable);
	double rate = text != NULL ? atof(text) : 0, s;
	struct timespec ts;
	struct stat st;

	if (!(rate > 0) || bytes <= 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return;
	s = (double)bytes / rate;
	ts.tv_sec = (time_t)s;
	ts.tv_nsec = (long)((s - (double)ts.tv_sec) * 1e9);
	nanosleep(&ts, NULL);
}

EXPORT ssize_t
read(int fd, void *buf, size_t n)
{
	static ssize_t (*real)(int, void *, size_t);
	ssize_t rc;

	if (real == NULL)
		real = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
	rc = real(fd, buf, n);
	take_time(fd, rc, "SLOWDISK_READ");
	return rc;
}

EXPORT ssize_t
write(int fd, const void *buf, size_t n)
{
	static ssize_t (*real)(int, const void *, size_t);
	ssize_t rc;

	if (real == NULL)
		real = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	rc = real(fd, buf, n);
	take_time(fd, rc, "SLOWDISK_WRITE");
	return rc;
}
