/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantiles of durations over the size: points, limits that leave the tail apart, curves that never
 * fall, refusal, and simulated mixtures of two classes of which four fifths of the operations get a
 * name and nineteen in twenty of these the right one. */
#include "narrows/iocurve.h"

#include "narrows/err.h"
#include "tests/check.h"
#include "tests/noise.h"

enum { OPS = 1000, SIZES = 10 };
static const double sizes[SIZES] = { 1, 64, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304,
	16777216 };

/* A way to the data: log-normal durations about start + bytes * per_byte. */
struct way {
	double start_s, per_byte_s, spread;
	double fast_share, fast; /* operations that take a part of the time only */
};

/* Each core runs `hogs` other programs for their slice before an operation goes on. */
static double
duration_s(const struct way *w, double size, double hogs)
{
	static const double SLICE_S = 3e-3;
	double s = (w->start_s + size * w->per_byte_s) * exp(w->spread * noise_normal());

	if (noise_uniform() < w->fast_share)
		s *= w->fast;
	if (noise_uniform() < fmin(0.9, hogs * s / SLICE_S) || noise_uniform() < 0.005 * hogs)
		s += SLICE_S * (1 + noise_uniform()) * hogs;
	return fmax(1e-9, round(s * 1e9) * 1e-9);
}

static void
curve_train(const struct way *w, double hogs, struct nw_io_curve *out)
{
	struct nw_io_point p[SIZES];
	double s[OPS];
	int i, k;

	for (i = 0; i < SIZES; i++) {
		for (k = 0; k < OPS; k++)
			s[k] = duration_s(w, sizes[i], hogs);
		nw_io_point_of_values(sizes[i], s, OPS, &p[SIZES - 1 - i]);
	}
	CHECK_INT(nw_io_curve_make(p, SIZES, out), NW_OK);
}

static void
test_point(void)
{
	double s[200];
	struct nw_density_bucket b[2] = { { 90, 110, 190 }, { 900, 1100, 10 } };
	struct nw_io_point p, q;
	int i;

	for (i = 0; i < 200; i++)
		s[i] = i < 190 ? 1e-6 : 1e-3;
	nw_io_point_of_values(4096, s, 200, &p);
	CHECK_NEAR(
	    nw_io_point_limit(&p), 1e-6, 1e-9, 0); /* a twentieth in the tail moves nothing */
	CHECK(p.n == 200 && p.n_tail == 10 && p.slowest_s == 1e-3);
	CHECK_NEAR(p.mean_s, 1e-6, 1e-9, 0);
	nw_io_point_of_buckets(4096, b, 2, 1e-8, &q);
	CHECK_NEAR(nw_io_point_limit(&q), 1e-6, 1e-9, 0);
	CHECK(q.n == 200 && q.n_tail == 10);
	CHECK_NEAR(q.mean_s, 1e-6, 1e-9, 0);
	for (i = 0; i < 100; i++)
		s[i] = 1 + i;
	nw_io_point_of_values(1, s, 100, &p);
	CHECK_NEAR(exp(p.ln_s[4]), 51, 1e-9, 0);
	CHECK_NEAR(nw_io_point_limit(&p), 100, 1e-9, 0); /* never above the slowest */
	CHECK(nw_io_point_likeness(&p, 50) > nw_io_point_likeness(&p, 400));
	nw_io_point_of_values(1, s, 1, &p);
	CHECK_NEAR(nw_io_point_limit(&p), 1, 1e-12, 0);
}

static void
test_mix(void)
{
	struct nw_io_point a, b, mix;
	double x[100], y[100];
	int i;

	for (i = 0; i < 100; i++) {
		x[i] = 1 + 0.001 * i;
		y[i] = 100 + 0.1 * i;
	}
	nw_io_point_of_values(1, x, 100, &a);
	nw_io_point_of_values(1, y, 100, &b);
	nw_io_point_mix(&a, &b, &mix);
	CHECK(mix.n == 200 && exp(mix.ln_s[0]) < 1.2 && exp(mix.ln_s[8]) > 100);
	CHECK_NEAR(exp(mix.ln_s[6]), 108, 0.01, 0); /* nine tenths of both: eight of b */
}

static void
test_curve(void)
{
	static const struct way rising = { 1e-6, 1e-10, 0.3, 0, 1 };
	struct nw_io_point p[3], at;
	struct nw_io_curve c;
	double one[] = { 3.9e-5 }, two[] = { 1.9e-6 }, three[] = { 2.4e-6 };
	size_t i;
	int k;

	CHECK_INT(nw_io_curve_make(NULL, 0, &c), NW_OK);
	CHECK_INT(c.status, NW_STATUS_INSUFFICIENT);
	CHECK(!nw_io_curve_at(&c, 1, &at));
	nw_io_curve_clear(&c);
	curve_train(&rising, 0, &c);
	CHECK_INT(c.status, NW_STATUS_OK);
	for (i = 1; i < c.n; i++)
		for (k = 0; k < NW_IO_QUANTILES; k++)
			CHECK(c.points[i].ln_s[k] >= c.points[i - 1].ln_s[k]);
	CHECK(nw_io_curve_at(&c, 131072, &at)); /* between sizes, below, and above */
	CHECK_NEAR(exp(at.ln_s[4]), 1e-6 + 131072e-10, 0.1, 0);
	CHECK(nw_io_curve_at(&c, 0, &at));
	CHECK_NEAR(exp(at.ln_s[4]), 1e-6, 0.1, 0);
	CHECK(nw_io_curve_at(&c, 2 * 16777216.0, &at));
	CHECK_NEAR(exp(at.ln_s[4]), 2 * 16777216e-10, 0.1, 0);
	nw_io_curve_clear(&c);
	/* durations that fall with the size are refused, and name nothing */
	nw_io_point_of_values(1, one, 1, &p[0]);
	nw_io_point_of_values(1024, two, 1, &p[1]);
	nw_io_point_of_values(4096, three, 1, &p[2]);
	CHECK_INT(nw_io_curve_make(p, 3, &c), NW_OK);
	CHECK_INT(c.status, NW_STATUS_REFUSED);
	CHECK(c.rel_err > 0.5);
	nw_io_curve_clear(&c);
}

