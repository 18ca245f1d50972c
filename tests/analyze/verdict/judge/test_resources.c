/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of known shares in flight, and the network's share that they add up to. */
#include "analyze/verdict/judge/resources.h"

#include <math.h>
#include <string.h>

#include "tests/check.h"

enum { WINDOWS = 10 };
static const double STEP = 0.1;

static double busy[3][WINDOWS], rwnd[3][WINDOWS], free_share[WINDOWS];

static struct evidence_connection
connection(int k, unsigned port, double flight, double window)
{
	static char src[] = "192.0.2.1", dst[] = "192.0.2.2";
	struct evidence_connection c = { .src = src,
		.dst = dst,
		.sport = port,
		.dport = 5,
		.bytes_out = 1e8,
		.busy_s = flight * WINDOWS * STEP,
		.busy = busy[k],
		.rwnd = rwnd[k],
		.snd_wnd_bytes = NAN,
		.rtt_s = 0.02,
		.retrans = 3 };
	int i;

	for (i = 0; i < WINDOWS; i++) {
		busy[k][i] = flight * STEP;
		rwnd[k][i] = window * STEP;
	}
	return c;
}

static void
find(struct evidence_connection *c, size_t n, double bytes, struct resources *out)
{
	static char name[] = "a";
	struct evidence_host host = { .name = name };
	struct evidence e = { .hosts = &host, .n_hosts = 1, .connections = c, .n_connections = n };
	struct nw_path p = { .n = 1, .n_windows = WINDOWS, .window_s = STEP, .bytes = bytes };
	int i;

	for (i = 0; i < WINDOWS; i++)
		free_share[i] = i < 8 ? (i < 2 ? 0.5 : 0.9) : NAN; /* the last two: not at work */
	p.stage[0].free_share = free_share;
	resources_find(&e, &p, 0, WINDOWS, out);
}

/* Half of the windows deliver 20 MB/s; the mean is 10 MB/s. */
static void
test_room(void)
{
	static double sent[WINDOWS], delivery[WINDOWS];
	struct evidence_connection c = connection(0, 1, 0.9, 0.3);
	struct resources r;
	int i;

	for (i = 0; i < WINDOWS; i++) {
		sent[i] = 1e6;
		delivery[i] = i % 2 == 0 ? 2e7 : 5e6;
	}
	find(&c, 1, 1e8, &r);
	CHECK(isnan(r.room));
	c.sent = sent;
	c.delivery = delivery;
	find(&c, 1, 1e8, &r);
	CHECK_NEAR(r.room, 2, 1e-9, 0);
	CHECK_NEAR(r.spread, 4, 1e-9, 0);
	for (i = 0; i < WINDOWS; i++)
		rwnd[0][i] = busy[0][i]; /* the window was full: nothing was the network's */
	find(&c, 1, 1e8, &r);
	CHECK(isnan(r.room) && isnan(r.spread));
}

/* A window as large as the bytes of ten round trips: of a sender's flight only what lay in queues
 * tells of the network. A shortest round trip of 0 was too short for the kernel's clock. */
static void
test_queues(void)
{
	static double sent[WINDOWS], rtt[WINDOWS], cwnd[WINDOWS], full[WINDOWS], half[WINDOWS];
	const double trips_s[] = { 0.01, 0, NAN }, expected[] = { 0.5, 1, 0 };
	struct evidence_connection c = connection(0, 1, 0.9, 0);
	struct nw_path_stage stage = { .free_share = half };
	struct nw_path p = { .n = 1,
		.n_windows = WINDOWS,
		.end = WINDOWS,
		.window_s = STEP,
		.bytes = 1e8,
		.active_s = WINDOWS * STEP };
	const struct evidence e = { .connections = &c, .n_connections = 1 };
	size_t i, k;

	p.stage[0] = stage;
	c.sent = sent;
	c.rtt = rtt;
	c.cwnd = cwnd;
	for (i = 0; i < WINDOWS; i++) {
		half[i] = 0.5;
		sent[i] = 1e6;
		rtt[i] = 0.02;
		cwnd[i] = 2e6;
	}
	for (k = 0; k < sizeof(trips_s) / sizeof(trips_s[0]); k++) {
		c.rtt_min_s = trips_s[k];
		memset(full, 0, sizeof(full));
		CHECK(resources_full(&e, &p, true, full));
		CHECK_NEAR(full[3], 0.9 * STEP * expected[k], 1e-9, 0);
	}
}

