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

enum { CELLS = 512, WIDTHS = 16, CLASSES_MAX = 26, RESAMPLES = 50, COARSE = 4 };

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
};

/* Widths of windows in cells, each about 1.5 times the width before. */
static size_t
widths_fill(size_t n_cells, size_t *width)
{
	size_t n = 0, w;

	for (w = 1; w <= n_cells / 2 && n < WIDTHS; w += 1 + w / 2)
		width[n++] = w;
	return n;
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
	size_t n_widths, width[WIDTHS];
	size_t n_fit; /* widths that fit into the region */
	/* by width of valley and peak: the price of their many places, and the logarithm of the
	 * ratio of all operations' density in the peak to an equal density */
	double price[WIDTHS][WIDTHS], steepest[WIDTHS][WIDTHS];
	/* by width of the valley: the narrowest peak beside it, and the most operations in the
	 * valley, as a multiple of those of such a peak */
	size_t narrowest[WIDTHS];
	double fullest[WIDTHS];
	/* all widths of an edge beside each other: they are filled and read together */
	double left[CELLS + 1][WIDTHS], right[CELLS + 1][WIDTHS];
};

static void
peaks_init(struct peaks *k)
{
	k->n_widths = widths_fill(CELLS, k->width);
	for (size_t w = 0, wv = 0; wv < k->n_widths; wv++) {
		double dense = 0;

		for (w = 0; 8 * k->width[w] < k->width[wv]; w++)
			;
		k->narrowest[wv] = w;
		/* windows of the narrowest width within a wider window */
		for (; w < k->n_widths && k->width[w] <= 2 * k->width[wv]; w++)
			dense = larger(dense,
			    ceil((double)k->width[w] / (double)k->width[k->narrowest[wv]]) /
				(double)k->width[w]);
		k->fullest[wv] = DEPTH * dense * (double)k->width[wv] * (1 + ROUNDING);
	}
	for (size_t w = 0; w < k->n_widths; w++)
		for (size_t wv = 0; wv < k->n_widths; wv++) {
			double both = (double)k->width[w] + (double)k->width[wv];

			k->price[wv][w] = log((double)CELLS / both);
			k->steepest[wv][w] = log(both / (double)k->width[w]);
		}
}

/* Returns false if `p` operations in a peak are too few for more evidence than `least`: the
 * likelihood ratio is below the ratio of a peak with all operations. */
static bool
is_steep(double p, double steepest, double least)
{
	return p * steepest * (1 + ROUNDING) + ROUNDING > least;
}

/* Returns false if the evidence for `v` operations in a valley beside `p` in a peak is at most
 * `least`, by bounds without a logarithm: no valley is deep enough that is too full, the peak is
 * too small, and the divergence is below the chi-square distance. */
static bool
may_exceed(double p, double wp, double v, double wv, double steepest, double least)
{
	double off = p * wv - v * wp;

	return v * wp <= DEPTH * p * wv && is_steep(p, steepest, least) &&
	    off * off * (1 + ROUNDING) > (least - ROUNDING) * (p + v) * wp * wv;
}

static void
peaks_fill(struct peaks *k, const struct axis *a, size_t from, size_t end)
{
	static const double none[WIDTHS];
	const double *before = none;
	size_t i, w;

	for (k->n_fit = 0; k->n_fit < k->n_widths && k->width[k->n_fit] <= end - from; k->n_fit++)
		;
	for (i = from; i <= end; before = k->left[i++])
		for (w = 0; w < k->n_fit; w++) {
			size_t width = k->width[w], begin = i < from + width ? i : i - width;

			k->left[i][w] = larger(before[w], a->sum[i] - a->sum[begin]);
		}
	before = none;
	for (i = end + 1; i-- > from; before = k->right[i])
		for (w = 0; w < k->n_fit; w++) {
			size_t width = k->width[w], stop = i + width > end ? i : i + width;

			k->right[i][w] = larger(before[w], a->sum[stop] - a->sum[i]);
		}
}

/* Best evidence of one side for a valley of width number `wv` with `v` operations: .. less the
 * logarithm of how many such windows have room, as narrow valleys have more places to arise by
 * chance. Evidence of at most `least` may count as 0, and of more than `enough` as less. */
