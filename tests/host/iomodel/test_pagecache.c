/* SPDX-License-Identifier: BSD-3-Clause */
/* A file goes into the page cache and out of it, and both witnesses tell the same. */
#include "host/iomodel/pagecache.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "narrows/err.h"
#include "tests/check.h"

enum { MIB = 1 << 20, FILE_BYTES = 8 * MIB, ROUNDS = 100 };

static int
make_file(const char *dir)
{
	static char block[MIB];
	char path[256];
	int fd, i;

	snprintf(path, sizeof(path), "%s/test_pagecache.XXXXXX", dir);
	if ((fd = mkstemp(path)) < 0)
		return -1;
	unlink(path);
	memset(block, 'x', sizeof(block));
	for (i = 0; i < FILE_BYTES / MIB; i++)
		CHECK(write(fd, block, sizeof(block)) == (ssize_t)sizeof(block));
	return fd;
}

/* A missing page whose read ends within the question counts as missing. On a fast device one of
 * some thousand such reads ends in time. */
static void
test_missing_at_once(struct pagecache *p, int fd)
{
	double at_once = 0;
	int i;

	for (i = 0; i < ROUNDS && (isnan(at_once) || at_once == 0); i++) {
		CHECK_INT(pagecache_drop(p, fd), NW_OK);
		at_once = pagecache_share_at_once(p, fd);
	}
	CHECK(isnan(at_once) || at_once == 0);
}

/* Returns false if this file system keeps its files in memory. */
static bool
test_states(int fd)
{
	static char block[2 * MIB];
	struct pagecache p;
	double at_once;

	CHECK_INT(pagecache_open(&p, fd, FILE_BYTES), NW_OK);
	CHECK_INT(pagecache_fill(&p, fd), NW_OK);
	CHECK(pagecache_share(&p, 0, FILE_BYTES) > 0.999);
	at_once = pagecache_share_at_once(&p, fd);
	CHECK(isnan(at_once) || at_once > 0.9);
	if (pagecache_drop(&p, fd) != NW_OK) {
		pagecache_close(&p);
		return false;
	}
	CHECK(pagecache_share(&p, 0, FILE_BYTES) < 0.001);
	test_missing_at_once(&p, fd);
	/* a quarter comes back */
	CHECK_INT(pagecache_drop(&p, fd), NW_OK);
	CHECK(pread(fd, block, sizeof(block), 0) == (ssize_t)sizeof(block));
	CHECK(pagecache_share(&p, 0, 2 * MIB) > 0.999);
	CHECK(pagecache_share(&p, 0, FILE_BYTES) >= 0.25);
	CHECK(pagecache_share(&p, FILE_BYTES - MIB, MIB) < 0.5);
	CHECK(isnan(pagecache_share(&p, FILE_BYTES, 1)));
	pagecache_close(&p);
	return true;
}

int
main(void)
{
	static const char *const dirs[] = { "/var/tmp", "/tmp", "." };
	bool tested = false;
	size_t i;
	int fd;

	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]) && !tested; i++) {
		if ((fd = make_file(dirs[i])) < 0)
			continue;
		tested = test_states(fd);
		close(fd);
	}
	if (!tested)
		printf("no directory here is on a disk: the drop is not tested\n");
	return check_done("pagecache");
}
