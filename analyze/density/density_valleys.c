/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes between valleys that a test finds, at every width at once. See narrows/density.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/density/density_value.h"
#include "analyze/quantile.h"
#include "narrows/density.h"
#include "narrows/err.h"
#include "narrows/splitmix.h"

enum { CELLS = 512, WIDTHS = 12, LANES = 4, CLASSES_MAX = 26, RESAMPLES = 50, COARSE = 4 };

_Static_assert(WIDTHS % LANES == 0, "widths are filled in groups");

#define EVIDENCE  6    /* least logarithm of the likelihood ratio on either side of a valley .. */
#define RESAMPLED 2    /* times as much evidence is needed in a resample */
#define DEPTH     0.7  /* most density of a valley, as a share of the lower of its two peaks */
#define ROUNDING  1e-9 /* more than the rounding errors of a bound */

/* Durations on the logarithmic axis. */
struct axis {
	double from, step;     /* ln of the left end, width of a cell */
	double sum[CELLS + 1]; /* operations before each cell edge */
	double n;
};

struct split {
	size_t cell;
	double evidence;
	size_t first, width; /* the valley's first cell, and number of its width */
};

/* Widths of windows in cells, each about 1.5 times the width before, up to half of all cells. */
static void
widths_fill(size_t *width)
{
	width[0] = 1;
	for (size_t n = 1; n < WIDTHS; n++)
		width[n] = width[n - 1] + 1 + width[n - 1] / 2;
}

static double
count_in(const struct axis *a, size_t from, size_t width)
{
	return a->sum[from + width] - a->sum[from];
}

/* fmax() is a call, for the sake of NaN; the inner loops have none. */
static inline double
larger(double x, double y)
{
	return x > y ? x : y;
}

static inline double
smaller(double x, double y)
{
	return x < y ? x : y;
}

/* Logarithm of the likelihood ratio of two densities against one, for a peak with `p` operations in
 * `wp` cells beside a valley with `v` in `wv`; 0 unless the valley is deep enough. */
static double
evidence(double p, double wp, double v, double wv)
{
	double all = p + v, share = wp / (wp + wv);

	if (v * wp > DEPTH * p * wv)
		return 0;
	return p * log(p / all / share) + (v > 0 ? v * log(v / all / (1 - share)) : 0);
}

/* For each edge of a region, the most operations in a window of each width that ends (begins) there
 * or before (after). */
struct peaks {
	double needed; /* least evidence of a valley */
	size_t width[WIDTHS];
	size_t n_fit; /* widths that fit into the region */
	/* by width of valley and peak: the price of their many places, and the logarithm of the
	 * ratio of all operations' density in the peak to an equal density */
	double price[WIDTHS][WIDTHS], steepest[WIDTHS][WIDTHS];
	/* by width of the valley: the narrowest peak beside it, the first that is too wide, and the
	 * most operations in the valley, as a multiple of those of the narrowest peak */
	size_t narrowest[WIDTHS], too_wide[WIDTHS];
	double fullest[WIDTHS];
	/* by width of the peak: no fewer operations have the evidence in hand */
	double few[WIDTHS];
	/* valleys of the data, which are likely in a resample, too */
	struct split seen[CLASSES_MAX];
	size_t n_seen;
	bool is_seen; /* the data were looked at */
	/* all edges of a width beside each other: a scan reads few widths at most edges */
	double left[WIDTHS][CELLS + 1], right[WIDTHS][CELLS + 1];
};

static void
peaks_init(struct peaks *k)
{
	widths_fill(k->width);
	for (size_t w = 0, wv = 0; wv < WIDTHS; wv++) {
		double dense = 0;

		for (w = 0; 8 * k->width[w] < k->width[wv]; w++)
			;
		k->narrowest[wv] = w;
		/* windows of the narrowest width within a wider window */
		for (; w < WIDTHS && k->width[w] <= 2 * k->width[wv]; w++)
			dense = larger(dense,
			    ceil((double)k->width[w] / (double)k->width[k->narrowest[wv]]) /
				(double)k->width[w]);
		k->too_wide[wv] = w;
		k->fullest[wv] = DEPTH * dense * (double)k->width[wv] * (1 + ROUNDING);
	}
	for (size_t w = 0; w < WIDTHS; w++)
		for (size_t wv = 0; wv < WIDTHS; wv++) {
			double both = (double)k->width[w] + (double)k->width[wv];

			k->price[wv][w] = log((double)CELLS / both);
			k->steepest[wv][w] = log(both / (double)k->width[w]);
		}
}

