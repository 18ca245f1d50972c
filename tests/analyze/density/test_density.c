/* SPDX-License-Identifier: BSD-3-Clause */
/* The density curve against the sum that defines it, its classes on known mixtures, and what must
 * not change them. */
#include "narrows/density.h"

#include "tests/check.h"
#include "tests/noise.h"
#include "narrows/err.h"
#include "narrows/hist.h"

enum { N = 4000 };
/* Durations of three kinds, as a read may take: cached, read ahead, from disk. */
static void
fill_three(double *x, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		double u = noise_uniform(), at = u < 0.6 ? 2e-5 : u < 0.85 ? 3e-4 : 7e-3;

		x[i] = at * exp(0.1 * noise_normal());
	}
}

static void
test_bandwidth(void)
{
	static const double ten[] = { 10, 9, 8, 7, 6, 5, 4, 3, 2, 1 };
	static const double tied[] = { 5, 5, 5, 5, 5, 5, 5, 9 }, flat[] = { 4, 4, 4 },
			    zeros[] = { 0, 0 };
	struct nw_density_options o = nw_density_defaults;
	struct nw_density d;

	o.log = false;
	o.adjust = 1;
	CHECK_INT(nw_density(ten, 10, &o, &d), 0);
	/* R: bw.nrd0(1:10) = 1.719 */
	CHECK_NEAR(d.bw, 0.9 * sqrt(55.0 / 6) * pow(10, -0.2), 1e-14, 0);
	CHECK_NEAR(d.from, 1 - 3 * d.bw, 1e-14, 0);
	nw_density_clear(&d);
	CHECK_INT(nw_density(tied, 8, &o, &d), 0); /* IQR 0: sd */
	CHECK_NEAR(d.bw, 0.9 * sqrt(2) * pow(8, -0.2), 1e-14, 0);
	nw_density_clear(&d);
	CHECK_INT(nw_density(flat, 3, &o, &d), 0); /* sd 0: the value */
	CHECK_NEAR(d.bw, 0.9 * 4 * pow(3, -0.2), 1e-14, 0);
	CHECK_INT(d.status, NW_STATUS_DEGENERATE);
	nw_density_clear(&d);
	CHECK_INT(nw_density(zeros, 2, &o, &d), 0); /* that is 0, too: 1 */
	CHECK_NEAR(d.bw, 0.9 * pow(2, -0.2), 1e-14, 0);
	nw_density_clear(&d);
}

/* At the grid points, the binned transform is the direct sum within 2e-3 of the peak, and its area
 * is 1. */
static void
test_curve(void)
{
	static double x[N];
	struct nw_density_options o = nw_density_defaults;
	struct nw_density d;
	double peak = 0, worst = 0, area = 0, at, direct;
	size_t i, k;

	fill_three(x, N);
	for (k = 0; k < 2; k++) {
		o.kernel = k == 0 ? NW_DENSITY_R44 : NW_DENSITY_R42;
		o.grid = k == 0 ? 512 : 0;
		CHECK_INT(nw_density(x, N, &o, &d), 0);
		for (i = 0, peak = area = worst = 0; i < d.m; i++) {
			peak = fmax(peak, d.y[i]);
			area += d.y[i] * (d.to - d.from) / (double)(d.m - 1);
		}
		for (i = 0; i < d.m; i += 37) {
			size_t j;

			at = d.from + (double)i * (d.to - d.from) / (double)(d.m - 1);
			for (j = 0, direct = 0; j < N; j++)
				direct += exp(-0.5 * pow((at - log(x[j])) / d.bw, 2));
			direct /= N * d.bw * sqrt(2 * M_PI);
			worst = fmax(worst, fabs(direct - d.y[i]));
		}
		CHECK(worst < 2e-3 * peak);
		CHECK_NEAR(area, 1, 2e-3, 0);
		nw_density_clear(&d);
	}
	/* two values far apart next to the bandwidth need a fine grid, and get it up to its
	 * limit */
	o.grid = 0;
	o.adjust = 0.01;
	CHECK_INT(nw_density(x, N, &o, &d), 0);
	CHECK(
	    d.m > 512 && (d.m & (d.m - 1)) == 0 && (d.to - d.from) / (double)(d.m - 1) <= d.bw / 8);
	nw_density_clear(&d);
	o.adjust = 1e-9;
	CHECK_INT(nw_density(x, N, &o, &d), 0);
	CHECK_INT(d.m, 65536);
	nw_density_clear(&d);
	o.grid = 1000; /* a grid of any size, drawn from the next power of two */
	o.adjust = 2;
	CHECK_INT(nw_density(x, N, &o, &d), 0);
	CHECK_INT(d.m, 1000);
	nw_density_clear(&d);
	o.adjust = NAN;
	CHECK_INT(nw_density(x, N, &o, &d), NW_EINVAL);
	nw_density_clear(&d);
}

