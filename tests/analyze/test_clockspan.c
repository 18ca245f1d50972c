/* SPDX-License-Identifier: BSD-3-Clause */
/* What comparisons of clocks say of a span: a clock that stands still, drifts, or was set. */
#include "narrows/clockspan.h"

#include "tests/check.h"
#include "narrows/err.h"

#define S (INT64_C(1000000000))

static void
rows_make(struct nw_clock_rows *rows, int n, double offset_s, double ppm, double bound_s)
{
	int i;

	nw_clock_rows_clear(rows);
	for (i = 0; i < n; i++)
		CHECK_INT(nw_clock_rows_add(
			      rows, (1000 + 10 * i) * S, offset_s + 10 * i * ppm * 1e-6, bound_s),
		    NW_OK);
}

/* Whether the statement covers a drifting clock at every moment between two comparisons. */
static bool
covers(const struct nw_clock_rows *rows, int from, int to, double offset_s, double ppm)
{
	double offset, bound, at;
	int t;

	if (!nw_clock_span(rows, (1000 + from) * S, (1000 + to) * S, &offset, &bound))
		return false;
	for (t = from; t <= to; t++) {
		at = offset_s + t * ppm * 1e-6;
		if (at < offset - bound - 1e-12 || at > offset + bound + 1e-12)
			return false;
	}
	return true;
}

static void
test_spans(void)
{
	struct nw_clock_rows rows = { 0 };
	double offset, bound;

	CHECK(!nw_clock_span(&rows, 0, S, &offset, &bound));
	rows_make(&rows, 60, -2, 0, 1e-3);
	CHECK(nw_clock_span(&rows, 1100 * S, 1400 * S, &offset, &bound));
	CHECK_NEAR(offset, -2, 1e-12, 0);
	CHECK_NEAR(bound, 1e-3, 1e-12, 0);
	rows_make(&rows, 60, 92, 250, 1e-3);
	CHECK(covers(&rows, 100, 400, 92, 250));
	CHECK(covers(&rows, 100, 100, 92, 250));
	CHECK(covers(&rows, 0, 590, 92, 250));
	/* the edges, where the next comparison has not come yet */
	CHECK(covers(&rows, 300, 599, 92, 250));
	CHECK(covers(&rows, -9, 300, 92, 250));
	/* beyond the last comparison: the nearest says less and less */
	CHECK(nw_clock_span(&rows, 2590 * S, 2600 * S, &offset, &bound));
	CHECK_NEAR(offset, 92 + 590 * 250e-6, 1e-9, 0);
	CHECK_NEAR(bound, 1e-3 + 985 * 500e-6, 1e-9, 0);
	nw_clock_rows_clear(&rows);
}

/* A clock that was set long before the span, and one that is set within. */
static void
test_set(void)
{
	struct nw_clock_rows rows = { 0 };
	double offset, bound;

	rows_make(&rows, 60, 92, 0, 1e-4);
	CHECK_INT(nw_clock_rows_add(&rows, 2000 * S, 0.001, 2e-4), NW_OK);
	CHECK_INT(nw_clock_rows_add(&rows, 2010 * S, 0.5, 0.4), NW_OK); /* a long exchange */
	CHECK(nw_clock_span(&rows, 2000 * S, 2010 * S, &offset, &bound));
	CHECK_NEAR(offset, 0.001, 1e-12, 0);
	CHECK_NEAR(bound, 2e-4, 1e-12, 0);
	CHECK(nw_clock_span(&rows, 1500 * S, 2010 * S, &offset, &bound));
	CHECK(offset - bound <= 0.001 && offset + bound >= 92);
	/* a better comparison of the other clock, shortly before the span */
	CHECK_INT(nw_clock_rows_add(&rows, 1995 * S, 92, 1e-5), NW_OK);
	CHECK(nw_clock_span(&rows, 2000 * S, 2010 * S, &offset, &bound));
	CHECK_NEAR(offset, 0.001, 1e-12, 0);
	CHECK_NEAR(bound, 2e-4, 1e-12, 0);
	CHECK(nw_clock_span(&rows, 2001 * S, 2004 * S, &offset, &bound));
	CHECK_NEAR(offset, 0.001, 1e-12, 0);
	CHECK_NEAR(bound, 2e-4, 1e-12, 0);
	CHECK_INT(nw_clock_rows_add(&rows, 1, NAN, 1), NW_OK);
	CHECK_INT(nw_clock_rows_add(&rows, 1, 1, -1), NW_OK);
	CHECK_INT(nw_clock_rows_add(&rows, 1, 1, INFINITY), NW_OK);
	CHECK_INT(rows.n, 63);
	/* times without sense are no overflow */
	CHECK_INT(nw_clock_rows_add(&rows, INT64_MIN, 1, 1), NW_OK);
	CHECK(nw_clock_span(&rows, INT64_MIN, INT64_MAX, &offset, &bound));
	CHECK(nw_clock_span(&rows, INT64_MAX, INT64_MIN, &offset, &bound));
	nw_clock_rows_clear(&rows);
}

int
main(void)
{
	test_spans();
	test_set();
	return check_done("clockspan");
}