/* Beside a valley of width number `wv`: how many operations in a peak are too few for more evidence
 * than `least`. The likelihood ratio is below the ratio of a peak with all operations. */
static void
few_fill(struct peaks *k, size_t wv, double least)
{
	for (size_t w = k->narrowest[wv]; w < k->too_wide[wv]; w++)
		k->few[w] = (least + k->price[wv][w]) / k->steepest[wv][w] * (1 - ROUNDING);
}

/* Returns false if the evidence for `v` operations in a valley beside `p` in a peak is at most
 * `least`, by bounds without a logarithm: no valley is deep enough that is too full, and the
 * divergence is below the chi-square distance. */
static bool
may_exceed(double p, double wp, double v, double wv, double least)
{
	double off = p * wv - v * wp;

	return v * wp <= DEPTH * p * wv &&
	    off * off * (1 + ROUNDING) > (least - ROUNDING) * (p + v) * wp * wv;
}

/* The left peaks of LANES widths. Each lane is a chain of maxima: four chains hide the delay of
 * one. */
static void
left_fill(struct peaks *k, const double *sum, size_t first, size_t from, size_t end)
{
	const size_t *width = k->width + first, widest = width[LANES - 1];
	double(*out)[CELLS + 1] = k->left + first, most[LANES] = { 0 };
	size_t i, w, all = end - from < widest ? from : end - widest + 1;

	for (w = 0; w < LANES; w++)
		for (i = from; i <= end && i < from + width[w]; i++)
			out[w][i] = 0;
	for (i = from; i < all; i++)
#pragma GCC unroll 4 /* LANES */
		for (w = 0; w < LANES; w++) {
			most[w] = larger(most[w], sum[i + width[w]] - sum[i]);
			out[w][i + width[w]] = most[w];
		}
	for (w = 0; w < LANES; w++)
		for (i = all; i + width[w] <= end; i++) {
			most[w] = larger(most[w], sum[i + width[w]] - sum[i]);
			out[w][i + width[w]] = most[w];
		}
}

/* The right peaks of LANES widths, from the right. */
static void
right_fill(struct peaks *k, const double *sum, size_t first, size_t from, size_t end)
{
	const size_t *width = k->width + first, widest = width[LANES - 1];
	double(*out)[CELLS + 1] = k->right + first, most[LANES] = { 0 };
	size_t i, w, all = end - from < widest ? end : from + widest - 1;

	for (w = 0; w < LANES; w++)
		for (i = end + 1; i-- > from && i + width[w] > end;)
			out[w][i] = 0;
	for (i = end; i > all; i--)
#pragma GCC unroll 4 /* LANES */
		for (w = 0; w < LANES; w++) {
			most[w] = larger(most[w], sum[i] - sum[i - width[w]]);
			out[w][i - width[w]] = most[w];
		}
	for (w = 0; w < LANES; w++)
		for (i = all; i >= from + width[w]; i--) {
			most[w] = larger(most[w], sum[i] - sum[i - width[w]]);
			out[w][i - width[w]] = most[w];
		}
}

/* Best evidence of one side for a valley of width number `wv` with `v` operations: .. less the
 * logarithm of how many such windows have room, as narrow valleys have more places to arise by
 * chance. Evidence of at most `least` may count as 0, and of more than `enough` as less. */
static double
side(const struct peaks *k, const double (*most)[CELLS + 1], size_t edge, double v, size_t wv,
    double least, double enough)
{
	double best = 0, width = (double)k->width[wv], wp, p;
	size_t w, end = k->too_wide[wv] < k->n_fit ? k->too_wide[wv] : k->n_fit;

	for (w = k->narrowest[wv]; best < enough && w < end; w++) {
		wp = (double)k->width[w];
		p = most[w][edge];
		if (p > k->few[w] &&
		    may_exceed(p, wp, v, width, larger(best, least) + k->price[wv][w]))
			best = larger(best, evidence(p, wp, v, width) - k->price[wv][w]);
	}
	return best;
}

