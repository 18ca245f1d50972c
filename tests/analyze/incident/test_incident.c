/* SPDX-License-Identifier: BSD-3-Clause */
/* Stories of routes with a planted incident, a new level, a drift, or nothing. */
#include "narrows/incident.h"

#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "tests/noise.h"

enum { LONGEST = 200 };
#define HOUR_NS (INT64_C(3600) * 1000000000)

static const double SPREAD = 0.08;

/* Sessions of 1e8 B/s every eight hours. */
static void
jobs_make(struct nw_job *job, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		job[i] = (struct nw_job){ .start_wall_ns = (int64_t)i * 8 * HOUR_NS,
			.bytes_per_s = 1e8 * exp(SPREAD * noise_normal()),
			.bytes = 1e10,
			.hour = (unsigned)(8 * i % 24),
			.weekday = (unsigned)(i / 3 % 7) };
}

static void
jobs_slow(struct nw_job *job, size_t begin, size_t end, double factor)
{
	for (; begin < end; begin++)
		job[begin].bytes_per_s /= factor;
}

static void
story(const struct nw_job *job, size_t n, struct nw_story *s)
{
	CHECK_INT(nw_story_make(job, n, NULL, 0, s), 0);
}

/* The size of a job that ends by the clock is no reason for the rate. */
static void
clocked_jobs_have_incidents(void)
{
	struct nw_job job[LONGEST];
	struct nw_story s;
	size_t i, n;

	for (n = 9; n <= 24; n += 3) {
		jobs_make(job, 30);
		jobs_slow(job, n, 30, 2.5);
		for (i = 0; i < 30; i++)
			job[i].bytes = 10 * (1 + 0.002 * noise_uniform()) * job[i].bytes_per_s;
		story(job, 30, &s);
		CHECK_INT(s.n_incidents, 1);
		CHECK(s.n_incidents == 0 || s.incident[0].begin == n);
		nw_story_clear(&s);
	}
}

static void
incident_is_told(void)
{
	struct nw_job job[LONGEST];
	const struct nw_incident *in;
	struct nw_story s;
	size_t i, n;

	jobs_make(job, 60);
	jobs_slow(job, 20, 32, 2);
	for (n = 21; n <= 32; n++) {
		story(job, n, &s);
		CHECK_INT(s.n_incidents, 1);
		CHECK_INT(s.incident[0].begin, 20);
		CHECK_INT(s.incident[0].state, NW_INCIDENT_OPEN);
		CHECK_INT(s.incident[0].end, n);
		for (i = 20; i < n; i++)
			CHECK_INT(s.usual[i].said, NW_AGAINST_SLOWER);
		CHECK(s.usual[n].median > 0.9e8 && s.usual[n].low > 0.8e8);
		nw_story_clear(&s);
	}
	story(job, 60, &s);
	CHECK_INT(s.n_incidents, 1);
	in = &s.incident[0];
	CHECK_INT(in->state, NW_INCIDENT_ENDED);
	CHECK_INT(in->end, 32);
	CHECK(in->closed < 35);
	CHECK(in->ratio_low < 2 && 2 < in->ratio_high && in->ratio_high < 2.4);
	CHECK_NEAR(in->usual / in->since, in->ratio, 1e-9, 0);
	CHECK(nw_story_incident_of(&s, 19) == NULL && nw_story_incident_of(&s, 32) == NULL);
	CHECK(nw_story_incident_of(&s, 20) == in && nw_story_incident_of(&s, 31) == in);
	CHECK_INT(s.usual[40].said, NW_AGAINST_USUAL);
	CHECK_INT(s.n_levels, 1);
	CHECK_INT(s.usual[60].n, 60 - 12);
	nw_story_clear(&s);
}

/* By the number of sessions, or by a command. */
static void
incident_is_accepted(void)
{
	struct nw_job job[LONGEST];
	struct nw_story s;
	int64_t at;

	jobs_make(job, 80);
	jobs_slow(job, 30, 80, 1.7);
	story(job, 80, &s);
	CHECK_INT(s.n_incidents, 1);
	CHECK_INT(s.incident[0].state, NW_INCIDENT_IS_ACCEPTED);
	CHECK_INT(s.incident[0].end, 30 + NW_INCIDENT_ACCEPTED);
	CHECK_INT(s.n_levels, 2);
	CHECK_INT(s.level[1].begin, 30);
	CHECK(s.level[1].was_incident);
	CHECK_INT(s.usual[80].n, 50);
	CHECK(s.usual[80].high < 0.8e8);
	nw_story_clear(&s);
	at = job[36].start_wall_ns + 1;
	CHECK_INT(nw_story_make(job, 80, &at, 1, &s), 0);
	CHECK_INT(s.incident[0].state, NW_INCIDENT_IS_ACCEPTED);
	CHECK_INT(s.incident[0].end, 37);
	CHECK(s.incident[0].accepted_wall_ns == at);
	CHECK(s.usual[45].said != NW_AGAINST_SLOWER);
	nw_story_clear(&s);
	/* the same before the next session, whose story the acceptance changes */
	CHECK_INT(nw_story_make(job, 37, &at, 1, &s), 0);
	CHECK_INT(s.incident[0].state, NW_INCIDENT_IS_ACCEPTED);
	CHECK_INT(s.incident[0].end, 37);
	CHECK_INT(s.n_levels, 2);
	CHECK(s.usual[37].n == 7 && s.usual[37].median < 0.8e8);
	nw_story_clear(&s);
	/* a time before the incident accepts nothing */
	at = job[25].start_wall_ns + 1;
	CHECK_INT(nw_story_make(job, 37, &at, 1, &s), 0);
	CHECK_INT(s.incident[0].state, NW_INCIDENT_OPEN);
	nw_story_clear(&s);
}

