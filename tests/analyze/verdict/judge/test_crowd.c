/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits beside busy processors: when a wait for a processor limits, too. */
#include "analyze/verdict/judge/crowd.h"

#include <math.h>
#include <string.h>

#include "tests/check.h"

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
	{ "a window was closed", true, NET, 0.7, 1.7, 0.3, 0, { 1, 7 }, { 0.2, 2 }, false, 0, 0 },
	{ "half each", false, RECEIVER, 0.45, 3, 0.5, 0, { 1, 7 }, { 0.2, 5 }, true, NET,
	    RECEIVER },
	{ "a window closed for most of the time", false, RECEIVER, 0.28, 3, 0.56, 0, { 1, 7 },
	    { 0.2, 5 }, false, 0, 0 },
	{ "half each, sending", true, SENDER, 0.45, 3, 0, 0, { 7, 1 }, { 5, 0 }, true, NET,
	    SENDER },
	{ "hardly a network", true, RECEIVER, 0.1, 3, 0.5, 0, { 1, 7 }, { 0.2, 5 }, false, 0, 0 },
	{ "the wait cost little", true, RECEIVER, 0.45, 3, 0.5, 0, { 1, 7 }, { 0.2, 3 }, false, 0,
	    0 },
	{ "a network with much room", false, RECEIVER, 0.45, 9, 0.5, 0, { 1, 7 }, { 0.2, 5 }, false,
	    0, 0 },
	{ "half a disk", true, SENDER, 0.1, 9, 0, 0.5, { 7, 1 }, { 5, 0 }, true, READ, SENDER },
	{ "a whole disk", true, READ, 0.1, 9, 0, 0.9, { 7, 1 }, { 5, 0 }, false, 0, 0 },
};

static void
crowd_check(const struct crowd_case *c)
{
	struct evidence_process process[2] = { { .cpu_wait_s = c->wait_s[0] },
		{ .cpu_wait_s = c->wait_s[1] } };
	const struct evidence e = { .processes = process, .n_processes = 2 };
	struct nw_path p = { .n = STAGES, .active_s = 10 };
	struct limit l = { .known = c->known, .stage = c->limit, .n_windows = 100 };
	struct resources r = { .net_low = c->net,
		.net_high = c->net,
		.room = c->room,
		.rwnd = c->rwnd,
		.in_flight = 0.9 };
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
	l.n_windows = LIMIT_WINDOWS_MIN - 1;
	crowd_find(&e, &p, &l, &r, c->harm_s, &found);
	CHECK(!found.limits);
}

int
main(void)
{
	size_t i;

	for (i = 0; i < sizeof(crowd_cases) / sizeof(crowd_cases[0]); i++)
		crowd_check(&crowd_cases[i]);
	return check_done("test_crowd");
}
