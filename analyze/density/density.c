/* SPDX-License-Identifier: BSD-3-Clause */
/* The density curve of raw values or of a histogram. See narrows/density.h; classes are in
 * density_classes.c. */
#include "narrows/density.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/density/density_value.h"
#include "analyze/fft.h"
#include "analyze/quantile.h"
#include "narrows/err.h"

#define GRID_MIN      512
#define GRID_FINE_MAX 65536
#define GRID_MAX      (1u << 20)
#define BW_PER_STEP   8 /* fine grid */
#define MARGIN_BW     4 /* the transform is circular: room for the kernel's tails */
#define BW_RESOLUTION \
	(64 * DBL_EPSILON) /* below, times the values, a grid step is lost in rounding */

const struct nw_density_options nw_density_defaults = { true, 2, 3, GRID_MIN, NW_DENSITY_R44 };

/* The usable values of the input on the working scale, and their moments. */
struct sample {
	double *x;
	double *weight; /* NULL: each value counts 1 */
	size_t n;
	double total; /* sum of weights */
	double min, max, mean, sd, iqr, first;
	double widest; /* bucket, on the working scale */
};

static void
sample_free(struct sample *s)
{
	free(s->x);
	free(s->weight);
}

static int
sample_init(struct sample *s, size_t n, bool weighted)
{
	*s = (struct sample){ .min = INFINITY, .max = -INFINITY };
	if (n >= SIZE_MAX / sizeof(double) || (s->x = malloc((n + 1) * sizeof(double))) == NULL)
		return NW_ENOMEM;
	if (weighted && (s->weight = malloc((n + 1) * sizeof(double))) == NULL)
		return NW_ENOMEM;
	return NW_OK;
}

/* ln of the values into the sample, in one pass with extremes and mean. Subtracting the first value
 * keeps the digits of the mean under a large offset. */
static void
sample_fill(struct sample *s, const double *x, size_t n, struct nw_density *out)
{
	double v, sum = 0, first = 0, low = INFINITY, high = -INFINITY;
	size_t i, kept = 0;

	for (i = 0; i < n; i++) {
		if (!isfinite(x[i]))
			continue;
		out->n++;
		if (out->log && !(x[i] > 0)) {
			out->n_nonpositive++;
			continue;
		}
		v = out->log ? log(x[i]) : x[i];
		if (kept == 0)
			first = v;
		low = v < low ? v : low;
		high = v > high ? v : high;
		sum += v - first;
		s->x[kept++] = v;
	}
	s->n = kept;
	s->total = (double)kept;
	s->first = first;
	s->min = low;
	s->max = high;
	s->mean = kept > 0 ? first + sum / (double)kept : 0;
}

static double
weight_of(const struct sample *s, size_t i)
{
	return s->weight == NULL ? 1 : s->weight[i];
}

/* In units of the range: no square overflows or vanishes. */
static void
sample_sd(struct sample *s)
{
	double range = s->max - s->min, inverse = 1 / range, d, m2 = 0, rest = 0;
	size_t i;

	if (!isfinite(inverse))
		inverse = 0;
	if (s->weight == NULL)
		for (i = 0; i < s->n; i++) {
			d = (s->x[i] - s->mean) * inverse;
			m2 += d * d;
			rest += d;
		}
	else
		for (i = 0; i < s->n; i++) {
			d = (s->x[i] - s->mean) * inverse;
			m2 += s->weight[i] * d * d;
			rest += s->weight[i] * d;
		}
	s->sd = range * sqrt(fmax(0, m2 - rest * rest / s->total) / (s->total - 1));
}

/* nrd0 (Silverman 1986) with R's fall-backs; quantised clocks make the interquartile range 0 in
 * practice. A width that the values cannot resolve is no width. */
static void
set_bandwidth(const struct sample *s, double adjust, struct nw_density *out)
{
	double low = fmin(s->sd, s->iqr / 1.34), size = fmax(fabs(s->min), fabs(s->max)), shrink;

	shrink = 0.9 * pow(s->total, -0.2);
	if (!(shrink * adjust * low > BW_RESOLUTION * size))
		low = s->sd;
	if (!(shrink * adjust * low > BW_RESOLUTION * size))
		low = fabs(s->first);
	if (!(low > 0))
		low = 1;
	out->bw_nrd0 = shrink * low;
	out->bw = adjust * out->bw_nrd0;
}

static size_t
power_of_two(double at_least, size_t low, size_t high)
{
	size_t m = low;

	while (m < high && (double)m < at_least)
		m *= 2;
	return m;
}