/* --- mixtures --- */

static const struct {
	const char *name;
	struct way cached, device;
	double hogs;
} mixtures[] = {
	{ "fast disk", { 4e-7, 1.5e-10, 0.15, 0, 1 }, { 6e-5, 5e-10, 0.3, 0, 1 }, 0 },
	{ "throttled", { 4e-7, 1.5e-10, 0.15, 0, 1 }, { 2e-4, 1.6e-8, 0.3, 0.3, 0.1 }, 0 },
	{ "slow calls", { 1e-5, 1e-9, 0.4, 0, 1 }, { 1e-3, 1.6e-8, 0.6, 0, 1 }, 0 },
	{ "fast disk, 2 hogs", { 4e-7, 1.5e-10, 0.15, 0, 1 }, { 6e-5, 5e-10, 0.3, 0, 1 }, 1 },
	{ "throttled, 4 hogs", { 4e-7, 1.5e-10, 0.15, 0, 1 }, { 2e-4, 1.6e-8, 0.3, 0.3, 0.1 }, 2 },
};

static void
mixture_check(size_t m)
{
	struct nw_io_curve c[2];
	const struct nw_io_curve *const both[2] = { &c[0], &c[1] };
	double all = 0, named = 0, right = 0, s;
	bool near[2];
	size_t n_near, found;
	int i, k, own;

	curve_train(&mixtures[m].cached, mixtures[m].hogs, &c[0]);
	curve_train(&mixtures[m].device, mixtures[m].hogs, &c[1]);
	for (i = 0; i < 2; i++)
		CHECK_INT(c[i].status, NW_STATUS_OK);
	for (i = 0; i < SIZES; i++)
		for (k = 0; k < OPS; k++) {
			own = noise_uniform() < 0.5;
			s = duration_s(own == 0 ? &mixtures[m].cached : &mixtures[m].device,
			    sizes[i], mixtures[m].hogs);
			found = nw_io_curves_name(both, 2, sizes[i], s, near, &n_near);
			all++;
			named += n_near < 2;
			/* slower than all is not in memory */
			right += n_near < 2 && (found == 0) == (own == 0);
		}
	printf("%-18s named %.1f %%, right %.1f %%\n", mixtures[m].name, 100 * named / all,
	    100 * right / named);
	CHECK(named >= 0.8 * all);
	CHECK(right >= 0.95 * named);
	nw_io_curve_clear(&c[0]);
	nw_io_curve_clear(&c[1]);
}

/* Two classes without a difference are never told apart; a class alone has no certain border. */
static void
test_alike(void)
{
	static const struct way seek = { 1e-4, 1e-9, 0.5, 0, 1 },
				cache = { 1e-6, 1e-10, 0.2, 0, 1 };
	struct nw_io_curve a, b, c;
	const struct nw_io_curve *const pair[2] = { &a, &b }, *const alone[1] = { &c };
	bool near[2];
	size_t n_near;

	curve_train(&seek, 0, &a);
	curve_train(&seek, 0, &b);
	curve_train(&cache, 0, &c);
	CHECK(nw_io_curves_apart(&a, &b) < 0.1);
	CHECK(nw_io_curves_apart(&a, &c) > 0.95);
	(void)nw_io_curves_name(pair, 2, 4096, 1e-4, near, &n_near);
	CHECK(n_near == 2 && near[0] && near[1]);
	CHECK_INT(nw_io_curves_name(pair, 2, 4096, 1, near, &n_near), 2);
	CHECK_INT(n_near, 0);
	CHECK_INT(nw_io_curves_name(alone, 1, 4096, 1.4e-6, near, &n_near), 0);
	CHECK_INT(n_near, 1);
	CHECK_INT(nw_io_curves_name(alone, 1, 4096, 4e-6, near, &n_near), 0);
	CHECK_INT(n_near, 2);
	CHECK_INT(nw_io_curves_name(alone, 1, 4096, 1e-4, near, &n_near), 1);
	CHECK_INT(nw_io_curves_name(NULL, 0, 4096, 1e-4, near, &n_near), 0);
	nw_io_curve_clear(&a);
	nw_io_curve_clear(&b);
	nw_io_curve_clear(&c);
}

int
main(int argc, char **argv)
{
	size_t m;

	noise_seed(argc, argv, 20150310);
	test_point();
	test_mix();
	test_curve();
	for (m = 0; m < sizeof(mixtures) / sizeof(mixtures[0]); m++)
		mixture_check(m);
	test_alike();
	return check_done("iocurve");
}
