/* SPDX-License-Identifier: BSD-3-Clause */
/* Shares of the time measured under limits of known ratio, and the gain that they bound. */
#include "analyze/verdict/judge/gain.h"

#include <math.h>
#include <string.h>

#include "analyze/verdict/judge/replayed.h"
#include "narrows/result_keys.h"
#include "tests/check.h"

enum { READ, SENDER, NET, RECEIVER, WRITE, STAGES };

static const enum nw_stage_kind kinds[STAGES] = { NW_STAGE_DISK_READ, NW_STAGE_SENDER_HOST,
	NW_STAGE_NETWORK, NW_STAGE_RECEIVER_HOST, NW_STAGE_DISK_WRITE };

/* Shares that calls held, the network's lowest and highest share in flight, and what lifting the
 * limit gained. Bounds of 0 are unknown. */
static const struct {
	const char *name;
	double held[STAGES], net_low, net_high, room;
	int limit;
	double gained, low, high;
	int next;
} cases[] = {
	{ "disk, link twice as fast", { .74, 0, .22, .03, .01 }, .47, .47, 0, READ, 2.0, 1.6, 2.83,
	    NET },
	{ "target disk, link twice as fast", { .01, .01, .09, .03, .88 }, .51, .51, 0, WRITE, 2.0,
	    0, 0, NET },
	{ "disk, all else far", { .98, 0, .01, .01, .02 }, .02, .02, 0, READ, 50, 0, 0, WRITE },
	{ "link, disk three times as fast", { 0, 0, .92, .04, .01 }, .95, .95, 0, NET, 3.0, 0, 0,
	    RECEIVER },
	{ "link, disk nearly as slow", { .1, .02, .8, .08, .03 }, .97, .97, 0, NET, 1.1, 0, 0,
	    READ },
	{ "target disk, link six times as fast", { .01, .01, .05, .03, .9 }, .2, .2, 0, WRITE, 5.0,
	    0, 0, NET },
	{ "disk, link five times as fast", { .86, .02, .1, .06, .03 }, .19, .19, 0, READ, 9.0, 0, 0,
	    NET },
	{ "program, target disk half used", { .01, .96, .02, .02, .9 }, .03, .03, 0, SENDER, 2, 1,
	    2.22, WRITE },
	{ "disk, link known to have twice the rate", { .74, 0, .22, .03, .01 }, .47, .47, 2.4, READ,
	    2.1, 1.392, 2.76, NET },
	{ "target disk, link that delivers more at times", { .01, .01, .3, .05, .61 }, .97, .97,
	    2.3, WRITE, 1.7, 1.334, 2.65, NET },
	{ "disk, link with much room", { .9, .02, .3, .06, .03 }, .4, .4, 12, READ, 5.9, 0, 0,
	    NET },
	{ "streams that share the link unseen", { .9, 0, .3, .03, .01 }, .2, 1, 0, READ, 1.9, 0, 0,
	    NET },
};

static void
path_fill(struct nw_path *p, struct limit *l, size_t c)
{
	size_t i;

	*p = (struct nw_path){ .n = STAGES, .has_sender = true, .has_receiver = true };
	*l = (struct limit){ .stage = (size_t)cases[c].limit };
	for (i = 0; i < STAGES; i++) {
		p->stage[i].kind = kinds[i];
		l->tests[i].group = (struct nw_group){ 40, 1 - cases[c].held[i], 0.05 };
	}
}

static void
test_cases(void)
{
	struct resources r;
	struct nw_path p;
	struct limit l;
	struct gain g;
	size_t c;

	for (c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		path_fill(&p, &l, c);
		r = (struct resources){ .net_low = cases[c].net_low,
			.net_high = cases[c].net_high,
			.room = cases[c].room > 0 ? cases[c].room : NAN };
		g = gain_find(&p, &l, &r, l.stage);
		CHECK_INT(g.next, cases[c].next);
		CHECK_NEAR(isnan(g.low) ? 0 : g.low, cases[c].low, 0.01, 1e-9);
		CHECK_NEAR(isnan(g.high) ? 0 : g.high, cases[c].high, 0.01, 1e-9);
		CHECK(isnan(g.low) || g.low <= cases[c].gained);
		CHECK(isnan(g.high) || g.high >= cases[c].gained);
		CHECK(isnan(g.about) || (g.about >= g.low && g.about <= g.high));
	}
}