/* Whether peaks of these operations have enough of them beside a valley of width number `wv`. More
 * operations are never too few. */
static bool
is_strong(const struct peaks *k, const double (*most)[CELLS + 1], size_t edge, size_t wv)
{
	size_t w, end = k->too_wide[wv] < k->n_fit ? k->too_wide[wv] : k->n_fit;

	for (w = k->narrowest[wv]; w < end; w++)
		if (most[w][edge] > k->few[w])
			return true;
	return false;
}

/* Of places `first`, `first` + `stride`, .. before `end`, the first whose peaks, `off` cells on,
 * are strong, where strong peaks follow weak peaks, or weak follow strong as `strong` says; else a
 * place from `end` on. */
static size_t
place_find(const struct peaks *k, const double (*most)[CELLS + 1], size_t first, size_t stride,
    size_t end, size_t wv, size_t off, bool strong)
{
	size_t low = 0, high = end > first ? (end - first + stride - 1) / stride : 0, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (is_strong(k, most, first + middle * stride + off, wv) == strong)
			high = middle;
		else
			low = middle + 1;
	}
	return first + low * stride;
}

/* Evidence of the weaker side of a valley at cell `i`; at most `least` may be less. The side with
 * the lower peak comes first: most failures, and the minimum, come from there. */
static double
weaker(const struct peaks *k, double v, size_t i, size_t wv, bool left, double least)
{
	size_t end = i + k->width[wv];
	double e = left ? side(k, k->left, i, v, wv, least, INFINITY)
			: side(k, k->right, end, v, wv, least, INFINITY);

	if (e > least)
		e = smaller(e,
		    left ? side(k, k->right, end, v, wv, least, e)
			 : side(k, k->left, i, v, wv, least, e));
	return e;
}

/* The first valley with the best evidence on its weaker side, of every `coarse`-th place. */
static struct split
valley_scan(
    struct peaks *k, const struct axis *a, size_t from, size_t end, size_t coarse, double least)
{
	struct split best = { .cell = from, .evidence = least };
	size_t w, i, stop;

	for (w = 0; w < k->n_fit; w++) {
		size_t wv = k->width[w], stride = coarse * (1 + wv / 4);
		const double *l = k->left[k->narrowest[w]], *r = k->right[k->narrowest[w]] + wv;
		double v, e;

		stop = end > wv ? end - wv : 0;
		few_fill(k, w, best.evidence);
		i = place_find(k, k->left, from + 1, stride, stop, w, 0, true);
		stop = place_find(k, k->right, i, stride, stop, w, wv, false);
		for (; i < stop; i += stride) {
			v = count_in(a, i, wv);
			if (v > k->fullest[w] * smaller(l[i], r[i]))
				continue; /* too full beside the lower peak */
			e = weaker(k, v, i, w, l[i] <= r[i], best.evidence);
			if (e > best.evidence)
				best = (struct split){ i + wv / 2, e, i, w };
		}
	}
	return best;
}

/* The most evidence at those places of the scan that are nearest to the valleys of the data, at
 * least `least`. */
static double
seen_scan(struct peaks *k, const struct axis *a, size_t from, size_t end, double least)
{
	for (const struct split *s = k->seen; s < k->seen + k->n_seen; s++) {
		size_t wv = k->width[s->width], stride = 1 + wv / 4, i;

		if (s->first <= from || s->width >= k->n_fit)
			continue;
		i = from + 1 + (s->first - from - 1) / stride * stride;
		if (i + wv >= end)
			continue;
		few_fill(k, s->width, least);
		least = larger(least, weaker(k, count_in(a, i, wv), i, s->width, true, least));
	}
	return least;
}

/* The valley of a region with the best evidence on its weaker side, if it has what is needed. A few
 * places tell what the best one has at least; most others then need no logarithm. */
static struct split
valley_find(struct peaks *k, const struct axis *a, size_t from, size_t end)
{
	double least = nextafter(k->needed, 0);

	least = k->is_seen ? seen_scan(k, a, from, end, least)
			   : valley_scan(k, a, from, end, COARSE, least).evidence;
	return valley_scan(k, a, from, end, 1, least > k->needed ? nextafter(least, 0) : least);
}

