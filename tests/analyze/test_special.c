/* SPDX-License-Identifier: BSD-3-Clause */
/* t, normal and F distributions against 60-digit series, published quantiles and each other. */
#include "narrows/special.h"

#include <float.h>

#include "tests/check.h"

/* P(T <= t) and its log10, from the power series of the incomplete beta function in 60-digit
 * arithmetic */
static const struct {
	double t, df, p, log10_p;
} t_cases[] = { { -1, 1, 0.25, -0.6020599913279624 },
	{ -0.5, 3, 0.32572398242407552, -0.48715026399885075 },
	{ -1.860813467486853, 17.776473516178495, 0.039697070093679072, -1.4012415458591478 },
	{ -110, 118, 4.72228669711434e-121, -120.32584764978694 },
	{ -2.5, 2.3, 0.056666444689599235, -1.2466740345814646 },
	{ -12.7, 1000.5, 1.1358159067196611e-34, -33.944692053461857 },
	{ -0.01, 1e6, 0.49601064468277384, -0.30450900319249496 },
	{ -3, 1e6, 0.0013499312707108985, -2.8696883422537613 },
	{ -8, 1e9, 6.220967142227382e-16, -15.206142092498677 },
	{ -40, 30, 6.8630225972032014e-28, -27.163484571148015 },
	{ -1e5, 4, 2.9999999980000003e-20, -19.522878745569866 },
	{ -1.7, 1e10, 0.044565462774091701, -1.3510015793416894 },
	{ -1e3, 1, 0.00031830978008055892, -3.4971500174588983 } };

static void
test_t(void)
{
	size_t i;

	for (i = 0; i < sizeof(t_cases) / sizeof(t_cases[0]); i++) {
		CHECK_NEAR(nw_t_cdf(t_cases[i].t, t_cases[i].df), t_cases[i].p, 1e-10, 0);
		CHECK_NEAR(nw_t_log_cdf(t_cases[i].t, t_cases[i].df) / M_LN10, t_cases[i].log10_p,
		    1e-11, 1e-11);
		CHECK_NEAR(nw_t_cdf(-t_cases[i].t, t_cases[i].df), 1 - t_cases[i].p, 1e-14, 0);
	}
	/* df 2 and Cauchy have closed forms */
	CHECK_NEAR(nw_t_cdf(-3, 2), 0.5 * (1 - 3 / sqrt(11)), 1e-13, 0);
	CHECK_NEAR(nw_t_cdf(-1e150, 1), M_1_PI * 1e-150, 1e-13, 0);
	CHECK_NEAR(nw_t_cdf(-1e200, 1), M_1_PI * 1e-200, 1e-13, 0);
	/* where p underflows, its logarithm does not: a normal tail is -t^2/2 */
	CHECK(nw_t_log_cdf(-1e3, 1e12) < -499999 && nw_t_log_cdf(-1e3, 1e12) > -500009);
	CHECK_NEAR(nw_t_log_cdf(-29.99, 1e15), nw_t_log_cdf(-30.01, 1e15), 2e-3, 0);
	CHECK(nw_t_log_cdf(-INFINITY, 5) == -INFINITY && nw_t_cdf(INFINITY, 5) == 1 &&
	    nw_t_cdf(0, 5) == 0.5);
	CHECK(isnan(nw_t_cdf(NAN, 5)) && isnan(nw_t_cdf(1, 0)) && isnan(nw_t_cdf(1, NAN)));
}

