/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits beside busy processors: when a wait for a processor limits, too. */
#include "analyze/verdict/judge/crowd.h"

#include <math.h>
#include <string.h>

#include "tests/check.h"
#include "tests/noise.h"

enum { READ, SENDER, NET, RECEIVER, STAGES };

/* Ten seconds; the process of each end is 0 and 1. */
struct crowd_case {
	const char *name;
	bool known;
	size_t limit;
	double net, room, rwnd, queued; /* parts of the network and of the disk read */
	double wait_s[2], harm_s[2];
	bool limits;
	size_t stage, program;
};

static const struct crowd_case crowd_cases[] = {
	{ "the network ran dry", true, NET, 0.97, 1.7, 0, 0, { 1, 7 }, { 0.2, 0.2 }, true, NET,
	    RECEIVER },
	{ "the network was even", true, NET, 0.97, 1.2, 0, 0, { 1, 7 }, { 0.2, 0.2 }, false, 0, 0 },
	{ "processors were there", true, NET, 0.97, 1.7, 0, 0, { 1, 2 }, { 0.2, 0.2 }, false, 0,
	    0 },
	{ "the rate is unknown", true, NET, 0.97, NAN, 0, 0, { 1, 7 }, { 0.2, 0.2 }, false, 0, 0 },
	{ "the rate is unknown, and the sender waited", true, NET, 0.9, NAN, 0, 0, { 5.5, 7 },
	    { 0.2, 0.2 }, true, NET, SENDER },
	{ "the rate is unknown, and the sender waited little", true, NET, 0.9, NAN, 0, 0,
	    { 4.5, 7 }, { 0.2, 0.2 }, false, 0, 0 },
	{ "a window was closed", true, NET, 0.7, 1.7, 0.3, 0, { 1, 7 }, { 0.2, 2 }, false, 0, 0 },
	{ "half each", false, RECEIVER, 0.45, 3, 0.5, 0, { 1, 7 }, { 0.2, 5 }, true, NET,
	    RECEIVER },
	{ "a window closed for most of the time", false, RECEIVER, 0.28, 7, 0.56, 0, { 1, 7 },
	    { 0.2, 5 }, false, 0, 0 },
	{ "a window closed beside a slow network", true, RECEIVER, 0.1, 4.1, 0.86, 0, { 3, 8.7 },
	    { 3.1, 8.2 }, true, NET, RECEIVER },
	{ "in flight for longer than at work", true, SENDER, 0.83, 3.5, 0, 0, { 8, 7 }, { 3.5, 1 },
	    true, NET, SENDER },
	{ "a network hardly ever out of work", true, SENDER, 0.9, 1.2, 0, 0, { 8, 7 }, { 3.5, 1 },
	    false, 0, 0 },
	{ "half each, sending", true, SENDER, 0.45, 3, 0, 0, { 7, 1 }, { 5, 0 }, true, NET,
	    SENDER },
	{ "hardly a network", true, RECEIVER, 0.1, 12, 0.5, 0, { 1, 7 }, { 0.2, 5 }, false, 0, 0 },
	{ "the wait cost little", true, RECEIVER, 0.45, 3, 0.5, 0, { 1, 7 }, { 0.2, 2.2 }, false, 0,
	    0 },
	{ "a network with much room", false, RECEIVER, 0.1, 9, 0.5, 0, { 1, 7 }, { 0.2, 5 }, false,
	    0, 0 },
	{ "half a disk", true, SENDER, 0.1, 9, 0, 0.5, { 7, 1 }, { 5, 0 }, true, READ, SENDER },
	{ "the other end waited for longer, but lost less", true, NET, 0.78, 2.3, 0.25, 0,
	    { 6.4, 8.2 }, { 4.2, 1.8 }, true, NET, SENDER },
	{ "half a disk, and a shorter wait", true, SENDER, 0.1, 12, 0, 0.5, { 7, 1 }, { 3.5, 0 },
	    false, 0, 0 },
	{ "a whole disk", true, READ, 0.1, 9, 0, 0.9, { 7, 1 }, { 5, 0 }, false, 0, 0 },
};