static void
peaks_fill(struct peaks *k, const struct axis *a, size_t from, size_t end, bool left, bool right)
{
	for (k->n_fit = 0; k->n_fit < WIDTHS && k->width[k->n_fit] <= end - from; k->n_fit++)
		;
	for (size_t w = 0; w < k->n_fit; w += LANES) {
		if (left)
			left_fill(k, a->sum, w, from, end);
		if (right)
			right_fill(k, a->sum, w, from, end);
	}
}

/* Cells where classes part, ascending; returns their number. `left`, `right`: these peaks are not
 * known. The left peaks of a region stand for its left part, too, and the right peaks for its right
 * part. */
static size_t
splits_find(struct peaks *k, const struct axis *a, size_t from, size_t end, bool left, bool right,
    size_t *split, size_t n)
{
	struct split s;

	if (n + 1 >= CLASSES_MAX || end - from < 4)
		return n;
	peaks_fill(k, a, from, end, left, right);
	s = valley_find(k, a, from, end);
	if (s.evidence < k->needed)
		return n;
	/* valleys above a full left part are no classes, so there may be more than classes */
	if (!k->is_seen && k->n_seen < CLASSES_MAX)
		k->seen[k->n_seen++] = s;
	n = splits_find(k, a, from, s.cell, false, true, split, n);
	if (n + 1 >= CLASSES_MAX)
		return n;
	split[n++] = s.cell;
	return splits_find(k, a, s.cell, end, true, false, split, n);
}

/* --- the axis --- */

/* Ends of a bucket on the axis. Each multiple of the clock's step stands for the durations nearest
 * to the multiple, so that the clock's grid makes no valleys. */
static bool
bucket_ends(const struct nw_density_bucket *b, double step, double *low, double *high)
{
	double first, last;

	if (!bucket_is_usable(b) || !(b->high > 0))
		return false;
	*low = b->low;
	*high = b->high;
	first = step > 0 ? ceil(b->low / step - 1e-6) : 1;
	last = step > 0 ? ceil(b->high / step - 1e-6) - 1 : 0;
	if (last >= first) {
		*low = (first - 0.5) * step;
		*high = (last + 0.5) * step;
	}
	if (!(*low > 0))
		*low = *high / 2;
	*low = log(*low);
	*high = log(*high);
	return isfinite(*low) && isfinite(*high);
}

/* A bucket on the axis: its cells, the shares of its first, each inner, and its last cell. */
struct piece {
	size_t first, last;
	double head, inner, tail;
	double count, none; /* none: exp(-count), for the resamples */
};

static double
share_of(double first, double last, size_t cell)
{
	double part = last > first
	    ? (smaller(last, (double)cell + 1) - larger(first, (double)cell)) / (last - first)
	    : 1;

	return larger(0, part);
}

static struct piece
piece_of(const struct axis *a, double low, double high, double count)
{
	double first = (low - a->from) / a->step, last = (high - a->from) / a->step;
	struct piece p = { .first = (size_t)smaller(CELLS - 1, larger(0, first)),
		.last = (size_t)smaller(CELLS - 1, larger(0, last)),
		.count = count,
		.none = exp(-count) };

	if (p.first == p.last) {
		p.head = 1;
		return p;
	}
	p.head = share_of(first, last, p.first);
	p.inner = share_of(first, last, p.first + 1);
	p.tail = share_of(first, last, p.last);
	return p;
}

static void
axis_add(struct axis *a, const struct piece *p, double count)
{
	double inner = p->inner * count;

	a->n += count;
	a->sum[p->first + 1] += p->head * count;
	for (size_t i = p->first + 1; i < p->last; i++)
		a->sum[i + 1] += inner;
	if (p->last > p->first)
		a->sum[p->last + 1] += p->tail * count;
}

static void
axis_finish(struct axis *a)
{
	for (size_t i = 0; i < CELLS; i++)
		a->sum[i + 1] += a->sum[i];
}

