/* SPDX-License-Identifier: BSD-3-Clause */
/* Effective sample sizes: certified autocorrelations, the effect on false verdicts, gaps,
 * constants. */
#include "narrows/autocorr.h"

#include "tests/check.h"
#include "tests/noise.h"

/* NIST StRD: lag-1 autocorrelation of NumAcc1 is -0.5, of NumAcc2 -0.999 */
static void
test_nist(void)
{
	static const double acc1[] = { 10000001, 10000003, 10000002 };
	struct nw_autocorr a = nw_autocorr(acc1, 3);
	double v[1001];
	int i;

	CHECK_NEAR(a.r1, -0.5, 1e-15, 0);
	CHECK(a.n_eff_plain == 3 && a.r == 0);
	for (i = 0; i < 1001; i++)
		v[i] = i == 0 ? 1.2 : i % 2 ? 1.1 : 1.3;
	a = nw_autocorr(v, 1001);
	CHECK_NEAR(a.r1, -0.999, 1e-12, 0);
	CHECK_NEAR(a.n_eff, 1001, 0, 0);
}

static void
test_edges(void)
{
	static const double none[1] = { 0 }, flat[] = { 0.1, 0.1, 0.1, 0.1 },
			    gap[] = { 1, NAN, 2, INFINITY, 4, 5, 7 };
	struct nw_autocorr a = nw_autocorr(none, 0);
	double x[100], d[7];
	int i;

	CHECK(a.status == NW_STATUS_INSUFFICIENT && a.n_eff == 0 && isnan(a.r1));
	a = nw_autocorr(flat, 2);
	CHECK(a.status == NW_STATUS_INSUFFICIENT && a.n_eff == 2);
	a = nw_autocorr(flat, 4);
	CHECK(a.status == NW_STATUS_DEGENERATE && a.n_eff == 4 && isnan(a.r1));
	a = nw_autocorr(gap, 7);
	CHECK(a.status == NW_STATUS_OK && a.sum.n == 5 && isfinite(a.r1));
	for (i = 0; i < 100; i++)
		/* a straight line: r1 near 1, worth about two values, whatever the unit */
		x[i] = 1e300 * i;
	a = nw_autocorr(x, 100);
	CHECK_NEAR(a.r1, 0.97, 1e-3, 0);
	CHECK_NEAR(a.n_eff, 2, 0, 0);
	CHECK_INT(nw_paired_difference(gap, x, 7, d), 5);
	CHECK(isnan(d[1]) && d[0] == 1);
	CHECK(isnan(nw_hac_variance(gap, 7, 1)) && isnan(nw_hac_variance(gap, 1, 1)));
	CHECK_NEAR(nw_hac_variance((double[]){ 1, 2, 3, 4 }, 4, 0), 1.25 / 4, 1e-15, 0);
	/* g0 = 1.25, g1 = (0.75 + -0.25 + 0.75)/4 with weight 1/2 twice */
	CHECK_NEAR(
	    nw_hac_variance((double[]){ 1, 2, 3, 4 }, 4, 1), (1.25 + 1.25 / 4) / 4, 1e-15, 0);
	CHECK_INT(nw_hac_lag(120), 4);
	CHECK_INT(nw_hac_lag(60), 3);
}

/* Equal means: how often does a test at 2.5 % per side find a difference? Nominal 5 %. */
static void
test_false_alarms(void)
{
	static const double ars[] = { 0, 0.5, 0.8, 0.9 };
	double a[60], b[60];
	int k, i, plain, corrected;
	enum { ROUNDS = 2000 };

	for (k = 0; k < 4; k++) {
		plain = corrected = 0;
		for (i = 0; i < ROUNDS; i++) {
			struct nw_autocorr ra, rb;
			struct nw_group ga, gb;

			noise_ar(a, 60, ars[k]);
			noise_ar(b, 60, ars[k]);
			ra = nw_autocorr(a, 60);
			rb = nw_autocorr(b, 60);
			ga = nw_group_of(&ra.sum);
			gb = nw_group_of(&rb.sum);
			plain += fabs(nw_ttest_welch(&ga, &gb).p - 0.5) > 0.475;
			ga = nw_autocorr_group(&ra);
			gb = nw_autocorr_group(&rb);
			corrected += fabs(nw_ttest_welch(&ga, &gb).p - 0.5) > 0.475;
		}
		CHECK(corrected < 0.065 * ROUNDS);
		CHECK(k == 0 ? plain < 0.065 * ROUNDS : plain > 0.2 * ROUNDS);
	}
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 7);
	test_nist();
	test_edges();
	test_false_alarms();
	return check_done("autocorr");
}
