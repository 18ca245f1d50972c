/* SPDX-License-Identifier: BSD-3-Clause */
/* The level that a route reached; `calibrate reached` has the chances. */
#include "narrows/reached.h"

#include <math.h>

#include "tests/check.h"

static const struct {
	double earlier[6], rate;
	size_t n, want_n, want_best;
} cases[] = {
	{ { 100, 95, 105 }, 20, 3, 3, 2 },
	{ { 20, 100, 21, 95, 105, 19 }, 20, 6, 3, 4 }, /* slowed sessions between do not count */
	{ { 100, 95, 105 }, 80, 3, 0, 2 },             /* no gap to the level */
	{ { 100, 95, 105 }, 200, 3, 0, 2 },            /* faster than ever */
	{ { 100, 95 }, 20, 2, 0, 0 },                  /* two may be alike by chance */
	{ { 900, 100, 95, 105 }, 20, 4, 0, 0 },        /* a single best session is no level */
	{ { 100, NAN, 95, 0, 105, -3 }, 20, 6, 3, 4 }, /* unknown rates are left out */
	{ { 0 }, 20, 0, 0, 0 },
};

int
main(void)
{
	struct nw_reached r;
	size_t c;

	for (c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		CHECK_INT(nw_reached(cases[c].earlier, cases[c].n, cases[c].rate, &r), 0);
		CHECK_INT(r.n, cases[c].want_n);
		CHECK_INT(r.best, cases[c].want_best);
		CHECK_INT(isnan(r.low), r.n == 0);
		CHECK(r.n == 0 || (r.low < r.about && r.about < r.high));
	}
	/* the mean of the logarithms, and on both sides Student's t of 5 degrees of freedom, 2.015,
	 * times hypot(0.11297, 0.08) sqrt(4 / 3) */
	CHECK_INT(nw_reached(cases[0].earlier, 3, 20, &r), 0);
	CHECK_NEAR(r.about, 99.916, 1e-4, 0);
	CHECK_NEAR(r.low, 72.403, 1e-4, 0);
	CHECK_NEAR(r.high, 137.885, 1e-4, 0);
	return check_done("test_reached");
}