static void
find(const double *x, size_t n, double h_min, bool log_scale, struct nw_classes *c)
{
	struct nw_density_options o = nw_density_defaults;
	struct nw_density d;

	o.log = log_scale;
	CHECK_INT(nw_density(x, n, &o, &d), 0);
	CHECK_INT(nw_classes_find(&d, h_min, NW_CLASS_CUTOFF_FRACTION, false, c), 0);
	nw_classes_count(c, &d, x, n);
	nw_density_clear(&d);
}

static void
test_classes(void)
{
	static const double truth[] = { 2e-5, 3e-4, 7e-3 }, share[] = { 0.6, 0.25, 0.15 };
	static double x[N + 1], y[N + 1];
	struct nw_classes c, again;
	double unit, sum = 0;
	size_t i;

	fill_three(x, N);
	x[N] = 7; /* one operation a thousand times slower: an outlier, not a class */
	find(x, N + 1, NW_CLASS_H_MIN, true, &c);
	CHECK_INT(c.n, 3);
	CHECK_NEAR(c.n_outliers, 1, 0, 0);
	CHECK_NEAR(c.outlier_sum, 7, 1e-15, 0);
	for (i = 0; i < 3; i++) {
		CHECK_NEAR(c.class[i].peak, truth[i], 0.05, 0);
		CHECK_NEAR(c.class[i].count, share[i] * N, 0.15, 0);
		CHECK(i == 0 ? c.class[i].low == 0 : c.class[i].low == c.class[i - 1].high);
		CHECK_INT(nw_classes_of(&c, truth[i]), i);
		sum += c.class[i].sum;
	}
	CHECK(c.class[2].high == c.cutoff && c.cutoff < 0.1);
	CHECK_INT(nw_classes_of(&c, 7), 3);
	for (i = 0; i < N; i++)
		sum -= x[i];
	CHECK_NEAR(sum, 0, 0, 1e-9);
	find(x, N + 1, 0, true, &again);
	CHECK(again.n > 3 && again.n_outliers == 0); /* without a floor the mode is a class */
	nw_classes_clear(&again);

	/* neither unit nor order matters */
	for (unit = 1e-9; unit < 1e13; unit *= 1e3) {
		for (i = 0; i <= N; i++)
			y[i] = x[N - i] * unit;
		find(y, N + 1, NW_CLASS_H_MIN, true, &again);
		CHECK_INT(again.n, 3);
		for (i = 0; i < 3 && i < again.n; i++) {
			CHECK_NEAR(again.class[i].peak, c.class[i].peak * unit, 1e-9, 0);
			CHECK_NEAR(again.class[i].count, c.class[i].count, 0, 0);
		}
		CHECK_NEAR(again.cutoff, c.cutoff * unit, 1e-6, 0);
		nw_classes_clear(&again);
	}
	nw_classes_clear(&c);
}

static void
test_edges(void)
{
	static const struct {
		double x[5];
		size_t n;
		enum nw_status status;
		size_t classes;
		double nonpositive;
	} cases[] = { { { 0 }, 0, NW_STATUS_INSUFFICIENT, 0, 0 },
		{ { 1e-3 }, 1, NW_STATUS_INSUFFICIENT, 0, 0 },
		{ { 1e-3, -1, 0, NAN, INFINITY }, 5, NW_STATUS_INSUFFICIENT, 0, 2 },
		{ { 2.5e-4, 2.5e-4, 2.5e-4 }, 3, NW_STATUS_DEGENERATE, 1, 0 },
		{ { 1, 1, 1 }, 3, NW_STATUS_DEGENERATE, 1, 0 },
		{ { 1e-3, 2e-3, -1, 0, NAN }, 5, NW_STATUS_OK, 1, 2 },
		{ { 5e-324, 1.7e308, 1, 2, 3 }, 5, NW_STATUS_OK, 3, 0 },
		{ { 7, 7.0000000000000009, 7, 7, 7 }, 5, NW_STATUS_OK, 1, 0 } };
	static const double wide[] = { -1.7e308, 1.7e308, 0 };
	struct nw_density_options o = nw_density_defaults;
	struct nw_density d;
	struct nw_classes c;
	size_t i, k;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double counted = 0;

		CHECK_INT(nw_density(cases[i].x, cases[i].n, &o, &d), 0);
		CHECK_INT(d.status, cases[i].status);
		CHECK_NEAR(d.n_nonpositive, cases[i].nonpositive, 0, 0);
		for (k = 0; k < d.m; k++)
			CHECK(isfinite(d.y[k]));
		CHECK_INT(
		    nw_classes_find(&d, NW_CLASS_H_MIN, NW_CLASS_CUTOFF_FRACTION, false, &c), 0);
		CHECK_INT(c.n, cases[i].classes);
		nw_classes_count(&c, &d, cases[i].x, cases[i].n);
		for (k = 0; k < c.n; k++)
			counted += c.class[k].count;
		CHECK_NEAR(counted + c.n_outliers, c.n > 0 ? d.n - d.n_nonpositive : 0, 0, 0);
		if (d.status == NW_STATUS_DEGENERATE)
			CHECK(
			    fabs(c.class[0].peak / cases[i].x[0] - 1) < 1e-15 && c.n_outliers == 0);
		nw_classes_clear(&c);
		nw_density_clear(&d);
	}
	o.log = false;
	CHECK_INT(nw_density(wide, 3, &o, &d), 0);
	CHECK_INT(d.status, NW_STATUS_UNDEFINED);
	CHECK(d.y == NULL && d.m == 0);
	nw_density_clear(&d);
}

