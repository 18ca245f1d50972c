/* SPDX-License-Identifier: BSD-3-Clause */
/* Least squares: NIST and R, what has no answer, and what must not change it. */
#include "tests/check.h"
#include "narrows/linear.h"
#include "tests/noise.h"
#include "tests/rdata.h"

static const struct nw_lm_options plain;

/* NIST StRD Longley (certified): six nearly collinear columns. */
static void
test_longley(void)
{
	static const double certified[][2] = {
		{ -3482258.63459582, 890420.383607373 },
		{ 15.0618722713733, 84.9149257747669 },
		{ -0.358191792925910e-01, 0.334910077722432e-01 },
		{ -2.02022980381683, 0.488399681651699 },
		{ -1.03322686717359, 0.214274163161675 },
		{ -0.511041056535807e-01, 0.226073200069370 },
		{ 1829.15146461355, 455.478499142212 },
	};
	struct nw_lm lm;

	CHECK_INT(nw_lm_fit(longley_x, NULL, LONGLEY_P, longley_y, LONGLEY_N, &plain, &lm), NW_OK);
	CHECK_INT(lm.status, NW_STATUS_OK);
	for (size_t k = 0; k < 7; k++) {
		const struct nw_coefficient *c = k == 0 ? &lm.intercept : &lm.coef[k - 1];

		CHECK_NEAR(c->value, certified[k][0], 1e-12, 0);
		CHECK_NEAR(c->se, certified[k][1], 1e-12, 0);
		CHECK_NEAR(c->f, pow(certified[k][0] / certified[k][1], 2), 2e-12, 0);
	}
	CHECK_INT(lm.df, 9);
	CHECK_NEAR(lm.residual_sd, 304.854073561965, 1e-13, 0);
	CHECK_NEAR(lm.r2, 0.995479004577296, 1e-14, 0);
	CHECK_NEAR(lm.adj_r2, 0.992465007628826, 1e-14, 0);
	CHECK_NEAR(lm.sse, 836424.055505915, 1e-13, 0);
	nw_lm_clear(&lm);
}

/* NIST StRD NoInt 1; and R: lm(mpg ~ wt + qsec + am) */
static void
test_known(void)
{
	static const size_t columns[] = { 4, 5, 7 };
	static const double value[] = { -3.9165037249424857, 1.2258859715836976,
		2.935837191889423 },
			    f[] = { 30.325753150612343, 18.034254255579054, 4.329808507287053 };
	struct nw_lm_options origin = { true, 0 };
	struct nw_term terms[3] = { { 0 } };
	double x[11], y[11];
	const double *const one[] = { x };
	struct nw_lm lm;

	for (size_t i = 0; i < 11; i++) {
		y[i] = 130 + (double)i;
		x[i] = 60 + (double)i;
	}
	CHECK_INT(nw_lm_fit(one, NULL, 1, y, 11, &origin, &lm), NW_OK);
	CHECK_NEAR(lm.coef[0].value, 2.07438016528926, 1e-14, 0);
	CHECK_NEAR(lm.coef[0].se, 0.165289256198347e-01, 1e-13, 0);
	CHECK_NEAR(lm.r2, 0.999365492298663, 1e-14, 0);
	CHECK_NEAR(lm.residual_sd, 3.56753034006338, 1e-13, 0);
	CHECK_INT(lm.df, 10);
	CHECK(isnan(lm.intercept.value));
	CHECK_NEAR(nw_lm_residual(&lm, NULL, one, y, 3), 133 - 63 * 2.07438016528926, 1e-12, 0);
	nw_lm_clear(&lm);
	for (size_t k = 0; k < 3; k++)
		terms[k].column = columns[k];
	CHECK_INT(nw_lm_fit(mtcars_x, terms, 3, mtcars_mpg, MTCARS_N, &plain, &lm), NW_OK);
	CHECK_NEAR(lm.intercept.value, 9.617780514561613, 1e-12, 0);
	for (size_t k = 0; k < 3; k++) {
		CHECK_NEAR(lm.coef[k].value, value[k], 1e-12, 0);
		CHECK_NEAR(lm.coef[k].f, f[k], 1e-12, 0);
	}
	/* the Mazda RX4 */
	CHECK_NEAR(nw_lm_residual(&lm, terms, mtcars_x, mtcars_mpg, 0), 21 - 22.47046, 1e-5, 0);
	nw_lm_clear(&lm);
}

