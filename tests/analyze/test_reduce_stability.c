/* SPDX-License-Identifier: BSD-3-Clause */
/* Stability selection: drivers and their twins are chosen always, noise hardly ever, and the work
 * ends when its owner says so. */
#include "tests/check.h"
#include "tests/noise.h"
#include "narrows/err.h"
#include "narrows/reduce.h"

enum { P = 30, N = 400, PAIRS = 10 };

static double x[P][N], y[N];
static const double *columns[P];
static const struct nw_table table = { columns, P, y, N };

static void
fill(void)
{
	for (int j = 0; j < P; j++) {
		noise_ar(x[j], N, 0.5);
		columns[j] = x[j];
	}
	for (int i = 0; i < N; i++) {
		x[8][i] = 5 * x[7][i] + 0.01 * noise_normal(); /* the twin of a driver */
		y[i] = x[3][i] - x[7][i] + 0.5 * noise_normal();
	}
}

static void
test_share(void)
{
	struct nw_reduce_options o = nw_reduce_better();
	double share[P], again[P], noise = 0;

	fill();
	CHECK_INT(nw_reduce_stability(&table, &o, PAIRS, NULL, share), NW_OK);
	CHECK(share[3] == 1 && share[7] == 1 && share[8] == 1);
	for (int j = 9; j < P; j++)
		noise += share[j] / (P - 9);
	CHECK(noise < 0.05);
	CHECK_INT(nw_reduce_stability(&table, &o, PAIRS, NULL, again), NW_OK);
	CHECK(memcmp(share, again, sizeof(share)) == 0);
}

struct calls {
	size_t n, last, all;
};

static bool
on_progress(void *arg, size_t done, size_t all)
{
	struct calls *c = arg;

	c->n++;
	c->last = done;
	c->all = all;
	return done < 3;
}

static void
test_end(void)
{
	struct nw_reduce_options o = nw_reduce_better();
	struct calls calls = { 0 };
	struct nw_progress_hook hook = { on_progress, &calls };
	double share[P];

	CHECK_INT(nw_reduce_stability(&table, &o, PAIRS, &hook, share), NW_ECLOSED);
	CHECK(calls.n == 3 && calls.last == 3 && calls.all == 2 * PAIRS);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 3);
	test_share();
	test_end();
	return check_done("reduce_stability");
}
