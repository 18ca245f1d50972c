/* SPDX-License-Identifier: BSD-3-Clause */
/* Backward elimination: R's data, updates against refits, noise, and what must not change the
 * path. */
#include "tests/check.h"
#include "narrows/linear.h"
#include "tests/noise.h"
#include "tests/rdata.h"

static const struct nw_eliminate_options faithful = { 2, NW_QUADRATIC_NONE, false, 0 };

/* mpg on all others. The F are those of refits by R's lm; step() takes the same path */
static void
test_mtcars(void)
{
	static const size_t removed[] = { 0, 6, 9, 8, 3, 1, 2 }, kept[] = { 4, 5, 7 };
	static const double removed_f[] = { 0.011371923574266474, 0.040030694093317186,
		0.10663755846639866, 0.25287636421044907, 0.5570788581250975, 1.123223798787907,
		1.5551394843599484 };
	struct nw_elimination e;

	CHECK_INT(nw_eliminate(mtcars_x, MTCARS_P, mtcars_mpg, MTCARS_N, &faithful, &e), NW_OK);
	CHECK_INT(e.status, NW_STATUS_OK);
	CHECK(!e.refitted);
	CHECK_INT(e.n_removed, 7);
	for (size_t i = 0; i < 7; i++) {
		CHECK_INT(e.removed[i], removed[i]);
		CHECK_NEAR(e.removed_f[i], removed_f[i], 1e-10, 0);
	}
	CHECK_INT(e.n_kept, 3);
	for (size_t i = 0; i < 3; i++)
		CHECK_INT(e.kept[i], kept[i]);
	CHECK_NEAR(e.lm.r2, 0.8496635563617072, 1e-13, 0);
	CHECK_NEAR(e.full_r2, 0.8690157644777647, 1e-13, 0);
	CHECK_INT(e.full_df, 21);
	CHECK_NEAR(e.reduction_degree, 0.7, 1e-15, 0);
	nw_elimination_clear(&e);
}

static void
test_quadratic(void)
{
	struct nw_eliminate_options raw = { 2, NW_QUADRATIC_RAW, false, 0 },
				    centred = { 2, NW_QUADRATIC_CENTERED, false, 0 },
				    hierarchical = { 2, NW_QUADRATIC_CENTERED, true, 0 };
	struct nw_elimination e;

	CHECK_INT(nw_eliminate(mtcars_x, MTCARS_P, mtcars_mpg, MTCARS_N, &raw, &e), NW_OK);
	CHECK_INT(e.n_terms, 20);
	CHECK_INT(e.state[16], NW_TERM_ALIASED); /* vs^2 = vs, am^2 = am */
	CHECK_INT(e.state[17], NW_TERM_ALIASED);
	CHECK_INT(e.n_kept, 5);
	CHECK_INT(e.n_metrics_kept, 3);
	CHECK_NEAR(e.lm.r2, 0.8904392018396655, 1e-12, 0);
	CHECK_NEAR(e.removed_f[12], 0.5488829663126371, 1e-9, 0);
	nw_elimination_clear(&e);
	CHECK_INT(nw_eliminate(mtcars_x, MTCARS_P, mtcars_mpg, MTCARS_N, &centred, &e), NW_OK);
	CHECK_INT(e.n_removed, 14);
	CHECK_NEAR(e.lm.sse, 124.3767021466481, 1e-11, 0);
	CHECK_NEAR(e.lm.intercept.value, 36.7792598248136, 1e-10, 0);
	nw_elimination_clear(&e);
	CHECK_INT(nw_eliminate(mtcars_x, MTCARS_P, mtcars_mpg, MTCARS_N, &hierarchical, &e), NW_OK);
	for (size_t i = 0; i < e.n_kept; i++) /* a kept square has its metric with it */
		CHECK(!e.kept_terms[i].squared || e.state[e.kept_terms[i].column] == NW_TERM_OK);
	for (size_t i = 0; i < e.n_removed; i++)
		if (e.removed[i] < 10)
			CHECK(e.state[e.removed[i] + 10] != NW_TERM_OK);
	nw_elimination_clear(&e);
}

/* Rows of a synthetic session: families, near copies, drivers. */
enum { N = 200, P = 60 };

static void
make(double (*x)[N], const double **columns, double *y, double closeness)
{
	for (size_t j = 0; j < P; j++) {
		columns[j] = x[j];
		for (size_t i = 0; i < N; i++)
			x[j][i] =
			    j % 3 == 2 ? x[j - 1][i] + closeness * noise_normal() : noise_normal();
	}
	for (size_t i = 0; i < N; i++) {
		y[i] = 2 * noise_normal();
		for (size_t j = 0; j < P; j += 7)
			y[i] += x[j][i];
	}
}

