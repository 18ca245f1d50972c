/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/net/dev: raw counters of every interface that has moved anything. */
#include "host/blipp/probe/probe.h"

#include "narrows/err.h"

static const struct series_field fields[] = {
	{ "bytes_in", "By", true },
	{ "bytes_out", "By", true },
	{ "packets_in", "{packet}", true },
	{ "packets_out", "{packet}", true },
	{ "errors_in", "{packet}", true },
	{ "errors_out", "{packet}", true },
	{ "drops_in", "{packet}", true },
	{ "drops_out", "{packet}", true },
	{ "fifo_in", "{packet}", true },
	{ "fifo_out", "{packet}", true },
	{ "frame_in", "{packet}", true },
	{ "multicast_in", "{packet}", true },
	{ "collisions", "{packet}", true },
	{ "carrier", "{event}", true },
};
static const struct series_kind kind = { NW_TYPE_NETWORK, "interface", fields,
	sizeof(fields) / sizeof(fields[0]) };

struct net_probe {
	struct procfs_file file;
	struct series_set interfaces;
};

bool
net_next(struct scan *text, struct net_line *out)
{
	struct scan line;

	while (scan_line(text, &line)) {
		/* the name ends at the last colon (an alias has another); the two heading lines
		 * have none */
		const char *colon = memrchr(line.at, ':', (size_t)(line.end - line.at));

		if (colon == NULL)
			continue;
		scan_blanks(&line);
		out->interface = (struct scan){ line.at, colon };
		line.at = colon + 1;
		if (out->interface.at < colon &&
		    scan_numbers(&line, out->v, NET_FIELDS) == NET_FIELDS)
			return true;
	}
	return false;
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	struct net_probe *p = state;
	struct net_line n;
	struct series *s;
	struct scan text;
	int rc;

	if ((rc = procfs_read(&p->file, "/proc/net/dev", buf, &text)) < 0)
		return rc;
	while (rc == NW_OK && net_next(&text, &n)) {
		if (n.v[NET_PACKETS_IN] == 0 && n.v[NET_PACKETS_OUT] == 0)
			continue;
		s = series_set_get(
		    &p->interfaces, n.interface.at, (size_t)(n.interface.end - n.interface.at));
		if (s == NULL)
			continue;
		if (!s->known) {
			s->known = true;
			s->ignored = !filter_takes(&r->filter, s->device);
		}
		if (s->ignored)
			continue;
		rc = series_send(s, &kind, r,
		    (const double[]){ (double)n.v[NET_BYTES_IN], (double)n.v[NET_BYTES_OUT],
			(double)n.v[NET_PACKETS_IN], (double)n.v[NET_PACKETS_OUT],
			(double)n.v[NET_ERRORS_IN], (double)n.v[NET_ERRORS_OUT],
			(double)n.v[NET_DROPS_IN], (double)n.v[NET_DROPS_OUT],
			(double)n.v[NET_FIFO_IN], (double)n.v[NET_FIFO_OUT],
			(double)n.v[NET_FRAME_IN], (double)n.v[NET_MULTICAST_IN],
			(double)n.v[NET_COLLISIONS], (double)n.v[NET_CARRIER] });
	}
	series_set_sweep(&p->interfaces, r);
	return rc;
}

static void
clear(void *state)
{
	struct net_probe *p = state;

	procfs_close(&p->file);
	series_set_clear(&p->interfaces);
}

const struct probe probe_net = {
	.name = "net",
	.source = "/proc/net/dev",
	.event_type = NW_TYPE_NETWORK,
	.kinds = { &kind },
	.state_bytes = sizeof(struct net_probe),
	.sample = sample,
	.clear = clear,
};
