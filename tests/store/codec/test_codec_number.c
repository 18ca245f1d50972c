/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/check.h"
#include "tests/chunkdata.h"
#include "store/codec/codec_number.h"

static void
test_order(void)
{
	static const uint64_t rising[] = { 0xffffffffffffffff, 0xfff0000000000000,
		0xffefffffffffffff, 0xbff0000000000000, 0x8000000000000001, 0x8000000000000000, 0,
		1, 0x3ff0000000000000, 0x7ff0000000000000, 0x7fffffffffffffff };
	uint64_t bits;
	size_t i;

	for (i = 0; i < sizeof(rising) / sizeof(rising[0]); i++) {
		CHECK(number_bits(number_from_order(number_order(double_of(rising[i])))) ==
		    rising[i]);
		CHECK(i == 0 ||
		    number_order(double_of(rising[i])) > number_order(double_of(rising[i - 1])));
	}
	CHECK_INT(number_order(nextafter(1.0, 2.0)) - number_order(1.0), 1);
	CHECK_INT(number_order(0.0) - number_order(-0.0), 1);
	for (i = 0; i < 1000; i++) {
		bits = random_bits();
		CHECK(number_bits(number_from_order((int64_t)bits)) ==
		    number_bits(number_from_order((int64_t)bits)));
		CHECK(number_bits(number_from_order(number_order(double_of(bits)))) == bits);
	}
}

static void
test_round(void)
{
	static const struct {
		double v;
		int64_t want;
	} cases[] = { { 0, 0 }, { -0.0, 0 }, { 0.5, 0 }, { 1.5, 2 }, { 2.5, 2 }, { -0.5, 0 },
		{ -1.5, -2 }, { 1e15, 1000000000000000 }, { 0x1p51 - 1, (INT64_C(1) << 51) - 1 },
		{ -0x1p51 + 1, -(INT64_C(1) << 51) + 1 }, { 0x1p51, 0 }, { -0x1p51, 0 },
		{ INFINITY, 0 }, { -INFINITY, 0 }, { NAN, 0 }, { 4503599627370495.0, 0 } };
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_INT(number_round(cases[i].v), cases[i].want);
	for (i = 0; i < 1000; i++) {
		double v = (random_unit() - 0.5) * 1e12;

		CHECK_INT(number_round(v), llrint(v));
	}
}

/* The scale a program used is found again. Which way it got from integer to double shows in one
 * value of eight: a sample may miss it, then nearly all others come out right. */
static void
test_find(void)
{
	struct number_scale scale;
	double v[100];
	int64_t x[100], n;
	char fraction[16];
	int digits, multiplied, i, whole;

	for (digits = 0; digits <= 9; digits++) {
		snprintf(fraction, sizeof(fraction), "1e-%d", digits);
		for (multiplied = 0; multiplied <= (digits > 0); multiplied++) {
			whole = 0;
			for (i = 0; i < 100; i++) {
				n = (int64_t)random_below(1000000000000) - 500000000000;
				v[i] = multiplied ? (double)n * strtod(fraction, NULL)
						  : (double)n / scale_power((unsigned)digits);
			}
			CHECK(scale_find(v, 100, &scale));
			CHECK_INT(scale.digits, digits);
			scale_nearest(scale, v, 100, x);
			for (i = 0; i < 100; i++) {
				double back;

				scale_values(scale, x + i, 1, &back);
				whole += number_bits(back) == number_bits(v[i]);
			}
			CHECK(scale.multiplied == (bool)multiplied ? whole == 100 : whole > 70);
		}
	}
	for (i = 0; i < 100; i++)
		v[i] = random_unit();
	CHECK(!scale_find(v, 100, &scale));
	CHECK(!scale_find_near(v, 100, &scale));
}

/* Sums of ns * 1e-9 are near whole nanoseconds, not on them. */
static void
test_find_near(void)
{
	struct number_scale scale;
	double v[100];
	int i, j;

	for (i = 0; i < 100; i++) {
		v[i] = 0;
		for (j = 0; j < 20; j++)
			v[i] += (double)random_below(10000000) * 1e-9;
	}
	CHECK(!scale_find(v, 100, &scale));
	CHECK(scale_find_near(v, 100, &scale));
	CHECK_INT(scale.digits, 9);
}

static void
test_whole(void)
{
	static const double v[] = { 0x1p53, 0x1p62, -0x1p63, 0x1p63, 9007199254740991.0, NAN,
		INFINITY };
	static const int64_t want[] = { INT64_C(1) << 53, INT64_C(1) << 62, 0, 0,
		INT64_C(9007199254740991), 0, 0 };
	struct number_scale whole = { 0, false };
	int64_t x[7];
	int i;

	scale_nearest(whole, v, 7, x);
	for (i = 0; i < 7; i++)
		CHECK_INT(x[i], want[i]);
}

int
main(int argc, char **argv)
{
	random_start(argc, argv);
	test_order();
	test_round();
	test_find();
	test_find_near();
	test_whole();
	return check_done("codec_number");
}