static double
side(const struct peaks *k, const double *most, double v, size_t wv, double least, double enough)
{
	double best = 0, width = (double)k->width[wv], wp;
	size_t w;

	if (v > k->fullest[wv] * most[k->narrowest[wv]])
		return 0;
	for (w = k->narrowest[wv]; best < enough && w < k->n_fit && k->width[w] <= 2 * k->width[wv];
	     w++) {
		wp = (double)k->width[w];
		if (may_exceed(most[w], wp, v, width, k->steepest[wv][w],
			larger(best, least) + k->price[wv][w]))
			best = larger(best, evidence(most[w], wp, v, width) - k->price[wv][w]);
	}
	return best;
}

/* Whether peaks of these operations have enough of them for more evidence than `least`, beside any
 * valley of width number `wv`. More operations are never too few. */
static bool
is_strong(const struct peaks *k, const double *most, size_t wv, double least)
{
	size_t w;

	for (w = k->narrowest[wv]; w < k->n_fit && k->width[w] <= 2 * k->width[wv]; w++)
		if (is_steep(most[w], k->steepest[wv][w], least + k->price[wv][w]))
			return true;
	return false;
}

/* Of places `first`, `first` + `stride`, .. before `end`, the first whose peaks are strong, where
 * strong peaks follow weak peaks, or weak follow strong as `strong` says; else a place from `end`
 * on. */
static size_t
place_find(const struct peaks *k, const double (*most)[WIDTHS], size_t first, size_t stride,
    size_t end, size_t wv, double least, bool strong)
{
	size_t low = 0, high = end > first ? (end - first + stride - 1) / stride : 0, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (is_strong(k, most[first + middle * stride], wv, least) == strong)
			high = middle;
		else
			low = middle + 1;
	}
	return first + low * stride;
}

/* The first valley with the best evidence on its weaker side, of every `coarse`-th place. */
static struct split
valley_scan(const struct peaks *k, const struct axis *a, size_t from, size_t end, size_t coarse,
    double least)
{
	struct split best = { from, least };
	size_t w, i, stop;

	for (w = 0; w < k->n_fit; w++) {
		size_t wv = k->width[w], stride = coarse * (1 + wv / 4);

		stop = end > wv ? end - wv : 0;
		i = place_find(k, k->left, from + 1, stride, stop, w, best.evidence, true);
		stop = place_find(k, k->right + wv, i, stride, stop, w, best.evidence, false);
		for (; i < stop; i += stride) {
			/* the weaker side first: most failures, and the minimum, come from there */
			const double *l = k->left[i], *r = k->right[i + wv];
			bool left = l[k->narrowest[w]] <= r[k->narrowest[w]];
			double v = count_in(a, i, wv), e;

			e = side(k, left ? l : r, v, w, best.evidence, INFINITY);
			if (e > best.evidence)
				e = fmin(e, side(k, left ? r : l, v, w, best.evidence, e));
			if (e > best.evidence)
				best = (struct split){ i + wv / 2, e };
		}
	}
	return best;
}

/* The valley of a region with the best evidence on its weaker side, if it has what is needed. A few
 * places tell what the best one has at least; most others then need no logarithm. */
static struct split
valley_find(struct peaks *k, const struct axis *a, size_t from, size_t end)
{
	double least = nextafter(k->needed, 0);

	peaks_fill(k, a, from, end);
	least = valley_scan(k, a, from, end, COARSE, least).evidence;
	return valley_scan(k, a, from, end, 1, least > k->needed ? nextafter(least, 0) : least);
}

