/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/probe/quiet.h"

#include "host/blipp/probe/probe.h"
#include "narrows/err.h"

/* Looks that follow each other at once say nothing of a rate. */
#define LOOKS_APART_NS INT64_C(100000000)

int
quiet_look(struct quiet *q, struct procfs_buf *buf, int64_t now_mono_ns)
{
	int64_t passed_ns = now_mono_ns - q->look_mono_ns;
	double bytes = 0;
	struct net_line n;
	struct scan text;
	int rc;

	if (q->look_mono_ns != 0 && passed_ns < LOOKS_APART_NS)
		return NW_OK;
	if ((rc = procfs_read(&q->file, "/proc/net/dev", buf, &text)) < 0)
		return rc;
	while (net_next(&text, &n))
		if (!scan_is(n.interface, "lo"))
			bytes += (double)n.v[NET_BYTES_IN] + (double)n.v[NET_BYTES_OUT];
	q->known = q->look_mono_ns != 0;
	/* a vanished interface takes its bytes along: no rate either */
	q->bytes_per_s =
	    bytes >= q->bytes ? (bytes - q->bytes) / ((double)passed_ns / 1e9) : QUIET_BYTES_PER_S;
	q->bytes = bytes;
	q->look_mono_ns = now_mono_ns;
	return NW_OK;
}
