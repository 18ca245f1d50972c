/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * statvfs(3) of every mounted file system on a local device, by mount point: a full disk explains a
 * transfer that stops. Network and user space file systems are left out, because the call may hang
 * there; of several mounts of one device the first stands for all.
 *
 * The table of mounts is read when the kernel says that the table has changed, and when a mount
 * point is another file system than before: a directory above it may have been renamed.
 */
#include "host/blipp/probe/probe.h"

#include <poll.h>
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
	/* of the mounts, in their order; looked: the call succeeded */
	struct statvfs now[SOURCES_MAX];
	bool looked[SOURCES_MAX];
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

/* Whether the kernel says that the table has changed since the last question. */
static bool
has_changed(const struct filesystem_probe *p)
{
	struct pollfd fd = { .fd = p->file.fd, .events = POLLPRI };

	return !p->file.open || poll(&fd, 1, 0) != 0;
}

/* Makes the mounts' series those of the table. */
static int
table_read(struct filesystem_probe *p, struct report *r, struct procfs_buf *buf)
{
	struct scan text, seen[SOURCES_MAX];
	struct mount_line m;
	struct series *s;
	size_t n = 0;
	int rc;

	if ((rc = procfs_read(&p->file, "/proc/self/mounts", buf, &text)) < 0)
		return rc;
	while (n < SOURCES_MAX && mount_next(&text, &m)) {
		if (is_known(seen, n, m.source))
			continue;
		seen[n++] = m.source;
		if ((s = series_set_get(&p->mounts, m.mountpoint, strlen(m.mountpoint))) != NULL)
			s->ignored = !filter_takes(&r->filter, m.mountpoint);
	}
	series_set_sweep(&p->mounts, r);
	memset(p->looked, 0, sizeof(p->looked));
	return NW_OK;
}

/* Returns false for a mount that does not answer, or is another than at the last look. */
static bool
mounts_look(struct filesystem_probe *p)
{
	bool same = true, knew;
	unsigned long before;
	size_t i;

	for (i = 0; i < p->mounts.n; i++) {
		if (p->mounts.list[i].ignored)
			continue;
		knew = p->looked[i];
		before = p->now[i].f_fsid;
		p->looked[i] = statvfs(p->mounts.list[i].device, &p->now[i]) == 0;
		same &= p->looked[i] && (!knew || p->now[i].f_fsid == before);
	}
	return same;
}

static int
mount_send(struct series *s, const struct statvfs *v, struct report *r)
{
	double unit = (double)v->f_frsize;

	return series_send(s, &kind, r,
	    (const double[]){ (double)v->f_blocks * unit, (double)v->f_bfree * unit,
		(double)v->f_bavail * unit, (double)v->f_files, (double)v->f_ffree });
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	struct filesystem_probe *p = state;
	int rc = NW_OK;
	size_t i;

	if (has_changed(p) || !mounts_look(p)) {
		if ((rc = table_read(p, r, buf)) < 0)
			return rc;
		(void)mounts_look(p);
	}
	for (i = 0; i < p->mounts.n && rc == NW_OK; i++)
		if (p->looked[i])
			rc = mount_send(&p->mounts.list[i], &p->now[i], r);
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
