/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/diskstats of old and new kernels; loop devices of this machine with and without a file. */
#include "host/blipp/probe/probe.h"

#include "narrows/err.h"
#include "tests/check.h"

static const char text[] = "   8       0 sda 100 5 2048 40 200 6 4096 80 3 110 120\n"
			   "this is no line of it\n"
			   " 259       0 nvme0n1 83445 11529 6607586 98993 12998 8578 2030712 3943 "
			   "0 14080 103510 6183 61 403960 512 1938 60\n"
			   "   7       0 loop0 0 0 0\n"
			   " 253       1 cciss/c0d0 1 2 3 4 5 6 7 8 9 10 11";

static const char partitions[] = "major minor  #blocks  name\n"
				 "\n"
				 "   7       10       1024 loop10\n"
				 "   8        0  268435456 sda\n";

/* For struct report: a loop device is sampled while it has a file. */
static int
see(struct report *r, const struct series *s, const struct series_kind *kind, const double *values)
{
	char path[128];

	(void)r;
	(void)kind;
	(void)values;
	snprintf(path, sizeof(path), "/sys/block/%s/loop/backing_file", s->device);
	CHECK(strncmp(s->device, "loop", 4) != 0 || access(path, F_OK) == 0);
	return NW_OK;
}

static void
test_loops(void)
{
	struct scan s = scan_text(partitions, sizeof(partitions) - 1);
	void *state = calloc(1, probe_disk.state_bytes);
	struct report r = { .out = see };
	struct procfs_buf buf = { 0 };

	CHECK(partition_is_listed(s, "loop10") && partition_is_listed(s, "sda"));
	CHECK(!partition_is_listed(s, "loop1") && !partition_is_listed(s, "oop10"));
	CHECK_INT(probe_disk.sample(state, &r, &buf), NW_OK);
	CHECK_INT(probe_disk.sample(state, &r, &buf), NW_OK);
	probe_disk.clear(state);
	procfs_buf_clear(&buf);
	free(state);
}

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
	test_loops();
	return check_done("probe_disk");
}
