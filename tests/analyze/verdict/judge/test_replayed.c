/* SPDX-License-Identifier: BSD-3-Clause */
/* Rates of stages alone decide between two stages, and bound the gain from both sides. */
#include "analyze/verdict/judge/replayed.h"

#include "analyze/verdict/judge/gain.h"
#include "analyze/verdict/judge/resources.h"
#include "tests/check.h"

#define RATE 50e6

/* disk.read, sender.host | network | receiver.host, disk.write */
static struct nw_path path = { .n = 5,
	.has_sender = true,
	.has_receiver = true,
	.sender_host = 0,
	.receiver_host = 1,
	.stage = { { .kind = NW_STAGE_DISK_READ, .host = 0, .to_host = 0 },
	    { .kind = NW_STAGE_SENDER_HOST, .host = 0, .to_host = 0 },
	    { .kind = NW_STAGE_NETWORK, .host = 0, .to_host = 1 },
	    { .kind = NW_STAGE_RECEIVER_HOST, .host = 1, .to_host = 1 },
	    { .kind = NW_STAGE_DISK_WRITE, .host = 1, .to_host = 1 } } };
static struct limit limit;
static struct resources resources;
static double throttle;    /* of the written disk, bytes/s; 0: none */
static double bytes = 1e9; /* of a replay */
static struct evidence_replay list[3];
static struct evidence evidence = { .replays = list };

/* Shares of the time that stages held the bytes, and rates alone; 0: not repeated. */
static void
session_set(const double held[5], double read, double send, double write, struct replayed *out)
{
	const double rate[3] = { read, send, write };
	static const enum nw_replay_way way[3] = { NW_REPLAY_READ, NW_REPLAY_SEND,
		NW_REPLAY_WRITE };
	size_t i;

	for (i = 0; i < 5; i++)
		limit.tests[i].group.mean = 1 - held[i];
	resources.net_low = resources.net_high = NAN;
	for (i = 0; i < 5; i++)
		resources.throttle[i] = i == 4 && throttle > 0 ? throttle : NAN;
	evidence.n_replays = 0;
	for (i = 0; i < 3; i++)
		if (rate[i] > 0)
			list[evidence.n_replays++] = (struct evidence_replay){ .host = i == 2,
				.way = way[i],
				.bytes = bytes,
				.calls_s = bytes / rate[i],
				.took_s = bytes / rate[i],
				.cost_bytes = 2e7,
				.cost_s = 1 };
	replayed_find(&evidence, &path, &resources, RATE, out);
}

static void
test_compare(void)
{
	static const struct {
		double held[5];
		double read, send, write; /* alone */
		size_t first, second;
		enum replayed_says says;
	} cases[] = {
		/* nothing repeated */
		{ { .1, .1, .9, .1, .9 }, 0, 0, 0, 4, 2, REPLAYED_NOTHING },
		/* the disk alone is far faster: the network */
		{ { .1, .1, .9, .1, .8 }, 0, 0, 3 * RATE, 4, 2, REPLAYED_SECOND },
		/* the disk alone is as fast, the network by the session less at work */
		{ { .1, .1, .5, .1, .6 }, 0, 0, RATE, 4, 2, REPLAYED_FIRST },
		/* both alone as fast */
		{ { .1, .1, .9, .1, .9 }, 0, RATE, 1.1 * RATE, 4, 2, REPLAYED_BOTH },
		/* a program that reads and sends in turns: each alone is twice as fast */
		{ { .5, 0, .5, 0, 0 }, 2 * RATE, 2 * RATE, 0, 0, 2, REPLAYED_NOTHING },
		/* memory took what was written */
		{ { .1, .1, .3, .1, .6 }, 0, 0, RATE / 3, 4, 2, REPLAYED_NOTHING },
	};
	struct replayed y;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		session_set(cases[i].held, cases[i].read, cases[i].send, cases[i].write, &y);
		CHECK_INT(replayed_compare(
			      &y, &path, &limit, &resources, RATE, cases[i].first, cases[i].second),
		    cases[i].says);
	}
}

