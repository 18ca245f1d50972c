/* SPDX-License-Identifier: BSD-3-Clause */
/* Single calls that read the disk and send: the kernel's account decides, or nobody. */
#include "analyze/verdict/judge/combined.h"

#include <math.h>

#include "tests/check.h"

enum { READ, NET, WRITE, STAGES };

static const struct {
	const char *name;
	double held[STAGES], share, in_flight, rwnd;
	bool combined, known;
	size_t stage;
} cases[] = {
	{ "slow link", { .97, .79, .01 }, .95, .97, 0, true, true, NET },
	{ "slow disk", { .98, .93, .05 }, .1, .11, 0, true, true, READ },
	{ "small window", { .97, .95, .01 }, .3, .98, .68, true, true, NET },
	{ "neither", { .97, .8, .01 }, .6, .6, 0, true, false, READ },
	{ "slow link, receiver never waits", { .97, .2, .01 }, .95, .97, 0, true, false, READ },
	{ "slow target", { .3, .1, .9 }, .95, .97, 0, true, true, WRITE },
	{ "slow target that its disk hides", { .95, .3, .57 }, .95, .96, .1, true, true, WRITE },
	{ "slow target, full window", { .9, .05, .6 }, .08, .96, .88, true, true, WRITE },
	{ "slow disk, target works, too", { .9, .1, .5 }, .2, .3, 0, true, true, READ },
	{ "calls of their own", { .97, .79, .01 }, .95, .97, 0, false, true, READ },
};

int
main(void)
{
	struct evidence_process process = { .program = NULL };
	struct evidence e = { .processes = &process, .n_processes = 1 };
	struct nw_path p = { .n = STAGES, .has_sender = true, .bytes = 1e8 };
	struct resources r;
	struct limit l;
	size_t c, i;

	p.stage[READ].kind = NW_STAGE_DISK_READ;
	p.stage[NET].kind = NW_STAGE_NETWORK;
	p.stage[WRITE].kind = NW_STAGE_DISK_WRITE;
	for (c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		process.combined_bytes = cases[c].combined ? 1e8 : 0;
		l = (struct limit){ .known = true, .n_windows = 40, .n_eff = 20 };
		l.stage = cases[c].held[WRITE] > cases[c].held[READ] ? WRITE : READ;
		for (i = 0; i < STAGES; i++)
			l.tests[i].group.mean = 1 - cases[c].held[i];
		r = (struct resources){ .net_low = cases[c].share,
			.net_high = cases[c].share,
			.in_flight = cases[c].in_flight,
			.rwnd = cases[c].rwnd };
		(void)combined_decide(&e, &p, &r, &l);
		CHECK_INT(l.known, cases[c].known);
		if (l.known)
			CHECK_INT(l.stage, cases[c].stage);
	}
	return check_done("test_combined");
}