/* A histogram of the same values gives the same classes; a bucket of one tick is its value. */
static void
test_histogram(void)
{
	static double x[N];
	static uint64_t counts[NW_HIST_BUCKETS];
	static struct nw_density_bucket b[NW_HIST_BUCKETS];
	struct nw_density raw, hist;
	struct nw_classes cr, ch;
	double distance = 0;
	size_t i, n = 0;

	fill_three(x, N);
	for (i = 0; i < N; i++) {
		x[i] = round(x[i] * 1e9);
		counts[nw_hist_index((uint64_t)x[i])]++;
	}
	for (i = NW_HIST_BUCKETS; i-- > 0;) /* backwards: order must not matter */
		if (counts[i] > 0) {
			nw_hist_bounds((uint32_t)i, &b[n].low, &b[n].high);
			b[n++].count = (double)counts[i];
		}
	CHECK_INT(nw_density(x, N, &nw_density_defaults, &raw), 0);
	CHECK_INT(nw_density_buckets(b, n, 1, &nw_density_defaults, &hist), 0);
	CHECK_NEAR(hist.n, N, 0, 0);
	CHECK_NEAR(hist.bw, raw.bw, 5e-3, 0);
	CHECK(!hist.coarse);
	for (i = 0; i < raw.m; i++)
		distance += fabs(raw.y[i] - hist.y[i]) * (raw.to - raw.from) / (double)raw.m;
	CHECK(distance < 0.03);
	nw_classes_find(&raw, NW_CLASS_H_MIN, NW_CLASS_CUTOFF_FRACTION, false, &cr);
	nw_classes_find(&hist, NW_CLASS_H_MIN, NW_CLASS_CUTOFF_FRACTION, false, &ch);
	nw_classes_count(&cr, &raw, x, N);
	nw_classes_count_buckets(&ch, &hist, b, n, 1);
	CHECK_INT(ch.n, 3);
	CHECK_INT(cr.n, 3);
	for (i = 0; i < 3 && i < ch.n; i++) {
		CHECK_NEAR(ch.class[i].peak, cr.class[i].peak, 0.05, 0); /* two grid steps */
		CHECK_NEAR(ch.class[i].count, cr.class[i].count, 0, 2);
	}
	nw_classes_clear(&cr);
	nw_classes_clear(&ch);
	nw_density_clear(&raw);
	nw_density_clear(&hist);
}

static void
test_buckets(void)
{
	struct nw_density_bucket b[3];
	struct nw_density hist;

	b[0] = (struct nw_density_bucket){ 150, 151, 900 };
	b[1] = (struct nw_density_bucket){ 160, 161, 100 };
	b[2] = (struct nw_density_bucket){ 0, 1, 7 };
	CHECK_INT(nw_density_buckets(b, 3, 1, &nw_density_defaults, &hist), 0);
	CHECK_NEAR(hist.n_nonpositive, 7, 0, 0);
	CHECK_NEAR(exp(hist.min), 150, 1e-14, 0);
	CHECK_NEAR(hist.bw_nrd0, 0.9 * log(160.0 / 150) * sqrt(0.09 * 1000 / 999) * pow(1000, -0.2),
	    1e-12, 0);
	CHECK(!hist.coarse);
	nw_density_clear(&hist);
	b[0].high = 180;
	CHECK_INT(nw_density_buckets(b, 2, 1, &nw_density_defaults, &hist), 0);
	CHECK(hist.coarse);
	nw_density_clear(&hist);
	CHECK_INT(nw_density_buckets(NULL, 0, 1, &nw_density_defaults, &hist), 0);
	CHECK_INT(hist.status, NW_STATUS_INSUFFICIENT);
	nw_density_clear(&hist);
}

