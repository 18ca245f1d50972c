/* SPDX-License-Identifier: BSD-3-Clause */
/* Validation against leaving out by hand, and against noise: it must not praise what does not
 * predict. */
#include "tests/check.h"
#include "narrows/linear.h"
#include "tests/noise.h"
#include "tests/rdata.h"

static const struct nw_lm_options plain;

static void
test_swiss(void)
{
	struct nw_validation v;

	CHECK_INT(nw_validate(&(struct nw_table){ swiss_x, SWISS_P, swiss_fertility, SWISS_N },
		      NULL, SWISS_P, 5, &plain, &v),
	    NW_OK);
	CHECK_INT(v.status, NW_STATUS_OK);
	CHECK_NEAR(v.r2, 0.7067350015927254, 1e-13, 0);
	CHECK_NEAR(v.adj_r2, 0.6709709773967163, 1e-13, 0);
	CHECK_NEAR(v.press, 2814.6520215285886, 1e-12, 0);
	CHECK_NEAR(v.predicted_r2, 0.607875493334249, 1e-12, 0);
	CHECK_NEAR(v.blocked_cv_r2, 0.5995144160719452, 1e-12, 0);
}

/* PRESS is leave-one-out, so as many folds as rows give the same; with offsets, squares and aliased
 * terms too. */
static void
test_leave_one_out(void)
{
	enum { N = 40 };
	static double a[N], b[N], sum[N], y[N];
	static const double *const x[] = { a, b, sum };
	static const struct nw_term terms[] = { { 0, false, 0 }, { 1, false, 0 }, { 2, false, 0 },
		{ 1, true, 0 } };
	struct nw_validation v;

	for (size_t i = 0; i < N; i++) {
		a[i] = 1e9 + noise_normal();
		b[i] = noise_normal();
		sum[i] = (a[i] - 1e9) - 2 * b[i];
		y[i] = a[i] - 1e9 + b[i] * b[i] + noise_normal();
	}
	CHECK_INT(nw_validate(&(struct nw_table){ x, 4, y, N }, terms, 4, N, &plain, &v), NW_OK);
	CHECK_INT(v.rank, 3);
	CHECK_NEAR(v.blocked_cv_r2, v.predicted_r2, 1e-9, 0);
	CHECK_INT(nw_validate(&(struct nw_table){ x, 4, y, N }, terms, 4, N,
		      &(struct nw_lm_options){ true, 0 }, &v),
	    NW_OK);
	CHECK_INT(v.rank, 4);
	CHECK_INT(nw_validate(&(struct nw_table){ x, 4, y, N }, terms, 4, 1, &plain, &v), NW_OK);
	CHECK(isnan(v.blocked_cv_r2) && !isnan(v.press));
}

/* A metric that moves in one row has leverage 1 there: the model without that row does not know
 * it. */
static void
test_leverage(void)
{
	enum { N = 20 };
	static double spike[N], a[N], y[N];
	static const double *const x[] = { spike, a };
	struct nw_validation v;

	noise_fill(a, N);
	noise_fill(y, N);
	spike[7] = 3;
	CHECK_INT(nw_validate(&(struct nw_table){ x, 2, y, N }, NULL, 2, 5, &plain, &v), NW_OK);
	CHECK(isnan(v.press) && isnan(v.predicted_r2));
	CHECK(!isnan(v.r2) && !isnan(v.blocked_cv_r2));
}

/* p noise metrics explain p/(n-1) of anything; none of it is there tomorrow. */
static void
test_noise(void)
{
	enum { N = 120, P = 60, TRIES = 30 };
	static double x[P][N], y[N];
	const double *columns[P];
	double r2 = 0, adjusted = 0, predicted = 0, blocked = 0;

	for (size_t j = 0; j < P; j++)
		columns[j] = x[j];
	for (int i = 0; i < TRIES; i++) {
		struct nw_validation v;

		for (size_t j = 0; j < P; j++)
			noise_fill(x[j], N);
		noise_fill(y, N);
		CHECK_INT(
		    nw_validate(&(struct nw_table){ columns, P, y, N }, NULL, P, 5, &plain, &v),
		    NW_OK);
		r2 += v.r2 / TRIES;
		adjusted += v.adj_r2 / TRIES;
		predicted += v.predicted_r2 / TRIES;
		blocked += v.blocked_cv_r2 / TRIES;
	}
	printf("noise: R2 %.3f, adjusted %.3f, predicted %.3f, blocked %.3f\n", r2, adjusted,
	    predicted, blocked);
	CHECK_NEAR(r2, (double)P / (N - 1), 0, 0.03);
	CHECK_NEAR(adjusted, 0, 0, 0.06);
	CHECK(predicted < -0.5 && blocked < -0.5);
}

static void
test_undefined(void)
{
	static const double flat[] = { 3, 3, 3, 3 }, up[] = { 1, 2, 3, 4 }, zig[] = { 1, -1, 1, 3 },
			    zag[] = { 2, 5, 1, 1 };
	static const double *const x[] = { up, zig, zag };
	struct nw_validation v;

	CHECK_INT(nw_validate(&(struct nw_table){ x, 3, flat, 4 }, NULL, 3, 2, &plain, &v), NW_OK);
	CHECK_INT(v.status, NW_STATUS_CONSTANT_RESPONSE);
	CHECK(isnan(v.r2) && isnan(v.press) && isnan(v.blocked_cv_r2));
	CHECK_INT(nw_validate(&(struct nw_table){ x, 3, zag, 3 }, NULL, 3, 2, &plain, &v), NW_OK);
	CHECK_INT(v.status, NW_STATUS_UNDERDETERMINED);
	CHECK(isnan(v.r2) && isnan(v.press));
	CHECK_INT(nw_validate(&(struct nw_table){ x, 3, zag, 0 }, NULL, 3, 2, &plain, &v), NW_OK);
	CHECK_INT(v.status, NW_STATUS_INSUFFICIENT);
	CHECK_INT(nw_validate(&(struct nw_table){ x, 1, zag, 4 }, NULL, 1, 9, &plain, &v),
	    NW_OK); /* more folds than rows */
	CHECK(!isnan(v.blocked_cv_r2));
	CHECK_NEAR(v.blocked_cv_r2, v.predicted_r2, 1e-12, 0);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 18);
	test_swiss();
	test_leave_one_out();
	test_leverage();
	test_noise();
	test_undefined();
	return check_done("crossval");
}