/* A burst that passed alone says nothing against the throttle of the same disk. */
static void
test_throttle(void)
{
	static const double held[5] = { .1, .1, .9, .1, .9 };
	struct replayed y;

	throttle = 1.1 * RATE;
	session_set(held, 0, 0, 5 * RATE, &y);
	CHECK_NEAR(y.stage[4].bytes_per_s, 1.1 * RATE, 1e-9, 0);
	CHECK_NEAR(y.stage[4].calls_s_per_byte, 1 / (1.1 * RATE), 1e-9, 0);
	CHECK_INT(replayed_compare(&y, &path, &limit, &resources, RATE, 4, 2), REPLAYED_NOTHING);
	/* a slice that came late; and a disk that is slower than its throttle */
	session_set(held, 0, 0, 0.7 * RATE, &y);
	CHECK_NEAR(y.stage[4].bytes_per_s, 1.1 * RATE, 1e-9, 0);
	session_set(held, 0, 0, 0.5 * RATE, &y);
	CHECK_NEAR(y.stage[4].bytes_per_s, 0.5 * RATE, 1e-9, 0);
	throttle = 0;
}

/* A brief replay shows room only beside a slow replay of the other stage, and bounds no gain. */
static void
test_brief(void)
{
	static const double held[5] = { .1, .1, .9, .1, .9 };
	struct gain g = { .low = NAN, .high = NAN, .about = NAN };
	struct replayed y;

	bytes = 0.05 * RATE;
	session_set(held, 0, 0, 3 * RATE, &y);
	CHECK(replayed_is_brief(&y, 5) && !replayed_is_brief(&y, 4));
	CHECK_INT(replayed_compare(&y, &path, &limit, &resources, RATE, 4, 2), REPLAYED_NOTHING);
	CHECK_INT(replayed_compare(&y, &path, &limit, &resources, RATE, 2, 4), REPLAYED_NOTHING);
	replayed_gain(&y, &path, &limit, &resources, RATE, 2, &g);
	CHECK(!isfinite(g.high) && g.source != GAIN_REPLAY);
	session_set(held, 0, RATE, 3 * RATE, &y);
	CHECK_INT(replayed_compare(&y, &path, &limit, &resources, RATE, 4, 2), REPLAYED_SECOND);
	CHECK_INT(replayed_compare(&y, &path, &limit, &resources, RATE, 2, 4), REPLAYED_FIRST);
	/* a link looks slow in the first round trips: 1.34 times as fast, and 1.28 */
	session_set(held, 0, 1.25 * RATE, RATE, &y);
	CHECK_INT(replayed_compare(&y, &path, &limit, &resources, RATE, 4, 2), REPLAYED_FIRST);
	session_set(held, 0, 1.2 * RATE, RATE, &y);
	CHECK_INT(replayed_compare(&y, &path, &limit, &resources, RATE, 4, 2), REPLAYED_BOTH);
	session_set(held, 0, RATE, 1.45 * RATE, &y);
	CHECK_INT(replayed_compare(&y, &path, &limit, &resources, RATE, 4, 2), REPLAYED_SECOND);
	/* both slow, in spite of a burst: both; both fast: nothing */
	session_set(held, 0, RATE, 1.1 * RATE, &y);
	CHECK_INT(replayed_compare(&y, &path, &limit, &resources, RATE, 4, 2), REPLAYED_BOTH);
	session_set(held, 0, 3 * RATE, 3 * RATE, &y);
	CHECK_INT(replayed_compare(&y, &path, &limit, &resources, RATE, 4, 2), REPLAYED_NOTHING);
	bytes = 1e9;
}

