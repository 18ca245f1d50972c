/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes between tested valleys: known mixtures, clocks, floors, and the same answer twice. The
 * shares of right answers are in tests/calibrate. */
#include "narrows/density.h"

#include "tests/check.h"
#include "tests/noise.h"
#include "narrows/err.h"

enum { N = 4000 };

static double x[N];

static size_t
classes(double share_min, struct nw_classes *c)
{
	struct nw_density d;

	CHECK_INT(nw_density(x, N, &nw_density_defaults, &d), NW_OK);
	CHECK_INT(nw_classes_test_values(&d, x, N, share_min, 0.05, c), NW_OK);
	nw_classes_count(c, &d, x, N);
	nw_density_clear(&d);
	return c->n;
}

/* A narrow mode with 90 % and a wide one, 40 times as slow: one bandwidth cannot serve both. */
static void
test_two(void)
{
	struct nw_classes c, again;

	for (int i = 0; i < N; i++)
		x[i] = i % 10 ? 1e-4 * exp(0.1 * noise_normal()) : 4e-3 * exp(0.3 * noise_normal());
	CHECK_INT(classes(0.01, &c), 2);
	CHECK(c.sure > 0.9);
	CHECK_NEAR(c.class[0].peak, 1e-4, 0.1, 0);
	CHECK_NEAR(c.class[1].peak, 4e-3, 0.3, 0);
	CHECK_NEAR(c.class[0].count, 0.9 * N, 1e-9, 0);
	CHECK(c.class[0].low == 0 && c.class[0].high == c.class[1].low && c.class[1].low > 2e-4 &&
	    c.class[1].low < 2e-3 && c.cutoff > 4e-3);
	CHECK_INT(classes(0.01, &again), 2);
	CHECK(again.sure == c.sure && again.class[1].low == c.class[1].low);
	nw_classes_clear(&c);
	nw_classes_clear(&again);
	CHECK_INT(classes(0.5, &c), 2); /* 10 % of the operations, but most of the time */
	nw_classes_clear(&c);
	CHECK_INT(classes(0.95, &c), 1);
	nw_classes_clear(&c);
}

static void
test_one(void)
{
	struct nw_classes c;
	int i;

	for (i = 0; i < N; i++)
		x[i] = exp(noise_normal());
	CHECK_INT(classes(0.01, &c), 1);
	nw_classes_clear(&c);
	/* a clock of 1 us: neighbouring ticks are no classes */
	for (i = 0; i < N; i++)
		x[i] = 1e-6 * round(9 * exp(0.15 * noise_normal()));
	CHECK_INT(classes(0.01, &c), 1);
	nw_classes_clear(&c);
	for (i = 0; i < N; i++)
		x[i] = 2;
	CHECK_INT(classes(0.01, &c), 1);
	CHECK(isnan(c.sure));
	nw_classes_clear(&c);
}

/* More classes than the search keeps. */
static void
test_many(void)
{
	struct nw_classes c;
	size_t n;

	for (int i = 0; i < N; i++)
		x[i] = 1e-6 * pow(1.6, i % 40) * exp(0.01 * noise_normal());
	n = classes(0.0001, &c);
	CHECK(n >= 20 && n <= 26);
	nw_classes_clear(&c);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 9);
	test_two();
	test_one();
	test_many();
	return check_done("density_valleys");
}
