/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a reduction is worth telling: drivers, an unrelated response, a response that is its own
 * past, drift. The shares of wrong answers are in tests/calibrate. */
#include "tests/check.h"
#include "tests/noise.h"
#include "narrows/err.h"
#include "narrows/reduce.h"

enum { P = 20, N = 300, MINUTE_ROWS = 60 };

static double x[P][N], y[N];
static const double *columns[P];
static const struct nw_table table = { columns, P, y, N };

static struct nw_worth
worth(void)
{
	struct nw_reduce_options o = nw_reduce_better();
	struct nw_worth w;

	CHECK_INT(nw_reduce_worth(&table, &o, MINUTE_ROWS, &w), NW_OK);
	return w;
}

static void
fill(double ar)
{
	for (int j = 0; j < P; j++) {
		noise_ar(x[j], N, ar);
		columns[j] = x[j];
	}
}

static void
test_drivers(void)
{
	struct nw_worth w;

	fill(0.5);
	for (int i = 0; i < N; i++)
		y[i] = 100 + x[3][i] - 2 * x[7][i] + 0.5 * noise_normal();
	w = worth();
	CHECK(w.holds && w.r2 > 0.85 && w.r2 < 1 && w.random_r2 < 0.6 && w.minute_r2 < 0.3);
	CHECK(w.folds == 5 && w.gap_rows >= 1 && w.gap_rows <= N / 20);
	x[3][N / 2] = NAN; /* a row with a gap is predicted by the mean */
	CHECK(worth().holds);
}

static void
test_nothing(void)
{
	struct nw_worth w;

	fill(0.5);
	noise_ar(y, N, 0.5);
	CHECK(!worth().holds);
	/* A response that is mostly its own past: what follows it says less than the minute
	 * before. */
	noise_ar(y, N, 0.999);
	for (int i = 0; i < N; i++)
		x[0][i] = y[i] + 0.5 * noise_normal();
	w = worth();
	CHECK(w.minute_r2 > 0.5 || !w.holds);
	for (int i = 0; i < N; i++)
		y[i] = 7;
	w = worth();
	CHECK(!w.holds && isnan(w.r2));
}

/* Metrics with the period of the response predict it in every fold, in any of its phases. */
static void
test_period(void)
{
	struct nw_worth w;

	for (int j = 0; j <= P; j++) {
		double phase = 6.28 * noise_uniform(), *to = j < P ? x[j] : y;

		for (int i = 0; i < N; i++)
			to[i] = sin(phase + 6.283185307179586 * i / 60) + 0.3 * noise_normal();
	}
	w = worth();
	CHECK(w.r2 > 0.5 && w.r2 > w.minute_r2 && w.shift_chance > 0.03 && !w.holds);
	for (int i = 0; i < N; i++) /* a driver besides the period */
		y[i] += 2 * (x[4][i] = noise_normal());
	w = worth();
	CHECK(w.shift_chance <= 0.03 && w.holds);
}

/* A metric that only counts the time is no candidate, though the response rises, too. */
static void
test_drift(void)
{
	struct nw_reduce_options o = nw_reduce_better();
	struct nw_reduction r;

	fill(0);
	for (int i = 0; i < N; i++) {
		x[0][i] = i + noise_normal();
		y[i] = 0.01 * i + noise_normal();
	}
	CHECK_INT(nw_reduce(&table, NULL, 0, &o, &r), NW_OK);
	for (size_t i = 0; i < r.elimination.n_metrics; i++)
		CHECK(r.candidate[i] != 0);
	nw_reduction_clear(&r);
	o.strict = false;
	CHECK_INT(nw_reduce(&table, NULL, 0, &o, &r), NW_OK);
	CHECK(r.elimination.n_metrics_kept >= 1 && r.candidate[0] == 0);
	nw_reduction_clear(&r);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 6);
	test_drivers();
	test_nothing();
	test_drift();
	test_period();
	return check_done("reduce_worth");
}
