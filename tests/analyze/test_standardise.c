/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns of every offset and unit become the same unit vector; constants are told from what hardly
 * varies. */
#include "tests/check.h"
#include "analyze/standardise.h"
#include "tests/noise.h"

enum { N = 240 };

/* Reference in long double, from the first value on: differences of doubles are exact there. */
static void
reference(const double *x, size_t n, long double *z, long double *mean, long double *norm)
{
	long double m = 0, ss = 0, first = x[0];

	for (size_t i = 0; i < n; i++)
		m += (x[i] - first) / (long double)n;
	for (size_t i = 0; i < n; i++) {
		z[i] = x[i] - first - m;
		ss += z[i] * z[i];
	}
	*norm = sqrtl(ss);
	*mean = first + m;
	for (size_t i = 0; i < n; i++)
		z[i] /= *norm;
}

static void
test_offsets(void)
{
	static const double offsets[] = { 0, 1e3, 1e6, 1e9 };
	double x[N], z[N], worst = 0;
	long double want[N], mean, norm;
	struct standard s;

	for (size_t k = 0; k < 4; k++) {
		for (size_t i = 0; i < N; i++)
			x[i] = offsets[k] + noise_normal();
		reference(x, N, want, &mean, &norm);
		CHECK(column_standardise(x, N, true, z, &s));
		CHECK_NEAR(s.mean, (double)mean, 1e-15, 1e-15);
		CHECK_NEAR(s.norm, (double)norm, 1e-14, 0);
		for (size_t i = 0; i < N; i++)
			worst = fmax(worst, fabs(z[i] - (double)want[i]));
	}
	CHECK(worst < 1e-15);
}

static void
test_units(void)
{
	static const double scales[] = { 1e-300, 1e-9, 1e12, 1e305 };
	double x[N], scaled[N], z[N], z_scaled[N];
	struct standard s, t;

	for (size_t i = 0; i < N; i++)
		x[i] = 5 + noise_normal();
	CHECK(column_standardise(x, N, true, z, &s));
	for (size_t k = 0; k < 4; k++) {
		for (size_t i = 0; i < N; i++)
			scaled[i] = x[i] * scales[k];
		CHECK(column_standardise(scaled, N, true, z_scaled, &t));
		CHECK_NEAR(t.mean / scales[k], s.mean, 1e-14, 0);
		CHECK_NEAR(column_mean(scaled, N) / scales[k], s.mean, 1e-14, 0);
		for (size_t i = 0; i < N; i += 17)
			CHECK_NEAR(z_scaled[i], z[i], 1e-13, 1e-15);
	}
}

/* 0.1 has no exact mean, so its variance is not 0; 1e9 with a toggle of 1e-3 varies by 1e-12 of
 * itself. */
static void
test_constants(void)
{
	double tenth[N], toggle[N], z[N];
	struct standard s;

	for (size_t i = 0; i < N; i++) {
		tenth[i] = 0.1;
		toggle[i] = 1e9 + (i % 3 == 0 ? 1e-3 : 0);
	}
	CHECK(column_is_constant(tenth, N));
	CHECK(!column_standardise(tenth, N, true, z, &s));
	CHECK(s.mean == 0.1 && s.norm == 0 && z[0] == 0 && z[N - 1] == 0);
	/* through the origin a constant is a column like others */
	CHECK(column_standardise(tenth, N, false, z, &s));
	CHECK_NEAR(z[0], 1 / sqrt(N), 1e-15, 0);
	CHECK(!column_is_constant(toggle, N));
	CHECK(column_standardise(toggle, N, true, z, &s));
	CHECK_NEAR(z[0] / z[1], -2, 1e-9, 0);
	CHECK(!column_standardise(toggle, 0, true, z, &s));
}

/* Squares of 1e7 +- 1: squared first, a double has lost half of the digits of the curvature. */
static void
test_squares(void)
{
	double x[N], z[N], squares[N], worst = 0;
	long double d, m = 0, mean = 0, ss = 0, want[N];
	struct standard s;

	for (size_t i = 0; i < N; i++) {
		x[i] = 1e7 + noise_normal();
		m += x[i];
	}
	m /= N;
	for (size_t i = 0; i < N; i++) {
		d = x[i] - m;
		want[i] = d * d + 2 * m * d;
		mean += want[i] / N;
	}
	for (size_t i = 0; i < N; i++) {
		want[i] -= mean;
		ss += want[i] * want[i];
	}
	CHECK(square_standardise(x, N, 0, true, z, &s));
	for (size_t i = 0; i < N; i++)
		worst = fmax(worst, fabs(z[i] - (double)(want[i] / sqrtl(ss))));
	CHECK(worst < 1e-15);
	CHECK_NEAR(s.mean, (double)(mean + m * m), 1e-15, 0);
	for (size_t i = 0; i < N; i++) {
		x[i] = noise_normal();
		squares[i] = (x[i] - 0.5) * (x[i] - 0.5);
	}
	CHECK(square_standardise(x, N, 0.5, true, z, &s));
	CHECK_NEAR(s.mean, column_mean(squares, N), 1e-14, 0);
	CHECK(square_standardise(x, N, 0.5, false, z, &s));
	CHECK(s.mean == 0);
	CHECK_NEAR(z[7] * s.norm, squares[7], 1e-14, 0);
}

/* Two values, equally often: squares about their mean are one value, whatever rounding makes of
 * it. */
static void
test_constant_squares(void)
{
	double x[N], z[N];
	struct standard s;

	for (size_t i = 0; i < N; i++)
		x[i] = i % 2 ? 0.1 : 0.3;
	CHECK(!square_standardise(x, N, column_mean(x, N), true, z, &s));
	CHECK_NEAR(s.mean, 0.01, 1e-12, 0);
	CHECK(square_standardise(x, N, 0, true, z, &s)); /* about 0 they are two values */
	for (size_t i = 0; i < N; i++)
		x[i] = i % 3 ? -1 : 1;
	CHECK(!square_standardise(x, N, 0, true, z, &s));
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 11);
	test_offsets();
	test_units();
	test_constants();
	test_squares();
	test_constant_squares();
	return check_done("standardise");
}
