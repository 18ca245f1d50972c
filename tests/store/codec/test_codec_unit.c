/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/check.h"
#include "tests/chunkdata.h"
#include "store/codec/codec_unit.h"

enum { N = 100 };

static const uint64_t units[] = { 1, 2, 3, 4, 10, 512, 4096, 1000000, 999999937, UINT64_C(1) << 29,
	UINT64_C(1) << 40, 6 * (UINT64_C(1) << 30) };

/* The unit is found, whatever the base, and dividing by it is exact. */
static void
test_found(void)
{
	int64_t x[N], base;
	uint64_t q[N];
	size_t u;
	int i, round;

	for (u = 0; u < sizeof(units) / sizeof(units[0]); u++) {
		for (round = 0; round < 20; round++) {
			base = (int64_t)random_bits() >> 2;
			for (i = 0; i < N; i++)
				x[i] = base +
				    (int64_t)units[u] *
					((int64_t)random_below(1 << 20) - (1 << 19));
			CHECK(unit_find(x, N) == units[u]);
			unit_divide(units[u], x[7], x, N, q);
			for (i = 0; i < N; i++)
				CHECK(x[7] + (int64_t)units[u] * (int64_t)q[i] == x[i]);
		}
	}
}

static void
test_edges(void)
{
	static const int64_t equal[] = { 5, 5, 5 }, wide[] = { INT64_MIN, 0, INT64_MAX - 1 },
			     two[] = { -8, 16 }, last[] = { 0, 10, 20, 30, 35 },
			     far[] = { INT64_MIN, INT64_MIN + 6, INT64_MIN + 15 };

	CHECK(unit_find(equal, 3) == 0);
	CHECK(unit_find(equal, 1) == 0);
	CHECK(unit_find(wide, 3) == 1); /* even, but the differences wrap */
	CHECK(unit_find(two, 2) == 24);
	CHECK(unit_find(last, 5) == 5);
	CHECK(unit_find(far, 3) == 3);
}

int
main(int argc, char **argv)
{
	random_start(argc, argv);
	test_found();
	test_edges();
	return check_done("codec_unit");
}
