/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/lib/spool_given.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x316e657669477753)

struct spool_given *
spool_given_open(int dir_fd)
{
	struct spool_given now, *g = MAP_FAILED;
	int fd = openat(dir_fd, "given", O_RDWR | O_CREAT | SPOOL_OPEN, 0600);

	if (fd < 0)
		return NULL;
	if (pread(fd, &now, sizeof(now), 0) != (ssize_t)sizeof(now) || now.magic != MAGIC)
		now = (struct spool_given){ .magic = MAGIC };
	/* written, not only lengthened: a full disk is found here, not when the memory is used */
	if (pwrite(fd, &now, sizeof(now), 0) == (ssize_t)sizeof(now))
		g = mmap(NULL, sizeof(now), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (g == MAP_FAILED)
		return NULL;
	g->task_id[SPOOL_TASK_BYTES - 1] = '\0';
	return g;
}

void
spool_given_close(struct spool_given *g)
{
	if (g != NULL)
		munmap(g, sizeof(*g));
}

int
spool_given_waits(const char *dir)
{
	struct spool_given g;
	char path[PATH_MAX];
	ssize_t got;
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/given", dir) >= sizeof(path) ||
	    (fd = open(path, O_RDONLY | SPOOL_OPEN)) < 0)
		return 0;
	got = pread(fd, &g, sizeof(g), 0);
	close(fd);
	return got == (ssize_t)sizeof(g) && g.magic == MAGIC && g.first < g.next;
}
