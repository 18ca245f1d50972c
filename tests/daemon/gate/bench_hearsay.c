/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of announcements: fireflies of a thousand flows, read and taken into the table. Prints
 * microseconds of a processor per datagram, and the share of a core for 20,000 a second. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "narrows/announce.h"
#include "narrows/clock.h"
#include "narrows/err.h"

enum { DATAGRAMS = 200000, FLOWS = 1000 };

static int record;
static unsigned long rows;

static void *
on_begin(void *arg, const char *source, const struct nw_announcement *n)
{
	(void)arg;
	(void)source;
	(void)n;
	return &record;
}

static void
on_row(void *arg, void *flow, const struct nw_announcement *n)
{
	(void)arg;
	(void)flow;
	(void)n;
	rows++;
}

static void
on_end(void *arg, void *flow)
{
	(void)arg;
	(void)flow;
}

int
main(void)
{
	const struct nw_flows_ops ops = { on_begin, on_row, on_end, NULL };
	struct nw_flows *f = nw_flows_new(&ops, 1000000);
	struct nw_announcement a;
	unsigned long taken = 0;
	struct nw_networks n;
	char text[1500];
	const char *why;
	double us;
	clock_t begin;
	int i, len;

	if (f == NULL || nw_networks_parse("192.0.2.0/24 10.0.0.0/8", &n, &why) < 0)
		return 1;
	begin = clock();
	for (i = 0; i < DATAGRAMS; i++) {
		len = snprintf(text, sizeof(text),
		    "<134>1 - vm xrootd - firefly-json - {\"version\":1,\"flow-lifecycle\":{"
		    "\"state\":\"ongoing\",\"current-time\":\"2026-11-23T01:%02d:%02d.%06d+00:00\","
		    "\"start-time\":\"2026-11-23T01:18:56.984221+00:00\"},\"usage\":{\"received\":"
		    "1190,\"sent\":%d},\"netlink\":{\"rtt\":2.295},\"context\":{\"experiment-id\":"
		    "2,"
		    "\"activity-id\":9,\"application\":\"xrdcp\"},\"flow-id\":{\"afi\":\"ipv4\","
		    "\"src-ip\":\"10.1.0.1\",\"dst-ip\":\"10.2.0.2\",\"protocol\":\"tcp\","
		    "\"src-port\":10940,\"dst-port\":%d}}",
		    20 + i / 60000, i / 1000 % 60, i % 1000000, i, 1 + i % FLOWS);
		if (nw_flows_may(f, "10.1.0.1", i) &&
		    nw_firefly_read((const uint8_t *)text, (size_t)len, &a, &why) == NW_OK &&
		    nw_networks_have_text(&n, a.src))
			taken += nw_flows_take(f, "10.1.0.1", &a, a.t_wall_ns,
				     (int64_t)i * 1000000) == NW_FLOWS_TAKEN;
	}
	us = (double)(clock() - begin) * 1e6 / CLOCKS_PER_SEC / DATAGRAMS;
	printf(
	    "%d announcements, %lu taken, %lu rows: %.2f us each; 20,000 a second take %.1f %% of "
	    "a core\n",
	    DATAGRAMS, taken, rows, us, us * 20000 / 1e4);
	nw_flows_free(f);
	return 0;
}
