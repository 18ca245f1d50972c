/* SPDX-License-Identifier: BSD-3-Clause */
/* Isotonic regression: known answers, weights, a stride; nothing falls afterwards. */
#include "analyze/monotone.h"

#include "narrows/err.h"
#include "tests/check.h"
#include "tests/noise.h"

static void
test_known(void)
{
	double rising[] = { 1, 2, 2, 5 }, falling[] = { 4, 3, 2 }, mixed[] = { 1, 3, 2, 2, 9, 7 },
	       weighed[][2] = { { 10, 1 }, { 1, 9 }, { 5, 1 } };
	int i;

	CHECK_INT(monotone_fit(rising, NULL, sizeof(double), 4), NW_OK);
	CHECK(rising[0] == 1 && rising[1] == 2 && rising[2] == 2 && rising[3] == 5);
	CHECK_INT(monotone_fit(falling, NULL, sizeof(double), 3), NW_OK);
	for (i = 0; i < 3; i++)
		CHECK_NEAR(falling[i], 3, 1e-15, 0);
	CHECK_INT(monotone_fit(mixed, NULL, sizeof(double), 6), NW_OK);
	CHECK(mixed[0] == 1 && mixed[4] == 8 && mixed[5] == 8);
	CHECK_NEAR(mixed[2], 7.0 / 3, 1e-15, 0);
	CHECK_INT(monotone_fit(&weighed[0][0], &weighed[0][1], sizeof(weighed[0]), 3), NW_OK);
	CHECK_NEAR(weighed[0][0], 1.9, 1e-15, 0);
	CHECK_NEAR(weighed[1][0], 1.9, 1e-15, 0);
	CHECK(weighed[2][0] == 5 && weighed[2][1] == 1);
	CHECK_INT(monotone_fit(NULL, NULL, sizeof(double), 0), NW_OK);
}

static void
test_never_falls(void)
{
	double v[200];
	int i, round;

	for (round = 0; round < 50; round++) {
		for (i = 0; i < 200; i++)
			v[i] = noise_normal() + 0.01 * i;
		CHECK_INT(monotone_fit(v, NULL, sizeof(double), 200), NW_OK);
		for (i = 1; i < 200; i++)
			CHECK(v[i] >= v[i - 1]);
	}
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 1955);
	test_known();
	test_never_falls();
	return check_done("monotone");
}
