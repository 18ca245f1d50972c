/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes that wait in front of block devices. A throttle of a control group holds requests back
 * before the device's own queue, so /proc/diskstats shows an idle device. Control groups of
 * version 1 count bytes when they are submitted and /proc/diskstats counts them when they are done:
 * the difference is the queue, with or without a throttle. Version 2 counts behind the throttle,
 * and has no such difference.
 */
#ifndef BLIPP_BLOCKQUEUE_H
#define BLIPP_BLOCKQUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/blipp/probe/procfs.h"

enum { BLOCK_READ, BLOCK_WRITE, BLOCK_WAYS };
enum { BLOCK_DEVICES_MAX = 64, BLOCK_UNLIMITED = 0 };

struct block_way {
	uint64_t submitted;                     /* bytes by the control groups, at this look */
	uint64_t submitted_before, done_before; /* bytes by either count, at the look before */
	uint64_t ahead;                         /* submitted less done while nothing waited */
	double limit; /* bytes/s that the root group may move, or BLOCK_UNLIMITED */
};

struct block_device {
	uint64_t major, minor;
	struct block_way way[BLOCK_WAYS];
	bool known;           /* whether the device has been looked at before */
	int64_t rest_wall_ns; /* time since which no count has moved */
};

struct blockqueue {
	struct procfs_file submitted, limits[BLOCK_WAYS];
	bool looked, absent; /* absent: the first look found no control groups of version 1 */
	struct block_device list[BLOCK_DEVICES_MAX];
	size_t n;
}; /* zero to start */

/* Reads the control groups' counts; comes before /proc/diskstats is read, so that no byte seems to
 * wait that is on its way. */
void blockqueue_look(struct blockqueue *q, struct procfs_buf *buf);
/* The same from a text of blkio.throttle.io_service_bytes. */
void blockqueue_parse(struct blockqueue *q, struct scan text);
/* Sets the bytes that wait for a device that has done so many bytes and has so many operations in
 * flight (NaN where nothing is known), and the device's limits. */
void
blockqueue_of(struct blockqueue *q, uint64_t major, uint64_t minor, const uint64_t done[BLOCK_WAYS],
    uint64_t inflight, int64_t t_wall_ns, double queued[BLOCK_WAYS], double limit[BLOCK_WAYS]);
void blockqueue_close(struct blockqueue *q);

#endif
