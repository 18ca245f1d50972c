/* SPDX-License-Identifier: BSD-3-Clause */
/* The lasso: a known path, the optimality conditions on hard data, the ends of the path. */
#include "tests/check.h"
#include "narrows/correlate.h"
#include "narrows/linear.h"
#include "tests/noise.h"
#include "tests/rdata.h"

/* swiss; objective 1/(2n) RSS + lambda |b|_1, columns scaled to population sd 1 (glmnet's) */
static void
test_swiss(void)
{
	static const double lambda[] = { 0.1, 8, 2, 100, 0 };
	static const double coef[][SWISS_P] = {
		{ -0.15442011014026918, -0.24571452939883218, -0.843553212983993,
		    0.10018968147419607, 1.0734242786004367 },
		{ 0, 0, -0.021357428274545603, 0, 0 },
		{ 0, -0.17287069988004816, -0.49933576933109264, 0.044404580422704884,
		    0.7631221635054002 },
		{ 0, 0, 0, 0, 0 },
		/* least squares, as R prints it */
		{ -0.172114, -0.258008, -0.870940, 0.104115, 1.077048 },
	};
	static const double r2[] = { 0.7061276848043619, 0.02155477986408072, 0.6021654942723904, 0,
		0.7067350015927254 };
	static const size_t nonzero[] = { 5, 1, 4, 0, 5 };
	struct nw_lasso l;

	CHECK_INT(nw_lasso_fit(swiss_x, SWISS_P, swiss_fertility, SWISS_N, lambda, 5, &l), NW_OK);
	CHECK_INT(l.status, NW_STATUS_OK);
	CHECK(l.lambda_max > 8 && l.lambda_max < 9);
	for (size_t i = 0; i < 5; i++) {
		CHECK(l.fit[i].converged && l.fit[i].lambda == lambda[i]);
		CHECK_INT(l.fit[i].n_nonzero, nonzero[i]);
		CHECK_NEAR(l.fit[i].r2, r2[i], 1e-9, 0);
		for (size_t j = 0; j < SWISS_P; j++)
			CHECK_NEAR(l.fit[i].coef[j], coef[i][j], lambda[i] > 0 ? 1e-9 : 5e-6, 0);
	}
	CHECK_NEAR(l.fit[2].standardized[4], 2.1989700630383027, 1e-9, 0);
	CHECK_NEAR(l.fit[2].intercept, 61.42957115085231, 1e-10, 0);
	CHECK_NEAR(l.fit[3].intercept, 70.14255319148936, 1e-12, 0);
	nw_lasso_clear(&l);
}

enum { N = 60, P = 150 };

/* Gradient of the loss in each standardised coefficient: -lambda sign(b), or within +-lambda where
 * b = 0. */
static void
check_optimal(double (*x)[N], const double *y, const struct nw_lasso_fit *f)
{
	double worst = 0;

	for (size_t j = 0; j < P; j++) {
		double mean = 0, ss = 0, gradient = 0;

		for (size_t i = 0; i < N; i++)
			mean += x[j][i] / N;
		for (size_t i = 0; i < N; i++)
			ss += (x[j][i] - mean) * (x[j][i] - mean) / N;
		for (size_t i = 0; i < N; i++) {
			double rest = y[i] - f->intercept;

			for (size_t k = 0; k < P; k++)
				rest -= f->coef[k] * x[k][i];
			gradient += (x[j][i] - mean) / sqrt(ss) * rest / N;
		}
		if (f->standardized[j] != 0) {
			worst =
			    fmax(worst, fabs(gradient - copysign(f->lambda, f->standardized[j])));
			CHECK_NEAR(f->standardized[j], f->coef[j] * sqrt(ss), 1e-9, 0);
		} else
			worst = fmax(worst, fabs(gradient) - f->lambda);
	}
	CHECK(worst < 1e-9);
}

/* More metrics than rows, families with r = 0.9999: where elimination refuses and plain descent
 * crawls. */
static void
test_wide(void)
{
	static const double lambda[] = { 1, 0.5, 0.2, 0.1, 0.05 };
	static double x[P][N], y[N];
	const double *columns[P];
	struct nw_lasso l;

	for (size_t j = 0; j < P; j++) {
		columns[j] = x[j];
		for (size_t i = 0; i < N; i++)
			x[j][i] = j % 5 ? x[j - 1][i] + 0.014 * noise_normal() : noise_normal();
	}
	for (size_t i = 0; i < N; i++)
		y[i] = noise_normal() + 2 * x[0][i] - x[7][i] + x[50][i];
	CHECK_INT(nw_lasso_fit(columns, P, y, N, lambda, 5, &l), NW_OK);
	for (size_t i = 0; i < 5; i++) {
		CHECK(l.fit[i].converged);
		CHECK(l.fit[i].n_nonzero < N);
		check_optimal(x, y, &l.fit[i]);
	}
	nw_lasso_clear(&l);
}

static void
test_edges(void)
{
	static const double flat[] = { 0.1, 0.1, 0.1, 0.1 }, up[] = { 1, 2, 3, 4 },
			    y[] = { 2, 1, 4, 3 }, lambda[] = { 0.1, -1 };
	static const double *const x[] = { flat, up };
	struct nw_lasso l;

	CHECK_INT(nw_lasso_fit(x, 2, y, 4, lambda, 1, &l), NW_OK);
	CHECK(l.fit[0].coef[0] == 0 && l.fit[0].coef[1] > 0);
	nw_lasso_clear(&l);
	CHECK_INT(nw_lasso_fit(x, 2, flat, 4, lambda, 1, &l), NW_OK);
	CHECK_INT(l.status, NW_STATUS_CONSTANT_RESPONSE);
	CHECK(isnan(l.fit[0].r2) && l.fit[0].coef[1] == 0);
	CHECK_NEAR(l.fit[0].intercept, 0.1, 1e-15, 0);
	nw_lasso_clear(&l);
	CHECK_INT(nw_lasso_fit(x, 2, y, 0, lambda, 1, &l), NW_OK);
	CHECK_INT(l.status, NW_STATUS_INSUFFICIENT);
	nw_lasso_clear(&l);
	CHECK_INT(nw_lasso_fit(x, 0, y, 4, lambda, 1, &l), NW_OK);
	CHECK_NEAR(l.fit[0].intercept, 2.5, 1e-15, 0);
	nw_lasso_clear(&l);
	CHECK_INT(nw_lasso_fit(x, 2, y, 4, lambda, 2, &l), NW_EINVAL);
	nw_lasso_clear(&l);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 17);
	test_swiss();
	test_wide();
	test_edges();
	return check_done("lasso");
}