/* Cells where classes part, ascending; returns their number. */
static size_t
splits_find(struct peaks *k, const struct axis *a, size_t from, size_t end, size_t *split, size_t n)
{
	struct split s;

	if (n + 1 >= CLASSES_MAX || end - from < 4)
		return n;
	s = valley_find(k, a, from, end);
	if (s.evidence < k->needed)
		return n;
	n = splits_find(k, a, from, s.cell, split, n);
	if (n + 1 >= CLASSES_MAX)
		return n;
	split[n++] = s.cell;
	return splits_find(k, a, s.cell, end, split, n);
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

static void
axis_add(struct axis *a, double low, double high, double count)
{
	double first = (low - a->from) / a->step, last = (high - a->from) / a->step, part;
	size_t i, i0 = (size_t)smaller(CELLS - 1, larger(0, first)),
		  i1 = (size_t)smaller(CELLS - 1, larger(0, last));

	for (i = i0; i <= i1; i++) {
		part = last > first
		    ? (smaller(last, (double)i + 1) - larger(first, (double)i)) / (last - first)
		    : 1;
		a->sum[i + 1] += larger(0, i0 == i1 ? 1 : part) * count;
	}
	a->n += count;
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

/* A Poisson number; normal above 30. */
static double
poisson(uint64_t *state, double mean)
{
	double product, least = exp(-mean), n = 0;

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
	double *low, *high, *count; /* usable buckets on the axis */
	size_t n;
};

/* Drops splits beside classes with too few operations and too little time; the last class goes to
 * its neighbour as its tail. */
static size_t
splits_keep(const struct axis *a, double share_min, size_t *split, size_t n)
{
	double time[CLASSES_MAX] = { 0 }, ops[CLASSES_MAX] = { 0 }, all = 0, middle;
	size_t i, k;

	for (i = k = 0; i < CELLS; i++) {
		while (k < n && i >= split[k])
			k++;
		middle = exp(((double)i + 0.5) * a->step);
		ops[k] += count_in(a, i, 1);
		time[k] += count_in(a, i, 1) * middle;
		all += count_in(a, i, 1) * middle;
	}
	for (k = 0; k <= n; k++) {
		if (n == 0 || ops[k] >= share_min * a->n || time[k] >= share_min * all)
			continue;
		i = k < n ? k : n - 1;
		memmove(split + i, split + i + 1, (n - i - 1) * sizeof(*split));
		return splits_keep(a, share_min, split, n - 1);
	}
	return n;
}

static size_t
splits_of(struct peaks *k, const struct axis *a, double share_min, size_t *split)
{
	return splits_keep(a, share_min, split, splits_find(k, a, 0, CELLS, split, 0));
}

static void
axis_draw(const struct sample *s, struct axis *a, uint64_t *state)
{
	memset(a->sum, 0, sizeof(a->sum));
	a->from = s->axis.from;
	a->step = s->axis.step;
	a->n = 0;
	for (size_t i = 0; i < s->n; i++) {
		double c = state != NULL ? poisson(state, s->count[i]) : s->count[i];

		if (c > 0)
			axis_add(a, s->low[i], s->high[i], c);
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
	for (int i = 0; i < RESAMPLES; i++) {
		axis_draw(s, &a, &state);
		same += splits_of(k, &a, s->share_min, split) == n_splits;
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
	axis_draw(s, &a, NULL);
	n = splits_of(k, &a, s->share_min, split);
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

int
nw_classes_test(const struct nw_density *d, const struct nw_density_bucket *buckets, size_t n,
    double step, double share_min, double cutoff_fraction, struct nw_classes *out)
{
	struct sample s = { .share_min = share_min };
	struct peaks *k = NULL;
	int rc = NW_ENOMEM;

	if (d->status != NW_STATUS_OK || !d->log || !axis_span(&s.axis, buckets, n, step))
		return nw_classes_find(d, NW_CLASS_H_MIN, cutoff_fraction, false, out);
	*out = (struct nw_classes){ .cutoff = INFINITY, .sure = NAN };
	s.low = calloc(n + 1, 3 * sizeof(*s.low));
	k = malloc(sizeof(*k));
	if (s.low == NULL || k == NULL)
		goto out;
	s.high = s.low + n;
	s.count = s.high + n;
	for (size_t i = 0; i < n; i++)
		if (bucket_ends(&buckets[i], step, &s.low[s.n], &s.high[s.n]))
			s.count[s.n++] = buckets[i].count;
	rc = classes_fill(k, &s, d, cutoff_fraction, out);
out:
	free(s.low);
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