static void
faster_is_a_level(void)
{
	struct nw_job job[LONGEST];
	struct nw_story s;

	jobs_make(job, 60);
	jobs_slow(job, 30, 60, 1 / 1.8);
	story(job, 60, &s);
	CHECK_INT(s.n_incidents, 0);
	CHECK_INT(s.n_levels, 2);
	CHECK_INT(s.level[1].begin, 30);
	CHECK(!s.level[1].was_incident && s.level[1].known < 38);
	CHECK(s.usual[60].low > 1.4e8);
	nw_story_clear(&s);
}

static void
drift_is_told(void)
{
	struct nw_job job[LONGEST];
	struct nw_story s;
	size_t i;

	jobs_make(job, 150);
	for (i = 0; i < 150; i++)
		job[i].bytes_per_s *= exp(-0.006 * (double)i);
	story(job, 150, &s);
	CHECK_INT(s.n_incidents, 1);
	CHECK_INT(s.incident[0].kind, NW_INCIDENT_DRIFT);
	CHECK_INT(s.incident[0].state, NW_INCIDENT_OPEN);
	CHECK_NEAR(s.incident[0].per_week, 1 - exp(-0.006 * 21), 0.15, 0);
	CHECK(s.usual[150].high < 0.5e8);
	nw_story_clear(&s);
}

/* Small jobs are slower, at all times: two sizes in turns are no incident. */
static void
sizes_are_no_incident(void)
{
	struct nw_job job[LONGEST];
	struct nw_story s;
	size_t i, n = 0;
	int route;

	for (route = 0; route < 10; route++) {
		jobs_make(job, LONGEST);
		for (i = 0; i < LONGEST; i++)
			if (i / 12 % 2 == 1) {
				job[i].bytes = 1e9;
				job[i].bytes_per_s /= 1.5;
			}
		story(job, LONGEST, &s);
		n += s.n_incidents;
		nw_story_clear(&s);
	}
	CHECK(n <= 3);
}

/* What is usual for a session follows from the sessions before it alone, and what an incident was
 * stays true with the sessions after it. */
static void
later_sessions_change_nothing(void)
{
	struct nw_job job[LONGEST];
	struct nw_story all, part;
	size_t n;

	jobs_make(job, 100);
	jobs_slow(job, 40, 50, 1.6);
	story(job, 100, &all);
	for (n = 1; n < 100; n += 7) {
		story(job, n, &part);
		if (n < 40 || n > 60)
			CHECK(memcmp(part.usual, all.usual, n * sizeof(*part.usual)) == 0);
		if (n > 60) {
			CHECK_INT(part.n_incidents, all.n_incidents);
			CHECK_INT(part.incident[0].begin, all.incident[0].begin);
			CHECK_INT(part.incident[0].opened, all.incident[0].opened);
			CHECK_INT(part.incident[0].end, all.incident[0].end);
		}
		nw_story_clear(&part);
	}
	nw_story_clear(&all);
}

static bool
is_same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static void
check_same(const struct nw_story *a, const struct nw_story *b, size_t from)
{
	size_t i;

	CHECK_INT(b->n_levels, a->n_levels);
	CHECK_INT(b->n_incidents, a->n_incidents);
	for (i = 0; i < a->n_levels && b->n_levels == a->n_levels; i++)
		CHECK(a->level[i].begin == b->level[i].begin &&
		    is_same(a->level[i].before, b->level[i].before) &&
		    is_same(a->level[i].after, b->level[i].after));
	/* without padding */
	for (i = 0; i < a->n_incidents && b->n_incidents == a->n_incidents; i++)
		CHECK(memcmp(&b->incident[i], &a->incident[i], sizeof(a->incident[i])) == 0);
	for (i = from; i <= a->n; i++) {
		const struct nw_usual *u = &a->usual[i], *v = &b->usual[i];

		CHECK(u->said == v->said && u->n == v->n && is_same(u->best, v->best) &&
		    is_same(u->median, v->median) && is_same(u->worst, v->worst) &&
		    is_same(u->low, v->low) && is_same(u->high, v->high) &&
		    is_same(u->ratio, v->ratio) && is_same(u->slower_than, v->slower_than) &&
		    is_same(u->p, v->p));
	}
}

