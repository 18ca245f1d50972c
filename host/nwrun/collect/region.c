/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/nwrun/collect/region.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "narrows/clock.h"

#define FILE_PREFIX "nwrun."

enum { TRIES = 16 };

/* --- leftovers --- */

/* Removes a region of this user without a living collector. */
static void
sweep_file(int dir_fd, const char *name)
{
	struct stat st;
	int fd = openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return;
	/* the size tells a region: programs may have written over everything inside */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    (st.st_size == (off_t)NWSHM_BYTES || st.st_size == (off_t)NWSHM_FIRST_BYTES) &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0)
		unlinkat(dir_fd, name, 0);
	close(fd);
}

static void
sweep(const char *dir)
{
	struct dirent *e;
	DIR *d = opendir(dir);

	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL)
		if (strncmp(e->d_name, FILE_PREFIX, strlen(FILE_PREFIX)) == 0 &&
		    strlen(e->d_name) == strlen(FILE_PREFIX "XXXXXX"))
			sweep_file(dirfd(d), e->d_name);
	closedir(d);
}

/* --- the file --- */

/* A descriptor above 2: the collector puts its own there. */
static int
fd_above_stdio(int fd)
{
	int up;

	if (fd > STDERR_FILENO)
		return fd;
	up = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return up;
}

/* A sweeper may take a file away between its birth and its lock: then there is another try. */
static int
open_in(const char *dir, char path[REGION_PATH_BYTES])
{
	struct stat by_fd, by_name;
	int fd, i;

	if (dir == NULL || dir[0] != '/')
		return -1;
	for (i = 0; i < TRIES; i++) {
		if (snprintf(path, REGION_PATH_BYTES, "%s/" FILE_PREFIX "XXXXXX", dir) >=
			REGION_PATH_BYTES ||
		    (fd = mkostemp(path, O_CLOEXEC)) < 0)
			return -1;
		if ((fd = fd_above_stdio(fd)) < 0) {
			unlink(path);
			return -1;
		}
		if (flock(fd, LOCK_EX) == 0 && fstat(fd, &by_fd) == 0 &&
		    stat(path, &by_name) == 0 && by_fd.st_ino == by_name.st_ino &&
		    by_fd.st_dev == by_name.st_dev)
			return fd;
		close(fd);
	}
	return -1;
}

static int
open_somewhere(char path[REGION_PATH_BYTES])
{
	const char *dirs[] = { "/dev/shm", getenv("TMPDIR"), "/tmp" };
	size_t i;
	int fd = -1;

	for (i = 0; fd < 0 && i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if ((fd = open_in(dirs[i], path)) >= 0)
			sweep(dirs[i]);
	return fd;
}

/* As many chunks as the limit on file sizes lets in; 0 when not even the first fits: over the
 * limit ftruncate would not fail but kill. */
static uint64_t
bytes_allowed(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_FSIZE, &lim) != 0 || lim.rlim_cur == RLIM_INFINITY ||
	    lim.rlim_cur >= NWSHM_BYTES)
		return NWSHM_BYTES;
	return lim.rlim_cur >= NWSHM_FIRST_BYTES ? NWSHM_FIRST_BYTES : 0;
}

/* The first page of each table: most runs need no more. The programs make the others. */
static const struct {
	size_t from, bytes;
} first_pages[] = {
	{ 0, NWSHM_FIRST_PROCS_END },
	{ offsetof(struct nwshm, thread_owner), NWSHM_PAGE },
	{ offsetof(struct nwshm, thread_tid), NWSHM_PAGE },
	{ offsetof(struct nwshm, object_key), NWSHM_FIRST_KEYS_BYTES },
	{ offsetof(struct nwshm, cells), NWSHM_OBJECTS_FIXED * sizeof(struct nwshm_cells) },
};

static bool
first_pages_make(int fd)
{
	size_t i;

	for (i = 0; i < sizeof(first_pages) / sizeof(first_pages[0]); i++)
		if (posix_fallocate(fd, (off_t)first_pages[i].from, (off_t)first_pages[i].bytes) !=
		    0)
			return false;
	return true;
}

static void
header_fill(const struct region *r, struct nwshm *s, bool whole)
{
	s->magic = NWSHM_MAGIC;
	s->version = NWSHM_VERSION;
	s->size_check = sizeof(*s);
	s->base_mono_ns = r->base_mono_ns;
	s->procs_ready = whole
	    ? NWSHM_PROCS
	    : (NWSHM_FIRST_PROCS_END - offsetof(struct nwshm, proc)) / sizeof(s->proc[0]);
	s->threads_ready = whole ? NWSHM_THREADS : NWSHM_PAGE / sizeof(s->thread_owner[0]);
	s->objects_ready = whole ? NWSHM_OBJECTS : NWSHM_PAGE / sizeof(s->object[0]);
}

/* Kernels before 5.14 cannot make the pages of a map later without a signal where memory is full:
 * there all pages are made now, and where the caller wants the whole. */
static bool
contents_make(const struct region *r, bool whole)
{
	struct nwshm *s;
	bool done;

	if (!first_pages_make(r->fd))
		return false;
	s = mmap(NULL, NWSHM_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (s == MAP_FAILED)
		return false;
	whole = whole || madvise(s, NWSHM_PAGE, NWSHM_POPULATE_WRITE) != 0;
	done = !whole || posix_fallocate(r->fd, 0, NWSHM_FIXED_BYTES) == 0;
	if (done)
		header_fill(r, s, whole);
	munmap(s, NWSHM_PAGE);
	return done;
}

const char *
region_new(struct region *r)
{
	const char *why = NULL;

	*r = (struct region){ .fd = -1, .bytes = bytes_allowed(), .base_mono_ns = nw_mono_ns() };
	if (r->bytes == 0)
		return "the limit on file sizes is too small";
	if ((r->fd = open_somewhere(r->path)) < 0)
		return "no shared file could be made in /dev/shm, TMPDIR or /tmp";
	if (ftruncate(r->fd, (off_t)r->bytes) != 0 || !contents_make(r, false))
		why = "no room for the shared file";
	if (why != NULL)
		region_free(r);
	return why;
}

bool
region_fill(const struct region *r)
{
	return contents_make(r, true);
}

void
region_start_clock(const struct region *r, struct nw_cycles *clock)
{
	struct nwshm *s = mmap(NULL, NWSHM_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);

	if (s == MAP_FAILED)
		return;
	nw_cycles_calibrate_soon(clock);
	/* the collector may have been faster */
	if (__atomic_load_n(&s->cycles.seq, __ATOMIC_ACQUIRE) == 0)
		nw_cycles_share(clock, &s->cycles);
	munmap(s, NWSHM_PAGE);
}

void
region_free(struct region *r)
{
	if (r->fd < 0)
		return;
	unlink(r->path);
	close(r->fd);
	r->fd = -1;
}

struct nwshm *
region_map(struct region *r)
{
	void *at = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);

	if (at == MAP_FAILED) {
		r->bytes = NWSHM_FIRST_BYTES;
		at = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	}
	return at != MAP_FAILED ? at : NULL;
}

void
region_unmap(const struct region *r, struct nwshm *shm)
{
	if (shm != NULL)
		munmap(shm, r->bytes);
}