/* False without two different durations. */
static bool
axis_span(struct axis *a, const struct nw_density_bucket *b, size_t n, double step)
{
	double low, high, from = INFINITY, to = -INFINITY;

	memset(a, 0, sizeof(*a));
	for (size_t i = 0; i < n; i++)
		if (bucket_ends(&b[i], step, &low, &high)) {
			from = fmin(from, low);
			to = fmax(to, high);
		}
	a->from = from;
	a->step = (to - from) / CELLS;
	return to > from;
}

/* --- resampling --- */

/* A number in (0, 1), from a fixed seed: the same data give the same answer. */
static double
uniform(uint64_t *state)
{
	return ((double)(nw_splitmix(state) >> 11) + 0.5) * 0x1p-53;
}

/* A Poisson number, where `least` is exp(-mean); normal above 30. */
static double
poisson(uint64_t *state, double mean, double least)
{
	double product, n = 0;

	if (mean > 30) {
		double u = uniform(state), v = uniform(state);

		return fmax(0, round(mean + sqrt(-2 * mean * log(u)) * cos(2 * M_PI * v)));
	}
	for (product = uniform(state); product > least; n++)
		product *= uniform(state);
	return n;
}

/* --- classes --- */

struct sample {
	double share_min; /* least share of the operations, or of the time, that makes a class */
	struct axis axis;
	struct piece *piece; /* usable buckets on the axis */
	size_t n;
	double middle[CELLS]; /* duration of a cell, as a multiple of the axis' left end */
};

/* Drops splits beside classes with too few operations and too little time; the last class goes to
 * its neighbour as its tail. */
static size_t
splits_keep(const struct sample *s, const struct axis *a, size_t *split, size_t n)
{
	double time[CLASSES_MAX] = { 0 }, ops[CLASSES_MAX] = { 0 }, all = 0, count;
	size_t i, k;

	for (i = k = 0; i < CELLS; i++) {
		while (k < n && i >= split[k])
			k++;
		count = count_in(a, i, 1);
		ops[k] += count;
		time[k] += count * s->middle[i];
		all += count * s->middle[i];
	}
	for (k = 0; k <= n; k++) {
		if (n == 0 || ops[k] >= s->share_min * a->n || time[k] >= s->share_min * all)
			continue;
		i = k < n ? k : n - 1;
		memmove(split + i, split + i + 1, (n - i - 1) * sizeof(*split));
		return splits_keep(s, a, split, n - 1);
	}
	return n;
}

static size_t
splits_of(struct peaks *k, const struct sample *s, const struct axis *a, size_t *split)
{
	return splits_keep(s, a, split, splits_find(k, a, 0, CELLS, true, true, split, 0));
}

static void
axis_draw(const struct sample *s, struct axis *a, uint64_t *state)
{
	memset(a->sum, 0, sizeof(a->sum));
	a->from = s->axis.from;
	a->step = s->axis.step;
	a->n = 0;
	for (const struct piece *p = s->piece; p < s->piece + s->n; p++) {
		double c = state != NULL ? poisson(state, p->count, p->none) : p->count;

		if (c > 0)
			axis_add(a, p, c);
	}
	axis_finish(a);
}

/* The share of resamples with as many classes. A resample has the noise of the data and its own. */
static double
resample(struct peaks *k, const struct sample *s, size_t n_splits)
{
	struct axis a;
	uint64_t state = 1;
	size_t split[CLASSES_MAX], same = 0;

	k->needed = RESAMPLED * EVIDENCE;
	k->is_seen = true;
	for (int i = 0; i < RESAMPLES; i++) {
		axis_draw(s, &a, &state);
		same += splits_of(k, s, &a, split) == n_splits;
	}
	return (double)same / RESAMPLES;
}

/* The middle of the densest window of a class, of a twelfth of the class's operations. */
static struct nw_class
class_of(const struct axis *a, size_t from, size_t end)
{
	double need = (a->sum[end] - a->sum[from]) / 12, best = INFINITY, middle = 0;
	size_t i, j, width;

	for (i = j = from; i < end; i++) {
		while (j < end && a->sum[j] - a->sum[i] < need)
			j++;
		if (a->sum[j] - a->sum[i] < need)
			break;
		width = j - i;
		if ((double)width < best) {
			best = (double)width;
			middle = (double)(i + j) / 2;
		}
	}
	return (struct nw_class){ .peak = exp(a->from + middle * a->step),
		.height = need / a->n / (best * a->step),
		.low = from > 0 ? exp(a->from + (double)from * a->step) : 0 };
}

