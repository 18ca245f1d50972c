/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * /proc/diskstats: whole devices only, because their numbers include their partitions, and only
 * devices that have done anything. A sector has 512 bytes here, whatever the device's own sectors
 * have. Where control groups tell what was submitted, the difference waits in front of the device.
 */
#include "host/blipp/probe/blockqueue.h"
#include "host/blipp/probe/probe.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "narrows/err.h"

enum { SECTOR_BYTES = 512 };

static const struct series_field fields[] = {
	{ "read_bytes", "By", true },
	{ "written_bytes", "By", true },
	{ "reads_issued", "{operation}", true },
	{ "writes_issued", "{operation}", true },
	{ "read_ms", "ms", true },
	{ "write_ms", "ms", true },
	{ "io_ms", "ms", true },
	{ "weighted_io_ms", "ms", true },
	{ "inflight", "{operation}", false },
	{ "reads_merged", "{operation}", true },
	{ "writes_merged", "{operation}", true },
	{ "discards_issued", "{operation}", true },
	{ "discarded_bytes", "By", true },
	{ "discard_ms", "ms", true },
	{ "flushes_issued", "{operation}", true },
	{ "flush_ms", "ms", true },
	{ "queued_read_bytes", "By", false },
	{ "queued_written_bytes", "By", false },
	{ "read_limit", "By/s", false },
	{ "written_limit", "By/s", false },
};
enum { N_FIELDS = sizeof(fields) / sizeof(fields[0]), N_QUEUE_FIELDS = 4 };
static const struct series_kind kind = { NW_TYPE_DISK "partition:", "device", fields,
	N_FIELDS - N_QUEUE_FIELDS },
				kind_queued = { NW_TYPE_DISK "partition:", "device", fields,
					N_FIELDS };

struct disk_probe {
	struct blockqueue queue;
	struct procfs_file file, partitions_file;
	struct procfs_buf partitions;
	struct scan partitions_text; /* of this sample; NULL: not to be had */
	bool partitions_read;        /* tried in this sample */
	struct series_set devices;
};

bool
disk_next(struct scan *text, struct disk_line *out)
{
	struct scan line;

	while (scan_line(text, &line)) {
		if (scan_u64(&line, &out->major) && scan_u64(&line, &out->minor) &&
		    scan_word(&line, &out->device) &&
		    scan_numbers(&line, out->v, DISK_FIELDS) > DISK_WEIGHTED_MS)
			return true; /* discards came with Linux 4.18, flushes with 5.5 */
	}
	return false;
}

/* Whole devices have a directory in /sys/block ("/" in a name is "!" there); asked once per
 * device. */
static bool
is_whole(const char *device)
{
	char path[SERIES_DEVICE_BYTES + 16];
	char *name = stpcpy(path, "/sys/block/"), *p;

	stpcpy(name, device);
	for (p = name; *p != '\0'; p++)
		if (*p == '/')
			*p = '!';
	return access(path, F_OK) == 0;
}

bool
partition_is_listed(struct scan text, const char *device)
{
	char end[SERIES_DEVICE_BYTES + 3];
	size_t len = (size_t)snprintf(end, sizeof(end), " %s\n", device);

	return memmem(text.at, (size_t)(text.end - text.at), end, len) != NULL;
}

/* A loop device without a file behind it keeps the counters of its past, but has no size:
 * /proc/partitions, read once a sample, leaves the device out. */
static bool
is_detached_loop(struct disk_probe *p, const char *device)
{
	if (strncmp(device, "loop", 4) != 0)
		return false;
	if (!p->partitions_read &&
	    procfs_read(
		&p->partitions_file, "/proc/partitions", &p->partitions, &p->partitions_text) < 0)
		p->partitions_text.at = NULL;
	p->partitions_read = true;
	return p->partitions_text.at != NULL && !partition_is_listed(p->partitions_text, device);
}

static int
device_send(struct disk_probe *p, struct report *r, struct series *s, const struct disk_line *d)
{
	const uint64_t done[BLOCK_WAYS] = { d->v[DISK_SECTORS_READ] * SECTOR_BYTES,
		d->v[DISK_SECTORS_WRITTEN] * SECTOR_BYTES };
	double queued[BLOCK_WAYS], limit[BLOCK_WAYS];

	blockqueue_of(
	    &p->queue, d->major, d->minor, done, d->v[DISK_INFLIGHT], r->t_wall_ns, queued, limit);
	return series_send(s, p->queue.absent ? &kind : &kind_queued, r,
	    (const double[]){ (double)done[BLOCK_READ], (double)done[BLOCK_WRITE],
		(double)d->v[DISK_READS], (double)d->v[DISK_WRITES], (double)d->v[DISK_READ_MS],
		(double)d->v[DISK_WRITE_MS], (double)d->v[DISK_IO_MS],
		(double)d->v[DISK_WEIGHTED_MS], (double)d->v[DISK_INFLIGHT],
		(double)d->v[DISK_READS_MERGED], (double)d->v[DISK_WRITES_MERGED],
		(double)d->v[DISK_DISCARDS], (double)d->v[DISK_SECTORS_DISCARDED] * SECTOR_BYTES,
		(double)d->v[DISK_DISCARD_MS], (double)d->v[DISK_FLUSHES],
		(double)d->v[DISK_FLUSH_MS], queued[BLOCK_READ], queued[BLOCK_WRITE],
		limit[BLOCK_READ], limit[BLOCK_WRITE] });
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	struct disk_probe *p = state;
	struct disk_line d;
	struct series *s;
	struct scan text;
	int rc;

	p->partitions_read = false;
	blockqueue_look(&p->queue, buf);
	if ((rc = procfs_read(&p->file, "/proc/diskstats", buf, &text)) < 0)
		return rc;
	while (rc == NW_OK && disk_next(&text, &d)) {
		if (d.v[DISK_READS] == 0 && d.v[DISK_WRITES] == 0)
			continue;
		s = series_set_get(&p->devices, d.device.at, (size_t)(d.device.end - d.device.at));
		if (s == NULL)
			continue;
		if (!s->known) {
			s->known = true;
			s->ignored = !filter_takes(&r->filter, s->device) || !is_whole(s->device);
		}
		if (!s->ignored && !is_detached_loop(p, s->device))
			rc = device_send(p, r, s, &d);
	}
	series_set_sweep(&p->devices, r);
	return rc;
}

static void
clear(void *state)
{
	struct disk_probe *p = state;

	procfs_close(&p->file);
	procfs_close(&p->partitions_file);
	procfs_buf_clear(&p->partitions);
	blockqueue_close(&p->queue);
	series_set_clear(&p->devices);
}

const struct probe probe_disk = {
	.name = "disk",
	.source = "/proc/diskstats",
	.event_type = NW_TYPE_DISK,
	.kinds = { &kind_queued },
	.state_bytes = sizeof(struct disk_probe),
	.sample = sample,
	.clear = clear,
};
