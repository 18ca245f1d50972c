/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/diskstats of old and new kernels. */
#include "host/blipp/probe/probe.h"

#include "tests/check.h"

static const char text[] = "   8       0 sda 100 5 2048 40 200 6 4096 80 3 110 120\n"
			   "this is no line of it\n"
			   " 259       0 nvme0n1 83445 11529 6607586 98993 12998 8578 2030712 3943 "
			   "0 14080 103510 6183 61 403960 512 1938 60\n"
			   "   7       0 loop0 0 0 0\n"
			   " 253       1 cciss/c0d0 1 2 3 4 5 6 7 8 9 10 11";

int
main(void)
{
	struct scan s = scan_text(text, sizeof(text) - 1);
	struct disk_line d;

	CHECK(disk_next(&s, &d));
	CHECK(scan_is(d.device, "sda"));
	CHECK_INT(d.v[DISK_READS], 100);
	CHECK_INT(d.v[DISK_SECTORS_READ], 2048);
	CHECK_INT(d.v[DISK_SECTORS_WRITTEN], 4096);
	CHECK_INT(d.v[DISK_INFLIGHT], 3);
	CHECK_INT(d.v[DISK_IO_MS], 110);
	CHECK_INT(d.v[DISK_WEIGHTED_MS], 120);
	CHECK_INT(d.v[DISK_FLUSH_MS], 0);
	CHECK(disk_next(&s, &d));
	CHECK(scan_is(d.device, "nvme0n1"));
	CHECK_INT(d.v[DISK_WRITE_MS], 3943);
	CHECK_INT(d.v[DISK_SECTORS_DISCARDED], 403960);
	CHECK_INT(d.v[DISK_FLUSHES], 1938);
	CHECK_INT(d.v[DISK_FLUSH_MS], 60);
	CHECK(disk_next(&s, &d));
	CHECK(scan_is(d.device, "cciss/c0d0"));
	CHECK_INT(d.v[DISK_WEIGHTED_MS], 11);
	CHECK(!disk_next(&s, &d));
	return check_done("probe_disk");
}
