/* SPDX-License-Identifier: BSD-3-Clause */
/* Delays of known place and size in simulated lifelines, and runs without any. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "narrows/err.h"
#include "tests/calibrate/calibrate.h"
#include "tests/lifesim.h"

struct count {
	size_t runs, spoke, named, sized, stood;
};

static void
run_once(const struct sim *m, struct count *c)
{
	static struct nw_line_segments segments;
	static struct nw_line_findings found;
	struct sim_lines s;
	const struct nw_line_finding *f = &found.finding[0];
	bool named;

	sim_run(m, &s);
	if (nw_lines_segments(&s.lines, &segments) != NW_OK ||
	    nw_lines_find(&s.lines, &segments, &found) != NW_OK)
		abort();
	named = found.n > 0 && f->from == sim_from(m->place);
	c->runs++;
	c->spoke += found.n > 0;
	c->named += named;
	c->stood += named && f->n_moments == 1 && fabs(f->cost_s / m->size_s - 1) <= 0.1;
	c->sized += named && fabs(f->size_s / m->size_s - 1) <= 0.1;
	sim_free(&s);
}

static struct count
runs_of(struct calibration *c, const struct sim *m)
{
	struct count n = { 0 };
	size_t i, runs = calibrate_runs(c, 100);

	for (i = 0; i < runs; i++)
		run_once(m, &n);
	return n;
}

static void
nothing_planted(struct calibration *c, struct sim m)
{
	static const size_t lists[] = { 10, 40, 200 };
	struct count n;
	char text[120];
	size_t i;

	m.place = SIM_NOWHERE;
	for (i = 0; i < (c->verbose ? 3 : 2); i++) {
		m.lists = lists[i];
		n = runs_of(c, &m);
		(void)snprintf(text, sizeof(text), "nothing, %s, %s, %zu lists",
		    sim_shape_names[m.shape], m.queues ? "queues" : "alone", m.lists);
		cell_at_most(c, text, n.spoke, n.runs, 0.02);
	}
}

static void
something_planted(struct calibration *c, struct sim m)
{
	static const char *const whose[] = { "some", "a server", "later", "once" };
	struct count n;
	char text[160];

	(void)snprintf(text, sizeof(text), "%s, %g ms, %s, %s, %s", sim_place_names[m.place],
	    1e3 * m.size_s, whose[m.who], sim_shape_names[m.shape], m.queues ? "queues" : "alone");
	n = runs_of(c, &m);
	cell_at_least(c, text, n.named, n.runs, 0.95);
	(void)snprintf(text, sizeof(text), "  size within 10 %%");
	cell_at_least(c, text, n.sized, n.runs, 0.95);
}

/* A server stands still once. The share of runs in which that is told, and its length is right. */
static void
stall_planted(struct calibration *c, struct sim m)
{
	struct count n = { 0 };
	char text[160];
	size_t i, runs = calibrate_runs(c, 100);

	for (i = 0; i < runs; i++)
		run_once(&m, &n);
	(void)snprintf(text, sizeof(text), "%s, one stall of %g s, %s", sim_place_names[m.place],
	    m.size_s, sim_shape_names[m.shape]);
	cell_at_least(c, text, n.named, n.runs, 0.95);
	(void)snprintf(text, sizeof(text), "  length within 10 %%");
	cell_at_least(c, text, n.stood, n.runs, 0.95);
}

/* The clock of the second server is ahead by lead_s, and gains rate seconds a second. Counts runs
 * that accuse a clock, that accuse only this clock, and whose interval has the lead and rate. */
static void
clock_once(const struct sim *m, double lead_s, double rate, struct count *c)
{
	enum { HOST = 3 };
	struct nw_line_clock clock[16];
	struct nw_line_wrong wrong[16];
	struct sim_lines s;
	size_t i, p, n;
	int64_t *t, begin;
	bool named;

	sim_run(m, &s);
	begin = s.t[0];
	for (i = 0; i < s.lines.n; i++)
		for (p = 0; p < SIM_POINTS; p++) {
			t = &s.t[i * SIM_POINTS + p];
			if (s.host[s.lane[i] * SIM_POINTS + p] == HOST)
				*t += llround(lead_s * 1e9 + rate * (double)(*t - begin));
		}
	nw_lines_clocks(&s.lines, clock);
	if (nw_lines_wrong(&s.lines, clock, wrong, &n) != NW_OK)
		abort();
	named = n == 1 && wrong[0].host == HOST;
	c->runs++;
	c->spoke += n > 0;
	c->named += named;
	c->sized += named && wrong[0].low_s <= lead_s + rate * 60 && wrong[0].high_s >= lead_s &&
	    wrong[0].rate_low <= rate && wrong[0].rate_high >= rate;
	c->stood += named && rate != 0 && fabs(wrong[0].rate / rate - 1) <= 0.2;
	sim_free(&s);
}

