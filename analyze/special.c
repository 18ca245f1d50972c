/* SPDX-License-Identifier: BSD-3-Clause */
/* Normal, t and F distributions. See narrows/special.h. */
#include "narrows/special.h"

#include <float.h>
#include <math.h>

#define LENTZ_STEPS_MAX \
	100000         /* needed: about sqrt(max(a, b)); reached by no argument in the tests */
#define NORMAL_DF 1e15 /* from here on t and normal agree to (t^4 + t^2)/(4 df) relative */

double
nw_norm_upper(double z)
{
	return 0.5 * erfc(z * M_SQRT1_2);
}

/* c[0] + c[1] x + ... + c[n-1] x^(n-1) */
static double
horner(const double *c, int n, double x)
{
	double y = c[n - 1];

	while (--n > 0)
		y = y * x + c[n - 1];
	return y;
}

double
nw_norm_quantile(double p)
{
	static const double a[] = { 3.3871328727963666080e0, 1.3314166789178437745e+2,
		1.9715909503065514427e+3, 1.3731693765509461125e+4, 4.5921953931549871457e+4,
		6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3 };
	static const double b[] = { 1.0, 4.2313330701600911252e+1, 6.8718700749205790830e+2,
		5.3941960214247511077e+3, 2.1213794301586595867e+4, 3.9307895800092710610e+4,
		2.8729085735721942674e+4, 5.2264952788528545610e+3 };
	static const double c[] = { 1.42343711074968357734e0, 4.63033784615654529590e0,
		5.76949722146069140550e0, 3.64784832476320460504e0, 1.27045825245236838258e0,
		2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4 };
	static const double d[] = { 1.0, 2.05319162663775882187e0, 1.67638483018380384940e0,
		6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2,
		5.47593808499534494600e-4, 1.05075007164441684324e-9 };
	static const double e[] = { 6.65790464350110377720e0, 5.46378491116411436990e0,
		1.78482653991729133580e0, 2.96560571828504891230e-1, 2.65321895265761230930e-2,
		1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7 };
	static const double f[] = { 1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
		1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
		1.42151175831644588870e-7, 2.04426310338993978564e-15 };
	double q = p - 0.5, r, z;

	if (isnan(p) || p < 0 || p > 1)
		return NAN;
	if (fabs(q) <= 0.425) {
		r = 0.180625 - q * q;
		return q * horner(a, 8, r) / horner(b, 8, r);
	}
	r = q < 0 ? p : 1 - p;
	if (r == 0)
		return q < 0 ? -INFINITY : INFINITY;
	r = sqrt(-log(r));
	z = r <= 5 ? horner(c, 8, r - 1.6) / horner(d, 8, r - 1.6)
		   : horner(e, 8, r - 5) / horner(f, 8, r - 5);
	return q < 0 ? -z : z;
}

/* ln Gamma(x) minus Stirling's (x - 1/2) ln x - x + ln sqrt(2 pi), x >= 10; the series ends below
 * 1e-17. */
static double
stirling_rest(double x)
{
	static const double c[] = { 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188,
		-691.0 / 360360, 1.0 / 156 };

	return horner(c, 7, 1 / (x * x)) / x;
}

static double
log_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign); /* lgamma would write the global signgam */
}

/* ln B(a, b). For a large argument the difference of two large lgamma is taken on paper. */
static double
log_beta(double a, double b)
{
	double big = fmax(a, b), small = fmin(a, b), sum = a + b;

	if (big < 10)
		return log_gamma(a) + log_gamma(b) - log_gamma(sum);
	if (small < 10)
		return log_gamma(small) + small - small * log(sum) -
		    (big - 0.5) * log1p(small / big) + stirling_rest(big) - stirling_rest(sum);
	return 0.5 * log(2 * M_PI) - 0.5 * log(small) - small * log1p(big / small) -
	    (big - 0.5) * log1p(small / big) + stirling_rest(small) + stirling_rest(big) -
	    stirling_rest(sum);
}

/*
 * I_x(a, b) B(a, b) / (x^a y^b) as a continued fraction 1/(q_0 + p_1/(q_1 + p_2/(q_2 + ...))), for
 * x < (a+1)/(a+b+2). This is the even part of the textbook's fraction (Didonato & Morris 1992,
 * BFRAC), built on a - (a+b)x = ay - bx; the textbook's own terms cancel when x is near 1 and a is
 * large, which is the t distribution with many degrees of freedom.
 */
