/* SPDX-License-Identifier: BSD-3-Clause */
/* Ratios of the same windows against Fieller's closed form, reciprocity, gaps and edges. */
#include "narrows/ratio.h"

#include "tests/check.h"
#include "tests/noise.h"
#include "narrows/err.h"
#include "narrows/special.h"
#include "narrows/summary.h"

enum { N = 40 };

/* Roots of (A - r B)^2 = t^2 (Saa - 2 r Sab + r^2 Sbb) / n. */
static void
fieller(const double *a, const double *b, size_t n, double t, double *low, double *high)
{
	struct nw_summary sa = nw_summary_of(a, n), sb = nw_summary_of(b, n);
	double saa = 0, sab = 0, sbb = 0, p, q, s, root;
	size_t i;

	for (i = 0; i < n; i++) {
		saa += pow(a[i] - sa.mean, 2) / (double)(n - 1) / (double)n;
		sbb += pow(b[i] - sb.mean, 2) / (double)(n - 1) / (double)n;
		sab += (a[i] - sa.mean) * (b[i] - sb.mean) / (double)(n - 1) / (double)n;
	}
	p = sb.mean * sb.mean - t * t * sbb;
	q = sa.mean * sb.mean - t * t * sab;
	s = sa.mean * sa.mean - t * t * saa;
	root = sqrt(q * q - p * s);
	*low = (q - root) / p;
	*high = (q + root) / p;
}

/* Series that swing from window to window have no positive autocorrelation: n_eff is n. */
static void
test_closed_form(void)
{
	double a[N], b[N], low, high, mean_a, mean_b;
	struct nw_ratio r, back;
	int i, k;

	for (k = 0; k < 20; k++) {
		for (i = 0; i < N; i++) {
			a[i] = 0.6 + (i % 2 ? 0.1 : -0.1) * (1 + 0.2 * noise_uniform());
			b[i] = 0.95 - a[i] + 0.02 * (i % 2 ? 1 : -1) * noise_uniform();
		}
		mean_a = nw_summary_of(a, N).mean;
		mean_b = nw_summary_of(b, N).mean;
		CHECK_INT(nw_ratio_windows(a, b, N, 0.05, &r), NW_OK);
		fieller(a, b, N, nw_t_quantile(0.975, N - 1), &low, &high);
		CHECK_INT(r.status, NW_STATUS_OK);
		CHECK_NEAR(r.n_eff, N, 1e-12, 0);
		CHECK_NEAR(r.ratio, mean_a / mean_b, 1e-13, 0);
		CHECK_NEAR(r.low, low, 1e-6, 0);
		CHECK_NEAR(r.high, high, 1e-6, 0);
		CHECK_INT(nw_ratio_windows(b, a, N, 0.05, &back), NW_OK);
		CHECK_NEAR(back.low, 1 / r.high, 1e-6, 0);
		CHECK_NEAR(back.high, 1 / r.low, 1e-6, 0);
		CHECK_NEAR(back.p, r.p, 1e-9, 0);
	}
}

static void
test_memory(void)
{
	double a[N], b[N];
	struct nw_ratio fresh, slow;
	int i;

	for (i = 0; i < N; i++) {
		a[i] = 0.6 + 0.1 * (i % 2 ? 1 : -1);
		b[i] = 0.35;
	}
	CHECK_INT(nw_ratio_windows(a, b, N, 0.05, &fresh), NW_OK);
	for (i = 0; i < N; i++)
		a[i] = 0.6 + 0.1 * (i < N / 2 ? 1 : -1);
	CHECK_INT(nw_ratio_windows(a, b, N, 0.05, &slow), NW_OK);
	CHECK_NEAR(slow.ratio, fresh.ratio, 1e-12, 0);
	CHECK(slow.n_eff < 4 && fresh.n_eff == N);
	CHECK(slow.high - slow.low > 2 * (fresh.high - fresh.low));
}

/* Two states that last cross their mean once: hardly a sample, whatever lies in either state. */
static void
test_states(void)
{
	double a[40], b[40];
	struct nw_ratio r;

	for (size_t i = 0; i < 40; i++) {
		a[i] = (i < 20 ? 0.8 : 0.5) + 0.001 * noise_normal();
		b[i] = 0.4;
	}
	CHECK_INT(nw_ratio_windows(a, b, 40, 0.05, &r), NW_OK);
	CHECK(r.n_eff <= 3);
	for (size_t i = 0; i < 40; i++)
		a[i] = 0.6 + 0.1 * noise_normal();
	CHECK_INT(nw_ratio_windows(a, b, 40, 0.05, &r), NW_OK);
	CHECK(r.n_eff > 20);
}

static void
test_edges(void)
{
	static const double a[] = { 2, NAN, 2, 2, 2, 1 }, b[] = { 1, 1, 1, 1, 1, NAN };
	static const double zero[] = { 0, 0, 0, 0, 0, 0 };
	static const double wild[] = { 0, 0, 0, 0, 0, 100 }, one[] = { 1, 2, 1, 2, 1, 2 };
	struct nw_ratio r;

	CHECK_INT(nw_ratio_windows(a, b, 6, 0.05, &r), NW_OK);
	CHECK_NEAR(r.ratio, 2, 0, 0);
	CHECK(r.n_eff == 1 && r.p == 0); /* nothing varies: no sample of a path */
	CHECK_NEAR(r.low, 2, 1e-6, 0);
	CHECK_NEAR(r.high, 2, 1e-6, 0);
	CHECK_INT(nw_ratio_windows(a, b, 2, 0.05, &r), NW_OK);
	CHECK(r.status == NW_STATUS_INSUFFICIENT && isnan(r.ratio) && isnan(r.low));
	CHECK_INT(nw_ratio_windows(a, zero, 6, 0.05, &r), NW_OK);
	CHECK(r.status == NW_STATUS_INSUFFICIENT && isnan(r.high));
	/* a single window made the mean of b: b may be 0 as well, and the ratio anything */
	CHECK_INT(nw_ratio_windows(one, wild, 6, 0.05, &r), NW_OK);
	CHECK(r.low > 0 && r.high == INFINITY);
	CHECK_INT(nw_ratio_windows(wild, one, 6, 0.05, &r), NW_OK);
	CHECK(r.low == 0 && isfinite(r.high));
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 3);
	test_closed_form();
	test_memory();
	test_states();
	test_edges();
	return check_done("ratio");
}
