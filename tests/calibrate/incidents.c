/* SPDX-License-Identifier: BSD-3-Clause */
/* Stories of routes: false incidents on healthy routes, the next session inside the usual interval,
 * and planted incidents: when they open, where they begin, and when they end. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "narrows/cause.h"
#include "narrows/err.h"
#include "narrows/incident.h"
#include "tests/calibrate/calibrate.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))
#define HOUR_NS  (INT64_C(3600) * 1000000000)

enum { HEALTHY = 200, SLOW = 12, AFTER = 10, LONGEST = 200 };

static const struct calibrate_route routes[] = {
	{ .name = "independent", .hours = 8, .openings = 0.0005, .covers_from = 8 },
	{ .name = "memory 0.4", .memory = 0.4, .hours = 8, .openings = 0.0007, .covers_from = 30 },
	{ .name = "memory 0.7", .memory = 0.7, .hours = 8, .openings = 0.0007, .covers_from = 30 },
	{ .name = "memory 0.9", .memory = 0.9, .hours = 8, .openings = 0.0007, .covers_from = 30 },
	{ .name = "drift", .drift = 0.04, .hours = 8, .openings = 0.0007, .covers_from = 30 },
	{ .name = "weekdays", .weekdays = 2, .hours = 24, .openings = 0.0007, .covers_from = 30 },
	{ .name = "hours", .day = 2, .hours = 3.7, .openings = 0.0007, .covers_from = 30 },
	{ .name = "two sizes",
	    .two_sizes = true,
	    .hours = 8,
	    .openings = 0.0005,
	    .covers_from = 30 },
	{ .name = "many sizes", .sizes = true, .hours = 8, .openings = 0.0005, .covers_from = 30 },
	{ .name = "long tails", .student = 4, .hours = 8, .openings = 0.0018, .covers_from = 400 },
	{ .name = "changes", .changes = 30, .hours = 8, .openings = 0.0007, .covers_from = 8 },
};
/* The chance that a recorded change is felt, causes.def. */
static const double FELT = 0.4;

void
calibrate_jobs(const struct calibrate_route *r, size_t n, double spread, struct nw_job *job)
{
	double weekday[7], y, state = noise_normal(), phase = 6.28 * noise_uniform(), noise, hours;
	bool small = false;
	size_t i;

	for (i = 0; i < 7; i++)
		weekday[i] = r->weekdays * noise_normal();
	for (i = 0; i < n; i++) {
		hours = r->hours * ((double)i + 0.25 * noise_uniform());
		noise = r->student > 0 ? noise_student(r->student) * M_SQRT1_2 : noise_normal();
		state = r->memory * state + sqrt(1 - r->memory * r->memory) * noise;
		job[i] = (struct nw_job){ .start_wall_ns = (int64_t)(hours * (double)HOUR_NS),
			.bytes = 1e10,
			.hour = (unsigned)hours % 24,
			.weekday = (unsigned)hours / 24 % 7,
			.suspicion = nw_change_log_odds(
			    r->changes > 0 && i % r->changes == r->changes - 1 ? FELT : 0,
			    r->changes > 0 ? FELT * (double)(i / r->changes) : 0) };
		y = state - r->drift * (double)i + weekday[job[i].weekday] +
		    r->day * sin(0.2618 * job[i].hour + phase);
		y *= spread;
		if (r->two_sizes && noise_uniform() < 0.12)
			small = !small;
		if (r->sizes)
			job[i].bytes *= exp(1.5 * noise_normal());
		else if (small)
			job[i].bytes /= 10;
		y += (r->two_sizes ? 0.22 : 0.15) * log(job[i].bytes / 1e10);
		job[i].bytes_per_s = 1e8 * exp(y);
	}
}

const struct calibrate_route *
calibrate_routes(size_t *n)
{
	*n = COUNT(routes);
	return routes;
}

double
calibrate_spread(void)
{
	return 0.03 * exp(log(10) * noise_uniform());
}

static size_t
steps_count(const struct nw_story *s)
{
	size_t i, n = 0;

	for (i = 0; i < s->n_incidents; i++)
		n += s->incident[i].kind == NW_INCIDENT_STEP;
	return n;
}

static void
healthy(struct calibration *c)
{
	struct nw_job job[LONGEST];
	size_t k, run, i, opened, drifts, inside, looked, runs = calibrate_runs(c, 20);
	struct nw_story s;
	char what[96];

	calibrate_title(c, "healthy routes of 200 sessions, looked at after each");
	for (k = 0; k < COUNT(routes); k++) {
		for (opened = drifts = inside = looked = run = 0; run < runs; run++) {
			calibrate_jobs(&routes[k], HEALTHY, calibrate_spread(), job);
			if (nw_story_make(job, HEALTHY, NULL, 0, &s) != NW_OK)
				abort();
			opened += steps_count(&s);
			drifts += steps_count(&s) < s.n_incidents;
			for (i = routes[k].covers_from; i < HEALTHY; i++, looked++)
				inside += job[i].bytes_per_s >= s.usual[i].low &&
				    job[i].bytes_per_s <= s.usual[i].high;
			nw_story_clear(&s);
		}
		(void)snprintf(what, sizeof(what), "%s: incidents by session", routes[k].name);
		cell_at_most(c, what, opened, runs * HEALTHY, routes[k].openings);
		(void)snprintf(what, sizeof(what), "%s: routes with a drift", routes[k].name);
		if (routes[k].drift > 0)
			cell_at_least(c, what, drifts, runs, 0.9);
		else
			cell_at_most(c, what, drifts, runs, 0.03);
		(void)snprintf(what, sizeof(what), "%s: next session in the 80 %%", routes[k].name);
		if (looked > 0) /* neighbours share a level: not independent */
			cell_within(c, what, inside / 20, looked / 20, 0.77, 0.83);
	}
}

