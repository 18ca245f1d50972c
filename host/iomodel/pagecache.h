/* SPDX-License-Identifier: BSD-3-Clause */
/* The page cache of a file: brought into a state, and looked at. */
#ifndef IOMODEL_PAGECACHE_H
#define IOMODEL_PAGECACHE_H

#include <stddef.h>
#include <stdint.h>

/* A file mapped so that mincore(2) can be asked; no page is touched. */
struct pagecache {
	void *map;
	uint64_t bytes;
	size_t page_bytes;
	unsigned char *vec; /* a byte per page of the widest question */
	size_t vec_pages;
};

int pagecache_open(struct pagecache *p, int fd, uint64_t bytes);
void pagecache_close(struct pagecache *p);
/* Share of the pages of a range that are in memory; NaN when the kernel does not tell. */
double pagecache_share(struct pagecache *p, uint64_t offset, uint64_t len);
/* Share of some pages, spread over the file, readable without waiting; NaN if the file system
 * has no such reads. The question may begin to read a missing page, which counts as missing. The
 * share is a second witness: to strangers mincore(2) reports all pages as in memory. */
double pagecache_share_at_once(struct pagecache *p, int fd);
/* Writes dirty pages and drops all, as mincore(2) and reads that do not wait confirm; NW_ECONFLICT
 * if pages stay. */
int pagecache_drop(struct pagecache *p, int fd);
/* Reads the whole file; NW_ECONFLICT if pages are missing afterwards (memory is too small), by
 * either witness. */
int pagecache_fill(struct pagecache *p, int fd);

#endif
