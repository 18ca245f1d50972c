/* SPDX-License-Identifier: BSD-3-Clause */
/* A curve as a cell of CSV: what is printed is read back, and anything else is refused. */
#include "cli/stat/stat_curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "narrows/err.h"
#include "tests/check.h"

static void
test_there_and_back(void)
{
	static double fast[] = { 1e-6, 2e-6, 3e-6, 4e-6, 9e-6 },
		      slow[] = { 1e-3, 2e-3, 2.5e-3, 3e-3, 8e-2 };
	struct nw_io_point points[2];
	struct nw_io_curve made, again;
	json_t *cell;

	nw_io_point_of_values(4096, fast, 5, &points[0]);
	nw_io_point_of_values(1048576, slow, 5, &points[1]);
	CHECK_INT(nw_io_curve_make(points, 2, &made), NW_OK);
	cell = curve_json(&made);
	CHECK(cell != NULL && strchr(json_string_value(cell), ',') == NULL);
	CHECK_INT(curve_parse(json_string_value(cell), &again), NW_OK);
	CHECK_INT(again.status, NW_STATUS_OK);
	CHECK_INT(again.n, 2);
	for (size_t i = 0; i < again.n && i < 2; i++) {
		const struct nw_io_point *a = &made.points[i], *b = &again.points[i];

		CHECK(b->size_bytes == a->size_bytes && b->n == a->n);
		CHECK_NEAR(b->mean_s, a->mean_s, 1e-4, 0);
		CHECK_NEAR(b->slowest_s, a->slowest_s, 1e-4, 0);
		for (int k = 0; k < NW_IO_QUANTILES; k++)
			CHECK_NEAR(exp(b->ln_s[k]), exp(a->ln_s[k]), 1e-4, 0);
	}
	json_decref(cell);
	nw_io_curve_clear(&made);
	nw_io_curve_clear(&again);
}

static void
test_order(void)
{
	/* Points come in any order, and leave in order of size. */
	struct nw_io_curve c;

	CHECK_INT(curve_parse("65536 9 2e-3 9e-3 1e-3 1e-3 1e-3 1e-3 2e-3 3e-3 4e-3 5e-3 6e-3;"
			      "512 7 1e-5 9e-5 1e-5 1e-5 1e-5 1e-5 1e-5 1e-5 1e-5 1e-5 1e-5",
		      &c),
	    NW_OK);
	CHECK_INT(c.n, 2);
	CHECK(c.n == 2 && c.points[0].size_bytes == 512 && c.points[1].n == 9);
	nw_io_curve_clear(&c);
}

static void
test_refused(void)
{
	static const char *const cells[] = {
		"x", ";", "512", "512 7 1e-5 9e-5 1 1 1 1 1 1 1 1", /* a quantile is missing */
		"512 7 1e-5 9e-5 1 1 1 1 1 1 1 1 1 1",              /* there is one too many */
		"512 7 1e-5 9e-5 1 2 3 4 5 6 7 8 7",                /* quantiles fall */
		"512 7 1e-5 9e-5 0 1 1 1 1 1 1 1 1",                /* without a duration */
		"512 0 1e-5 9e-5 1 1 1 1 1 1 1 1 1",                /* without an operation */
		"-1 7 1e-5 9e-5 1 1 1 1 1 1 1 1 1",                 /* without a size */
		"512 7 nan 9e-5 1 1 1 1 1 1 1 1 1",                 /* no number */
		"512 7 1e-5 inf 1 1 1 1 1 1 1 1 1",                 /* without an end */
		"512 7 1e-5 9e-5 1 1 1 1 1 1 1 1 1,",               /* another divider */
		"512 7 1e-5 9e-5 1 1 1 1 1 1 1 1 1;512 7 1e5",      /* half of a second point */
	};
	struct nw_io_curve c;

	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		CHECK_INT(curve_parse(cells[i], &c), NW_EPROTO);
		CHECK(c.n == 0 && c.points == NULL);
		nw_io_curve_clear(&c);
	}
	CHECK_INT(curve_parse("", &c), NW_OK);
	CHECK_INT(c.status, NW_STATUS_INSUFFICIENT);
	nw_io_curve_clear(&c);
}

int
main(void)
{
	test_there_and_back();
	test_order();
	test_refused();
	return check_done("stat_curve");
}