/* A clock of 10 ns behind 32 buckets an octave: its step is found, and with it the values; a smooth
 * histogram has none. */
static void
test_clock_step(void)
{
	static const struct nw_density_bucket ticking[] = { { 148, 152, 2219 }, { 160, 164, 1601 },
		{ 168, 172, 180 }, { 304, 312, 296 }, { 320, 328, 305 }, { 328, 336, 299 },
		{ 1056, 1088, 1 } };
	struct nw_density_bucket scaled[7], smooth[64];
	struct nw_density d;
	double step;
	int i;

	CHECK_INT(nw_density_clock_step(ticking, 7, 1, &step), 0);
	CHECK_NEAR(step, 10, 0, 0);
	CHECK_INT(nw_density_buckets(ticking, 7, step, &nw_density_defaults, &d), 0);
	CHECK_NEAR(d.bw_nrd0, 0.9 * log(160.0 / 150) / 1.34 * pow(4901, -0.2), 1e-12, 0);
	nw_density_clear(&d);
	for (i = 0; i < 7; i++)
		scaled[i] = (struct nw_density_bucket){ ticking[i].low / 1e9, ticking[i].high / 1e9,
			ticking[i].count };
	CHECK_INT(nw_density_clock_step(scaled, 7, 1e-9, &step), 0);
	CHECK_NEAR(step, 1e-8, 1e-12, 0);
	for (i = 0; i < 64; i++)
		smooth[i] = (struct nw_density_bucket){ 4096 + 64 * i, 4096 + 64 * (i + 1),
			1 + exp(-0.01 * (i - 30) * (i - 30)) };
	CHECK_INT(nw_density_clock_step(smooth, 64, 1, &step), 0);
	CHECK_NEAR(step, 1, 0, 0);
	smooth[10].count = smooth[20].count = 0;
	CHECK_INT(nw_density_clock_step(smooth, 64, 1, &step), 0);
	CHECK_NEAR(step, 1, 0, 0);
	CHECK_INT(nw_density_clock_step(smooth, 0, 1, &step), 0);
	CHECK_NEAR(step, 1, 0, 0);
	/* far apart: found to have none without counting up */
	smooth[1] = (struct nw_density_bucket){ 1e12, 1.1e12, 5 };
	smooth[2] = (struct nw_density_bucket){ 3e12, 3.1e12, 5 };
	CHECK_INT(nw_density_clock_step(smooth, 3, 1, &step), 0);
	CHECK_NEAR(step, 1, 0, 0);
	smooth[0].low = 0.5;
	CHECK_INT(nw_density_clock_step(smooth, 3, 1, &step), 0);
	CHECK_NEAR(step, 1, 0, 0);
}

/* Where the valley is flat the split is its middle, or half way between the peaks if that is asked
 * for. */
static void
test_split(void)
{
	static double x[200];
	struct nw_density_options o = nw_density_defaults;
	struct nw_density d;
	struct nw_classes c;
	size_t i;

	for (i = 0; i < 200; i++)
		x[i] = (i < 150 ? 10 : 100) + 0.01 * (double)(i % 50);
	o.log = false;
	o.adjust = 0.1;
	CHECK_INT(nw_density(x, 200, &o, &d), 0);
	CHECK_INT(nw_classes_find(&d, NW_CLASS_H_MIN, NW_CLASS_CUTOFF_FRACTION, false, &c), 0);
	CHECK_INT(c.n, 2);
	CHECK_NEAR(c.class[0].high, 55, 0.02, 0);
	CHECK(c.class[0].low == -INFINITY);
	nw_classes_clear(&c);
	CHECK_INT(nw_classes_find(&d, NW_CLASS_H_MIN, NW_CLASS_CUTOFF_FRACTION, true, &c), 0);
	CHECK_NEAR(c.class[0].high, (c.class[0].peak + c.class[1].peak) / 2, 1e-12, 0);
	nw_classes_clear(&c);
	nw_density_clear(&d);
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 11);
	test_bandwidth();
	test_curve();
	test_classes();
	test_edges();
	test_histogram();
	test_buckets();
	test_clock_step();
	test_split();
	return check_done("density");
}