/* Of a path with one end nobody knows how fast the other could go. */
static void
test_one_end(void)
{
	struct resources r = { .net_low = 0.5, .net_high = 0.5 };
	struct nw_path p;
	struct limit l;
	struct gain g;

	path_fill(&p, &l, 0);
	r.room = 2;
	p.has_receiver = false;
	g = gain_find(&p, &l, &r, READ);
	CHECK(isnan(g.low) && isnan(g.high) && isnan(g.about));
}

/* The link limits; throttles of the two disks let through so many times the path's rate. Bounds of
 * 0 are unknown. */
static void
test_throttle(void)
{
	static const struct {
		double read, write, held_program, before_low, before_high;
		double low, high;
		int next;
	} throttles[] = {
		{ 2, NAN, .1, 0, 0, 1.4, 2.1, READ },    /* the disk is known to be next */
		{ 4, 3, .1, 0, 0, 2.1, 3.15, WRITE },    /* the slower of two disks is */
		{ 2, NAN, .8, 0, 0, 0, 2.1, READ },      /* the program may be */
		{ 1.2, NAN, .9, 1.5, 0, 1, 1.26, READ }, /* a throttle refutes a bound */
		{ 8, NAN, .1, 1.1, 2, 1.1, 2, SENDER },  /* another stage is next */
		{ NAN, NAN, .1, 0, 0, 0, 0, SENDER },    /* no throttle */
	};
	const struct replayed none = { .n = 0 };
	struct resources r;
	struct nw_path p;
	struct limit l;
	struct gain g;
	size_t i, c;

	for (c = 0; c < sizeof(throttles) / sizeof(throttles[0]); c++) {
		path_fill(&p, &l, 3); /* the link is the limit */
		p.bytes = 1e8;
		p.active_s = 10;
		l.tests[SENDER].group.mean = 1 - throttles[c].held_program;
		r = (struct resources){ .net_low = NAN, .net_high = NAN, .room = NAN };
		for (i = 0; i < STAGES; i++)
			r.throttle[i] = NAN;
		r.throttle[READ] = throttles[c].read * 1e7;
		r.throttle[WRITE] = throttles[c].write * 1e7;
		g = (struct gain){ .about = NAN,
			.low = throttles[c].before_low > 0 ? throttles[c].before_low : NAN,
			.high = throttles[c].before_high > 0 ? throttles[c].before_high : NAN,
			.next = SENDER };
		gain_by_throttle(&p, &l, &r, &none, NET, &g);
		CHECK_INT(g.next, throttles[c].next);
		CHECK_NEAR(isnan(g.low) ? 0 : g.low, throttles[c].low, 0.01, 1e-9);
		CHECK_NEAR(isnan(g.high) ? 0 : g.high, throttles[c].high, 0.01, 1e-9);
	}
}

/* The disk read is the limit, and the written disk's throttle lets through twice the rate. Between
 * the two a replay may show that a stage carries as much, and so may the network's better
 * windows. */
