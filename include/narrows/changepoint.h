/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Change points of a series: where its mean or spread changes. The segmentation with the lowest
 * total cost,
 *
 *   segment of m values   m (ln 2 pi + ln max(var, vmin) + 1), var with divisor m, vmin = 1e-8 of
 *                         the series' variance
 *   every change          penalty, 3 ln n by default
 *
 * is found exactly by PELT (Killick, Fearnhead & Eckley 2012) on prefix sums of the standardised
 * series. With a minimal segment a beaten candidate still starts segments for that many values and
 * is discarded after. Where changes are frequent that is near linear, without any change n^2/2
 * steps. So beyond 8192 values the search runs on every (n/4096)-th position first, and then on all
 * positions within two such strides of the changes found.
 *
 * Autocorrelation looks like changes (9 in 200 values of an AR 0.8 series). With `ar` the penalty
 * is multiplied by (1 + r)/(1 - r), r = (median |y_{t+2} - y_t| / median |y_{t+1} - y_t|)^2 - 1
 * clipped to 0..0.95, which no shift moves (Chakar et al. 2017). With winsorise_mad, outliers are
 * cut to median +- winsorise_mad MAD first.
 *
 * The cost is that of normal values. Whole blocks per window, bursts, capped rates are far from
 * normal, and then the best segmentation finds changes by the hundred where nothing changes (five
 * equal values alone gain 5 ln 1e8). With `verify`,
 *
 *   - vmin is `floor` of the series' variance, and at least the variance of the quantisation
 *     (quantum squared / 12, the quantum taken from the values);
 *   - the penalty's r comes from the mean squares of differences, at lag 1 beside lag 2 and far
 *     lags, and is lowered by its noise, 5 / sqrt n, so that a short series keeps its steps;
 *     outliers are cut only where they stand alone;
 *   - every change is tested, and the weakest goes until all pass. The test asks how likely the
 *     means of the two neighbouring segments part so far by chance, given the values of both
 *     together: m I(mean) for a segment of m values, with Cramer's rate I of the empirical
 *     distribution (exact to first order for any distribution: binary, skewed, capped). m is
 *     divided by the factor by which autocorrelation inflates the variance of a mean: that of an
 *     AR(1) with the residuals' bias-corrected r, or of the series' variogram, whichever is larger.
 *     The sum of both exponents must reach 2.5 ln n - 2, at least 10, but no more than 1.5 + 0.14
 *     n: bounds found by simulation (tests/calibrate). In sessions of a minute and longer that
 *     makes at most one false change an hour, and 95 % of the steps of 5 sd are found from 20
 *     values on (of five values at an end of 60 to 120: 80 %). Twenty values cannot tell such a
 *     step from a memory: an AR of 0.5 and more makes 20 to 40 false changes in an hour of
 *     20-second sessions. A change of spread is tested the same way, on |y - median|;
 *   - a change of the mean by less than `useful` of the larger mean, and a change of spread by less
 *     than a factor of 1.5, is no change;
 *   - work that comes again is one state: the part of the values that comes again
 *     (analyze/change/period_in.h) is taken out before the search. A change beside a cycle counts
 *     from a tenth of the cycle's height on, and separates segments of at least a cycle;
 *   - a mean that moves smoothly is a drift: all changes go if a polynomial of degree 1 to 13
 *     explains the whole series better than all segments' means do (Schwarz's criterion, for as
 *     many independent values as the polynomial's residuals have); else a change goes if one of
 *     degree 1 to 3 explains both of its segments better than their means do.
 */
#ifndef NARROWS_CHANGEPOINT_H
#define NARROWS_CHANGEPOINT_H
#include <stdbool.h>
#include <stddef.h>

#include "narrows/status.h"

struct nw_change_options {
	double penalty;     /* per change, before `ar`; 0 = 3 ln n */
	size_t min_segment; /* values; at least 2 */
	bool ar;
	double winsorise_mad; /* 0 = off */
	double floor;         /* least variance of a segment, as a share of the series'; > 0 */
	bool verify;
	double useful; /* least change of the mean that counts, as a share of the mean */
};
extern const struct nw_change_options nw_change_faithful; /* 0, 5, false, 0, 1e-8, false, 0 */
extern const struct nw_change_options nw_change_better;   /* 0, 5, true, 5, 0.01, true, 0.02 */

/* Work that comes again; period 0: none. */
struct nw_cycle {
	double period;    /* finite values per cycle */
	double n_cycles;  /* cycles in the series */
	double low, high; /* tenths of a cycle are below and above */
};

struct nw_segment {
	/* indexes into the series, end exclusive; missing values lie in the segment before */
	size_t start, end;
	size_t n; /* number of finite values */
	double mean;
	double sd;   /* divisor n */
	bool drifts; /* whether the mean moves smoothly */
	/* lowest and highest mean of a fifth of the segment; NaN without drift */
	double low, high;
};

/* OK; DEGENERATE for a constant series: one segment, cost NaN; INSUFFICIENT without a value: no
 * segment */
struct nw_changes {
	enum nw_status status;
	double penalty;        /* as used, `ar` included */
	double r;              /* robust lag-1 autocorrelation, as used with `ar` */
	double cost;           /* of the segments and changes */
	struct nw_cycle cycle; /* with `verify` */
	size_t n_segments;     /* changes + 1; a change is the start of a segment but the first */
	struct nw_segment *segment;
};

/* Missing values (NaN, infinite) are skipped. About 50 bytes a value while it runs; see above for
 * the time. NW_ENOMEM, NW_EINVAL (min_segment < 2, a penalty that is negative or not finite, a
 * floor that is not positive). Free with nw_changes_clear. */
int nw_changes(
    const double *y, size_t n, const struct nw_change_options *options, struct nw_changes *out);
void nw_changes_clear(struct nw_changes *c);

#endif