/* Smoothing of weights at equal steps `delta`: w becomes w convolved with the Gaussian, per unit. w
 * has 2 m entries, the second half zero. Weights and kernel are real and the kernel is even, so one
 * transform serves both: the weights in the real part, the kernel, of unit mass like them, in the
 * imaginary part. */
static int
smooth(double *w, size_t m, double delta, double bw, enum nw_density_kernel kernel)
{
	size_t n = 2 * m, j, k;
	/* The distance of j grid steps as R 4.4 takes it. R before 4.4 takes n points over 2 (m-1)
	 * steps, a little less. */
	double step = kernel == NW_DENSITY_R44 ? delta : delta * (double)(n - 2) / (double)(n - 1);
	double u, re, im, *z = malloc(2 * n * sizeof(*z));
	struct fft *f = fft_new(n);

	if (z == NULL || f == NULL) {
		free(z);
		fft_free(f);
		return NW_ENOMEM;
	}
	for (j = 0; j < n; j++) {
		u = (double)(j <= m ? j : n - j) * step / bw;
		z[2 * j] = w[j];
		z[2 * j + 1] = exp(-0.5 * u * u) / sqrt(2 * M_PI) * (delta / bw);
	}
	fft_forward(f, z);
	for (j = 0; j <= m; j++) {
		k = (n - j) % n;
		u = 0.5 * (z[2 * j + 1] + z[2 * k + 1]); /* kernel: real, even */
		re = 0.5 * (z[2 * j] + z[2 * k]) * u;    /* weights: conjugate even */
		im = 0.5 * (z[2 * j + 1] - z[2 * k + 1]) * u;
		z[2 * j] = z[2 * k] = re;
		z[2 * j + 1] = im;
		z[2 * k + 1] = -im;
	}
	z[1] = z[2 * m + 1] = 0;
	fft_backward(f, z);
	for (j = 0; j < n; j++)
		w[j] = fmax(0, z[2 * j] / ((double)n * delta));
	free(z);
	fft_free(f);
	return NW_OK;
}

/* Splits each weight between the two grid points around its value. */
static void
spread(const struct sample *s, double low, double delta, size_t m, double *w)
{
	double per_step = 1 / delta, each = 1 / s->total, at, share, v;
	size_t i;
	int k;

	for (i = 0; i < s->n; i++) {
		at = (s->x[i] - low) * per_step;
		k = (int)at;
		if (k < 0 || (size_t)k > m - 2) /* rounding only: the margin keeps values inside */
			continue;
		share = at - k;
		v = each * weight_of(s, i);
		w[k] += (1 - share) * v;
		w[k + 1] += share * v;
	}
}

/* The curve at out->m points by linear interpolation from the m points of the transform. */
static void
interpolate(const double *w, size_t m, double low, double delta, struct nw_density *out)
{
	double step = (out->to - out->from) / (double)(out->m - 1), at;
	size_t i, k;

	for (i = 0; i < out->m; i++) {
		at = (out->from + (double)i * step - low) / delta;
		k = at > 0 ? (size_t)at : 0;
		k = k < m - 1 ? k : m - 2;
		out->y[i] = w[k] + (w[k + 1] - w[k]) * (at - (double)k);
	}
}

static int
draw(const struct sample *s, const struct nw_density_options *o, struct nw_density *out)
{
	double low, high, delta, *w = NULL;
	size_t m;
	int rc = NW_ENOMEM;

	out->from = s->min - o->cut * out->bw;
	out->to = s->max + o->cut * out->bw;
	low = out->from - MARGIN_BW * out->bw;
	high = out->to + MARGIN_BW * out->bw;
	if (!isfinite(high - low)) {
		out->status = NW_STATUS_UNDEFINED;
		return NW_OK;
	}
	out->m = o->grid;
	if (o->grid == 0)
		out->m = power_of_two(
		    BW_PER_STEP * (out->to - out->from) / out->bw + 1, GRID_MIN, GRID_FINE_MAX);
	m = power_of_two((double)out->m, GRID_MIN, GRID_MAX);
	delta = (high - low) / (double)(m - 1);
	if ((w = calloc(2 * m, sizeof(*w))) == NULL ||
	    (out->y = malloc(out->m * sizeof(*out->y))) == NULL)
		goto out;
	spread(s, low, delta, m, w);
	if ((rc = smooth(w, m, delta, out->bw, o->kernel)) == NW_OK)
		interpolate(w, m, low, delta, out);
out:
	free(w);
	return rc;
}

