/* SPDX-License-Identifier: BSD-3-Clause */
/* The mount of a file: the longest point counts, of two at one place the later, and escaped names
 * are read. */
#include "host/lib/mount.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static uint64_t
dev_of(unsigned major, unsigned minor)
{
	return (uint64_t)major << 32 | minor;
}

/* The number of the device decides before the name, and the name where no mount has the number. */
static void
test_devices(void)
{
	static const struct {
		unsigned major, minor;
		const char *path, *point, *type;
	} cases[] = { { 0, 27, "/data two/x", "/data two", "nfs4" },
		{ 0, 27, "", "/data two", "nfs4" }, { 0, 26, "/data/x", "/data", "xfs" },
		{ 0, 99, "/data/deep/er/x", "/data/deep/er", "btrfs" },
		{ 254, 0, "/data/x", "/", "ext4" } };
	struct mount m;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(mount_find_device(
			      mountinfo, dev_of(cases[i].major, cases[i].minor), cases[i].path, &m),
		    NW_OK);
		CHECK_STR(m.point, cases[i].point);
		CHECK_STR(m.type, cases[i].type);
	}
	CHECK_INT(mount_find_device(mountinfo, dev_of(0, 99), "", &m), NW_ENOTFOUND);
}

static void
test_addresses(void)
{
	static const struct {
		const char *line, *address;
	} cases[] = { { "40 22 0:50 / /n rw - nfs4 nas:/x rw,vers=4.2,clientaddr=10.0.0.9,"
			"addr=10.0.0.5",
			  "10.0.0.5" },
		{ "40 22 0:50 / /n rw - nfs4 nas:/x rw,addr=fe80::1,hard\n1 2 0:1 / /o rw - x y "
		  "addr=1",
		    "fe80::1" },
		{ "40 22 0:50 / /n rw - cifs //nas/s rw,mountaddr=1", "" },
		{ "40 22 0:50 / /n rw - cifs //nas/s rw,addr=", "" } };
	struct mount m;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(mount_find_in(cases[i].line, "/n/x", &m), NW_OK);
		CHECK_STR(m.address, cases[i].address);
	}
}

/* Lines that a mount's owner has made long, or broken. */
static void
test_hostile(void)
{
	static char text[8000];
	struct mount m;

	snprintf(text, sizeof(text), "1 2 0:5 / /%0*d rw - fuse.%0*d %0*d rw,addr=%0*d\n", 2000, 1,
	    1000, 2, 1000, 3, 1000, 4);
	CHECK_INT(mount_find_device(text, 5, "", &m), NW_OK);
	CHECK_INT(strlen(m.point), MOUNT_TEXT_BYTES - 1);
	CHECK_INT(strlen(m.type), MOUNT_TEXT_BYTES - 1);
	CHECK_STR(m.address, "");
	CHECK_INT(
	    mount_find_in("1 2 0:5 / /x rw - ext4\n3 4 0:6 / /x rw - b c\n", "/x", &m), NW_OK);
	CHECK_STR(m.type, "b");
	CHECK_INT(mount_find_in(" \n - \n1 2 3 4 5 - \n\n", "/x", &m), NW_ENOTFOUND);
}

static void
test_tables(void)
{
	char *text = mount_table_read(0);

	CHECK(text != NULL && strstr(text, " / ") != NULL);
	free(text);
	CHECK(mount_table_read(999999999) == NULL);
}

int
main(void)
{
	test_points();
	test_devices();
	test_addresses();
	test_hostile();
	test_tables();
	return check_done("mount");
}