/* The story of the newest session's sake is the whole story. */
static void
newest_alone_is_the_same(void)
{
	struct nw_job job[LONGEST];
	struct nw_story whole, newest;
	size_t i, n, round, told = 0;

	for (round = 0; round < 40; round++) {
		n = 1 + (size_t)random() % LONGEST;
		jobs_make(job, n);
		for (i = 0; i < n; i++) {
			if (random() % 20 == 0)
				jobs_slow(job, i, i + (size_t)random() % (n - i),
				    0.4 + (double)(random() % 200) / 100);
			job[i].bytes_per_s *= exp(-0.002 * (double)(i * (round % 3)));
		}
		story(job, n, &whole);
		CHECK_INT(nw_story_make_from(job, n, NULL, 0, n - 1, &newest), 0);
		check_same(&whole, &newest, n - 1);
		told += whole.n_incidents;
		nw_story_clear(&whole);
		nw_story_clear(&newest);
	}
	CHECK(told > 20);
}

static void
few_say_nothing(void)
{
	struct nw_job job[LONGEST];
	struct nw_story s;
	size_t i;

	story(NULL, 0, &s);
	CHECK_INT(s.n_levels, 1);
	CHECK(isnan(s.usual[0].median));
	nw_story_clear(&s);
	jobs_make(job, NW_USUAL_MIN);
	jobs_slow(job, 6, 8, 10);
	story(job, NW_USUAL_MIN, &s);
	CHECK_INT(s.n_incidents, 0);
	for (i = 0; i < NW_USUAL_MIN; i++)
		CHECK_INT(s.usual[i].said, NW_AGAINST_TOO_FEW);
	CHECK_INT(s.usual[5].n, 5);
	nw_story_clear(&s);
}

/* A recorded change before a session opens an incident of which the rate alone leaves doubt, and
 * no incident of a session that is about usual. */
static void
changes_are_evidence(void)
{
	struct nw_job job[LONGEST];
	struct nw_story s;
	size_t run, with, without, usual;

	for (with = without = usual = run = 0; run < 200; run++) {
		jobs_make(job, 31);
		job[30].bytes_per_s = 1e8 * exp(-3.3 * SPREAD);
		story(job, 31, &s);
		without += s.n_incidents;
		nw_story_clear(&s);
		job[30].suspicion = 3;
		story(job, 31, &s);
		with += s.n_incidents;
		nw_story_clear(&s);
		job[30].bytes_per_s = 1e8 * exp(-SPREAD);
		story(job, 31, &s);
		usual += s.n_incidents;
		nw_story_clear(&s);
	}
	CHECK(with > 120 && without < 60 && usual < 6);
}

/* All alike, and odd numbers. */
static void
odd_jobs(void)
{
	struct nw_job job[40];
	struct nw_story s;
	size_t i;

	for (i = 0; i < 40; i++)
		job[i] = (struct nw_job){ .bytes_per_s = i == 30 ? 1e-300 : 1e8,
			.bytes = i % 2 == 0 ? 0 : NAN,
			.hour = 255,
			.weekday = 255 };
	story(job, 40, &s);
	CHECK(isfinite(s.usual[40].median));
	nw_story_clear(&s);
}

/* A fall of 2 % a session is a drift, from the first session on or after a level: in an open
 * incident the slope explains more than a step does. */
static void
fall_is_a_drift(void)
{
	static const size_t flat[] = { 0, 30 };
	struct nw_job job[LONGEST];
	const struct nw_incident *in;
	struct nw_story s;
	size_t i, k, n;

	for (k = 0; k < 2; k++) {
		n = flat[k] + 30;
		jobs_make(job, n);
		for (i = 0; i < n; i++) /* 2 % of the rate and 3 % of noise */
			job[i].bytes_per_s = 1e8 * pow(job[i].bytes_per_s / 1e8, 0.4) *
			    exp(-0.02 * (i > flat[k] ? (double)(i - flat[k]) : 0));
		story(job, n, &s);
		CHECK_INT(s.n_incidents, 1);
		in = &s.incident[0];
		CHECK_INT(in->kind, NW_INCIDENT_DRIFT);
		CHECK_INT(in->state, NW_INCIDENT_OPEN);
		CHECK_INT(in->end, n);
		CHECK(in->begin + 4 >= flat[k] && in->begin <= flat[k] + 8);
		CHECK(in->low <= in->begin && in->begin <= in->high);
		/* 21 sessions a week */
		CHECK_NEAR(in->per_week, 1 - exp(-0.02 * 21), 0, 0.08);
		CHECK(s.usual[n - 1].said == NW_AGAINST_USUAL);
		CHECK_INT(s.usual[n - 1].n, n - 1 - in->begin);
		nw_story_clear(&s);
	}
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 29);
	few_say_nothing();
	incident_is_told();
	incident_is_accepted();
	faster_is_a_level();
	drift_is_told();
	fall_is_a_drift();
	sizes_are_no_incident();
	later_sessions_change_nothing();
	newest_alone_is_the_same();
	changes_are_evidence();
	odd_jobs();
	clocked_jobs_have_incidents();
	return check_done("incident");
}