static int
finish(struct sample *s, const struct nw_density_options *o, struct nw_density *out)
{
	out->min = s->min;
	out->max = s->max;
	if (!(s->total >= 2)) {
		out->status = NW_STATUS_INSUFFICIENT;
		return NW_OK;
	}
	if (!isfinite(s->max - s->min)) {
		out->status = NW_STATUS_UNDEFINED;
		return NW_OK;
	}
	out->status = s->min == s->max ? NW_STATUS_DEGENERATE : NW_STATUS_OK;
	sample_sd(s);
	set_bandwidth(s, o->adjust, out);
	return draw(s, o, out);
}

static int
check_options(const struct nw_density_options *o)
{
	bool ok = o->adjust > 0 && o->cut > 0 && isfinite(o->adjust) && isfinite(o->cut) &&
	    o->grid <= GRID_MAX && o->grid != 1;

	return ok ? NW_OK : NW_EINVAL;
}

int
nw_density(
    const double *x, size_t n, const struct nw_density_options *options, struct nw_density *out)
{
	static const double quartiles[] = { 0.25, 0.75 };
	struct sample s = { 0 };
	double q[2];
	int rc;

	*out = (struct nw_density){ .log = options->log };
	if ((rc = check_options(options)) != NW_OK || (rc = sample_init(&s, n, false)) != NW_OK)
		goto out;
	sample_fill(&s, x, n, out);
	if (s.n >= 2 && isfinite(s.max - s.min)) {
		if ((rc = quantiles(s.x, s.n, s.min, s.max, quartiles, 2, q)) != NW_OK)
			goto out;
		s.iqr = q[1] - q[0];
	}
	rc = finish(&s, options, out);
out:
	sample_free(&s);
	return rc;
}

static int
compare_buckets(const void *a, const void *b)
{
	double x = ((const double *)a)[0], y = ((const double *)b)[0];

	return x < y ? -1 : x > y;
}

/* Type 7 quantile of values repeated by their counts; pairs value, count sorted by value. */
static double
weighted_quantile(const double *pairs, size_t n, double total, double q)
{
	double at = (total - 1) * q, rank = floor(at), below = 0, low = pairs[2 * n - 2],
	       high = low;
	size_t i;

	for (i = 0; i < n; i++) {
		below += pairs[2 * i + 1];
		if (below > rank) {
			low = pairs[2 * i];
			high = below > rank + 1 || i + 1 == n ? low : pairs[2 * i + 2];
			break;
		}
	}
	return low + (at - rank) * (high - low);
}

static int
sample_fill_buckets(struct sample *s, const struct nw_density_bucket *b, size_t n, double step,
    struct nw_density *out)
{
	double v, value, sum = 0, *pairs;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!bucket_is_usable(&b[i]))
			continue;
		out->n += b[i].count;
		v = bucket_value(&b[i], step, out->log);
		if (out->log && !(v > 0)) {
			out->n_nonpositive += b[i].count;
			continue;
		}
		if (!bucket_is_single(&b[i], step, &value))
			s->widest = fmax(
			    s->widest, out->log ? log(b[i].high / b[i].low) : b[i].high - b[i].low);
		s->x[s->n] = out->log ? log(v) : v;
		s->weight[s->n] = b[i].count;
		s->total += b[i].count;
		s->min = fmin(s->min, s->x[s->n]);
		s->max = fmax(s->max, s->x[s->n]);
		sum += (s->x[s->n] - s->x[0]) * b[i].count;
		s->n++;
	}
	if (s->n == 0)
		return NW_OK;
	s->first = s->x[0];
	s->mean = s->first + sum / s->total;
	if ((pairs = malloc(2 * s->n * sizeof(*pairs))) == NULL)
		return NW_ENOMEM;
	for (i = 0; i < s->n; i++) {
		pairs[2 * i] = s->x[i];
		pairs[2 * i + 1] = s->weight[i];
	}
	qsort(pairs, s->n, 2 * sizeof(*pairs), compare_buckets);
	s->iqr = weighted_quantile(pairs, s->n, s->total, 0.75) -
	    weighted_quantile(pairs, s->n, s->total, 0.25);
	free(pairs);
	return NW_OK;
}

int
nw_density_buckets(const struct nw_density_bucket *buckets, size_t n, double step,
    const struct nw_density_options *options, struct nw_density *out)
{
	struct sample s = { 0 };
	int rc;

	*out = (struct nw_density){ .log = options->log };
	if ((rc = check_options(options)) != NW_OK || (rc = sample_init(&s, n, true)) != NW_OK ||
	    (rc = sample_fill_buckets(&s, buckets, n, step, out)) != NW_OK)
		goto out;
	rc = finish(&s, options, out);
	out->coarse = out->bw < s.widest;
out:
	sample_free(&s);
	return rc;
}

void
nw_density_clear(struct nw_density *d)
{
	free(d->y);
	*d = (struct nw_density){ 0 };
}
