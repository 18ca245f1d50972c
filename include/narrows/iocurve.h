/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Durations of a class of operations over the access size, as quantiles without an assumed form,
 * and the class of an operation by them.
 *
 *   point       of a size: nine quantiles of ln duration, and the mean of the ordinary durations
 *   limit       the slowest ordinary duration: the median times the square of q90/q50, which in a
 *               normal distribution is 2.6 standard deviations above; never above the slowest
 *               duration. What is slower is the tail. A tenth of preempted operations moves no
 *               limit.
 *   curve       points in order of size, each quantile made monotone in size (isotonic regression
 *               of ln duration; a size weighs as its operations, at most 200), linear between
 *               sizes, level below the smallest size, proportional to the size above the largest
 *   likeness    share of a class's operations of the size within a quarter of the duration; beyond
 *               the outer quantiles the share falls as a power of the duration
 *   near        classes at least a quarter as likely as the likeliest. An operation with one near
 *               class belongs to that class, with two or more to either.
 *   refused     a curve whose monotone medians miss the measured ones by more than half on average:
 *               the durations contradict that a larger operation takes longer
 */
#ifndef NARROWS_IOCURVE_H
#define NARROWS_IOCURVE_H
#include <stdbool.h>
#include <stddef.h>

#include "narrows/density.h"
#include "narrows/status.h"

enum { NW_IO_QUANTILES = 9 };
#define NW_IO_REL_ERR_MAX 0.5

struct nw_io_point {
	double size_bytes, n;
	double mean_s;                /* of ordinary durations */
	double n_tail;                /* operations above the limit */
	double ln_s[NW_IO_QUANTILES]; /* at 1, 5, 10, 25, 50, 75, 90, 95 and 99 % */
	double slowest_s;
};

struct nw_io_curve {
	enum nw_status status; /* OK, INSUFFICIENT without a point, REFUSED */
	double rel_err;        /* mean |monotone median - median| / median, weighted as sizes */
	size_t n;
	struct nw_io_point *points; /* in order of size */
};

/* The point of n durations above 0, which are sorted in place; n > 0. O(n log n). */
void nw_io_point_of_values(double size_bytes, double *s, size_t n, struct nw_io_point *out);
/* The same of a histogram in units of unit_s; a bucket counts at its middle. */
void nw_io_point_of_buckets(double size_bytes, const struct nw_density_bucket *buckets, size_t n,
    double unit_s, struct nw_io_point *out);
double nw_io_point_limit(const struct nw_io_point *p);
/* Half of the operations from each of two points of the same size. */
void
nw_io_point_mix(const struct nw_io_point *a, const struct nw_io_point *b, struct nw_io_point *out);
/* Share of the point's operations within a quarter of the duration. */
double nw_io_point_likeness(const struct nw_io_point *p, double duration_s);

/* Copies the points. NW_ENOMEM. Free with nw_io_curve_clear in any case. O(n log n). */
int nw_io_curve_make(const struct nw_io_point *points, size_t n, struct nw_io_curve *out);
void nw_io_curve_clear(struct nw_io_curve *c);
/* Returns false for a curve without points. O(log n). */
bool nw_io_curve_at(const struct nw_io_curve *c, double size_bytes, struct nw_io_point *out);
/*
 * Index of the class nearest to an operation; n if the operation is slower than all classes: than
 * twice the highest limit. NULL and refused curves are left out. near, of n, receives whether each
 * class is near; the count of near classes is n_near. With a single class, durations between its
 * limit and twice the limit have n_near 2, because the rival is not known.
 */
size_t nw_io_curves_name(const struct nw_io_curve *const *curves, size_t n, double size_bytes,
    double duration_s, bool *near, size_t *n_near);
/* Share of two classes' operations, at the sizes of a, that have a single near class, the right
 * one; NaN without points. */
double nw_io_curves_apart(const struct nw_io_curve *a, const struct nw_io_curve *b);

#endif
