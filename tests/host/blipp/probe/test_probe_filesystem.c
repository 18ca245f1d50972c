/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/self/mounts: local devices, escaped names, and what is left out. */
#include "host/blipp/probe/probe.h"

#include "tests/check.h"

static const char mounts[] =
    "proc /proc proc rw 0 0\n"
    "/dev/vda1 / ext4 rw,relatime 0 0\n"
    "tmpfs /run tmpfs rw 0 0\n"
    "server:/export /mnt nfs rw 0 0\n"
    "/dev/sdb1 /data\\040of\\134us xfs rw 0 0\n"
    "/dev/fuse /home/u/x fuse.sshfs rw 0 0\n"
    "/dev/sdc "
    "/a-name-that-is-longer-than-any-device-may-be-called-in-a-series-of-blipp/and/more ext4 rw\n"
    "/dev/sdd\n";

int
main(void)
{
	struct scan s = scan_text(mounts, sizeof(mounts) - 1);
	struct mount_line m;

	CHECK(mount_next(&s, &m) && scan_is(m.source, "/dev/vda1"));
	CHECK_STR(m.mountpoint, "/");
	CHECK(mount_next(&s, &m) && scan_is(m.source, "/dev/sdb1"));
	CHECK_STR(m.mountpoint, "/data of\\us");
	CHECK(!mount_next(&s, &m));
	return check_done("probe_filesystem");
}
