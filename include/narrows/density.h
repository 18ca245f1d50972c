/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Classes of operation durations (Kunkel): the density of ln duration has one peak per way an
 * operation can go (cached, read ahead, disk ..). Peaks are classes, valleys between peaks are
 * splits, and a duration right of the last peak's foot is an outlier.
 *
 *   curve    R's density(): Gaussian kernel, bandwidth nrd0, binned linearly, convolved by FFT
 *            (Silverman, AS 176)
 *   peaks    grid points above both neighbours (a plateau counts once), at least h_min times the
 *            highest
 *   splits   the minimum between two peaks; the middle of the valley floor where the floor is flat
 *            to 1e-6 of the highest peak
 *   cutoff   right of the last peak, where the curve falls below cutoff_fraction of its height;
 *            +Inf for a curve that stays above
 *   class    of a value: the number of splits below the value; an outlier if above the cutoff
 *
 * Base and unit of the logarithm change nothing.
 */
#ifndef NARROWS_DENSITY_H
#define NARROWS_DENSITY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "narrows/status.h"

enum nw_density_kernel {
	NW_DENSITY_R44, /* R >= 4.4 */
	/* R < 4.4: the kernel is stretched by (2m-2)/(2m-1), up to 0.1 % of the peak */
	NW_DENSITY_R42
};

struct nw_density_options {
	bool log;      /* work on ln x; values <= 0 are left out and counted */
	double adjust; /* times nrd0 */
	double cut;    /* bandwidths that the curve reaches beyond the extremes */
	/* points of the curve; 0 = the smallest power of two with steps <= bandwidth/8,
	 * 512..65536 */
	size_t grid;
	enum nw_density_kernel kernel;
};
extern const struct nw_density_options nw_density_defaults; /* log, 2, 3, 512, R44 */

/*
 * OK            everything is set
 * INSUFFICIENT  fewer than 2 usable values: only the counts are set
 * DEGENERATE    all values equal: bw falls back to |first value| on the working scale, then 1; one
 *               class
 * UNDEFINED     the range overflows a double: only the counts are set
 */
struct nw_density {
	enum nw_status status;
	double n; /* number of values, or weight, with values <= 0, without missing values */
	double n_nonpositive;
	double bw, bw_nrd0; /* with and without adjust, on the working scale */
	double min, max;    /* of the values used, on the working scale */
	double from, to;    /* of the curve, on the working scale: m points at equal steps */
	size_t m;
	double *y;
	bool log;
	/* true for a histogram with a bucket wider than bw: classes may have merged */
	bool coarse;
};

/* The curve of n values; NaN and infinite are missing. O(n + m log m): 11 ms for 1e6 values, 8 to
 * 16 bytes each while it runs. NW_ENOMEM, NW_EINVAL (adjust or cut not positive, grid over 2^20).
 * Free with nw_density_clear in any case. */
int nw_density(
    const double *x, size_t n, const struct nw_density_options *options, struct nw_density *out);
struct nw_density_bucket {
	double low, high; /* low <= value < high */
	double count;
};

/* The curve from a histogram. A bucket with one multiple of the clock's `step` counts at the
 * multiple, another bucket at its geometric middle (on a linear scale: its middle). Quantiles and
 * variance are those of the repeated values. Constant memory, mergeable; L1 distance to the raw
 * curve 0.001 to 0.03 with 128 buckets per octave. O(n log n + m log m). */
int nw_density_buckets(const struct nw_density_bucket *buckets, size_t n, double step,
    const struct nw_density_options *options, struct nw_density *out);
/* The step of the clock behind a histogram of whole ticks: the largest number of ticks of which
 * every bucket in use holds a multiple, if it explains at least two gaps between neighbours with 1
 * % of the values each; else `tick`. A clock that counts in 10 ns puts everything on a few values,
 * far from the middles of their buckets: that moves the bandwidth by 20 %. O(n log n + n q), q the
 * smallest distance of two buckets, at most 65536. NW_ENOMEM. */
int
nw_density_clock_step(const struct nw_density_bucket *buckets, size_t n, double tick, double *step);
void nw_density_clear(struct nw_density *d);

/* A class; classes are in order of size. All in the data's unit. */
struct nw_class {
	double peak;
	double height;    /* of the curve at the peak, per unit of the working scale */
	double low, high; /* low < value <= high; 0 or -Inf at the bottom, cutoff at the top */
	double count;     /* set by the counting calls; outliers belong to no class */
	double sum;       /* sum of the values: time spent in this class */
};

struct nw_classes {
	size_t n;
	struct nw_class *class;
	double cutoff; /* +Inf: nothing is an outlier */
	double n_outliers, outlier_sum;
	double sure; /* share of resamples with as many classes; NaN without resampling */
};

/* Without a floor every lone slow operation is a class and nothing an outlier. */
#define NW_CLASS_H_MIN           0.01
#define NW_CLASS_CUTOFF_FRACTION 0.05

/* Classes of a curve, counts zero; none if its status is neither OK nor DEGENERATE. `midpoint`:
 * split half way between the peaks instead of at the minimum. O(m). NW_ENOMEM. Free with
 * nw_classes_clear. */
int nw_classes_find(const struct nw_density *d, double h_min, double cutoff_fraction, bool midpoint,
    struct nw_classes *out);
/*
 * Classes between tested valleys, without a bandwidth: one bandwidth for narrow and wide modes
 * breaks the wide ones, and more data does not help. Windows of all widths slide over ln duration;
 * a valley is a window with fewer operations per width than a window to the left and one to the
 * right, each with a log likelihood ratio against equal densities of at least 6 + ln m, where m
 * such windows beside each other fill the axis (narrow valleys have more places to arise by
 * chance), and at most 0.7 as dense as the lower of the two (after Duembgen & Walther 2008,
 * Multiscale inference about a density). The best valley splits, then each half is searched. A
 * class has at least `share_min` of the operations or of the time. Operations spread over the
 * clock's step, so its grid makes no valleys. `sure` is the share of 50 resamples (Poisson counts
 * per bucket) with as many classes.
 *
 * `d` is the curve of the same buckets, for the cutoff. About 5 ms a class and resample set.
 * NW_ENOMEM. Free with nw_classes_clear.
 */
int nw_classes_test(const struct nw_density *d, const struct nw_density_bucket *buckets, size_t n,
    double step, double share_min, double cutoff_fraction, struct nw_classes *out);
/* The same for n values; the clock's step is read off values that repeat. */
int nw_classes_test_values(const struct nw_density *d, const double *x, size_t n, double share_min,
    double cutoff_fraction, struct nw_classes *out);
/* Adds values or buckets to the counts; values the curve left out are left out. O(n log
 * classes). */
void nw_classes_count(struct nw_classes *c, const struct nw_density *d, const double *x, size_t n);
void nw_classes_count_buckets(struct nw_classes *c, const struct nw_density *d,
    const struct nw_density_bucket *buckets, size_t n, double step);
/* Index of the value's class; c->n for an outlier. */
size_t nw_classes_of(const struct nw_classes *c, double x);
void nw_classes_clear(struct nw_classes *c);

#endif
