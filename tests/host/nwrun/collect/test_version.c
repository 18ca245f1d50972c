/* SPDX-License-Identifier: BSD-3-Clause */
/* The identity of a build, out of files of every kind. */
#include "host/nwrun/collect/version.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/check.h"

enum { HEAD_BYTES = 4096 };

/* Any bytes may be in a file that somebody runs: each byte of the head is broken in turn. */
static void
test_broken(const uint8_t head[HEAD_BYTES], ssize_t len)
{
	char path[] = "/tmp/test_version.XXXXXX", id[VERSION_ID_BYTES];
	int fd = mkstemp(path), i;
	uint8_t v;

	CHECK(fd >= 0 && !version_id_read(fd, id));
	CHECK_INT(pwrite(fd, head, (size_t)len, 0), len);
	for (i = 0; i < len && i < 1200; i++) {
		v = (uint8_t)~head[i];
		CHECK_INT(pwrite(fd, &v, 1, i), 1);
		memset(id, 0, sizeof(id));
		if (version_id_read(fd, id))
			CHECK(strlen(id) % 2 == 0 && strlen(id) < VERSION_ID_BYTES);
		CHECK_INT(pwrite(fd, &head[i], 1, i), 1);
	}
	close(fd);
	unlink(path);
}

int
main(void)
{
	uint8_t head[HEAD_BYTES];
	char id[VERSION_ID_BYTES] = "", again[VERSION_ID_BYTES] = "";
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t len = pread(fd, head, sizeof(head), 0);

	CHECK(version_id_read(fd, id) && version_id_read(fd, again));
	CHECK_STR(id, again);
	CHECK(strlen(id) >= 16 && strspn(id, "0123456789abcdef") == strlen(id));
	close(fd);
	CHECK(len > 1000);
	test_broken(head, len);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK(!version_id_read(fd, id));
	close(fd);
	return check_done("test_version");
}
