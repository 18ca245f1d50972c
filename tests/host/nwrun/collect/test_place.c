/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices in a tree like /sys, and the loopback interface, which every system has. */
#include "host/nwrun/collect/place.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/check.h"

static char dir[] = "/tmp/test_place.XXXXXX";

static void
shell(const char *command)
{
	CHECK_INT(system(command), 0);
}

static void
test_devices(void)
{
	static const struct {
		unsigned major, minor;
		const char *device; /* NULL: not known */
	} cases[] = {
		{ 8, 0, "sda" }, { 8, 1, "sda" }, /* a partition */
		{ 253, 0, "dm-0" }, { 104, 0, "cciss/c0d0" },
		{ 0, 45, NULL }, /* no block device: memory, or a network */
		{ 9, 9, NULL },  /* a dangling link */
	};
	char out[PLACE_BYTES];
	size_t i;

	CHECK(mkdtemp(dir) != NULL && chdir(dir) == 0);
	shell("mkdir -p dev devices/pci/block/sda/sda1 devices/virtual/block/dm-0 "
	      "'devices/pci/block/cciss!c0d0' && echo 1 >devices/pci/block/sda/sda1/partition");
	shell("cd dev && ln -s ../devices/pci/block/sda 8:0 && ln -s ../nowhere 9:9 && "
	      "ln -s ../devices/pci/block/sda/sda1 8:1 && "
	      "ln -s ../devices/virtual/block/dm-0 253:0 && "
	      "ln -s '../devices/pci/block/cciss!c0d0' 104:0");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool known = place_of_device("dev", makedev(cases[i].major, cases[i].minor), out);

		CHECK_INT(known, cases[i].device != NULL);
		if (known && cases[i].device != NULL)
			CHECK_STR(out, cases[i].device);
	}
	CHECK(!place_of_file(45, out));
	CHECK(!place_of_file(UINT64_MAX, out));
	CHECK(chdir("/") == 0);
}

/* Files of several file systems in turns, each after a file of the same and of another. */
static void
test_turns(void)
{
	static const char *const paths[] = { "/proc/self/stat", "/proc/self/status", "/bin/sh",
		"/bin/ls", "/dev/null", "/bin/sh", "/sys/kernel", "/tmp", "/proc/self/stat" };
	char found[PLACE_BYTES], wanted[PLACE_BYTES];
	struct stat st;
	bool known;
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (stat(paths[i], &st) != 0)
			continue;
		known = place_of_device("/sys/dev/block", st.st_dev, wanted);
		CHECK_INT(place_of_file((uint64_t)major(st.st_dev) << 32 | minor(st.st_dev), found),
		    known);
		if (known)
			CHECK_STR(found, wanted);
	}
}

static void
test_addresses(void)
{
	struct net_addr loopback = { .family = AF_INET, .ip = { 127, 0, 0, 7 } };
	struct net_addr six = { .family = AF_INET6, .ip = { [15] = 1 } };
	struct net_addr nobody = { .family = AF_INET, .ip = { 192, 0, 2, 77 } };
	char out[PLACE_BYTES];

	CHECK(place_of_address(&loopback, out));
	CHECK_STR(out, "lo");
	if (place_of_address(&six, out)) /* not every system has IPv6 */
		CHECK_STR(out, "lo");
	CHECK(!place_of_address(&nobody, out));
}

int
main(void)
{
	char command[64];

	test_devices();
	test_turns();
	test_addresses();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	shell(command);
	return check_done("test_place");
}
