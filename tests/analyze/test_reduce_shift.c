/* SPDX-License-Identifier: BSD-3-Clause */
/* The test of shifts: chances are shares of shifts, gaps and constants do no harm, and series that
 * are slow together get no small chance. */
#include "tests/check.h"
#include "tests/noise.h"
#include "analyze/reduce_in.h"
#include "narrows/err.h"

enum { P = 10, N = 200 };

static double x[P][N], y[N];
static const double *columns[P];
static const struct nw_table table = { columns, P, y, N };

static double
chance_less(size_t memory_rows, const double *course, size_t n_courses, const double *response)
{
	struct nw_reduce_options o = {
		.course = course, .n_courses = n_courses, .response = response
	};
	double c = NAN;

	CHECK_INT(reduce_shift_chance(&table, &o, memory_rows, &c), NW_OK);
	return c;
}

static double
chance(size_t memory_rows)
{
	return chance_less(memory_rows, NULL, 0, NULL);
}

static void
fill(void)
{
	for (int j = 0; j < P; j++) {
		noise_fill(x[j], N);
		columns[j] = x[j];
	}
	noise_fill(y, N);
}

static void
test_related(void)
{
	fill();
	for (int i = 0; i < N; i++)
		y[i] += x[3][i];
	CHECK_NEAR(chance(1), 0.01, 1e-12, 0); /* the best of 100 shifts */
	CHECK_NEAR(chance(10), 0.05, 1e-12, 0);
	CHECK(chance(11) == 1); /* fewer than 20 shifts */
	for (int i = 0; i < N; i += 7)
		x[3][i] = NAN;
	y[5] = NAN;
	for (int i = 0; i < N; i++)
		x[4][i] = 1e9;
	CHECK_NEAR(chance(1), 0.01, 1e-12, 0);
	for (int i = 0; i < N; i++)
		y[i] = 3;
	CHECK(chance(1) == 1);
}

/* Chances of unrelated series are spread evenly: each twentieth has its part. */
static void
test_even(void)
{
	enum { RUNS = 400 };
	int low = 0, high = 0;

	for (int k = 0; k < RUNS; k++) {
		double c;

		fill();
		c = chance(1);
		low += c <= 0.1;
		high += c > 0.5;
	}
	CHECK(low > 0 && low < RUNS / 5);
	CHECK(high > RUNS / 4 && high < RUNS * 7 / 10);
}

/* Rising series follow each other perfectly, and would not once one is moved in time. */
static void
test_trend(void)
{
	int small = 0;

	for (int k = 0; k < 40; k++) {
		fill();
		for (int i = 0; i < N; i++) {
			y[i] += 0.1 * i;
			x[2][i] += 0.1 * i;
		}
		small += chance(1) <= 0.03;
	}
	CHECK(small <= 6);
}

/* A relation by a known course is none once the course is taken from all series. */
static void
test_course(void)
{
	static double course[N];
	int small = 0;

	for (int k = 0; k < 40; k++) {
		fill();
		noise_fill(course, N);
		for (int i = 0; i < N; i++) {
			y[i] += 3 * course[i];
			x[2][i] += 3 * course[i];
		}
		CHECK_NEAR(chance(1), 0.01, 1e-12, 0);
		small += chance_less(1, course, 1, NULL) <= 0.03;
	}
	CHECK(small <= 6);
}

/* The response with its courses has a say of its own: unrelated, it leaves no small chance. */
static void
test_response(void)
{
	static double whole[N];
	int small = 0;

	for (int k = 0; k < 40; k++) {
		fill();
		noise_fill(whole, N);
		for (int i = 0; i < N; i++)
			y[i] += x[3][i];
		small += chance_less(1, NULL, 0, whole) <= 0.03;
		CHECK_NEAR(chance_less(1, NULL, 0, y), 0.01, 1e-12, 0);
	}
	CHECK(small <= 6);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 12);
	test_related();
	test_even();
	test_trend();
	test_course();
	test_response();
	return check_done("reduce_shift");
}
