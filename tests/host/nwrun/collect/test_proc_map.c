/* SPDX-License-Identifier: BSD-3-Clause */
/* Of all maps of a process the largest on a file system of FUSE is found, and no other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/nwrun/collect/proc_facts.h"
#include "tests/check.h"

static const char mounts[] = "22 1 0:29 / / rw - overlay overlay rw\n"
			     "30 22 0:24 / /dev/shm rw - tmpfs tmpfs rw\n"
			     "41 22 0:42 / /far rw - fuse.sshfs me@nas:/export rw\n"
			     "42 22 8:1 / /disk rw - ext4 /dev/sda1 rw\n";

static struct proc_map
found(const char *text)
{
	FILE *f = fmemopen((void *)text, strlen(text), "r");
	struct proc_map m;

	if (f == NULL)
		abort();
	proc_map_find(f, mounts, &m);
	fclose(f);
	return m;
}

static void
test_largest(void)
{
	struct proc_map m = found(
	    "7f0000000000-7f0009000000 r--p 00000000 00:1d 77     /usr/lib/large.so\n"
	    "7f0010000000-7f0010100000 r--s 00000000 00:2a 2      /far/small\n"
	    "7f0020000000-7f0020200000 r--s 00000000 00:2a 3      /far/of two words (deleted)\n"
	    "7f0030000000-7f0030100000 r--s 00000000 00:2a 4      /far/last\n"
	    "7f0040000000-7f0049000000 rw-s 00000000 00:18 5      /dev/shm/region\n"
	    "7f0050000000-7f0059000000 r--s 00000000 08:01 6      /disk/file\n"
	    "7f0060000000-7f0069000000 rw-p 00000000 00:00 0 \n"
	    "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0      [stack]\n");

	CHECK(m.bytes == 0x200000 && m.dev == 42);
	CHECK_STR(m.path, "/far/of two words (deleted)");
}

static void
test_none(void)
{
	CHECK(found("7f0000000000-7f0009000000 r--p 00000000 00:1d 77 /usr/lib/a.so\n").bytes == 0);
	CHECK(found("nonsense\n-\n\n").bytes == 0);
	/* a name below the mount on another device */
	CHECK(found("7f0000000000-7f0009000000 r--p 00000000 00:30 77 /far/a\n").bytes == 0);
	CHECK(found("7f0009000000-7f0000000000 r--p 00000000 00:2a 77 /far/a\n").bytes == 0);
}

int
main(void)
{
	test_largest();
	test_none();
	return check_done("proc_map");
}
