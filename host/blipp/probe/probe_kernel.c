/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/sys/fs: how full the kernel's tables of open files, inodes and names are. */
#include "host/blipp/probe/probe.h"

#include "narrows/err.h"

enum { N_FILES = 3, NUMBERS = 3 };

static const char *const paths[N_FILES] = { "/proc/sys/fs/file-nr", "/proc/sys/fs/inode-nr",
	"/proc/sys/fs/dentry-state" };

static const struct series_field fields[] = {
	{ "open_files", "{file}", false },
	{ "open_files_max", "{file}", false },
	{ "inodes", "{inode}", false },
	{ "inodes_free", "{inode}", false },
	{ "dentries", "{entry}", false },
	{ "dentries_unused", "{entry}", false },
};
static const struct series_kind kind = { SERIES_PREFIX "kernel:tables", NULL, fields,
	sizeof(fields) / sizeof(fields[0]) };

struct kernel_probe {
	struct procfs_file files[N_FILES];
	struct series series;
};

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	uint64_t n[N_FILES][NUMBERS];
	struct kernel_probe *p = state;
	struct scan text;
	int i, rc;

	for (i = 0; i < N_FILES; i++) {
		if ((rc = procfs_read(&p->files[i], paths[i], buf, &text)) < 0)
			return rc;
		if (scan_numbers(&text, n[i], NUMBERS) < 2)
			return NW_EPROTO;
	}
	return series_send(&p->series, &kind, r,
	    (const double[]){ (double)n[0][0], (double)n[0][2], (double)n[1][0], (double)n[1][1],
		(double)n[2][0], (double)n[2][1] });
}

static void
clear(void *state)
{
	struct kernel_probe *p = state;
	int i;

	for (i = 0; i < N_FILES; i++)
		procfs_close(&p->files[i]);
}

const struct probe probe_kernel = {
	.name = "kernel",
	.source = "/proc/sys/fs",
	.event_type = SERIES_PREFIX "kernel:tables",
	.kinds = { &kind },
	.state_bytes = sizeof(struct kernel_probe),
	.sample = sample,
	.clear = clear,
};