/* The definition, one fit per candidate step. */
static size_t
by_refits(const double *const *columns, const double *y, double tolerance, size_t *removed,
    double *removed_f)
{
	struct nw_lm_options plain = { false, tolerance };
	struct nw_term terms[P];
	size_t k = P, n = 0;

	for (size_t j = 0; j < P; j++)
		terms[j] = (struct nw_term){ j, false, 0 };
	while (k > 0) {
		struct nw_lm lm;
		size_t best = 0;

		nw_lm_fit(columns, terms, k, y, N, &plain, &lm);
		for (size_t j = 1; j < k; j++)
			if (lm.coef[j].f < lm.coef[best].f)
				best = j;
		if (lm.coef[best].f < 2) {
			removed[n] = terms[best].column;
			removed_f[n++] = lm.coef[best].f;
			memmove(&terms[best], &terms[best + 1], (k - best - 1) * sizeof(*terms));
		} else
			best = k;
		nw_lm_clear(&lm);
		if (best == k--)
			break;
	}
	return n;
}

/* Partners 1e-6 apart are where an updated inverse loses its digits; the reflections keep half. */
static void
test_updates(void)
{
	static const double closeness[] = { 1, 1e-2, 1e-4, 1e-6 };
	static double x[P][N], y[N];
	const double *columns[P];
	size_t removed[P];
	double removed_f[P];

	for (size_t c = 0; c < 4; c++) {
		struct nw_elimination e;
		size_t n;

		make(x, columns, y, closeness[c]);
		CHECK_INT(nw_eliminate(columns, P, y, N, &faithful, &e), NW_OK);
		n = by_refits(columns, y, 0, removed, removed_f);
		CHECK(!e.refitted);
		CHECK_INT(e.n_removed, n);
		for (size_t i = 0; i < n && i < e.n_removed; i++) {
			CHECK_INT(e.removed[i], removed[i]);
			CHECK_NEAR(e.removed_f[i], removed_f[i], 1e-7, 1e-9);
		}
		nw_elimination_clear(&e);
	}
}

/* With the alias tolerance out of the way partners may be so close that no update survives: then
 * every step is a refit, and says so. */
static void
test_refits(void)
{
	static double x[P][N], y[N];
	const double *columns[P];
	size_t removed[P], n;
	double removed_f[P];
	struct nw_eliminate_options loose = { 2, NW_QUADRATIC_NONE, false, 1e-13 };
	struct nw_elimination e;

	make(x, columns, y, 1e-11);
	CHECK_INT(nw_eliminate(columns, P, y, N, &loose, &e), NW_OK);
	n = by_refits(columns, y, loose.alias_tolerance, removed, removed_f);
	CHECK(e.refitted);
	CHECK_INT(e.n_removed, n);
	for (size_t i = 0; i < n && i < e.n_removed; i++)
		CHECK_INT(e.removed[i], removed[i]);
	nw_elimination_clear(&e);
}

/* Units, the order of rows and of columns. */
static void
test_invariance(void)
{
	static double x[P][N], moved[P][N], y[N], y_moved[N];
	const double *columns[P], *others[P];
	struct nw_elimination e, other;

	make(x, columns, y, 0.1);
	for (size_t j = 0; j < P; j++)
		others[(j * 7) % P] = moved[j];
	for (size_t i = 0; i < N; i++) {
		size_t k = (i * 9) % N;

		y_moved[k] = 1e12 * y[i];
		for (size_t j = 0; j < P; j++)
			moved[j][k] = x[j][i] * pow(10, -9 + 21.0 * (double)j / P);
	}
	CHECK_INT(nw_eliminate(columns, P, y, N, &faithful, &e), NW_OK);
	CHECK_INT(nw_eliminate(others, P, y_moved, N, &faithful, &other), NW_OK);
	CHECK_INT(other.n_removed, e.n_removed);
	for (size_t i = 0; i < e.n_removed; i++) {
		CHECK_INT(other.removed[i], (e.removed[i] * 7) % P);
		CHECK_NEAR(other.removed_f[i], e.removed_f[i], 1e-9, 1e-12);
	}
	CHECK_NEAR(other.lm.r2, e.lm.r2, 1e-12, 0);
	nw_elimination_clear(&e);
	nw_elimination_clear(&other);
}

/* F >= 2 is p = 0.157: about one noise metric in six stays. F >= ln n (BIC) keeps about one in
 * fifty. */