/* A receiver left most of a window unread in two windows, and next to nothing in the others. */
static void
test_drained(void)
{
	static double unread[WINDOWS] = { 0.9, 0.5, 0.01, 0, 0.1, NAN, 0.2, 0.24 }, full[WINDOWS];
	struct evidence_connection c = { .host = 3, .bytes_in = 9e7, .bytes_out = 100 };
	struct nw_path p = { .n_windows = WINDOWS,
		.window_s = STEP,
		.bytes = 1e8,
		.has_receiver = true,
		.receiver_host = 3 };
	const struct evidence e = { .connections = &c, .n_connections = 1 };
	size_t i;

	CHECK(!resources_drained(&e, &p, full)); /* a kernel that does not tell */
	c.unread = unread;
	CHECK(resources_drained(&e, &p, full));
	for (i = 0; i < WINDOWS; i++)
		CHECK_NEAR(full[i], unread[i] < 0.25 ? STEP : 0, 1e-9, 0);
	c.host = 4; /* the other end's */
	CHECK(!resources_drained(&e, &p, full));
	c.host = 3;
	c.bytes_in = 2e7; /* most bytes came another way */
	CHECK(!resources_drained(&e, &p, full));
}

/* A disk that holds the windows with few bytes is at its limit; one that holds the windows with
 * many bytes takes bursts. */
static void
test_pace(void)
{
	static double few[WINDOWS] = { 1, 1, 2, 2, 2, 2, 2, 2 },
		      many[WINDOWS] = { 4, 4, 1, 1, 1, 1, 1, 1 };
	static char name[] = "a";
	struct evidence_host host = { .name = name };
	struct evidence_process process = { .bytes[NW_OP_DISK_WRITE] = few };
	struct evidence e = {
		.hosts = &host, .n_hosts = 1, .processes = &process, .n_processes = 1
	};
	struct nw_path p = { .n = 1, .n_windows = WINDOWS, .window_s = STEP };
	struct resources r;

	p.stage[0] =
	    (struct nw_path_stage){ .kind = NW_STAGE_DISK_WRITE, .free_share = free_share };
	resources_find(&e, &p, 0, WINDOWS, &r);
	CHECK_NEAR(r.pace[0], (1. + 0.6 * 2) / 1.6 * 8 / 14, 1e-9, 0);
	process.bytes[NW_OP_DISK_WRITE] = many;
	resources_find(&e, &p, 0, WINDOWS, &r);
	CHECK_NEAR(r.pace[0], (4. + 0.6 * 1) / 1.6 * 8 / 14, 1e-9, 0);
}

/* 2 MB wait for a device that takes 10 MB/s, then 50 kB. A device that is busy, or has a throttle,
 * is not idle. */
static void
test_backlog(void)
{
	static double waiting[WINDOWS];
	static char name[] = "a";
	struct evidence_host host = { .name = name };
	struct evidence e = { .hosts = &host, .n_hosts = 1 };
	struct nw_path p = {
		.n = 1, .n_windows = WINDOWS, .window_s = STEP, .bytes = 8e6, .active_s = 0.8
	};
	struct resources r;
	int i;

	p.stage[0] =
	    (struct nw_path_stage){ .kind = NW_STAGE_DISK_WRITE, .free_share = free_share };
	resources_find(&e, &p, 0, WINDOWS, &r);
	CHECK(isnan(r.backlog_s[0]) && !resources_written_idle(&r, 0));
	host.writeback_bytes = waiting;
	for (i = 0; i < WINDOWS; i++)
		waiting[i] = 2e6;
	resources_find(&e, &p, 0, WINDOWS, &r);
	CHECK_NEAR(r.backlog_s[0], 0.2, 1e-9, 0);
	CHECK(!resources_written_idle(&r, 0));
	for (i = 0; i < WINDOWS; i++)
		waiting[i] = 5e4;
	resources_find(&e, &p, 0, WINDOWS, &r);
	CHECK(resources_written_idle(&r, 0));
	r.device[0] = 0.9;
	CHECK(!resources_written_idle(&r, 0));
	r.device[0] = NAN;
	r.throttle[0] = 1e7;
	CHECK(!resources_written_idle(&r, 0));
}

