/* SPDX-License-Identifier: BSD-3-Clause */
/* Long tails: densities are densities, their chances follow from them, and scores from long-tailed
 * noise make a far session less of a wonder, scores from normal noise do not. */
#include "analyze/incident/tails.h"

#include <math.h>

#include "narrows/special.h"
#include "tests/check.h"
#include "tests/noise.h"

/* The integral of the route's density above a score. */
static double
density_above(const struct tails *t, double from)
{
	const double step = 1e-3;
	struct tails with;
	double x, sum = 0, ratio[TAILS];

	for (x = from + step / 2; x < 60; x += step) { /* hardly anything lies above */
		with = *t;
		tails_ratios(x, ratio);
		tails_see(&with, ratio);
		sum += step * exp(tails_evidence(&with) - tails_evidence(t) - x * x / 2) *
		    0.3989422804014327;
	}
	return sum;
}

static double
student(unsigned df)
{
	double z = noise_normal(), square = 0, u;
	unsigned i;

	for (i = 0; i < df; i++) {
		u = noise_normal();
		square += u * u;
	}
	return z / sqrt(square / df) * sqrt((df - 2.0) / df);
}

/* The chance of a score above 4 after n scores, from normal noise (df 0) or Student's. */
static double
chance_after(size_t n, unsigned df)
{
	struct tails t;
	double ratio[TAILS];

	tails_init(&t);
	while (n-- > 0) {
		tails_ratios(df > 0 ? student(df) : noise_normal(), ratio);
		tails_see(&t, ratio);
	}
	return tails_upper(&t, 4);
}

int
main(int argc, char **argv)
{
	struct tails t;
	double before;

	noise_seed(argc, argv, 29);
	tails_init(&t);
	CHECK_NEAR(tails_evidence(&t), 0, 1e-12, 1e-12);
	CHECK_NEAR(density_above(&t, 0), 0.5, 1e-3, 0);
	CHECK_NEAR(tails_upper(&t, 0), 0.5, 1e-9, 0);
	CHECK_NEAR(density_above(&t, 3), tails_upper(&t, 3), 2e-3, 0);
	before = tails_upper(&t, 4);
	CHECK(before > nw_norm_upper(4));
	CHECK(chance_after(400, 0) < before / 5);
	CHECK(chance_after(400, 4) > 0.0015 && chance_after(400, 4) < 0.004);
	return check_done("tails");
}
