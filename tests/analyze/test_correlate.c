/* SPDX-License-Identifier: BSD-3-Clause */
/* Correlations against R, the Z test against its table, and what offsets, units and gaps must not
 * change. */
#include "tests/check.h"
#include "narrows/correlate.h"
#include "tests/noise.h"
#include "tests/rdata.h"

enum { N = 240, P = 12 };

/* cor(mtcars)[, "mpg"], method pearson and spearman */
static void
test_r(void)
{
	static const double pearson[] = { -0.8521619594266131, -0.8475513792624787,
		-0.7761683718265865, 0.6811719078067493, -0.8676593765172279, 0.4186840339217781,
		0.6640389191275929, 0.599832429454648, 0.48028475733884207, -0.5509250739024588 };
	const double *x[MTCARS_P + 1] = { mtcars_mpg };
	double r[(MTCARS_P + 1) * (MTCARS_P + 1)], with[MTCARS_P];
	size_t p = MTCARS_P + 1;

	memcpy(x + 1, mtcars_x, sizeof(mtcars_x));
	CHECK_INT(nw_correlate(x, p, MTCARS_N, r), NW_OK);
	for (size_t j = 1; j < p; j++) {
		CHECK_NEAR(r[j], pearson[j - 1], 1e-14, 0);
		CHECK(r[j * p] == r[j]);
		CHECK_NEAR(r[j * p + j], 1, 1e-15, 0);
	}
	CHECK_INT(nw_correlate_with(mtcars_x, MTCARS_P, mtcars_mpg, MTCARS_N, with), NW_OK);
	for (size_t j = 0; j < MTCARS_P; j++)
		CHECK_NEAR(with[j], pearson[j], 1e-14, 0);
	CHECK_INT(nw_correlate_ranks(x, p, MTCARS_N, r), NW_OK);
	CHECK_NEAR(r[5], -0.88642199, 1e-7, 0); /* wt */
	CHECK_NEAR(r[1], -0.91080131, 1e-7, 0); /* cyl: many ties */
}

static void
make(double (*x)[N], const double **columns)
{
	for (size_t j = 0; j < P; j++) {
		for (size_t i = 0; i < N; i++)
			x[j][i] = noise_normal() + (j > 0 ? 0.8 * x[j - 1][i] : 0);
		columns[j] = x[j];
	}
}

/* An offset of 1e9 costs the last 9 digits of the data, not of r; units and the order of rows cost
 * nothing. */
static void
test_invariance(void)
{
	static double x[P][N], moved[P][N];
	const double *columns[P], *others[P];
	double r[P * P], r_moved[P * P];

	make(x, columns);
	CHECK_INT(nw_correlate(columns, P, N, r), NW_OK);
	for (size_t j = 0; j < P; j++) {
		double scale = pow(10, -9 + 2 * (double)j), sign = j % 2 ? -1 : 1;

		others[j] = moved[j];
		for (size_t i = 0; i < N; i++)
			moved[j][(i * 7) % N] = sign * scale * x[j][i];
	}
	CHECK_INT(nw_correlate(others, P, N, r_moved), NW_OK);
	for (size_t j = 0; j < P * P; j++)
		CHECK_NEAR(r_moved[j], r[j] * ((j / P + j % P) % 2 ? -1 : 1), 0, 1e-14);
	for (size_t j = 0; j < P; j++)
		for (size_t i = 0; i < N; i++)
			moved[j][i] = 1e9 + floor(x[j][i] * 0x1p20) * 0x1p-20;
	CHECK_INT(nw_correlate(others, P, N, r_moved), NW_OK);
	for (size_t j = 0; j < P * P; j++)
		CHECK_NEAR(r_moved[j], r[j], 0, 1e-5);
	for (size_t j = 0; j < P; j++)
		for (size_t i = 0; i < N; i++)
			moved[j][i] -= 1e9;
	CHECK_INT(nw_correlate(others, P, N, r), NW_OK);
	for (size_t j = 0; j < P * P; j++)
		CHECK_NEAR(r_moved[j], r[j], 0, 1e-14);
}