static void
test_others_carry(void)
{
	static const struct {
		double held_program, held_net, in_flight, room, sent; /* sent: alone, in MB/s */
		bool brief;
		double low;
	} others[] = {
		{ .1, .1, NAN, NAN, 0, false, 1.4 },
		{ .1, .9, NAN, NAN, 0, false, 0 },    /* calls wait for the network */
		{ .1, .9, NAN, NAN, 30, false, 1.4 }, /* .. which carries three times as much */
		{ .1, .9, NAN, NAN, 25, false, 0 },   /* .. or hardly twice as much */
		{ .1, .9, NAN, NAN, 30, true, 0 },    /* .. or may be a burst */
		{ .9, .9, NAN, NAN, 30, false, 0 },   /* the program is in the way */
		{ .1, .1, .6, 3.6, 0, false, 1.4 },   /* data in flight behind a slow receiver */
		{ .1, .1, .6, 3.3, 0, false, 0 },
		{ .1, .1, .9, 3.6, 0, false, 0 }, /* a full network's bursts say nothing */
	};
	const struct evidence_replay by = { .way = NW_REPLAY_SEND };
	struct resources r;
	struct replayed y;
	struct nw_path p;
	struct limit l;
	struct gain g;
	size_t i, c;

	for (c = 0; c < sizeof(others) / sizeof(others[0]); c++) {
		path_fill(&p, &l, 2); /* the disk read is the limit */
		p.bytes = 1e8;
		p.active_s = 10;
		l.tests[SENDER].group.mean = 1 - others[c].held_program;
		l.tests[NET].group.mean = 1 - others[c].held_net;
		r = (struct resources){ .net_low = others[c].in_flight,
			.net_high = others[c].in_flight,
			.room = others[c].room };
		y = (struct replayed){ .n = others[c].sent > 0 };
		if (others[c].sent > 0)
			y.stage[NET] = (struct replayed_stage){ .by = &by,
				.bytes_per_s = others[c].sent * 1e6,
				.brief = others[c].brief };
		for (i = 0; i < STAGES; i++)
			r.throttle[i] = i == WRITE ? 2e7 : NAN;
		g = (struct gain){ .about = NAN, .low = NAN, .high = NAN, .next = SENDER };
		gain_by_throttle(&p, &l, &r, &y, READ, &g);
		CHECK_INT(g.next, WRITE);
		CHECK_NEAR(isnan(g.low) ? 0 : g.low, others[c].low, 0.01, 1e-9);
		CHECK_NEAR(g.high, 2.1, 0.01, 0);
	}
}

/* Of a route that reached 90 to 110 MB/s, a session at 20 MB/s. */
static void
test_history(void)
{
	static const struct {
		double low, high; /* bounds by the session itself; 0: unknown */
		double rate;      /* of the session, MB/s */
		double want_low, want_high;
	} histories[] = {
		{ 0, 0, 20, 4.5, 5.5 },     /* nothing else is known */
		{ 1, 9, 20, 4.5, 5.5 },     /* an upper bound agrees */
		{ 1, 2, 20, 1, 2 },         /* another stage is known to limit before */
		{ 4.8, 5.2, 20, 4.8, 5.2 }, /* narrower bounds of the session stay */
		{ 0, 0, 100, 0, 0 },        /* as fast as the route ever was */
	};
	const struct gain_history h = { 9e7, 1e8, 1.1e8, 1.05e8, INT64_C(1) };
	struct gain g;
	size_t c;

	for (c = 0; c < sizeof(histories) / sizeof(histories[0]); c++) {
		g = (struct gain){ .about = NAN,
			.low = histories[c].low > 0 ? histories[c].low : NAN,
			.high = histories[c].high > 0 ? histories[c].high : NAN,
			.source = histories[c].high > 0 ? GAIN_STAGES : GAIN_UNKNOWN };
		gain_by_history(&h, histories[c].rate * 1e6, STAGES, &g);
		CHECK_NEAR(isnan(g.low) ? 0 : g.low, histories[c].want_low, 0.01, 1e-9);
		CHECK_NEAR(isnan(g.high) ? 0 : g.high, histories[c].want_high, 0.01, 1e-9);
		CHECK_INT(g.source == GAIN_HISTORY, c < 2);
		CHECK(g.source != GAIN_HISTORY || g.seen_bytes_per_s == h.best);
	}
}

/* The document's key names each source. */
static void
test_sources(void)
{
	const char *help = result_key_info(KEY_verdict_effect_from)->meaning;

#define X(id, name) CHECK(strstr(help, name " (") != NULL);
	GAIN_SOURCE_LIST(X)
#undef X
	CHECK(gain_source_name(GAIN_UNKNOWN) == NULL);
	CHECK_STR(gain_source_name(GAIN_HISTORY), "history");
}

int
main(void)
{
	test_cases();
	test_history();
	test_sources();
	test_throttle();
	test_others_carry();
	test_one_end();
	return check_done("test_gain");
}