/* Two devices of the host: the session's file lies on the second, whose throttle lets a tenth more
 * through than the disk moved; bytes waited in front of it in half of the looks. */
static void
test_throttle(void)
{
	static double looked[WINDOWS], queued[WINDOWS], limit[WINDOWS], moved[WINDOWS];
	static char name[] = "a", sda[] = "sda", sdb[] = "sdb";
	struct evidence_host host = { .name = name };
	struct evidence_use uses[] = { { .place = sda }, { .place = sdb } };
	struct evidence_use_file file = { .session_id = 1, .device = sdb, .read = 8e6 };
	struct evidence e = { .session_id = 1,
		.hosts = &host,
		.n_hosts = 1,
		.uses = uses,
		.n_uses = 2,
		.use_files = &file,
		.n_use_files = 1 };
	struct nw_path p = {
		.n = 1, .n_windows = WINDOWS, .window_s = STEP, .bytes = 8e6, .active_s = 0.8
	};
	double full[WINDOWS] = { 0 };
	struct resources r;
	int i;

	for (i = 0; i < WINDOWS; i++) {
		looked[i] = STEP;
		queued[i] = i % 2 == 0 ? STEP : 0;
		limit[i] = 1.1e7;
		moved[i] = 1e6;
	}
	p.stage[0] = (struct nw_path_stage){ .kind = NW_STAGE_DISK_READ, .free_share = free_share };
	resources_find(&e, &p, 0, WINDOWS, &r);
	CHECK(isnan(r.queued[0]) && isnan(r.throttle[0]));
	CHECK(!resources_disk_full(&e, &p, 0, full));
	uses[1].looked_s[0] = looked;
	uses[1].queued_s[0] = queued;
	uses[1].limit[0] = limit;
	resources_find(&e, &p, 0, WINDOWS, &r);
	CHECK_NEAR(r.queued[0], 0.5, 1e-9, 0);
	CHECK_NEAR(r.throttle[0], 1.1e7, 1e-9, 0);
	CHECK(resources_throttled(&r, 0, resources_rate(&p, 0)));
	CHECK(!resources_throttled(&r, 0, 5e6));
	CHECK(!resources_throttled(&r, 0, 2e7)); /* memory took the bytes */
	CHECK(resources_disk_full(&e, &p, 0, full));
	CHECK_NEAR(full[0], STEP, 1e-9, 0);
	CHECK_NEAR(full[1], STEP, 1e-9, 0); /* at nine tenths of the throttle, whatever waited */
	memset(full, 0, sizeof(full));
	p.active_s = 1;
	CHECK(resources_disk_full(&e, &p, 0, full));
	CHECK_NEAR(full[0], STEP, 1e-9, 0);
	CHECK_NEAR(full[1], 0, 0, 1e-12);
	p.active_s = 0.8;
	for (i = 0; i < 4; i++)
		limit[i] = NAN; /* the throttle came in mid-transfer */
	resources_find(&e, &p, 0, WINDOWS, &r);
	CHECK(isnan(r.throttle[0]));
	file.read = 0; /* an unknown file: the device that moved as many bytes */
	uses[1].in = moved;
	resources_find(&e, &p, 0, WINDOWS, &r);
	CHECK_NEAR(r.queued[0], 0.5, 1e-9, 0);
	moved[0] = 1e7;
	resources_find(&e, &p, 0, WINDOWS, &r);
	CHECK(isnan(r.queued[0]));
	/* written at the throttle's rate, and at half of it: memory takes such bytes */
	file.written = 8e6;
	for (i = 0; i < WINDOWS; i++)
		limit[i] = 1.1e7;
	uses[1].looked_s[1] = looked;
	uses[1].queued_s[1] = queued;
	uses[1].limit[1] = limit;
	p.stage[0].kind = NW_STAGE_DISK_WRITE;
	CHECK(resources_disk_full(&e, &p, 0, full));
	p.active_s = 1.6;
	CHECK(!resources_disk_full(&e, &p, 0, full));
}

