/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/probe/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/err.h"
#include "narrows/splitmix.h"

enum { PAGE = 4096, BLOCK_WORDS = SCRATCH_BLOCK_BYTES / sizeof(uint64_t) };

/* Past the page cache where the file system can. */
static int
file_open(const char *directory)
{
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC | O_DIRECT, 0600);

	return fd >= 0 || errno != EINVAL ? fd
					  : open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

bool
scratch_has_room(int fd, uint64_t max_bytes)
{
	struct statvfs s;

	return fstatvfs(fd, &s) == 0 && (uint64_t)s.f_bavail * s.f_frsize / 2 >= max_bytes;
}

void
scratch_draw(uint64_t *words, size_t n, size_t step, uint64_t *state)
{
	size_t i;

	for (i = 0; i < n; i += step)
		words[i] = nw_splitmix(state);
}

bool
scratch_is_on_device(int fd, uint64_t bytes)
{
	unsigned char *there = malloc(bytes / PAGE + 1);
	void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	size_t i, n = bytes / PAGE;
	bool on_device = false;

	if (there != NULL && map != MAP_FAILED && mincore(map, bytes, there) == 0) {
		for (i = 0; i < n && (there[i] & 1) == 0; i++)
			;
		on_device = i == n;
	}
	if (map != MAP_FAILED)
		munmap(map, bytes);
	free(there);
	return on_device;
}

static int
bytes_write(int fd, void *block, uint64_t max_bytes, int64_t max_ns, struct scratch_result *out)
{
	uint64_t state = (uint64_t)nw_mono_ns(), n;
	int64_t begin_ns;

	scratch_draw(block, BLOCK_WORDS, 1, &state); /* nothing for a device to compress */
	begin_ns = nw_mono_ns();
	for (n = 0; n + SCRATCH_BLOCK_BYTES <= max_bytes && nw_mono_ns() - begin_ns < max_ns;
	     n += SCRATCH_BLOCK_BYTES) {
		scratch_draw(
		    block, BLOCK_WORDS, PAGE / sizeof(state), &state); /* no two pages are alike */
		if (pwrite(fd, block, SCRATCH_BLOCK_BYTES, (off_t)n) != SCRATCH_BLOCK_BYTES)
			return NW_EIO;
	}
	if (fdatasync(fd) < 0)
		return NW_EIO;
	out->written_bytes = n;
	out->write_ns = nw_mono_ns() - begin_ns;
	return NW_OK;
}

static int
bytes_read(int fd, void *block, int64_t max_ns, struct scratch_result *out)
{
	int64_t begin_ns = nw_mono_ns();
	uint64_t n;

	for (n = 0; n < out->written_bytes && nw_mono_ns() - begin_ns < max_ns;
	     n += SCRATCH_BLOCK_BYTES)
		if (pread(fd, block, SCRATCH_BLOCK_BYTES, (off_t)n) != SCRATCH_BLOCK_BYTES)
			return NW_EIO;
	out->read_bytes = n;
	out->read_ns = nw_mono_ns() - begin_ns;
	return NW_OK;
}

int
scratch_measure(
    const char *directory, uint64_t max_bytes, int64_t max_ns, struct scratch_result *out)
{
	void *block = NULL;
	int fd = file_open(directory), rc = NW_EIO;

	*out = (struct scratch_result){ 0 };
	if (fd < 0)
		return NW_EIO;
	if (!scratch_has_room(fd, max_bytes))
		rc = NW_EFULL;
	else if (posix_memalign(&block, PAGE, SCRATCH_BLOCK_BYTES) != 0)
		rc = NW_ENOMEM;
	else
		rc = bytes_write(fd, block, max_bytes, max_ns / 2, out);
	if (rc == NW_OK && out->written_bytes > 0) {
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		if (scratch_is_on_device(fd, out->written_bytes))
			rc = bytes_read(fd, block, max_ns / 2, out);
	}
	free(block);
	close(fd);
	return rc;
}
