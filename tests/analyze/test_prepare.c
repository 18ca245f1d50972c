/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows and columns go in the order the definition says; every other order would keep other rows. */
#include "tests/check.h"
#include "narrows/correlate.h"

enum { N = 10 };

static const double y[N] = { 1, 2, NAN, 4, 5, 6, INFINITY, 8, 9, 10 }; /* 8 responses */
static const double full[N] = { 1, 4, 2, 8, 5, 7, 1, 4, 2, 8 };
static const double two_gaps[N] = { NAN, 1, NAN, 2, 3, 4, NAN, 5, 6, INFINITY }; /* 2 of 8: 25 % */
static const double one_gap[N] = { 3, NAN, NAN, 1, 4, 1, NAN, 5, 9, 2 }; /* 1 of 8: 12.5 % */
/* varies only in rows that go */
static const double then_flat[N] = { 7, 9, 1, 7, 7, 7, 2, 7, 7, 7 };
static const double *const x[] = { full, two_gaps, one_gap, then_flat };

static void
test_listwise(void)
{
	struct nw_prepare_options opts = { 0.2, NW_MISSING_LISTWISE, false };
	static const size_t rows[] = { 0, 3, 4, 5, 7, 8, 9 };
	struct nw_prepared p;

	CHECK_INT(nw_prepare(x, 4, y, N, &opts, true, &p), NW_OK);
	/* less 2 without response and 1 where one_gap has none; two_gaps costs nothing */
	CHECK_INT(p.n_rows, 7);
	for (size_t i = 0; i < 7; i++) {
		CHECK_INT(p.row[i], rows[i]);
		CHECK(p.y[i] == y[rows[i]] && p.x[0][i] == full[rows[i]] &&
		    p.x[1][i] == one_gap[rows[i]]);
	}
	CHECK_INT(p.class[0], NW_METRIC_USED);
	CHECK_INT(p.class[1], NW_METRIC_MISSING);
	CHECK_INT(p.class[2], NW_METRIC_USED);
	CHECK_INT(p.class[3], NW_METRIC_CONSTANT);
	CHECK_INT(p.n_used, 2);
	CHECK_INT(p.used[1], 2);
	nw_prepared_clear(&p);
	/* for models, which name constants themselves */
	CHECK_INT(nw_prepare(x, 4, y, N, &opts, false, &p), NW_OK);
	CHECK_INT(p.n_used, 3);
	CHECK_INT(p.used[2], 3);
	nw_prepared_clear(&p);
	opts.max_missing = 0.25; /* more than, not at least */
	CHECK_INT(nw_prepare(x, 4, y, N, &opts, true, &p), NW_OK);
	CHECK_INT(p.class[1], NW_METRIC_USED);
	CHECK_INT(p.n_rows, 5);
	nw_prepared_clear(&p);
}

static void
test_pairwise(void)
{
	struct nw_prepare_options opts = { 0.5, NW_MISSING_PAIRWISE, false };
	struct nw_prepared p;

	CHECK_INT(nw_prepare(x, 4, y, N, &opts, true, &p), NW_OK);
	CHECK_INT(p.n_rows, 8);
	CHECK_INT(p.n_used, 4);                      /* then_flat has its 9 */
	CHECK(isnan(p.x[1][0]) && isnan(p.x[1][7])); /* infinite is missing too */
	CHECK(isnan(p.x[2][1]) && p.x[2][2] == 1);
	nw_prepared_clear(&p);
	CHECK_INT(nw_prepare(x, 4, NULL, N, &opts, true, &p), NW_OK); /* no response: all rows */
	CHECK_INT(p.n_rows, N);
	nw_prepared_clear(&p);
}

/* At least 5 rows and at least 2 % off the mode. */
static void
test_near_zero(void)
{
	enum { ROWS = 400 };
	static double four[ROWS], five[ROWS], seven[ROWS], eight[ROWS], flat[ROWS], resp[ROWS];
	static const double *const columns[] = { four, five, seven, eight, flat };
	struct nw_prepare_options opts = { 0.2, NW_MISSING_LISTWISE, true };
	struct nw_prepared p;

	for (size_t i = 0; i < ROWS; i++) {
		four[i] = i < 4 ? (double)i + 1 : 0;
		five[i] = i < 5 ? (double)i + 1 : 0;
		seven[i] = i < 7 ? (double)i + 1 : 0;
		eight[i] = i < 8 ? (double)i + 1 : 0;
		flat[i] = 3;
		resp[i] = (double)i;
	}
	CHECK_INT(nw_prepare(columns, 5, resp, ROWS, &opts, true, &p), NW_OK);
	CHECK_INT(p.class[0], NW_METRIC_RARE);
	CHECK_INT(p.class[1], NW_METRIC_RARE);
	CHECK_INT(p.class[2], NW_METRIC_RARE);
	CHECK_INT(p.class[3], NW_METRIC_USED);
	CHECK_INT(p.class[4], NW_METRIC_CONSTANT);
	nw_prepared_clear(&p);
	/* 5 of 100 is enough */
	CHECK_INT(nw_prepare(columns, 5, resp, 100, &opts, false, &p), NW_OK);
	CHECK_INT(p.class[0], NW_METRIC_RARE);
	CHECK_INT(p.class[1], NW_METRIC_USED);
	/* constants are kept when asked for, this filter or not */
	CHECK_INT(p.class[4], NW_METRIC_USED);
	nw_prepared_clear(&p);
	/* few rows need no majority: 5 of 9 differ, and 4 of 8 */
	for (size_t i = 0; i < ROWS; i++)
		four[i] = i % 2 == 1 && i < 8 ? 70 : (double)i;
	CHECK_INT(nw_prepare(columns, 1, resp, 9, &opts, true, &p), NW_OK);
	CHECK_INT(p.class[0], NW_METRIC_USED);
	nw_prepared_clear(&p);
	CHECK_INT(nw_prepare(columns, 1, resp, 8, &opts, true, &p), NW_OK);
	CHECK_INT(p.class[0], NW_METRIC_RARE);
	nw_prepared_clear(&p);
}

static void
test_edges(void)
{
	static const double none[N] = { NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
	static const double *const empty[] = { none, full };
	struct nw_prepare_options opts = { 0.2, NW_MISSING_LISTWISE, true };
	struct nw_prepared p;

	CHECK_INT(nw_prepare(empty, 2, full, N, &opts, true, &p), NW_OK);
	CHECK_INT(p.class[0], NW_METRIC_MISSING);
	CHECK_INT(p.n_rows, N);
	nw_prepared_clear(&p);
	CHECK_INT(nw_prepare(empty, 2, none, N, &opts, true, &p), NW_OK); /* no response at all */
	CHECK_INT(p.n_rows, 0);
	CHECK_INT(p.n_used, 0);
	nw_prepared_clear(&p);
	CHECK_INT(nw_prepare(empty, 0, full, N, &opts, true, &p), NW_OK);
	CHECK_INT(p.n_rows, N);
	nw_prepared_clear(&p);
}

int
main(void)
{
	test_listwise();
	test_pairwise();
	test_near_zero();
	test_edges();
	return check_done("prepare");
}