/* two-sided 95 % points as printed in every table, and round trips */
static void
test_quantiles(void)
{
	static const struct {
		double df, t;
	} table[] = { { 1, 12.7062047361747 }, { 2, 4.30265272974946 }, { 5, 2.57058183563631 },
		{ 10, 2.22813885198627 }, { 30, 2.04227245630124 }, { 120, 1.97993040508244 },
		{ INFINITY, 1.95996398454005 } };
	static const double ps[] = { 1e-300, 1e-20, 1e-6, 0.01, 0.3, 0.499, 0.6, 0.999 };
	static const double dfs[] = { 0.5, 1, 1.7, 4, 33.3, 1e4, 1e9, 1e11 };
	size_t i, k;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		CHECK_NEAR(nw_t_quantile(0.975, table[i].df), table[i].t, 1e-13, 0);
	for (i = 0; i < sizeof(ps) / sizeof(ps[0]); i++)
		for (k = 0; k < sizeof(dfs) / sizeof(dfs[0]); k++)
			if (ps[i] > 1e-100 || dfs[k] > 3) /* beyond the largest double otherwise */
				CHECK_NEAR(
				    nw_t_cdf(nw_t_quantile(ps[i], dfs[k]), dfs[k]), ps[i], 1e-9, 0);
	CHECK(nw_t_quantile(0.5, 7) == 0 && nw_t_quantile(0, 7) == -INFINITY &&
	    nw_t_quantile(1, 7) == INFINITY);
	CHECK(isnan(nw_t_quantile(-0.1, 7)) && isnan(nw_t_quantile(0.1, -1)) &&
	    isnan(nw_t_quantile(NAN, 1)));

	CHECK_NEAR(nw_norm_quantile(0.95), 1.6448536269514722, 1e-15, 0);
	CHECK_NEAR(nw_norm_quantile(1e-300), -37.0471, 1e-5, 0);
	CHECK_NEAR(nw_norm_upper(1.6448536269514722), 0.05, 1e-14, 0);
	CHECK_NEAR(nw_norm_upper(-1), 0.841344746068542949, 1e-15, 0);
	for (i = 0; i < sizeof(ps) / sizeof(ps[0]); i++)
		CHECK_NEAR(nw_norm_upper(-nw_norm_quantile(ps[i])), ps[i], 1e-12, 0);
	CHECK(nw_norm_quantile(0) == -INFINITY && nw_norm_quantile(1) == INFINITY &&
	    isnan(nw_norm_quantile(2)));
}

static void
test_beta_and_f(void)
{
	/* I_x(2, 3) = x^2 (6 - 8x + 3x^2); I_x(1/2, 1/2) = 2/pi asin sqrt x */
	CHECK_NEAR(exp(nw_log_beta_inc(2, 3, 0.3, 0.7)), 0.3483, 1e-13, 0);
	CHECK_NEAR(exp(nw_log_beta_inc(0.5, 0.5, 0.9, 0.1)), M_2_PI * asin(sqrt(0.9)), 1e-13, 0);
	CHECK_NEAR(nw_log_beta_inc(300, 400, 1e-5, 1 - 1e-5), -2994.6, 0.02, 0);
	CHECK_NEAR(exp(nw_log_beta_inc(5000, 5000, 0.5, 0.5)), 0.5, 1e-11, 0);
	CHECK(nw_log_beta_inc(2, 3, 0, 1) == -INFINITY && nw_log_beta_inc(2, 3, 1, 0) == 0);
	CHECK(isnan(nw_log_beta_inc(0, 3, 0.5, 0.5)) && isnan(nw_log_beta_inc(1, 1, NAN, 0.5)));
	/* F(1, df) is t squared; 5 % point of F(3, 10) from the table; F(2, df) in closed form */
	CHECK_NEAR(nw_f_upper(4, 1, 17), 2 * nw_t_cdf(-2, 17), 1e-12, 0);
	CHECK_NEAR(nw_f_upper(3.70826481904684, 3, 10), 0.05, 1e-9, 0);
	CHECK_NEAR(nw_f_upper(3, 2, 40), pow(1 + 3.0 / 20, -20), 1e-12, 0);
	CHECK(nw_f_upper(0, 3, 10) == 1 && nw_f_upper(INFINITY, 3, 10) == 0 &&
	    isnan(nw_f_upper(NAN, 3, 10)));
}

int
main(void)
{
	test_t();
	test_quantiles();
	test_beta_and_f();
	return check_done("special");
}
