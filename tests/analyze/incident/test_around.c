/* SPDX-License-Identifier: BSD-3-Clause */
/* The sessions around the begin of a slowdown, on which causes are searched. */
#include "narrows/err.h"
#include "narrows/incident.h"
#include "tests/check.h"

enum { N = 120 };
static struct nw_usual usual[N + 1];
static struct nw_level levels[2];

static struct nw_story
story_of(size_t n, struct nw_incident *in, size_t n_incidents)
{
	return (struct nw_story){ .n = n,
		.usual = usual,
		.incident = in,
		.n_incidents = n_incidents,
		.level = levels,
		.n_levels = 1 };
}

static void
healthy_test(void)
{
	struct nw_story s = story_of(20, NULL, 0), empty = story_of(0, NULL, 0);
	struct nw_around a;

	CHECK_INT(nw_story_around(&empty, &a), NW_ENOTFOUND);
	CHECK_INT(nw_story_around(&s, &a), NW_ENOTFOUND);
	usual[19].said = NW_AGAINST_SLOWER; /* slow alone */
	CHECK_INT(nw_story_around(&s, &a), NW_OK);
	CHECK(a.n == 20 && a.split == 19 && a.low == 19 && a.high == 19);
	usual[19].said = NW_AGAINST_USUAL;
}

/* An incident that ended is no level; the bounds of the begin stay within the sessions. */
static void
incident_test(void)
{
	struct nw_incident in[] = {
		{ .state = NW_INCIDENT_ENDED, .begin = 5, .end = 10 },
		{ .begin = 20, .low = 19, .high = 30, .end = 23 },
	};
	struct nw_story s = story_of(23, in, 2);
	struct nw_around a;

	CHECK_INT(nw_story_around(&s, &a), NW_OK);
	CHECK(a.n == 18 && a.split == 15 && a.low == 14 && a.high == 17);
	CHECK(a.session[4] == 4 && a.session[5] == 10 && a.session[15] == 20);
	in[1].low = 3; /* before all sessions of the gap */
	CHECK_INT(nw_story_around(&s, &a), NW_OK);
	CHECK_INT(a.low, 3);
}

/* Of many sessions the newest usual ones, and of a long incident its begin and its end. */
static void
long_test(void)
{
	struct nw_incident in = { .begin = 60, .low = 60, .high = 60, .end = N };
	struct nw_story s = story_of(N, &in, 1);
	struct nw_around a;

	CHECK_INT(nw_story_around(&s, &a), NW_OK);
	CHECK(a.split == NW_AROUND_BEFORE && a.session[0] == 20);
	CHECK_INT(a.n, NW_AROUND_BEFORE + NW_AROUND_AFTER);
	CHECK(a.session[a.split + 19] == 79 && a.session[a.split + 20] == 100);
	CHECK_INT(a.session[a.n - 1], N - 1);
}

int
main(void)
{
	healthy_test();
	incident_test();
	long_test();
	return check_done("around");
}
