/* SPDX-License-Identifier: BSD-3-Clause */
/* Time as a rival: its courses are found and taken from response and metrics, a driver with the
 * same start stays, and noise has no course. The shares of wrong answers are in
 * tests/calibrate. */
#include <math.h>

#include "narrows/timerival.h"
#include "tests/check.h"
#include "tests/noise.h"

enum { P = 30, N = 240, START = 100, DAY = 80, CUT = 60 };

static double x[P][N], y[N], day[N];
static const double *columns[P];
static const struct nw_table table = { columns, P, y, N };

static struct nw_time_rival
rival(const double *of_day)
{
	struct nw_time_rival r;

	CHECK_INT(nw_time_rival(&table, of_day, &r), NW_OK);
	return r;
}

/* All metrics but the last five, and the response, have `height` times the course. */
static void
fill(double (*course)(size_t i), double height)
{
	for (size_t j = 0; j <= P; j++) {
		double *to = j < P ? x[j] : y;

		for (size_t i = 0; i < N; i++)
			to[i] =
			    50 + (j < P - 5 || j == P ? height * course(i) : 0) + noise_normal();
		if (j < P)
			columns[j] = to;
	}
	for (size_t i = 0; i < N; i++)
		day[i] = fmod((double)i / DAY, 1);
}

static double
at_once(size_t i)
{
	return i >= START;
}

static double
by_and_by(size_t i)
{
	return i >= START ? 1 - exp(-(double)(i - START) / 10) : 0;
}

static double
rise(size_t i)
{
	return (double)i / N;
}

static double
hour(size_t i)
{
	return sin(6.283185307179586 * (double)i / DAY);
}

/* Over the rows where both have values. */
static double
correlation(const double *a, const double *b)
{
	double n = 0, sa = 0, sb = 0, aa = 0, bb = 0, ab = 0;

	for (size_t i = 0; i < N; i++)
		if (isfinite(a[i]) && isfinite(b[i])) {
			n++;
			sa += a[i];
			sb += b[i];
		}
	for (size_t i = 0; i < N; i++)
		if (isfinite(a[i]) && isfinite(b[i])) {
			aa += (a[i] - sa / n) * (a[i] - sa / n);
			bb += (b[i] - sb / n) * (b[i] - sb / n);
			ab += (a[i] - sa / n) * (b[i] - sb / n);
		}
	return n > 0.7 * N ? ab / sqrt(aa * bb) : NAN;
}

static bool
is_near(size_t moment)
{
	return moment + 6 >= START && moment <= START + 6;
}

static void
test_courses(void)
{
	static const struct {
		double (*course)(size_t i);
		unsigned part;
	} cases[] = {
		{ at_once, NW_TIME_START },
		{ by_and_by, NW_TIME_START },
		{ rise, NW_TIME_TREND },
		{ hour, NW_TIME_HOUR },
	};

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct nw_time_rival r;

		fill(cases[k].course, 6);
		r = rival(day);
		CHECK_INT(r.parts, cases[k].part);
		CHECK(r.r2 > 0.6 && r.r2 < 1);
		CHECK_INT(r.n_taken, P - 5);
		for (size_t j = 0; j < P; j++) {
			CHECK((r.taken[j] > 0.3) == (j < P - 5));
			CHECK(fabs(correlation(r.rest.x[j], r.rest.y)) < 0.3);
			/* What is left keeps the metric's own noise. */
			CHECK(j >= P - 5 || correlation(r.rest.x[j], x[j]) > 0.1);
		}
		if (cases[k].part == NW_TIME_START)
			CHECK(r.n_moments >= 1 && (is_near(r.moment[0]) || is_near(r.moment[1])));
		else
			CHECK_INT(r.n_moments, 0);
		nw_time_rival_clear(&r);
	}
}

static void
test_without_hour(void)
{
	struct nw_time_rival r;

	fill(hour, 6);
	r = rival(NULL);
	CHECK((r.parts & NW_TIME_HOUR) == 0);
	nw_time_rival_clear(&r);
	for (size_t i = 0; i < N; i++) /* a tenth of a day has no hours */
		day[i] = (double)i / N / 10;
	r = rival(day);
	CHECK((r.parts & NW_TIME_HOUR) == 0);
	nw_time_rival_clear(&r);
}

static void
test_driver(void)
{
	struct nw_time_rival r;

	fill(at_once, 6);
	for (size_t i = 0; i < N; i++)
		y[i] = 2 * x[3][i] + 0.5 * noise_normal();
	r = rival(day);
	CHECK_INT(r.parts, NW_TIME_START);
	CHECK(!(r.taken[3] > 0) && correlation(r.rest.x[3], r.rest.y) > 0.9);
	CHECK(r.taken[4] > 0 && r.n_taken == P - 6);
	nw_time_rival_clear(&r);
}

static void
test_gaps(void)
{
	struct nw_time_rival r;

	fill(at_once, 6);
	for (size_t i = CUT; i < CUT + 10; i++)
		y[i] = NAN;
	for (size_t i = 0; i < N; i += 7)
		x[2][i] = NAN;
	r = rival(day);
	CHECK_INT(r.parts, NW_TIME_START);
	CHECK(isnan(r.rest.y[CUT]) && isnan(r.rest.x[2][7]));
	CHECK(r.taken[2] > 0 && fabs(correlation(r.rest.x[2], r.rest.y)) < 0.3);
	nw_time_rival_clear(&r);
}

static void
test_nothing(void)
{
	struct nw_time_rival r;

	fill(at_once, 0);
	r = rival(day);
	CHECK(r.parts == 0 && r.n_taken == 0 && r.rest.y == y && r.rest.x == columns);
	nw_time_rival_clear(&r);
	for (size_t i = 0; i < N; i++)
		y[i] = 7;
	r = rival(day);
	CHECK(r.parts == 0 && isnan(r.r2));
	nw_time_rival_clear(&r);
	for (size_t i = 0; i < N; i++)
		y[i] = NAN;
	r = rival(NULL);
	CHECK(r.parts == 0);
	nw_time_rival_clear(&r);
}

/* Without noise the rest is constant, exactly. */
static void
test_perfect(void)
{
	struct nw_time_rival r;

	fill(at_once, 6);
	for (size_t i = 0; i < N; i++)
		x[0][i] = y[i] = i >= START ? 1e9 : 3;
	r = rival(NULL);
	CHECK(r.parts == NW_TIME_START && r.r2 > 1 - 1e-9 && r.taken[0] > 0.99);
	CHECK(r.rest.y[0] == r.rest.y[N - 1] && r.rest.x[0][0] == r.rest.x[0][START]);
	nw_time_rival_clear(&r);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 28);
	test_courses();
	test_without_hour();
	test_driver();
	test_gaps();
	test_nothing();
	test_perfect();
	return check_done("timerival");
}