/* The receiver waited for its quota. */
static const struct {
	struct crowd_case c;
	double flight;
} quota_cases[] = {
	{ { "the bursts behind a quota", true, RECEIVER, 0.24, 10.9, 0, 0, { 0.6, 9 }, { 0.6, 8.8 },
	      false, 0, 0 },
	    0.24 },
	{ { "a window closed between bursts", true, RECEIVER, 0.24, 3, 0.69, 0, { 0.2, 8.4 },
	      { 0.2, 6.6 }, false, 0, 0 },
	    0.92 },
	{ { "a quota beside a slow network", true, RECEIVER, 0.45, 3, 0, 0, { 0.2, 7 }, { 0.2, 5 },
	      true, NET, RECEIVER },
	    0.5 },
};

/* A shaper's rate tells how long the network needed for the bytes, however uneven the programs and
 * the acknowledgements were. */
static void
shaper_check(const struct crowd_case *c, const struct evidence *e, const struct nw_path *p,
    const struct limit *l, struct resources r)
{
	static const struct {
		double share;
		bool limits;
	} shares[] = { { 0.1, false }, { 0.3, true }, { 0.8, true }, { 0.95, false } };
	struct limit dry = *l;
	struct crowd found;
	size_t i;

	r.spread = 20;
	r.net_low = r.net_high = r.in_flight = 0.1;
	/* better windows that were bursts: the network did not run dry */
	r.room = 1.8;
	r.rwnd = 0;
	r.shaper = p->bytes / p->active_s / 0.87;
	dry.stage = NET;
	crowd_find(e, p, &dry, &r, c->harm_s, &found);
	CHECK(!found.limits);
	for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		r.shaper = p->bytes / p->active_s / shares[i].share;
		crowd_find(e, p, l, &r, c->harm_s, &found);
		CHECK_INT(found.limits, shares[i].limits);
	}
}

static void
crowd_check(const struct crowd_case *c, double flight, bool by_quota)
{
	struct evidence_process process[2] = { { .cpu_wait_s = c->wait_s[0] },
		{ .cpu_wait_s = c->wait_s[1], .throttled_s = by_quota ? 0.9 * c->wait_s[1] : 0 } };
	const struct evidence e = { .processes = process, .n_processes = 2 };
	struct nw_path p = { .n = STAGES, .active_s = 10, .bytes = 4e8 };
	struct limit l = { .known = c->known, .stage = c->limit, .n_windows = 100 };
	struct resources r = { .net_low = c->net,
		.net_high = c->net,
		.shaper = NAN,
		.room = c->room,
		.spread = 1.5,
		.rwnd = c->rwnd,
		.in_flight = flight };
	struct crowd found;

	p.stage[READ] = (struct nw_path_stage){ .kind = NW_STAGE_DISK_READ };
	p.stage[SENDER] = (struct nw_path_stage){ .kind = NW_STAGE_SENDER_HOST };
	p.stage[NET] = (struct nw_path_stage){ .kind = NW_STAGE_NETWORK };
	p.stage[RECEIVER] = (struct nw_path_stage){ .kind = NW_STAGE_RECEIVER_HOST, .process = 1 };
	r.queued[READ] = c->queued;
	crowd_find(&e, &p, &l, &r, c->harm_s, &found);
	if (found.limits != c->limits)
		fprintf(stderr, "%s\n", c->name);
	CHECK_INT(found.limits, c->limits);
	if (found.limits && c->limits) {
		CHECK_INT(found.stage, c->stage);
		CHECK_INT(found.program, c->program);
	}
	if (c->limits && isnan(c->room)) {
		r.in_flight = 0.97; /* the network never rested */
		crowd_find(&e, &p, &l, &r, c->harm_s, &found);
		CHECK(!found.limits);
	}
	if (c->limits && c->stage == READ) {
		l.stage = READ;
		r.throttle[READ] = p.bytes / p.active_s / 0.7;
		crowd_find(&e, &p, &l, &r, c->harm_s, &found);
		CHECK(found.limits);
		r.throttle[READ] = p.bytes / p.active_s / 0.95; /* no processor makes it faster */
		crowd_find(&e, &p, &l, &r, c->harm_s, &found);
		CHECK(!found.limits);
	}
	if (c->limits && c->stage == NET && c->limit != NET && !by_quota) {
		shaper_check(c, &e, &p, &l, r);
		r.spread = 4; /* a network of all rates is as fast as the programs let it be */
		crowd_find(&e, &p, &l, &r, c->harm_s, &found);
		CHECK(!found.limits);
	}
	l.n_windows = LIMIT_WINDOWS_MIN - 1;
	crowd_find(&e, &p, &l, &r, c->harm_s, &found);
	CHECK(!found.limits);
}

