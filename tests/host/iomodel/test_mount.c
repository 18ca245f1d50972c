/* SPDX-License-Identifier: BSD-3-Clause */
/* The mount of a file: the longest point counts, of two at one place the later, and escaped names
 * are read. */
#include "host/iomodel/mount.h"

#include "narrows/err.h"
#include "tests/check.h"

static const char mountinfo[] =
    "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "30 22 0:26 / /data rw - xfs /dev/sdb rw\n"
    "31 22 0:27 / /data\\040two rw shared:1 master:2 - nfs4 server:/export\\134x rw\n"
    "32 22 0:28 / /data rw - tmpfs tmpfs rw\n"
    "no mount at all\n"
    "33 22 0:29 / /data/deep/er rw - btrfs /dev/sdc rw";

static void
test_points(void)
{
	static const struct {
		const char *path, *point, *type, *device;
	} cases[] = { { "/etc/passwd", "/", "ext4", "/dev/vda" },
		{ "/data/file", "/data", "tmpfs", "tmpfs" },
		{ "/database", "/", "ext4", "/dev/vda" }, { "/data", "/data", "tmpfs", "tmpfs" },
		{ "/data two/x", "/data two", "nfs4", "server:/export\\x" },
		{ "/data/deep/er/x", "/data/deep/er", "btrfs", "/dev/sdc" },
		{ "/data/deep/ernest", "/data", "tmpfs", "tmpfs" } };
	struct mount m;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(mount_find_in(mountinfo, cases[i].path, &m), NW_OK);
		CHECK_STR(m.point, cases[i].point);
		CHECK_STR(m.type, cases[i].type);
		CHECK_STR(m.device, cases[i].device);
	}
	CHECK_INT(mount_find_in("", "/x", &m), NW_ENOTFOUND);
	CHECK_INT(mount_find_in("a b c d /only/there rw - ext4 x", "/x", &m), NW_ENOTFOUND);
	CHECK_INT(mount_find("/", &m), NW_OK);
	CHECK_INT(mount_find("/no/such/file", &m), NW_ENOTFOUND);
}

int
main(void)
{
	test_points();
	return check_done("mount");
}
