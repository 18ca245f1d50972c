/* SPDX-License-Identifier: BSD-3-Clause */
/* The rate that a route reached: does the next session without the limit fall into the interval,
 * and does a route without a level have none? */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "narrows/err.h"
#include "narrows/reached.h"
#include "tests/calibrate/calibrate.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

enum { SESSIONS_MAX = 60 };

/* A route's healthy sessions, and the share of earlier sessions that a limit slowed down. The limit
 * leaves 5 to 50 % of the rate. */
static const struct {
	const char *name;
	size_t n;
	double spread; /* standard deviation of the log rates, of normal or Student's noise */
	unsigned student;
	double slowed;
} routes[] = {
	{ "3 earlier sessions, quiet", 3, 0.05, 0, 0 },
	{ "3 earlier sessions, spread 0.15", 3, 0.15, 0, 0 },
	{ "5 earlier sessions, spread 0.15", 5, 0.15, 0, 0 },
	{ "20 earlier sessions, spread 0.1", 20, 0.1, 0, 0 },
	{ "20 earlier sessions, spread 0.2", 20, 0.2, 0, 0 },
	{ "20 earlier sessions, long tails", 20, 0.08, 3, 0 },
	{ "12 earlier sessions, a third slowed", 12, 0.1, 0, 0.33 },
	{ "40 earlier sessions, half slowed", 40, 0.1, 0, 0.5 },
	{ "60 earlier sessions, spread 0.4", 60, 0.4, 0, 0 },
};

static double
healthy(size_t r)
{
	return exp(routes[r].spread *
	    (routes[r].student > 0 ? noise_student(routes[r].student) : noise_normal()));
}

static double
slowed(size_t r)
{
	return healthy(r) * (0.05 + 0.45 * noise_uniform());
}

static void
covers(struct calibration *c)
{
	double rate[SESSIONS_MAX], next;
	struct nw_reached at;
	size_t r, i, run, n, said, inside, runs = calibrate_runs(c, 1);
	char what[96];

	calibrate_title(c, "the next session at the level that a route reached is in the interval");
	for (r = 0; r < COUNT(routes); r++) {
		for (said = inside = 0, run = 0; run < runs; run++) {
			n = routes[r].n;
			for (i = 0; i < n; i++)
				rate[i] =
				    noise_uniform() < routes[r].slowed ? slowed(r) : healthy(r);
			next = healthy(r);
			if (nw_reached(rate, n, slowed(r), &at) != NW_OK || at.n == 0)
				continue;
			said++;
			inside += next >= at.low && next <= at.high;
		}
		(void)snprintf(what, sizeof(what), "%s: inside", routes[r].name);
		if (said > 0)
			cell_at_least(c, what, inside, said, 0.87);
		(void)snprintf(what, sizeof(what), "%s: stated", routes[r].name);
		cell_at_least(c, what, said, runs, routes[r].spread > 0.3 ? 0.02 : 0.6);
	}
}

/* Few earlier sessions of routes that differ as routes do: the spread between neighbours has a
 * median of 0.1, and sessions apart in time differ by 0.08 more. An interval of use has an upper
 * end of at most twice the lower. */
static void
few_cover(struct calibration *c)
{
	static const size_t sizes[] = { 3, 4, 6, 8 };
	static const double narrow_share[] = { 0.5, 0.7, 0.75, 0.8 };
	double rate[SESSIONS_MAX], spread, next;
	size_t k, i, run, said, inside, narrow, narrow_inside, runs = calibrate_runs(c, 1);
	struct nw_reached at;
	char what[96];
	bool in;

	calibrate_title(c, "few earlier sessions bound the gain within a factor of two");
	for (k = 0; k < COUNT(sizes); k++) {
		said = inside = narrow = narrow_inside = 0;
		for (run = 0; run < runs; run++) {
			spread = 0.1 * exp(0.5 * noise_normal());
			for (i = 0; i < sizes[k]; i++)
				rate[i] = exp(spread * noise_normal());
			next = exp(hypot(spread, 0.08) * noise_normal());
			if (nw_reached(rate, sizes[k], 0.2, &at) != NW_OK || at.n == 0)
				continue;
			in = next >= at.low && next <= at.high;
			said++;
			inside += in;
			if (at.high <= 2 * at.low) {
				narrow++;
				narrow_inside += in;
			}
		}
		(void)snprintf(what, sizeof(what), "%zu earlier sessions: inside", sizes[k]);
		cell_at_least(c, what, inside, said, 0.9);
		(void)snprintf(what, sizeof(what), "%zu earlier sessions: narrow", sizes[k]);
		cell_at_least(c, what, narrow, runs, narrow_share[k]);
		(void)snprintf(
		    what, sizeof(what), "%zu earlier sessions: inside where narrow", sizes[k]);
		cell_at_least(c, what, narrow_inside, narrow, 0.9);
	}
}

/* Limits come and go, each with a rate of its own; or nothing limits, and sessions differ. */
static void
keeps_silent(struct calibration *c)
{
	static const size_t sizes[] = { 3, 8, 20, 60 };
	double rate[SESSIONS_MAX];
	struct nw_reached at;
	size_t k, i, run, said, runs = calibrate_runs(c, 1);
	char what[96];

	calibrate_title(c, "a route without a level has none");
	for (k = 0; k < COUNT(sizes); k++) {
		for (said = 0, run = 0; run < runs; run++) {
			for (i = 0; i < sizes[k]; i++)
				rate[i] = 14 + 14 * noise_uniform();
			said +=
			    nw_reached(rate, sizes[k], 14 + 14 * noise_uniform(), &at) == NW_OK &&
			    at.n > 0;
		}
		(void)snprintf(
		    what, sizeof(what), "limits of 14 to 28 MB/s, %zu sessions", sizes[k]);
		cell_at_most(c, what, said, runs, 0.06);
		for (said = 0, run = 0; run < runs; run++) {
			for (i = 0; i < sizes[k]; i++)
				rate[i] = exp(0.3 * noise_normal());
			said +=
			    nw_reached(rate, sizes[k], exp(0.3 * noise_normal()), &at) == NW_OK &&
			    at.n > 0;
		}
		(void)snprintf(
		    what, sizeof(what), "ordinary spread of 0.3, %zu sessions", sizes[k]);
		cell_at_most(c, what, said, runs, 0.12);
	}
}

void
calibrate_reached(struct calibration *c)
{
	covers(c);
	few_cover(c);
	keeps_silent(c);
}