static void
test_gain(void)
{
	static const double held[5] = { .1, .1, .95, .05, .1 };
	struct gain g = { .low = NAN, .high = NAN, .about = NAN };
	struct replayed y;

	/* no replay, no bound */
	session_set(held, 0, 0, 0, &y);
	replayed_gain(&y, &path, &limit, &resources, RATE, 2, &g);
	CHECK(g.source != GAIN_REPLAY);
	/* The network is lifted: at the sender, read at 2.5 times the rate and a tenth of the time
	 * in the program: 1 / 0.5; at the receiver 1 / 0.55 with the disk at twice. */
	session_set(held, 2.5 * RATE, 0, 2 * RATE, &y);
	CHECK_INT(y.n, 2);
	CHECK_NEAR(y.cost_bytes, 4e7, 1e-9, 0);
	replayed_gain(&y, &path, &limit, &resources, RATE, 2, &g);
	CHECK_INT(g.source, GAIN_REPLAY);
	CHECK_INT(g.next, 4);
	CHECK_NEAR(g.high, 1.38 * 2, 1e-9, 0);
	CHECK_NEAR(g.low, 0.7 / (0.05 + 1 / 2.), 1e-9, 0);
	CHECK(g.low < g.about && g.about < g.high);
	/* Disks far above the rate tell nothing of a faster network's cost: a bound from above. */
	session_set(held, 30 * RATE, 0, 20 * RATE, &y);
	g = (struct gain){ .low = NAN, .high = NAN, .about = NAN };
	replayed_gain(&y, &path, &limit, &resources, RATE, 2, &g);
	CHECK(isnan(g.low) && isnan(g.about));
	CHECK_NEAR(g.high, 1.38 * 20, 1e-9, 0);
	g = (struct gain){ .low = 1.5, .high = 3, .source = GAIN_NETWORK };
	replayed_gain(&y, &path, &limit, &resources, RATE, 2, &g);
	CHECK_INT(g.source, GAIN_NETWORK);
	/* A disk is lifted, and a connection alone carries five times the rate: the lower end is no
	 * higher than the connection, however little time other stages take. */
	session_set((const double[5]){ .1, 0, .05, 0, .9 }, 100 * RATE, 5 * RATE, 0, &y);
	g = (struct gain){ .low = NAN, .high = NAN, .about = NAN };
	replayed_gain(&y, &path, &limit, &resources, RATE, 4, &g);
	CHECK_INT(g.next, 2);
	CHECK_NEAR(g.high, 1.38 * 5, 1e-9, 0);
	CHECK(g.low <= 0.7 * 5 && g.low > 0.6 * 5);
	/* in less than a quarter of a second a connection is still slow */
	bytes = 1e7;
	session_set((const double[5]){ .1, 0, .05, 0, .9 }, 100 * RATE, 5 * RATE, 0, &y);
	g = (struct gain){ .low = NAN, .high = NAN, .about = NAN };
	replayed_gain(&y, &path, &limit, &resources, RATE, 4, &g);
	CHECK_NEAR(g.high, 1.65 * 5, 1e-9, 0);
	CHECK_NEAR(g.low, 0.5 * 5, 1e-9, 0);
	/* .. and a disk is not */
	session_set((const double[5]){ .1, 0, .05, 0, .9 }, 5 * RATE, 0, 0, &y);
	g = (struct gain){ .low = NAN, .high = NAN, .about = NAN };
	replayed_gain(&y, &path, &limit, &resources, RATE, 4, &g);
	CHECK_NEAR(g.high, 1.38 * 5, 1e-9, 0);
	bytes = 1e9;
	/* nearer bounds stay */
	g = (struct gain){ .low = 2, .high = 2.5, .source = GAIN_THROTTLE };
	replayed_gain(&y, &path, &limit, &resources, RATE, 2, &g);
	CHECK_INT(g.source, GAIN_THROTTLE);
	/* the limit's own rate alone bounds nothing */
	session_set(held, 0, RATE, 0, &y);
	g = (struct gain){ .low = NAN, .high = NAN };
	replayed_gain(&y, &path, &limit, &resources, RATE, 2, &g);
	CHECK(!isfinite(g.high));
}

int
main(void)
{
	test_compare();
	test_throttle();
	test_brief();
	test_gain();
	return check_done("test_replayed");
}