/* A wrong clock is proven, with its lead; a right one is not accused, also not where a server's
 * way is long. A lead below the way back cannot be proven. */
static void
clocks_planted(struct calibration *c, struct sim m)
{
	static const double leads[] = { -0.003, 0.01 };
	struct count n = { 0 };
	char text[160];
	size_t i, k, runs = calibrate_runs(c, 100);

	for (i = 0; i < runs; i++)
		clock_once(&m, 0, 0, &n);
	(void)snprintf(text, sizeof(text), "right clocks, %s, %s", sim_place_names[m.place],
	    sim_shape_names[m.shape]);
	cell_at_most(c, text, n.spoke, n.runs, 0.02);
	for (k = 0; k < (m.place == SIM_LOSS ? 1 : 2); k++) {
		n = (struct count){ 0 };
		for (i = 0; i < runs; i++)
			clock_once(&m, leads[k], 0, &n);
		(void)snprintf(text, sizeof(text), "clock %+g ms, %s, %s", 1e3 * leads[k],
		    sim_place_names[m.place], sim_shape_names[m.shape]);
		cell_at_least(c, text, n.named, n.runs, 0.95);
		(void)snprintf(text, sizeof(text), "  interval has the lead");
		cell_at_least(c, text, n.sized, n.runs, 0.95);
	}
}

/* A clock that drifts from 10 ms behind to 10 ms ahead, over 8 s and over 200 s; its rate in the
 * middle is right within a fifth. A clock that is right nearly the whole time is not accused. */
static void
drifts_planted(struct calibration *c, struct sim m)
{
	static const double periods[] = { 0.4, 10 };
	double span;
	struct count n;
	char text[160];
	size_t i, k, runs = calibrate_runs(c, 100);

	for (k = 0; k < 2; k++) {
		m.period_s = periods[k];
		span = m.period_s * (double)m.lists;
		n = (struct count){ 0 };
		for (i = 0; i < runs; i++)
			clock_once(&m, -1e-4, 2e-4 / span, &n);
		(void)snprintf(text, sizeof(text), "right clocks, %.3g ppm in %g s, %s", 200 / span,
		    span, sim_shape_names[m.shape]);
		cell_at_most(c, text, n.spoke, n.runs, 0.02);
		n = (struct count){ 0 };
		for (i = 0; i < runs; i++)
			clock_once(&m, -0.01, 0.02 / span, &n);
		(void)snprintf(text, sizeof(text), "clock drifts, %.3g ppm in %g s, %s, %s",
		    2e4 / span, span, sim_place_names[m.place], sim_shape_names[m.shape]);
		cell_at_least(c, text, n.named, n.runs, 0.95);
		(void)snprintf(text, sizeof(text), "  intervals have lead and rate");
		cell_at_least(c, text, n.sized, n.runs, 0.95);
		(void)snprintf(text, sizeof(text), "  rate within 20 %%");
		cell_at_least(c, text, n.stood, n.runs, 0.9);
	}
}

void
calibrate_lifelines(struct calibration *c)
{
	struct sim m = { .lists = 60, .blocks = 30, .servers = 3, .period_s = 0.4 };

	calibrate_title(c, "lifelines: findings without and with a planted delay");
	for (m.shape = 0; m.shape < (c->verbose ? SIM_SHAPES : 2); m.shape++)
		for (int q = 0; q < 2; q++) {
			m.queues = q;
			nothing_planted(c, m);
		}
	for (m.place = SIM_DISK; m.place < SIM_PLACES; m.place++)
		for (m.who = SIM_SOME; m.who <= (c->verbose ? SIM_LATER : SIM_SERVER); m.who++)
			for (m.shape = 0; m.shape < (c->verbose ? SIM_SHAPES : 1); m.shape++)
				for (int q = c->verbose ? 0 : 1; q < 2; q++) {
					m.queues = q;
					m.share = m.who == SIM_SOME ? 0.05 : 0.3;
					m.size_s = m.who == SIM_SOME ? 0.1 : 0.03;
					something_planted(c, m);
				}
	m.who = SIM_ONCE;
	m.queues = true;
	for (m.size_s = 0.7; m.size_s < 2; m.size_s += 0.8)
		for (m.place = SIM_DISK; m.place <= SIM_LOSS; m.place += SIM_LOSS - SIM_DISK)
			for (m.shape = 0; m.shape < (c->verbose ? SIM_SHAPES : 1); m.shape++)
				stall_planted(c, m);
	m.lists = 20;
	m.who = SIM_SERVER;
	m.size_s = 0.03;
	for (m.place = SIM_NOWHERE; m.place <= SIM_LOSS; m.place += SIM_LOSS)
		for (m.shape = 0; m.shape < (c->verbose ? SIM_SHAPES : 1); m.shape++)
			clocks_planted(c, m);
	m.place = SIM_NOWHERE;
	for (m.shape = 0; m.shape < (c->verbose ? SIM_SHAPES : 1); m.shape++)
		drifts_planted(c, m);
}