static void
test_alias(void)
{
	enum { N = 50 };
	static double a[N], b[N], sum[N], near[N], flat[N], y[N];
	static const double *const x[] = { a, flat, b, sum, near };
	struct nw_lm_options loose = { false, 0.01 };
	struct nw_lm lm;

	for (size_t i = 0; i < N; i++) {
		a[i] = noise_normal();
		b[i] = 1e6 * noise_normal();
		sum[i] = 3 * a[i] - b[i] / 7 + 5;
		near[i] = a[i] + 1e-3 * noise_normal();
		flat[i] = 0.1;
		y[i] = a[i] + noise_normal();
	}
	CHECK_INT(nw_lm_fit(x, NULL, 5, y, N, &plain, &lm), NW_OK);
	CHECK_INT(lm.status, NW_STATUS_OK);
	CHECK_INT(lm.rank, 3);
	CHECK_INT(lm.df, N - 4);
	CHECK_INT(lm.coef[1].state, NW_TERM_CONSTANT);
	CHECK_INT(lm.coef[3].state, NW_TERM_ALIASED);
	CHECK(isnan(lm.coef[3].value) && isnan(lm.coef[1].f));
	CHECK_INT(lm.coef[4].state, NW_TERM_OK); /* 0.1 % apart is apart */
	nw_lm_clear(&lm);
	CHECK_INT(nw_lm_fit(x, NULL, 5, y, N, &loose, &lm), NW_OK);
	CHECK_INT(lm.coef[4].state, NW_TERM_ALIASED);
	nw_lm_clear(&lm);
}

/* Statuses instead of R^2 = NaN or, worse, 1. */
static void
test_undefined(void)
{
	static const double up[] = { 1, 2, 3, 4, 5 }, bend[] = { 1, 4, 9, 16, 25 },
			    zig[] = { 1, -1, 2, -2, 1 }, zag[] = { 3, 1, 4, 1, 5 },
			    flat[] = { 0.1, 0.1, 0.1, 0.1, 0.1 }, y[] = { 2, 1, 3, 5, 4 };
	static const double *const x[] = { up, bend, zig, zag };
	double line[5];
	struct nw_lm lm;

	CHECK_INT(nw_lm_fit(x, NULL, 4, y, 5, &plain, &lm), NW_OK);
	CHECK_INT(lm.status, NW_STATUS_UNDERDETERMINED);
	CHECK_INT(lm.df, 0);
	CHECK(isnan(lm.r2) && isnan(lm.adj_r2) && isnan(lm.coef[0].se) && isnan(lm.coef[0].f));
	nw_lm_clear(&lm);
	CHECK_INT(nw_lm_fit(x, NULL, 4, y, 3, &plain, &lm), NW_OK); /* fewer rows than columns */
	CHECK_INT(lm.status, NW_STATUS_UNDERDETERMINED);
	CHECK_INT(lm.rank, 2);
	CHECK_INT(lm.coef[3].state, NW_TERM_ALIASED);
	nw_lm_clear(&lm);
	CHECK_INT(nw_lm_fit(x, NULL, 2, flat, 5, &plain, &lm), NW_OK);
	CHECK_INT(lm.status, NW_STATUS_CONSTANT_RESPONSE);
	CHECK(isnan(lm.r2) && lm.coef[0].value == 0 && lm.intercept.value == 0.1);
	nw_lm_clear(&lm);
	CHECK_INT(nw_lm_fit(x, NULL, 2, y, 0, &plain, &lm), NW_OK);
	CHECK_INT(lm.status, NW_STATUS_INSUFFICIENT);
	nw_lm_clear(&lm);
	CHECK_INT(nw_lm_fit(x, NULL, 2, y, 1, &plain, &lm), NW_OK); /* one row is constant */
	CHECK_INT(lm.status, NW_STATUS_CONSTANT_RESPONSE);
	nw_lm_clear(&lm);
	CHECK_INT(nw_lm_fit(x, NULL, 0, y, 5, &plain, &lm), NW_OK); /* the mean */
	CHECK_INT(lm.status, NW_STATUS_OK);
	CHECK(lm.r2 == 0 && lm.adj_r2 == 0);
	CHECK_NEAR(lm.intercept.value, 3, 1e-15, 0);
	CHECK_NEAR(lm.intercept.se, sqrt(2.5 / 5), 1e-14, 0);
	nw_lm_clear(&lm);
	for (size_t i = 0; i < 5; i++)
		line[i] = 3 * up[i] - 7;
	CHECK_INT(nw_lm_fit(x, NULL, 3, line, 5, &plain, &lm), NW_OK);
	CHECK(lm.status == NW_STATUS_OK && lm.r2 == 1 && lm.sse == 0);
	CHECK(lm.coef[0].f == INFINITY && lm.coef[1].f == 0 && lm.coef[0].se == 0);
	CHECK_NEAR(lm.coef[0].value, 3, 1e-13, 0);
	nw_lm_clear(&lm);
}

