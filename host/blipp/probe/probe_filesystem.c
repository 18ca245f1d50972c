/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * statvfs(3) of every mounted file system on a local device, by mount point: a full disk explains a
 * transfer that stops. Network and user space file systems are left out, because the call may hang
 * there; of several mounts of one device the first stands for all.
 */
#include "host/blipp/probe/probe.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "narrows/err.h"

enum { SOURCES_MAX = 128 };

static const struct series_field fields[] = {
	{ "total_bytes", "By", false },
	{ "free_bytes", "By", false },
	{ "available_bytes", "By", false },
	{ "files", "{inode}", false },
	{ "files_free", "{inode}", false },
};
static const struct series_kind kind = { SERIES_PREFIX "filesystem", "mountpoint", fields,
	sizeof(fields) / sizeof(fields[0]) };

struct filesystem_probe {
	struct procfs_file file;
	struct series_set mounts;
};

/* The kernel writes blanks and backslashes in names as three octal digits. */
static bool
unescape(struct scan name, char out[SERIES_DEVICE_BYTES])
{
	size_t n = 0;

	for (; name.at < name.end; name.at++) {
		if (n + 1 >= SERIES_DEVICE_BYTES)
			return false;
		if (*name.at == '\\' && name.end - name.at >= 4) {
			out[n++] = (char)((name.at[1] - '0') << 6 | (name.at[2] - '0') << 3 |
			    (name.at[3] - '0'));
			name.at += 3;
		} else {
			out[n++] = *name.at;
		}
	}
	out[n] = '\0';
	return n > 0;
}

bool
mount_next(struct scan *text, struct mount_line *out)
{
	struct scan line, mountpoint, type;

	while (scan_line(text, &line))
		if (scan_word(&line, &out->source) && scan_word(&line, &mountpoint) &&
		    scan_word(&line, &type) && (*out->source.at == '/' || scan_is(type, "zfs")) &&
		    !(type.end - type.at >= 4 && memcmp(type.at, "fuse", 4) == 0) &&
		    unescape(mountpoint, out->mountpoint))
			return true;
	return false;
}

static bool
is_known(const struct scan *seen, size_t n, struct scan source)
{
	size_t i, len = (size_t)(source.end - source.at);

	for (i = 0; i < n; i++)
		if ((size_t)(seen[i].end - seen[i].at) == len &&
		    memcmp(seen[i].at, source.at, len) == 0)
			return true;
	return false;
}

static int
mount_send(struct filesystem_probe *p, const struct mount_line *m, struct report *r)
{
	struct series *s = series_set_get(&p->mounts, m->mountpoint, strlen(m->mountpoint));
	struct statvfs v;
	double unit;

	if (s == NULL || !filter_takes(&r->filter, m->mountpoint) ||
	    statvfs(m->mountpoint, &v) != 0)
		return NW_OK;
	unit = (double)v.f_frsize;
	return series_send(s, &kind, r,
	    (const double[]){ (double)v.f_blocks * unit, (double)v.f_bfree * unit,
		(double)v.f_bavail * unit, (double)v.f_files, (double)v.f_ffree });
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	struct filesystem_probe *p = state;
	struct scan text, seen[SOURCES_MAX];
	struct mount_line m;
	size_t n = 0;
	int rc;

	if ((rc = procfs_read(&p->file, "/proc/self/mounts", buf, &text)) < 0)
		return rc;
	while (rc == NW_OK && n < SOURCES_MAX && mount_next(&text, &m)) {
		if (is_known(seen, n, m.source))
			continue;
		seen[n++] = m.source;
		rc = mount_send(p, &m, r);
	}
	series_set_sweep(&p->mounts, r);
	return rc;
}

static void
clear(void *state)
{
	struct filesystem_probe *p = state;

	procfs_close(&p->file);
	series_set_clear(&p->mounts);
}

const struct probe probe_filesystem = {
	.name = "filesystem",
	.source = "statvfs",
	.event_type = SERIES_PREFIX "filesystem",
	.kinds = { &kind },
	.state_bytes = sizeof(struct filesystem_probe),
	.sample = sample,
	.clear = clear,
};