static const struct {
	size_t before, by; /* sessions before the incident; opened by its session of this number */
	double low, high;  /* size, in standard deviations */
	double opens;
	bool recorded; /* with a change of a setting before the first slow session */
} sizes[] = {
	{ 15, 3, 4, 4, 0.8, false },
	{ 15, 1, 5, 6, 0.86, false },
	{ 15, 2, 5, 6, 0.93, false },
	{ 30, 3, 4, 4, 0.91, false },
	{ 30, 1, 5, 6, 0.75, false },
	{ 30, 2, 5, 6, 0.95, false },
	{ 100, 3, 4, 4, 0.97, false },
	{ 100, 1, 5, 6, 0.81, false },
	{ 100, 2, 5, 6, 0.97, false },
	{ 15, 3, 4, 4, 0.9, true },
	{ 15, 1, 5, 6, 0.9, true },
	{ 30, 1, 5, 6, 0.9, true },
	{ 100, 1, 5, 6, 0.9, true },
};

/* Counts of one cell. */
struct planted {
	size_t in_time, opened, begin_right, ended, inside, usual_inside;
};

static void
planted_count(const struct nw_story *s, size_t before, size_t by, struct planted *p)
{
	const struct nw_incident *in;
	size_t i;

	for (in = s->incident; in < s->incident + s->n_incidents; in++)
		if (in->kind == NW_INCIDENT_STEP && in->opened >= before &&
		    in->opened < before + SLOW)
			break;
	if (in == s->incident + s->n_incidents)
		return;
	p->opened++;
	p->in_time += in->opened < before + by;
	p->begin_right += in->begin + 1 >= before && in->begin <= before + 1;
	p->ended += in->closed >= before + SLOW && in->closed < before + SLOW + 3;
	for (i = in->begin; i < before + SLOW; i++, p->inside++)
		p->usual_inside +=
		    s->usual[i].said == NW_AGAINST_USUAL || nw_story_incident_of(s, i) == NULL;
}

static void
planted(struct calibration *c)
{
	struct nw_job job[LONGEST];
	size_t k, run, i, n, runs = calibrate_runs(c, 5);
	double spread, step;
	struct nw_story s;
	struct planted p;
	char what[96];

	calibrate_title(c, "twelve slow sessions on an independent route");
	for (k = 0; k < COUNT(sizes); k++) {
		p = (struct planted){ 0 };
		n = sizes[k].before + SLOW + AFTER;
		for (run = 0; run < runs; run++) {
			spread = calibrate_spread();
			step = sizes[k].low + (sizes[k].high - sizes[k].low) * noise_uniform();
			calibrate_jobs(&routes[0], n, spread, job);
			for (i = sizes[k].before; i < sizes[k].before + SLOW; i++)
				job[i].bytes_per_s *= exp(-step * spread);
			if (sizes[k].recorded)
				job[sizes[k].before].suspicion = nw_change_log_odds(FELT, 0);
			if (nw_story_make(job, n, NULL, 0, &s) != NW_OK)
				abort();
			planted_count(&s, sizes[k].before, sizes[k].by, &p);
			nw_story_clear(&s);
		}
		(void)snprintf(what, sizeof(what), "%g sd, %zu before%s: open by session %zu",
		    sizes[k].low, sizes[k].before, sizes[k].recorded ? ", a change" : "",
		    sizes[k].by);
		cell_at_least(c, what, p.in_time, runs, sizes[k].opens);
		cell_at_least(c, "  begin right within one session", p.begin_right, p.opened, 0.9);
		cell_at_least(c, "  ended within three usual sessions", p.ended, p.opened, 0.95);
		cell_at_most(c, "  as usual inside, by session", p.usual_inside, p.inside, 0.01);
	}
}

/* A fall of 2 % a session, for 30 sessions. */
static void
falling(struct calibration *c)
{
	static const size_t flat[] = { 0, 30 };
	struct nw_job job[LONGEST];
	size_t k, i, n, run, drifts, runs = calibrate_runs(c, 20);
	struct nw_story s;
	char what[96];

	calibrate_title(c, "an independent route that falls by 2 % a session, 30 sessions");
	for (k = 0; k < COUNT(flat); k++) {
		n = flat[k] + 30;
		for (drifts = run = 0; run < runs; run++) {
			calibrate_jobs(&routes[0], n, 0.02 + 0.03 * noise_uniform(), job);
			for (i = flat[k]; i < n; i++)
				job[i].bytes_per_s *= exp(-0.02 * (double)(i - flat[k]));
			if (nw_story_make_from(job, n, NULL, 0, n, &s) != NW_OK)
				abort();
			drifts += s.n_incidents > 0 &&
			    s.incident[s.n_incidents - 1].kind == NW_INCIDENT_DRIFT;
			nw_story_clear(&s);
		}
		(void)snprintf(what, sizeof(what), "%zu before: told as a drift", flat[k]);
		cell_at_least(c, what, drifts, runs, 0.85);
	}
}

void
calibrate_incidents(struct calibration *c)
{
	healthy(c);
	planted(c);
	falling(c);
}