static double
cutoff_of(const struct nw_density *d, double peak, double fraction)
{
	double at = (log(peak) - d->from) / (d->to - d->from) * (double)(d->m - 1), level;
	size_t i = (size_t)fmin((double)d->m - 1, fmax(0, round(at)));

	level = fraction * d->y[i];
	for (i++; i < d->m; i++)
		if (d->y[i] < level)
			return exp(d->from + (double)i * (d->to - d->from) / (double)(d->m - 1));
	return INFINITY;
}

static int
classes_fill(struct peaks *k, const struct sample *s, const struct nw_density *d, double fraction,
    struct nw_classes *out)
{
	struct axis a;
	size_t split[CLASSES_MAX + 1], n, i;

	peaks_init(k);
	k->needed = EVIDENCE;
	k->n_seen = 0;
	k->is_seen = false;
	axis_draw(s, &a, NULL);
	n = splits_of(k, s, &a, split);
	split[n] = CELLS;
	if ((out->class = calloc(n + 1, sizeof(*out->class))) == NULL)
		return NW_ENOMEM;
	for (i = 0; i <= n; i++) {
		out->class[i] = class_of(&a, i > 0 ? split[i - 1] : 0, split[i]);
		if (i > 0)
			out->class[i - 1].high = out->class[i].low;
	}
	out->n = n + 1;
	out->cutoff = out->class[n].high = cutoff_of(d, out->class[n].peak, fraction);
	out->sure = resample(k, s, n);
	return NW_OK;
}

static int
sample_init(struct sample *s, const struct axis *a, double share_min,
    const struct nw_density_bucket *buckets, size_t n, double step)
{
	double low, high;

	s->share_min = share_min;
	s->axis = *a;
	s->n = 0;
	if ((s->piece = calloc(n + 1, sizeof(*s->piece))) == NULL)
		return NW_ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (bucket_ends(&buckets[i], step, &low, &high))
			s->piece[s->n++] = piece_of(a, low, high, buckets[i].count);
	for (size_t i = 0; i < CELLS; i++)
		s->middle[i] = exp(((double)i + 0.5) * a->step);
	return NW_OK;
}

int
nw_classes_test(const struct nw_density *d, const struct nw_density_bucket *buckets, size_t n,
    double step, double share_min, double cutoff_fraction, struct nw_classes *out)
{
	struct sample *s;
	struct peaks *k;
	struct axis axis;
	int rc = NW_ENOMEM;

	if (d->status != NW_STATUS_OK || !d->log || !axis_span(&axis, buckets, n, step))
		return nw_classes_find(d, NW_CLASS_H_MIN, cutoff_fraction, false, out);
	*out = (struct nw_classes){ .cutoff = INFINITY, .sure = NAN };
	s = malloc(sizeof(*s));
	k = malloc(sizeof(*k));
	if (s != NULL && k != NULL && sample_init(s, &axis, share_min, buckets, n, step) == NW_OK) {
		rc = classes_fill(k, s, d, cutoff_fraction, out);
		free(s->piece);
	}
	free(s);
	free(k);
	return rc;
}

int
nw_classes_test_values(const struct nw_density *d, const double *x, size_t n, double share_min,
    double cutoff_fraction, struct nw_classes *out)
{
	struct nw_density_bucket *b = calloc(n + 1, sizeof(*b));
	double *sorted = malloc((n + 1) * sizeof(*sorted)), step;
	size_t i, m = 0;
	int rc = NW_ENOMEM;

	*out = (struct nw_classes){ .cutoff = INFINITY, .sure = NAN };
	if (b == NULL || sorted == NULL)
		goto out;
	for (i = 0; i < n; i++)
		if (isfinite(x[i]) && x[i] > 0)
			sorted[m++] = x[i];
	step = quantum(sorted, m);
	for (i = 0; i < m; i++)
		b[i] = (struct nw_density_bucket){ sorted[i], sorted[i] + step / 2, 1 };
	rc = nw_classes_test(d, b, m, step, share_min, cutoff_fraction, out);
out:
	free(b);
	free(sorted);
	return rc;
}
