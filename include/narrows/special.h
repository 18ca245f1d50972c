/* SPDX-License-Identifier: BSD-3-Clause */
/* Normal, t and F distributions from their definitions; thread-safe, no tables to initialise. Every
 * argument is legal: where a probability has no meaning (NaN, df <= 0) the result is NaN, which
 * callers turn into a status. */
#ifndef NARROWS_SPECIAL_H
#define NARROWS_SPECIAL_H

/* P(Z > z) = erfc(z / sqrt 2) / 2, full relative accuracy down to the smallest double (z about
 * 38). */
double nw_norm_upper(double z);
/* z with P(Z <= z) = p: AS 241 (Wichura 1988), relative error 1e-16; -Inf and Inf at 0 and 1. */
double nw_norm_quantile(double p);

/* ln I_x(a, b), the regularised incomplete beta function, a, b > 0, with y = 1 - x passed too so
 * that neither end loses digits. Continued fraction by Lentz's method (Thompson & Barnett 1986); a,
 * b up to 1e10. About 10 to 100 steps. */
double nw_log_beta_inc(double a, double b, double x, double y);

/* P(T <= t), ln of it, for real df > 0 up to 1e15 (beyond that, and for df = Inf, the normal
 * distribution): I_{df/(df+t^2)}(df/2, 1/2) / 2 for t <= 0. The logarithm is right where the
 * probability underflows. */
double nw_t_cdf(double t, double df);
double nw_t_log_cdf(double t, double df);
/* t with P(T <= t) = p, by safeguarded Newton steps on the logarithm; relative error about
 * 1e-13. */
double nw_t_quantile(double p, double df);

/* P(F > f) with df1, df2 degrees of freedom: I_{df2/(df2+df1 f)}(df2/2, df1/2); 1 for f <= 0. */
double nw_f_upper(double f, double df1, double df2);

#endif
