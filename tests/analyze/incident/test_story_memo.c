/* SPDX-License-Identifier: BSD-3-Clause */
/* A story that goes on is the story that is told whole, whatever comes between. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "narrows/err.h"
#include "narrows/incident.h"
#include "narrows/splitmix.h"
#include "tests/check.h"

enum { JOBS = 190, KINDS = 5 };
static const int64_t HOUR_NS = INT64_C(3600000000000);

static struct nw_job job[JOBS];
static uint64_t seed;

static double
uniform(void)
{
	return (double)(nw_splitmix(&seed) >> 11) * 0x1p-53;
}

/* A route with steps down and up, a drift, far sessions, or all of them. */
static void
route_make(int kind)
{
	double level = log(1e8);
	size_t i;

	for (i = 0; i < JOBS; i++) {
		if (kind >= 1 && i % 50 == 30)
			level -= log(2);
		if (kind >= 1 && i % 50 == (kind == 2 ? 33 : 44))
			level += log(2);
		if (kind == 3)
			level -= 0.01;
		job[i] = (struct nw_job){ .start_wall_ns = (int64_t)i * HOUR_NS,
			.bytes_per_s = exp(level + 0.2 * (uniform() + uniform() - 1) -
			    (kind == 4 && i % 37 == 20 ? 1 : 0)),
			.bytes = 1e9 * (1 + uniform()),
			.hour = (unsigned)(i % 24),
			.weekday = (unsigned)(i / 24 % 7),
			.suspicion = i % 40 == 31 ? 2 : 0 };
	}
}

static void
usual_check(const struct nw_usual *a, const struct nw_usual *b)
{
	CHECK_INT(a->said, b->said);
	CHECK_INT(a->n, b->n);
	CHECK(memcmp(&a->best, &b->best, sizeof(*a) - offsetof(struct nw_usual, best)) == 0);
}

static void
stories_check(const struct nw_story *a, const struct nw_story *b, size_t told_from)
{
	size_t i;

	CHECK_INT(a->n, b->n);
	CHECK_INT(a->n_incidents, b->n_incidents);
	CHECK_INT(a->n_levels, b->n_levels);
	for (i = 0; i < a->n_incidents && i < b->n_incidents; i++) {
		const struct nw_incident *x = &a->incident[i], *y = &b->incident[i];

		CHECK(x->kind == y->kind && x->state == y->state && x->begin == y->begin &&
		    x->low == y->low && x->high == y->high && x->opened == y->opened &&
		    x->end == y->end && x->closed == y->closed && x->n_before == y->n_before);
		CHECK(x->usual == y->usual && x->since == y->since && x->ratio == y->ratio &&
		    x->ratio_low == y->ratio_low && x->ratio_high == y->ratio_high &&
		    x->p == y->p && x->accepted_wall_ns == y->accepted_wall_ns);
	}
	for (i = 0; i < a->n_levels && i < b->n_levels; i++)
		CHECK(memcmp(&a->level[i], &b->level[i], offsetof(struct nw_level, was_incident)) ==
			0 &&
		    a->level[i].was_incident == b->level[i].was_incident);
	for (i = told_from; i <= a->n; i++)
		usual_check(&a->usual[i], &b->usual[i]);
}

static size_t incidents_seen;

static void
both_check(struct nw_story_memo *m, const struct nw_job *of, size_t n, const int64_t *accepted,
    size_t n_accepted)
{
	struct nw_story whole, on;

	CHECK_INT(nw_story_make_from(of, n, accepted, n_accepted, n - 1, &whole), NW_OK);
	CHECK_INT(nw_story_go_on(m, of, n, accepted, n_accepted, n - 1, &on), NW_OK);
	stories_check(&on, &whole, n - 1);
	incidents_seen += whole.n_incidents;
	nw_story_clear(&whole);
	nw_story_clear(&on);
}

static void
test_goes_on(void)
{
	int kind;
	size_t n;

	for (kind = 0; kind < KINDS; kind++) {
		struct nw_story_memo *m = nw_story_memo_new();
		const int64_t accepted = 137 * HOUR_NS + 1;

		seed = 7 + (uint64_t)kind;
		route_make(kind);
		incidents_seen = 0;
		/* one session more each time, and at times some more, or fewer */
		for (n = 1; n <= JOBS; n += 1 + (n % 17 == 0 ? 9 : 0)) {
			both_check(m, job, n, &accepted, n > 140);
			if (n % 29 == 0)
				both_check(m, job, n - n / 10, &accepted, n > 140);
		}
		CHECK(kind == 0 || incidents_seen > 0);
		nw_story_memo_free(m);
	}
}

/* A window that slides, a session that comes late, and a rate that was judged anew. */
static void
test_is_read_anew(void)
{
	struct nw_story_memo *m = nw_story_memo_new();
	struct nw_job late;
	size_t n;

	seed = 3;
	route_make(1);
	for (n = 100; n < 160; n++)
		both_check(m, job + (n - 100) / 20, n, NULL, 0);
	for (n = 100; n < 104; n++)
		both_check(m, job + 30, n, NULL, 0);
	late = job[150];
	memmove(job + 151, job + 150, 9 * sizeof(job[0]));
	job[150] = late;
	job[150].bytes_per_s /= 3;
	both_check(m, job, 161, NULL, 0);
	job[20].bytes_per_s *= 1.5;
	both_check(m, job, 162, NULL, 0);
	both_check(m, job, 162, NULL, 0);
	nw_story_memo_free(m);
}

int
main(void)
{
	test_goes_on();
	test_is_read_anew();
	return check_done("story_memo");
}