/* Units, offsets and the order of rows and columns. */
static void
test_invariance(void)
{
	enum { N = 60, P = 6 };
	static double x[P][N], moved[P][N], y[N], y_moved[N];
	const double *columns[P], *others[P];
	struct nw_lm lm, other;

	for (size_t i = 0; i < N; i++) {
		y[i] = noise_normal();
		for (size_t j = 0; j < P; j++) {
			x[j][i] = noise_normal() + (j > 0 ? x[j - 1][i] : 0);
			y[i] += x[j][i] / (double)(j + 1);
		}
	}
	for (size_t i = 0; i < N; i++) {
		size_t k = (i * 7) % N;

		y_moved[k] = 1e-9 * y[i];
		for (size_t j = 0; j < P; j++)
			moved[P - 1 - j][k] = x[j][i] * pow(10, -9 + 4.2 * (double)j);
	}
	for (size_t j = 0; j < P; j++) {
		columns[j] = x[j];
		others[j] = moved[j];
	}
	CHECK_INT(nw_lm_fit(columns, NULL, P, y, N, &plain, &lm), NW_OK);
	CHECK_INT(nw_lm_fit(others, NULL, P, y_moved, N, &plain, &other), NW_OK);
	CHECK_NEAR(other.r2, lm.r2, 1e-13, 0);
	CHECK_NEAR(other.intercept.value * 1e9, lm.intercept.value, 1e-12, 1e-14);
	for (size_t j = 0; j < P; j++) {
		CHECK_NEAR(other.coef[P - 1 - j].f, lm.coef[j].f, 1e-12, 0);
		CHECK_NEAR(other.coef[P - 1 - j].value * 1e9 * pow(10, -9 + 4.2 * (double)j),
		    lm.coef[j].value, 1e-12, 0);
	}
	nw_lm_clear(&lm);
	nw_lm_clear(&other);
}

/* x^2 as a term: the same model as the squared column, and as squares about the mean. */
static void
test_squares(void)
{
	double square[MTCARS_N];
	const double *x[] = { mtcars_hp, square };
	static const struct nw_term raw[] = { { 0, false, 0 }, { 0, true, 0 } },
				    centred[] = { { 0, false, 0 }, { 0, true, 146.6875 } };
	struct nw_lm column, term, about;

	for (size_t i = 0; i < MTCARS_N; i++)
		square[i] = mtcars_hp[i] * mtcars_hp[i];
	CHECK_INT(nw_lm_fit(x, NULL, 2, mtcars_mpg, MTCARS_N, &plain, &column), NW_OK);
	CHECK_INT(nw_lm_fit(x, raw, 2, mtcars_mpg, MTCARS_N, &plain, &term), NW_OK);
	CHECK_INT(nw_lm_fit(x, centred, 2, mtcars_mpg, MTCARS_N, &plain, &about), NW_OK);
	CHECK_NEAR(term.r2, column.r2, 1e-13, 0);
	CHECK_NEAR(about.r2, column.r2, 1e-13, 0);
	for (size_t k = 0; k < 2; k++) {
		CHECK_NEAR(term.coef[k].value, column.coef[k].value, 1e-11, 0);
		CHECK_NEAR(term.coef[k].f, column.coef[k].f, 1e-11, 0);
	}
	CHECK_NEAR(about.coef[1].f, term.coef[1].f, 1e-11, 0); /* the square's F has no origin */
	CHECK(fabs(about.coef[0].f - term.coef[0].f) > 1);     /* that of x has */
	for (size_t row = 0; row < MTCARS_N; row++)
		CHECK_NEAR(nw_lm_residual(&term, raw, x, mtcars_mpg, row),
		    nw_lm_residual(&about, centred, x, mtcars_mpg, row), 1e-11, 0);
	nw_lm_clear(&column);
	nw_lm_clear(&term);
	nw_lm_clear(&about);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 14);
	test_longley();
	test_known();
	test_alias();
	test_undefined();
	test_invariance();
	test_squares();
	return check_done("lm");
}