/* Interfaces of the sending host: the path's bytes leave by the second, which has a shaper, and
 * then by the third, which has none. */
static void
test_shaper(void)
{
	static double sent[2][WINDOWS], limit[2][WINDOWS];
	static char name[] = "a", eth0[] = "eth0", eth1[] = "eth1", bond[] = "bond";
	struct evidence_host host = { .name = name };
	struct evidence_use uses[] = { { .place = eth0, .link = true, .out = sent[0] },
		{ .place = eth1, .link = true, .out = sent[1] },
		{ .place = bond, .link = true, .out = sent[1] } };
	struct evidence e = { .hosts = &host, .n_hosts = 1, .uses = uses, .n_uses = 3 };
	struct nw_path p = { .n = 1, .n_windows = WINDOWS, .window_s = STEP, .bytes = 8e6 };
	struct resources r;
	int i;

	for (i = 0; i < WINDOWS; i++) {
		sent[0][i] = 1e5;
		sent[1][i] = 1.05e6;
		limit[0][i] = 1e5;
		limit[1][i] = 1.25e7;
	}
	p.stage[0].free_share = free_share;
	uses[0].limit[1] = limit[0];
	uses[1].limit[1] = limit[1];
	resources_find(&e, &p, 0, WINDOWS, &r);
	CHECK(isnan(r.shaper)); /* without a sender the host's interfaces tell nothing */
	p.has_sender = true;
	resources_find(&e, &p, 0, WINDOWS, &r);
	CHECK_NEAR(r.shaper, 0.956 * 1.25e7, 1e-9, 0);
	uses[1].limit[1] = NULL;
	resources_find(&e, &p, 0, WINDOWS, &r);
	CHECK(isnan(r.shaper));
}

int
main(void)
{
	struct evidence_connection c[3];
	struct resources r;

	c[0] = connection(0, 1, 0.9, 0.3);
	find(c, 1, 1e8, &r);
	CHECK_NEAR(r.in_flight, 0.9, 1e-9, 0);
	CHECK_NEAR(r.rwnd, 0.3, 1e-9, 0);
	CHECK_NEAR(resources_net(&r), 0.6, 1e-9, 0);
	CHECK_NEAR(r.peaks[0], 0.25, 1e-9, 0);
	CHECK_NEAR(r.resent, 3, 1e-9, 0);

	c[1] = connection(1, 1, 0.8, 0.3); /* the same, told by a forked process */
	find(c, 2, 1e8, &r);
	CHECK_NEAR(r.net_high, 0.6, 1e-9, 0);

	c[1] = connection(1, 2, 0.3, 0);
	c[2] = connection(2, 3, 0.3, 0);
	find(c, 3, 3e8, &r);
	CHECK_NEAR(r.net_low, 0.6, 1e-9, 0);
	CHECK_NEAR(r.net_high, 1, 1e-9, 0); /* three in the same window share the network */

	find(c, 1, 1e9, &r); /* nine tenths went another way */
	CHECK(isnan(r.in_flight) && isnan(resources_net(&r)));
	test_room();
	test_queues();
	test_drained();
	test_pace();
	test_throttle();
	test_shaper();
	test_backlog();
	return check_done("test_resources");
}