static void
test_noise(void)
{
	enum { TRIES = 40, METRICS = 40 };
	static double x[METRICS][N], y[N];
	const double *columns[METRICS];
	double share[2];

	for (int bic = 0; bic < 2; bic++) {
		struct nw_eliminate_options opts = faithful;
		size_t kept = 0;

		opts.f_remove = bic ? NAN : 2;
		for (int i = 0; i < TRIES; i++) {
			struct nw_elimination e;

			noise_fill(y, N);
			for (size_t j = 0; j < METRICS; j++) {
				noise_fill(x[j], N);
				columns[j] = x[j];
			}
			CHECK_INT(nw_eliminate(columns, METRICS, y, N, &opts, &e), NW_OK);
			CHECK_NEAR(e.f_remove, bic ? log(N) : 2, 1e-15, 0);
			kept += e.n_kept;
			nw_elimination_clear(&e);
		}
		share[bic] = (double)kept / (TRIES * METRICS);
	}
	printf("noise kept: F 2 %.3f, ln n %.3f\n", share[0], share[1]);
	CHECK(share[0] > 0.12 && share[0] < 0.22);
	CHECK(share[1] < 0.045);
}

static void
test_undefined(void)
{
	static double x[P][N], y[N], flat[N];
	const double *columns[P];
	struct nw_elimination e;

	make(x, columns, y, 1);
	for (size_t i = 0; i < N; i++)
		flat[i] = 0.1;
	CHECK_INT(nw_eliminate(columns, P, flat, N, &faithful, &e), NW_OK);
	CHECK_INT(e.status, NW_STATUS_CONSTANT_RESPONSE);
	nw_elimination_clear(&e);
	CHECK_INT(nw_eliminate(columns, P, y, 30, &faithful, &e), NW_OK);
	CHECK_INT(e.status, NW_STATUS_UNDERDETERMINED);
	CHECK_INT(e.rank, 29);
	CHECK_INT(e.full_df, 0);
	CHECK_INT(e.n_kept, 0);
	for (size_t j = 0; j < P; j++)
		CHECK_INT(e.state[j], j < 29 ? NW_TERM_OK : NW_TERM_ALIASED);
	nw_elimination_clear(&e);
	CHECK_INT(nw_eliminate(columns, P, y, 0, &faithful, &e), NW_OK);
	CHECK_INT(e.status, NW_STATUS_INSUFFICIENT);
	nw_elimination_clear(&e);
	columns[1] = flat;
	CHECK_INT(nw_eliminate(columns, 2, x[50], 2, &faithful, &e), NW_OK);
	CHECK_INT(e.status, NW_STATUS_UNDERDETERMINED);
	nw_elimination_clear(&e);
	CHECK_INT(nw_eliminate(columns, 2, x[50], N,
		      &(struct nw_eliminate_options){ 1e9, NW_QUADRATIC_NONE, false, 0 }, &e),
	    NW_OK);
	CHECK_INT(e.state[1], NW_TERM_CONSTANT);
	CHECK_INT(e.n_kept, 0);
	CHECK(e.status == NW_STATUS_OK && e.lm.r2 == 0 && e.reduction_degree == 1);
	nw_elimination_clear(&e);
	CHECK_INT(nw_eliminate(columns, 0, y, N, &faithful, &e), NW_OK);
	CHECK(e.status == NW_STATUS_OK && e.lm.r2 == 0);
	nw_elimination_clear(&e);
}

/* The response is 2 a - 3 d + 1: only rounding is left, F is 0 or infinite. */
static void
test_perfect(void)
{
	static double x[P][N], y[N];
	const double *columns[P];
	struct nw_elimination e;

	make(x, columns, y, 1);
	for (size_t i = 0; i < N; i++)
		y[i] = 2 * x[0][i] - 3 * x[4][i] + 1;
	CHECK_INT(nw_eliminate(columns, 6, y, N, &faithful, &e), NW_OK);
	CHECK_INT(e.n_kept, 2);
	CHECK(e.kept[0] == 0 && e.kept[1] == 4);
	for (size_t i = 0; i < e.n_removed; i++)
		CHECK(e.removed_f[i] == 0);
	CHECK(e.lm.r2 == 1 && e.lm.coef[0].f == INFINITY && e.lm.coef[1].f == INFINITY);
	nw_elimination_clear(&e);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 16);
	test_mtcars();
	test_quadratic();
	test_updates();
	test_refits();
	test_invariance();
	test_noise();
	test_undefined();
	test_perfect();
	return check_done("eliminate");
}
