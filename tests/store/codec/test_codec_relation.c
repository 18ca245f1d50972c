/* SPDX-License-Identifier: BSD-3-Clause */
/* Relations against the definitions they stand for. */
#include "tests/check.h"
#include "tests/chunkdata.h"
#include "store/codec/codec_number.h"
#include "store/codec/codec_relation.h"

static double
compute(enum relation_op op, const double *args)
{
	const double *value[RELATION_ARGS_MAX];
	struct relation rel = { op, { 0, 1, 2, 3, 4 } };
	double p;
	unsigned i;

	for (i = 0; i < relation_args(op); i++)
		value[i] = args + i;
	relation_compute(&rel, value, 1, &p);
	return p;
}

static void
test_arithmetic(void)
{
	static const double args[] = { 7, 2 };

	CHECK(compute(RELATION_SAME, args) == 7);
	CHECK(compute(RELATION_SUM, args) == 9);
	CHECK(compute(RELATION_DIFFERENCE, args) == 5);
	CHECK(compute(RELATION_PRODUCT, args) == 14);
	CHECK(compute(RELATION_QUOTIENT, args) == 3.5);
}

/* No NaN comes out but the ones that went in as they were: their payloads are the processor's. */
static void
test_nan(void)
{
	static const double pairs[][2] = { { 0, 0 }, { INFINITY, INFINITY }, { NAN, 1 },
		{ 1, NAN } };
	double payload = double_of(0x7ff4000000000007);
	size_t i;

	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		CHECK(number_bits(compute(RELATION_QUOTIENT, pairs[i])) == 0);
	CHECK(number_bits(compute(RELATION_SAME, &payload)) == number_bits(payload));
}

/* The deviation and the mean of a few values, from what a caliper would say of them. */
static void
test_moments(void)
{
	double v[6], low, high, sum, square, rates, took, args[RELATION_ARGS_MAX];
	int n, i, round;

	for (round = 0; round < 100; round++) {
		for (n = 1; n <= 6; n++) {
			low = INFINITY;
			high = -INFINITY;
			sum = square = rates = took = 0;
			for (i = 0; i < n; i++) {
				v[i] = 1 + 9 * random_unit();
				low = fmin(low, v[i]);
				high = fmax(high, v[i]);
				sum += v[i];
			}
			for (i = 0; i < n; i++)
				square += (v[i] - sum / n) * (v[i] - sum / n);
			memcpy(args, (double[]){ n, sum / n, low, high }, 4 * sizeof(*args));
			if (n <= 3)
				CHECK_NEAR(compute(RELATION_SPREAD, args),
				    n > 1 ? sqrt(square / (n - 1)) : 0, 1e-12, 1e-7);
			else
				CHECK(compute(RELATION_SPREAD, args) <=
				    sqrt(square / (n - 1)) * (1 + 1e-12));

			/* v are rates of equal amounts, 64 each */
			for (i = 0; i < n; i++)
				took += 64 / v[i];
			memcpy(args, (double[]){ n, low, high, 64 * n, took }, 5 * sizeof(*args));
			if (n <= 3)
				CHECK_NEAR(compute(RELATION_POOLED, args), sum / n, 1e-12, 0);
		}
	}
}

int
main(int argc, char **argv)
{
	random_start(argc, argv);
	test_arithmetic();
	test_nan();
	test_moments();
	return check_done("codec_relation");
}
