/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/probe/blockqueue.h"

#include <math.h>

#include "host/blipp/probe/scan.h"
#include "narrows/err.h"

#define BLKIO "/sys/fs/cgroup/blkio/blkio.throttle."

/* A device whose counts rest for so long, with nothing in flight, has nothing waiting, unless a
 * throttle is so slow that a large request rests longer. */
static const int64_t REST_NS = 1000000000;
static const double SLOW_BYTES_PER_S = 1 << 20;

static struct block_device *
device_find(struct blockqueue *q, uint64_t major, uint64_t minor)
{
	size_t i;

	for (i = 0; i < q->n; i++)
		if (q->list[i].major == major && q->list[i].minor == minor)
			return &q->list[i];
	return NULL;
}

static struct block_device *
device_of(struct blockqueue *q, uint64_t major, uint64_t minor)
{
	struct block_device *d = device_find(q, major, minor);

	if (d != NULL || q->n == BLOCK_DEVICES_MAX)
		return d;
	d = &q->list[q->n++];
	*d = (struct block_device){ .major = major, .minor = minor };
	return d;
}

/* "253:1 " at the begin of a line. */
static struct block_device *
device_scan(struct blockqueue *q, struct scan *line)
{
	uint64_t major, minor;

	if (!scan_u64(line, &major) || line->at == line->end || *line->at++ != ':' ||
	    !scan_u64(line, &minor))
		return NULL;
	return device_of(q, major, minor);
}

void
blockqueue_parse(struct blockqueue *q, struct scan text)
{
	struct block_device *d;
	struct scan line, word;
	uint64_t n;

	while (scan_line(&text, &line)) {
		if ((d = device_scan(q, &line)) == NULL || !scan_word(&line, &word) ||
		    !scan_u64(&line, &n))
			continue;
		if (scan_is(word, "Read"))
			d->way[BLOCK_READ].submitted = n;
		else if (scan_is(word, "Write"))
			d->way[BLOCK_WRITE].submitted = n;
	}
}

static void
limits_parse(struct blockqueue *q, int way, struct scan text)
{
	struct block_device *d;
	struct scan line;
	uint64_t n;
	size_t i;

	for (i = 0; i < q->n; i++)
		q->list[i].way[way].limit = BLOCK_UNLIMITED;
	while (scan_line(&text, &line))
		if ((d = device_scan(q, &line)) != NULL && scan_u64(&line, &n))
			d->way[way].limit = (double)n;
}

void
blockqueue_look(struct blockqueue *q, struct procfs_buf *buf)
{
	static const char *const limits[] = { BLKIO "read_bps_device", BLKIO "write_bps_device" };
	struct scan text;
	int way, rc;

	if (q->absent)
		return;
	rc = procfs_read(&q->submitted, BLKIO "io_service_bytes_recursive", buf, &text);
	q->absent = !q->looked && rc < 0;
	q->looked = true;
	if (rc < 0)
		return;
	blockqueue_parse(q, text);
	for (way = 0; way < BLOCK_WAYS; way++)
		if (procfs_read(&q->limits[way], limits[way], buf, &text) == NW_OK)
			limits_parse(q, way, text);
}

/* Keeps the device's present counts. Returns true if a count has changed since the last call. */
static bool
counts_take(struct block_device *d, const uint64_t done[BLOCK_WAYS])
{
	struct block_way *w;
	bool moved = false;
	int way;

	for (way = 0; way < BLOCK_WAYS; way++) {
		w = &d->way[way];
		moved |= w->done_before != done[way] || w->submitted_before != w->submitted;
		w->done_before = done[way];
		w->submitted_before = w->submitted;
	}
	return moved;
}

static bool
is_slow(double limit)
{
	return limit != BLOCK_UNLIMITED && limit <= SLOW_BYTES_PER_S;
}

/* A device at rest has an empty queue: the counts may differ by what was done before the control
 * groups began to count, and by errors. */
static void
rest_look(struct block_device *d, bool moved, int64_t t_wall_ns)
{
	bool rests;
	int way;

	if (!d->known || moved)
		d->rest_wall_ns = t_wall_ns;
	rests = t_wall_ns - d->rest_wall_ns >= REST_NS;
	for (way = 0; way < BLOCK_WAYS; way++)
		if (!d->known || (rests && !is_slow(d->way[way].limit)))
			d->way[way].ahead = d->way[way].submitted - d->way[way].done_before;
	d->known = true;
}

void
blockqueue_of(struct blockqueue *q, uint64_t major, uint64_t minor, const uint64_t done[BLOCK_WAYS],
    uint64_t inflight, int64_t t_wall_ns, double queued[BLOCK_WAYS], double limit[BLOCK_WAYS])
{
	struct block_device *d = device_find(q, major, minor);
	int64_t waits;
	int way;

	if (d != NULL)
		rest_look(d, counts_take(d, done) || inflight > 0, t_wall_ns);
	for (way = 0; way < BLOCK_WAYS; way++) {
		queued[way] = NAN;
		limit[way] = BLOCK_UNLIMITED;
		if (d == NULL)
			continue;
		waits = (int64_t)(d->way[way].submitted - done[way] - d->way[way].ahead);
		queued[way] = waits > 0 ? (double)waits : 0;
		limit[way] = d->way[way].limit;
	}
}

void
blockqueue_close(struct blockqueue *q)
{
	int way;

	procfs_close(&q->submitted);
	for (way = 0; way < BLOCK_WAYS; way++)
		procfs_close(&q->limits[way]);
}
