/* SPDX-License-Identifier: BSD-3-Clause */
/* t-tests against published data, their undefined cases, scale and order; Holm against R's
 * p.adjust. */
#include "narrows/ttest.h"

#include "tests/check.h"

/* Student 1908, extra hours of sleep: R's t.test(alternative = "less") */
static void
test_sleep(void)
{
	static const double a[] = { 0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0 };
	static const double b[] = { 1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4 };
	struct nw_summary sa = nw_summary_of(a, 10), sb = nw_summary_of(b, 10), sd;
	struct nw_group ga = nw_group_of(&sa), gb = nw_group_of(&sb), gd;
	struct nw_ttest w = nw_ttest_welch(&ga, &gb), s = nw_ttest_student(&ga, &gb), p;
	double d[10];
	int i;

	CHECK_INT(w.status, NW_STATUS_OK);
	CHECK_NEAR(w.diff, -1.58, 1e-14, 0);
	CHECK_NEAR(w.se, 0.849091017238762, 1e-14, 0);
	CHECK_NEAR(w.t, -1.860813467486853, 1e-14, 0);
	CHECK_NEAR(w.df, 17.776473516178495, 1e-14, 0);
	CHECK_NEAR(w.p, 0.03969707009367907, 1e-13, 0);
	CHECK_NEAR(w.log10_p, -1.4012415458591478, 1e-13, 0);
	CHECK_NEAR(s.df, 18, 0, 0);
	CHECK_NEAR(s.p, 0.03959335710796905, 1e-13, 0);
	/* paired, as Student did: t = -4.0621, df = 9, two-sided p 0.002833 */
	for (i = 0; i < 10; i++)
		d[i] = a[i] - b[i];
	sd = nw_summary_of(d, 10);
	gd = nw_group_of(&sd);
	p = nw_ttest_single(&gd);
	CHECK_NEAR(p.t, -4.062127683382037, 1e-13, 0);
	CHECK_NEAR(p.p, 0.00283289019738427 / 2, 1e-10, 0);
}

static void
test_undefined(void)
{
	static const struct {
		struct nw_group a, b;
		enum nw_status status;
		double p, log10_p;
	} cases[] = { { { 10, 1, 0 }, { 10, 2, 0 }, NW_STATUS_DEGENERATE, 0, -INFINITY },
		{ { 10, 2, 0 }, { 10, 2, 0 }, NW_STATUS_DEGENERATE, 1, 0 },
		{ { 10, 3, 0 }, { 10, 2, 0 }, NW_STATUS_DEGENERATE, 1, 0 },
		{ { 1, 1, 0 }, { 10, 2, 1 }, NW_STATUS_INSUFFICIENT, NAN, NAN },
		{ { 0, 0, 0 }, { 10, 2, 1 }, NW_STATUS_INSUFFICIENT, NAN, NAN },
		{ { 10, 2, 1 }, { NAN, 2, 1 }, NW_STATUS_INSUFFICIENT, NAN, NAN },
		{ { 10, NAN, 1 }, { 10, 2, 1 }, NW_STATUS_UNDEFINED, NAN, NAN },
		{ { 10, 1, INFINITY }, { 10, 2, 1 }, NW_STATUS_UNDEFINED, NAN, NAN } };
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nw_ttest w = nw_ttest_welch(&cases[i].a, &cases[i].b),
				s = nw_ttest_student(&cases[i].a, &cases[i].b);

		CHECK_INT(w.status, cases[i].status);
		CHECK_INT(s.status, cases[i].status);
		CHECK(isnan(cases[i].p) ? isnan(w.p) && isnan(s.p)
					: w.p == cases[i].p && s.p == cases[i].p);
		CHECK(isnan(cases[i].p) ? isnan(w.log10_p) : w.log10_p == cases[i].log10_p);
		CHECK(isnan(w.t) && isnan(s.t));
	}
}

/* One group without spread is fine; p underflows, its logarithm does not; units do not matter. */
static void
test_extremes(void)
{
	struct nw_group a = { 60, 100, 1 }, b = { 60, 120.08316, 1 }, c = { 60, 100, 0 }, big,
			small;
	struct nw_ttest r = nw_ttest_student(&a, &b), again;
	double unit;

	CHECK_NEAR(r.t, -110, 1e-6, 0);
	CHECK_NEAR(r.log10_p, -120.3258, 1e-5, 0);
	b.mean = 1e9;
	r = nw_ttest_welch(&a, &b);
	CHECK(r.p == 0 && r.log10_p < -800 && isfinite(r.log10_p));
	r = nw_ttest_welch(&c, &b);
	CHECK_INT(r.status, NW_STATUS_OK);
	CHECK_NEAR(r.df, 59, 1e-14, 0);
	b.mean = 100.4;
	r = nw_ttest_welch(&a, &b);
	for (unit = 1e-200; unit < 1e220; unit *= 1e20) {
		big = (struct nw_group){ 60, a.mean * unit, a.sd * unit };
		small = (struct nw_group){ 60, b.mean * unit, b.sd * unit };
		again = nw_ttest_welch(&big, &small);
		CHECK_NEAR(again.p, r.p, 1e-11, 0);
	}
	again = nw_ttest_welch(&b, &a);
	CHECK_NEAR(again.p, 1 - r.p, 1e-14, 0);
}

static void
test_holm(void)
{
	static const double p[] = { 0.01, 0.04, NAN, 0.03, 0.005, 0.8 };
	/* R: p.adjust(.., "holm") */
	static const double want[] = { 0.04, 0.09, NAN, 0.09, 0.025, 0.8 };
	double q[6];
	int i;

	CHECK_INT(nw_holm(p, 6, q), 0);
	for (i = 0; i < 6; i++)
		CHECK(isnan(want[i]) ? isnan(q[i]) : fabs(q[i] - want[i]) < 1e-15);
	CHECK_INT(nw_holm(p, 0, q), 0);
	q[0] = q[1] = 0.7;
	CHECK_INT(nw_holm(q, 2, q), 0);
	CHECK(q[0] == 1 && q[1] == 1);
}

int
main(void)
{
	test_sleep();
	test_undefined();
	test_extremes();
	test_holm();
	return check_done("ttest");
}
