/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared file: made by nwrun, sparse but for the tables, readable by its owner alone. */
#include "host/nwrun/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static int
open_in(const char *dir, char *path, size_t cap)
{
	if (dir == NULL || dir[0] != '/' ||
	    (size_t)snprintf(path, cap, "%s/nwrun.XXXXXX", dir) >= cap)
		return -1;
	return mkostemp(path, O_CLOEXEC);
}

static int
open_somewhere(char *path, size_t cap)
{
	const char *dirs[] = { "/dev/shm", getenv("TMPDIR"), "/tmp" };
	size_t i;
	int fd = -1;

	for (i = 0; fd < 0 && i < sizeof(dirs) / sizeof(dirs[0]); i++)
		fd = open_in(dirs[i], path, cap);
	return fd;
}

/* Over the limit on file sizes ftruncate would not fail but kill. */
static bool
size_is_allowed(void)
{
	struct rlimit lim;

	return getrlimit(RLIMIT_FSIZE, &lim) != 0 || lim.rlim_cur == RLIM_INFINITY ||
	    lim.rlim_cur >= sizeof(struct nwshm);
}

struct nwshm *
region_new(char *path, size_t path_cap, const char **why)
{
	struct nwshm *s = NULL;
	void *at;
	int fd = -1;

	*why = "the limit on file sizes is too small";
	if (!size_is_allowed())
		return NULL;
	*why = "no shared file could be made in /dev/shm, TMPDIR or /tmp";
	if ((fd = open_somewhere(path, path_cap)) < 0)
		return NULL;
	*why = "no room for the shared file";
	if (ftruncate(fd, sizeof(*s)) != 0 || posix_fallocate(fd, 0, NWSHM_FIXED_BYTES) != 0)
		goto out;
	*why = "the shared file could not be mapped";
	at = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		goto out;
	s = at;
	s->magic = NWSHM_MAGIC;
	s->version = NWSHM_VERSION;
	s->size_check = sizeof(*s);
	s->base_mono_ns = nw_mono_ns();
	*why = NULL;
out:
	if (s == NULL)
		unlink(path);
	close(fd);
	return s;
}

void
region_free(struct nwshm *shm, const char *path)
{
	if (path != NULL)
		unlink(path);
	if (shm != NULL)
		munmap(shm, sizeof(*shm));
}