/* Every pair on its own rows: the same as throwing the others away. */
static void
test_pairwise(void)
{
	static double x[P][N];
	const double *columns[P];
	double r[P * P], rho[P * P];
	size_t n_pairs[P * P];

	make(x, columns);
	for (size_t j = 0; j < P - 2; j++)
		for (size_t i = 0; i < N; i++)
			if (noise_uniform() < 0.1)
				x[j][i] = j % 2 ? NAN : -INFINITY;
	CHECK_INT(nw_correlate_pairwise(columns, P, N, r, n_pairs), NW_OK);
	CHECK_INT(nw_correlate_ranks(columns, P, N, rho), NW_OK);
	for (size_t i = 0; i < P; i++)
		for (size_t j = 0; j < P; j++) {
			double a[N], b[N], two[4], two_rho[4];
			const double *pair[] = { a, b };
			size_t m = 0;

			for (size_t k = 0; k < N; k++)
				if (isfinite(x[i][k]) && isfinite(x[j][k])) {
					a[m] = x[i][k];
					b[m++] = x[j][k];
				}
			CHECK_INT(n_pairs[i * P + j], m);
			CHECK_INT(nw_correlate(pair, 2, m, two), NW_OK);
			CHECK_INT(nw_correlate_ranks(pair, 2, m, two_rho), NW_OK);
			CHECK_NEAR(r[i * P + j], two[1], 0, 1e-15);
			CHECK_NEAR(rho[i * P + j], two_rho[1], 0, 1e-15);
		}
}

static void
test_undefined(void)
{
	static const double flat[] = { 0.1, 0.1, 0.1, 0.1 }, up[] = { 1, 2, 3, 4 },
			    gaps[] = { NAN, 1, NAN, NAN }, image[] = { 7, 5, 3, 1 };
	const double *const x[] = { flat, up, image, gaps };
	double r[16];
	size_t n_pairs[16];

	CHECK_INT(nw_correlate(x, 3, 4, r), NW_OK);
	CHECK(isnan(r[0]) && isnan(r[1]) && isnan(r[3]) && isnan(r[6]));
	CHECK(r[4] <= 1 && r[5] >= -1);
	CHECK_NEAR(r[5], -1, 0, 1e-15);
	CHECK_INT(nw_correlate_pairwise(x, 4, 4, r, n_pairs), NW_OK);
	CHECK(isnan(r[7]) && isnan(r[15]) && n_pairs[7] == 1); /* one row is not enough */
	CHECK_INT(nw_correlate(x, 0, 4, r), NW_OK);
	CHECK_INT(nw_correlate(x, 1, 0, r), NW_OK);
	CHECK(isnan(r[0]));
	CHECK_INT(nw_correlate_ranks(x, 3, 4, r), NW_OK);
	CHECK_NEAR(r[5], -1, 0, 1e-15);
	CHECK(isnan(r[1]));
}

static void
test_z(void)
{
	static const struct {
		double r, n, rho0, z, p, critical;
		bool significant;
	} table[] = {
		{ 0.96, 240, 0.95, 1.7569986406077047, 0.03945902045450614, 0.9594248754493933,
		    true },
		{ -0.96, 240, 0.95, 1.7569986406077047, 0.03945902045450614, 0.9594248754493933,
		    true },
		{ 0.959, 240, 0.95, 1.5630014229500837, 0.059026130065243584, 0.9594248754493933,
		    false },
		{ 0.95, 240, 0.95, 0, 0.5, 0.9594248754493933, false },
		{ 0.9999, 4, 0, 4.951718775643098, 3.6780429126299727e-07, 0.9281480322870221,
		    true },
		{ 0.2, 240, 0, 3.1210279986200145, 0.0009011044919618586, 0.10644000005742825,
		    true },
		{ 0.951, 1e6, 0.95, 10.357682654860135, 1.9310267360750936e-25, 0.9501601231142747,
		    true },
	};
	struct nw_correlation_test t;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		t = nw_correlation_test(table[i].r, table[i].n, table[i].rho0, 0.05);
		CHECK_NEAR(t.z, table[i].z, 1e-12, 0);
		CHECK_NEAR(t.p, table[i].p, 1e-10, 0);
		CHECK_NEAR(t.r_critical, table[i].critical, 1e-14, 0);
		CHECK(t.significant == table[i].significant);
	}
	t = nw_correlation_test(-1, 10, 0.95, 0.05); /* an exact image: always */
	CHECK(t.z == INFINITY && t.p == 0 && t.significant);
	t = nw_correlation_test(1, 3, 0, 0.05); /* three rows: never */
	CHECK(isnan(t.z) && isnan(t.p) && isnan(t.r_critical) && !t.significant);
	t = nw_correlation_test(1, 240, 1, 0.05); /* nothing exceeds 1 */
	CHECK(isnan(t.z) && !t.significant);
	t = nw_correlation_test(NAN, 240, 0.5, 0.05);
	CHECK(isnan(t.z) && !t.significant && t.r_critical > 0.5);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 12);
	test_r();
	test_invariance();
	test_pairwise();
	test_undefined();
	test_z();
	return check_done("correlate");
}
