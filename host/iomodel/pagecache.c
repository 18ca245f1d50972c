/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/iomodel/pagecache.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "narrows/err.h"

enum {
	VEC_PAGES = 65536,
	FILL_BYTES = 1 << 20,
	STATE_TRIES = 40,
	STATE_PAUSE_US = 50000,
	ASKED_PAGES = 32
};

int
pagecache_open(struct pagecache *p, int fd, uint64_t bytes)
{
	memset(p, 0, sizeof(*p));
	p->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	p->bytes = bytes;
	p->vec_pages = VEC_PAGES;
	p->vec = malloc(p->vec_pages);
	p->map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (p->vec == NULL || p->map == MAP_FAILED) {
		if (p->map == MAP_FAILED)
			p->map = NULL;
		pagecache_close(p);
		return NW_EIO;
	}
	return NW_OK;
}

void
pagecache_close(struct pagecache *p)
{
	if (p->map != NULL)
		munmap(p->map, p->bytes);
	free(p->vec);
	memset(p, 0, sizeof(*p));
}

double
pagecache_share(struct pagecache *p, uint64_t offset, uint64_t len)
{
	uint64_t from = offset / p->page_bytes, to, in = 0, pages = 0, n, i;

	if (p->map == NULL || len == 0 || offset >= p->bytes)
		return NAN;
	if (len > p->bytes - offset)
		len = p->bytes - offset;
	to = (offset + len - 1) / p->page_bytes + 1;
	for (; from < to; from += n) {
		n = to - from < p->vec_pages ? to - from : p->vec_pages;
		if (mincore((char *)p->map + from * p->page_bytes, n * p->page_bytes, p->vec) != 0)
			return NAN;
		for (i = 0; i < n; i++)
			in += p->vec[i] & 1;
		pages += n;
	}
	return (double)in / (double)pages;
}

/* Returns 1 if a byte at the offset is readable at once, 0 if not, and -1 if the file system has no
 * such reads. The question itself begins to read a missing page, and a fast device, or a pause of
 * this process, lets that read end within the question. A page that mincore(2) reports as missing
 * before the question and in memory after the question was not readable at once. */
static int
byte_at_once(struct pagecache *p, int fd, uint64_t offset)
{
	double before = pagecache_share(p, offset, 1);
	char byte;
	struct iovec v = { &byte, 1 };

	if (preadv2(fd, &v, 1, (off_t)offset, RWF_NOWAIT) != 1)
		return errno == EAGAIN ? 0 : -1;
	return !(before == 0 && pagecache_share(p, offset, 1) == 1);
}

double
pagecache_share_at_once(struct pagecache *p, int fd)
{
	uint64_t pages = (p->bytes + p->page_bytes - 1) / p->page_bytes;
	uint64_t asked = pages < ASKED_PAGES ? pages : ASKED_PAGES, i, in = 0;
	int is_in;

	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* no page but the asked page is read */
	for (i = 0; i < asked; i++) {
		if ((is_in = byte_at_once(p, fd, i * pages / asked * p->page_bytes)) < 0)
			break;
		in += (uint64_t)is_in;
	}
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL);
	return i < asked || asked == 0 ? NAN : (double)in / (double)asked;
}

int
pagecache_drop(struct pagecache *p, int fd)
{
	bool asked = false;
	double share = NAN;
	int i;

	/* Pages under writing, or under reading for the second question, stay: drop again until
	 * the device has finished. */
	for (i = 0; i < STATE_TRIES; i++) {
		(void)fsync(fd);
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		share = pagecache_share(p, 0, p->bytes);
		if (isnan(share))
			return NW_EIO;
		if (share == 0 && asked)
			return NW_OK;
		if (share == 0)
			asked = !(pagecache_share_at_once(p, fd) > 0);
		else
			usleep(STATE_PAUSE_US);
	}
	/* A file system may keep a few pages (a large folio at the end); a thousandth is
	 * tolerated. */
	return share < 0.001 && !(pagecache_share_at_once(p, fd) > 0.5) ? NW_OK : NW_ECONFLICT;
}

/* Reads the file once. */
static int
file_read(int fd, uint64_t bytes)
{
	char *buf = malloc(FILL_BYTES);
	uint64_t at;
	ssize_t n;

	if (buf == NULL)
		return NW_ENOMEM;
	for (at = 0; at < bytes; at += (uint64_t)n) {
		n = pread(fd, buf, FILL_BYTES, (off_t)at);
		if (n <= 0)
			break;
	}
	free(buf);
	return at < bytes ? NW_EIO : NW_OK;
}

int
pagecache_fill(struct pagecache *p, int fd)
{
	int i, rc;

	/* Other programs may need memory meanwhile and take pages away: read again until their
	 * needs are met. */
	for (i = 0; i < STATE_TRIES; i++) {
		if ((rc = file_read(fd, p->bytes)) < 0)
			return rc;
		if (pagecache_share(p, 0, p->bytes) >= 1 && !(pagecache_share_at_once(p, fd) < 1))
			return NW_OK;
		usleep(STATE_PAUSE_US);
	}
	return pagecache_share(p, 0, p->bytes) > 0.999 && !(pagecache_share_at_once(p, fd) < 0.9)
	    ? NW_OK
	    : NW_ECONFLICT;
}
