/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * /sys/class/net: speed, duplex, MTU and carrier of the interfaces that have moved anything, and
 * the packets that found a ring full. Most of these change seldom, so the probe looks every 16
 * seconds at most.
 */
#include "host/blipp/probe/probe.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "narrows/clock.h"
#include "narrows/err.h"

#define PERIOD_NS INT64_C(15500000000)

static const struct series_field fields[] = {
	{ "speed_bit_s", "bit/s", false },
	{ "full_duplex", "1", false },
	{ "mtu", "By", false },
	{ "carrier", "1", false },
	{ "carrier_changes", "{event}", true },
	{ "tx_queue_length", "{packet}", false },
	{ "ring_drops_in", "{packet}", true },
};
static const struct series_kind kind = { SERIES_PREFIX "network:link", "interface", fields,
	sizeof(fields) / sizeof(fields[0]) };

struct link_probe {
	struct procfs_file file;
	struct series_set interfaces;
	int64_t next_mono_ns;
};

/* dir: the interface's directory. */
static bool
read_sys(int dir, const char *name, char *text, size_t cap)
{
	ssize_t n;
	int fd;

	if ((fd = openat(dir, name, O_RDONLY | O_CLOEXEC)) < 0)
		return false;
	n = read(fd, text, cap - 1); /* EINVAL where the link is down */
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* NaN: the interface has no such number. */
static double
read_number(int dir, const char *name)
{
	char text[32], *end;
	long long n;

	if (!read_sys(dir, name, text, sizeof(text)))
		return NAN;
	n = strtoll(text, &end, 10);
	return end == text || n < 0 ? NAN : (double)n;
}

static int
link_send(struct series *s, struct report *r)
{
	char path[SERIES_DEVICE_BYTES + 16], duplex[16];
	double full;
	int dir, rc;

	snprintf(path, sizeof(path), "/sys/class/net/%s", s->device);
	if ((dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
		return NW_OK; /* it has just gone */
	full = !read_sys(dir, "duplex", duplex, sizeof(duplex)) ? NAN
	    : strncmp(duplex, "full", 4) == 0                   ? 1
	    : strncmp(duplex, "half", 4) == 0                   ? 0
								: NAN;
	rc = series_send(s, &kind, r,
	    (const double[]){ read_number(dir, "speed") * 1e6, full, read_number(dir, "mtu"),
		read_number(dir, "carrier"), read_number(dir, "carrier_changes"),
		read_number(dir, "tx_queue_len"),
		read_number(dir, "statistics/rx_missed_errors") });
	close(dir);
	return rc;
}

static int
sample(void *state, struct report *r, struct procfs_buf *buf)
{
	struct link_probe *p = state;
	int64_t now_mono_ns = nw_mono_ns();
	struct net_line n;
	struct series *s;
	struct scan text;
	int rc;

	if (now_mono_ns < p->next_mono_ns)
		return NW_OK;
	p->next_mono_ns = now_mono_ns + PERIOD_NS;
	if ((rc = procfs_read(&p->file, "/proc/net/dev", buf, &text)) < 0)
		return rc;
	while (rc == NW_OK && net_next(&text, &n)) {
		s = series_set_get(
		    &p->interfaces, n.interface.at, (size_t)(n.interface.end - n.interface.at));
		if (s != NULL && n.v[NET_PACKETS_IN] + n.v[NET_PACKETS_OUT] > 0 &&
		    filter_takes(&r->filter, s->device))
			rc = link_send(s, r);
	}
	series_set_sweep(&p->interfaces, r);
	return rc;
}

static void
clear(void *state)
{
	struct link_probe *p = state;

	procfs_close(&p->file);
	series_set_clear(&p->interfaces);
}

const struct probe probe_link = {
	.name = "link",
	.source = "/sys/class/net",
	.event_type = SERIES_PREFIX "network:link",
	.kinds = { &kind },
	.state_bytes = sizeof(struct link_probe),
	.sample = sample,
	.clear = clear,
};