static double
beta_fraction(double a, double b, double x, double y)
{
	double lambda = a * y - b * x, c, d = 0, h, n, p, q, step;
	int i;

	h = c = a * (lambda + 1) / (a + 1);
	for (i = 1; i <= LENTZ_STEPS_MAX; i++) {
		n = i;
		p = (a + n - 1) / (a + 2 * n - 1) * ((a + b + n - 1) / (a + 2 * n - 1)) * n *
		    (b - n) * x * x;
		q = n + n * (b - n) * x / (a + 2 * n - 1) +
		    (a + n) * (lambda + 1 + n * (1 + y)) / (a + 2 * n + 1);
		d = q + p * d;
		c = q + p / c;
		d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
		c = fabs(c) < DBL_MIN ? DBL_MIN : c;
		step = c * d;
		h *= step;
		if (fabs(step - 1) <= 2 * DBL_EPSILON)
			break;
	}
	return 1 / h;
}

/* ln of min(z, 1 - z) is most precise from the smaller of the two. */
static double
log_unit(double z, double other)
{
	return z <= 0.5 ? log(z) : log1p(-other);
}

double
nw_log_beta_inc(double a, double b, double x, double y)
{
	double front, rest;

	if (!(a > 0) || !(b > 0) || isnan(x) || isnan(y))
		return NAN;
	if (x <= 0)
		return -INFINITY;
	if (y <= 0)
		return 0;
	front = a * log_unit(x, y) + b * log_unit(y, x) - log_beta(a, b);
	if (x < (a + 1) / (a + b + 2))
		return front + log(beta_fraction(a, b, x, y));
	rest = exp(front) * beta_fraction(b, a, y, x);
	return rest < 1 ? log1p(-rest) : -INFINITY;
}

/* ln P(T <= -|t|) */
static double
log_tail(double t, double df)
{
	double r = t * t / df;

	if (isinf(r)) /* where t^2 overflows: x = df/t^2, computed without t^2 */
		return df / 2 * (log(df) - 2 * log(fabs(t))) - log(df / 2) - log_beta(df / 2, 0.5) -
		    M_LN2;
	return nw_log_beta_inc(df / 2, 0.5, 1 / (1 + r), r / (1 + r)) - M_LN2;
}

/* ln P(Z <= -z), z >= 0; beyond erfc's range by the asymptotic series. */
static double
log_normal_tail(double z)
{
	double q = 1 / (z * z);

	if (z < 30)
		return log(nw_norm_upper(z));
	return -0.5 * z * z - log(z) - 0.5 * log(2 * M_PI) +
	    log1p(-q * (1 - 3 * q * (1 - 5 * q * (1 - 7 * q))));
}

double
nw_t_log_cdf(double t, double df)
{
	double tail;

	if (isnan(t) || !(df > 0))
		return NAN;
	if (isinf(t))
		return t < 0 ? -INFINITY : 0;
	tail = df >= NORMAL_DF ? log_normal_tail(fabs(t)) : log_tail(t, df);
	return t <= 0 ? tail : log1p(-exp(tail));
}

double
nw_t_cdf(double t, double df)
{
	return t <= 0 ? exp(nw_t_log_cdf(t, df)) : 1 - exp(nw_t_log_cdf(-t, df));
}

/* ln of the density at t */
static double
t_log_density(double t, double df)
{
	if (df >= NORMAL_DF)
		return -0.5 * t * t - 0.5 * log(2 * M_PI);
	return -(df + 1) / 2 * log1p(t * t / df) - 0.5 * log(df) - log_beta(df / 2, 0.5);
}

double
nw_t_quantile(double p, double df)
{
	double low, high = 0, t, next, target, f;
	int i;

	if (isnan(p) || p < 0 || p > 1 || !(df > 0))
		return NAN;
	if (p > 0.5)
		return -nw_t_quantile(1 - p, df);
	if (p == 0.5 || p == 0)
		return p == 0 ? -INFINITY : 0;
	target = log(p);
	for (low = -1; nw_t_log_cdf(low, df) > target && low > -DBL_MAX / 4; low *= 2)
		high = low;
	t = nw_norm_quantile(p);
	if (!(t > low && t < high))
		t = (low + high) / 2;
	for (i = 0; i < 200; i++) {
		f = nw_t_log_cdf(t, df) - target;
		if (f > 0)
			high = t;
		else
			low = t;
		next = t - f * exp(target + f - t_log_density(t, df));
		if (!(next > low && next < high))
			next = (low + high) / 2;
		if (fabs(next - t) <= 4 * DBL_EPSILON * fabs(t))
			return next;
		t = next;
	}
	return t;
}

double
nw_f_upper(double f, double df1, double df2)
{
	double r = df1 * f / df2;

	if (isnan(f) || !(df1 > 0) || !(df2 > 0))
		return NAN;
	if (f <= 0)
		return 1;
	if (isinf(r))
		return 0;
	return exp(nw_log_beta_inc(df2 / 2, df1 / 2, 1 / (1 + r), r / (1 + r)));
}