/*
 * A program and a network that take turns: work, a wait for a processor, and the network, of which
 * a part passes during the wait. What the lifts of network and wait gain is known.
 */
struct turns {
	double work, wait, net, overlap;
};

static bool
turns_named(const struct turns *t, double bursts, double *lift_net, double *lift_wait)
{
	double all = t->work + t->wait + t->net - t->overlap, part = t->net / all;
	struct evidence_process process[2] = { { .cpu_wait_s = 10 * t->wait / all } };
	const struct evidence e = { .processes = process, .n_processes = 2 };
	const double harm_s[2] = { 10 * (t->wait - t->overlap) / all, 0 };
	struct nw_path p = { .n = STAGES, .active_s = 10 };
	struct limit l = { .known = true, .stage = SENDER, .n_windows = 100 };
	struct resources r = {
		.net_low = part, .net_high = part, .in_flight = part, .shaper = NAN
	};
	struct crowd found;

	p.stage[READ] = (struct nw_path_stage){ .kind = NW_STAGE_DISK_READ };
	p.stage[SENDER] = (struct nw_path_stage){ .kind = NW_STAGE_SENDER_HOST };
	p.stage[NET] = (struct nw_path_stage){ .kind = NW_STAGE_NETWORK };
	p.stage[RECEIVER] = (struct nw_path_stage){ .kind = NW_STAGE_RECEIVER_HOST, .process = 1 };
	r.queued[READ] = 0;
	r.room = bursts / part;
	r.spread = 1.5;
	l.stage = harm_s[0] > 10 * part ? SENDER : NET;
	crowd_find(&e, &p, &l, &r, harm_s, &found);
	*lift_net = all / (t->work + t->wait);
	*lift_wait = all / (t->work + t->net);
	return found.limits;
}

/* Both are named where both lifts help, and never where one of the two gains next to nothing. */
static void
turns_simulate(void)
{
	enum { RUNS = 20000 };
	size_t i, both = 0, named = 0, alone = 0, alone_named = 0;
	double lift_net, lift_wait;
	struct turns t;
	bool found;

	for (i = 0; i < RUNS; i++) {
		t.work = 0.05 + noise_uniform();
		t.wait = 4 * noise_uniform();
		t.net = 4 * noise_uniform();
		t.overlap = 0.25 * noise_uniform() * fmin(t.wait, t.net);
		found = turns_named(&t, 1 + 0.4 * noise_uniform(), &lift_net, &lift_wait);
		if (fmin(lift_net, lift_wait) >= 1.3) {
			both++;
			named += found;
		} else if (fmin(lift_net, lift_wait) < 1.1) {
			alone++;
			alone_named += found;
		}
	}
	printf("both help: named in %zu of %zu; one is worth nothing: named in %zu of %zu\n", named,
	    both, alone_named, alone);
	CHECK((double)named >= 0.85 * (double)both);
	CHECK((double)alone_named <= 0.01 * (double)alone);
}

int
main(int argc, char **argv)
{
	size_t i;

	noise_seed(argc, argv, 27);
	turns_simulate();

	for (i = 0; i < sizeof(crowd_cases) / sizeof(crowd_cases[0]); i++)
		crowd_check(&crowd_cases[i], 0.9, false);
	for (i = 0; i < sizeof(quota_cases) / sizeof(quota_cases[0]); i++)
		crowd_check(&quota_cases[i].c, quota_cases[i].flight, true);
	return check_done("test_crowd");
}
