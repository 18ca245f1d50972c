/* SPDX-License-Identifier: BSD-3-Clause */
/* Active tests as witnesses: how often a test near a transfer speaks against a network that was the
 * limit, or for one that was not, while the rate that the path leaves wanders; and how often the
 * test finds room that is there. */
#include <math.h>
#include <stdio.h>

#include "narrows/testword.h"
#include "tests/calibrate/calibrate.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* The logarithm of the rate that a path leaves for a transfer wanders around its mean: by so much,
 * with such a memory. Two rates d apart have the correlation exp(-d / memory). Bounds: of the share
 * of tests that speak wrongly. */
static const struct {
	const char *name;
	double sd, memory_s, bound;
} paths[] = {
	{ "quiet", 0.05, 3600, 0.01 },
	{ "sd 0.15, memory of minutes", 0.15, 300, 0.05 },
	{ "sd 0.2, memory of an hour", 0.2, 3600, 0.03 },
	{ "sd 0.3, memory of an hour", 0.3, 3600, 0.05 },
	{ "sd 0.3, memory of four hours", 0.3, 14400, 0.03 },
	/* a path that changes by a third within minutes: no threshold of the rate helps a witness
	 * that stands quarter of an hour apart */
	{ "sd 0.3, memory of minutes", 0.3, 300, 0.2 },
};
/* Rates are measured with this error. */
static const double ERROR = 0.05;
/* A stage beside the network left so much of the path unused. */
static const double rooms[] = { 1.0, 2.0, 3.0 };

static double
ratio_draw(size_t p, double room, double apart_s)
{
	const double r = exp(-apart_s / paths[p].memory_s), first = noise_normal(),
		     later = r * first + sqrt(1 - r * r) * noise_normal();

	return room *
	    exp(paths[p].sd * (later - first) + ERROR * (noise_normal() - noise_normal()));
}

void
calibrate_activetests(struct calibration *c)
{
	size_t p, k, i, said[3], runs = calibrate_runs(c, 0.2);
	char what[96];

	calibrate_title(c, "active tests up to 15 min apart, while the path's rate wanders");
	for (p = 0; p < COUNT(paths); p++)
		for (k = 0; k < COUNT(rooms); k++) {
			said[0] = said[1] = said[2] = 0;
			for (i = 0; i < runs; i++) {
				const double apart_s = NW_TEST_NEAR_S * noise_uniform();

				said[nw_test_word(ratio_draw(p, rooms[k], apart_s), apart_s)]++;
			}
			(void)snprintf(what, sizeof(what), "%s, %g times: %s", paths[p].name,
			    rooms[k], k == 0 ? "says room" : "says alike");
			cell_at_most(c, what, said[k == 0 ? NW_TEST_SAYS_ROOM : NW_TEST_SAYS_ALIKE],
			    runs, paths[p].bound);
			if (k == 0)
				continue;
			(void)snprintf(
			    what, sizeof(what), "%s, %g times: says room", paths[p].name, rooms[k]);
			cell_at_least(c, what, said[NW_TEST_SAYS_ROOM], runs, k == 1 ? 0.7 : 0.9);
		}
}
