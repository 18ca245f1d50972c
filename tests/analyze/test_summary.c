/* SPDX-License-Identifier: BSD-3-Clause */
/* Running summaries: NIST's certified sets, the ends of the double's range, merging in any
 * order. */
#include "narrows/summary.h"

#include "tests/check.h"
#include "tests/noise.h"

static struct nw_summary
streamed(const double *v, size_t n)
{
	struct nw_summary s = { 0 };
	size_t i;

	for (i = 0; i < n; i++)
		nw_summary_add(&s, v[i]);
	return s;
}

/* NIST StRD NumAcc1..4: n, mean and sd are certified; an offset of 1e7 leaves a sum of squares no
 * digit */
static void
test_nist(void)
{
	static const struct {
		double first, odd, even, mean, sd;
		size_t n;
	} sets[] = { { 10000001, 10000003, 10000002, 10000002, 1, 3 },
		{ 1.2, 1.1, 1.3, 1.2, 0.1, 1001 },
		{ 1000000.2, 1000000.1, 1000000.3, 1000000.2, 0.1, 1001 },
		{ 10000000.2, 10000000.1, 10000000.3, 10000000.2, 0.1, 1001 } };
	/* what the data's own rounding leaves */
	static const double sd_tol[] = { 1e-15, 1e-14, 2e-9, 2e-8 };
	double v[1001];
	size_t i, k;

	for (k = 0; k < 4; k++) {
		struct nw_summary a, b;

		for (i = 1, v[0] = sets[k].first; i < sets[k].n; i++)
			v[i] = i % 2 ? sets[k].odd : sets[k].even;
		a = nw_summary_of(v, sets[k].n);
		b = streamed(v, sets[k].n);
		CHECK_NEAR(a.mean, sets[k].mean, 1e-15, 0);
		CHECK_NEAR(b.mean, sets[k].mean, 1e-14, 0);
		CHECK_NEAR(nw_summary_sd(&a), sets[k].sd, sd_tol[k], 0);
		CHECK_NEAR(nw_summary_sd(&b), sets[k].sd, sd_tol[k], 0);
		CHECK_NEAR(a.sum, sets[k].mean * (double)sets[k].n, 1e-15, 0);
	}
}

static void
test_edges(void)
{
	static const struct {
		const char *name;
		double v[10];
		size_t n;
		double mean, sd, mean_tol, sd_tol;
	} cases[] = { { "none", { 0 }, 0, 0, 0, 0, 0 }, { "one", { 3.5 }, 1, 3.5, 0, 0, 0 },
		{ "missing", { NAN, 1, INFINITY, 2, -INFINITY }, 5, 1.5, 0.70710678118654757, 0,
		    1e-15 },
		{ "constant", { 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1 }, 10, 0.1, 0, 0,
		    0 },
		{ "huge", { 1e308, 1e308, -1e308 }, 3, 3.333333333333333e307,
		    1.1547005383792515e308, 1e-15, 1e-15 },
		{ "largest", { 1.7976931348623157e308, -1.7976931348623157e308 }, 2, 0, INFINITY, 0,
		    0 },
		{ "huge later", { 1, 2, 3e200, -3e200 }, 4, 0.75, 2.4494897427831781e200, 1e200,
		    1e-15 },
		{ "tiny", { 1e-320, 2e-320, 3e-320 }, 3, 2e-320, 1e-320, 3e-4, 2e-3 },
		{ "tiny first", { 1e-200, -1e-200, 1, 3 }, 4, 1, 1.4142135623730951, 1e-15, 1e-15 },
		{ "zero and tiny", { 0, 0, 4e-200 }, 3, 4e-200 / 3, 2.3094010767585029e-200, 1e-15,
		    1e-15 },
		{ "mixed", { 1e16, 1, -1e16, 3 }, 4, 1, 8164965809277260., 1, 1e-15 } };
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nw_summary a = nw_summary_of(cases[i].v, cases[i].n),
				  b = streamed(cases[i].v, cases[i].n);
		int before = check_failed;

		CHECK_NEAR(a.mean, cases[i].mean, cases[i].mean_tol, 0);
		CHECK_NEAR(b.mean, cases[i].mean, cases[i].mean_tol, 0);
		if (isinf(cases[i].sd)) {
			CHECK(isinf(nw_summary_sd(&a)) && isinf(nw_summary_sd(&b)));
		} else {
			CHECK_NEAR(nw_summary_sd(&a), cases[i].sd, cases[i].sd_tol, 0);
			CHECK_NEAR(nw_summary_sd(&b), cases[i].sd, cases[i].sd_tol, 0);
		}
		CHECK(a.n == b.n && a.min == b.min && a.max == b.max);
		if (check_failed != before)
			fprintf(stderr, "  in \"%s\"\n", cases[i].name);
	}
}

static void
test_merge(void)
{
	enum { N = 3000 };
	struct nw_summary part[8] = { { 0 } }, all, forward = { 0 }, backward = { 0 },
			  empty = { 0 }, t;
	static double v[N];
	size_t i;

	for (i = 0; i < N; i++) {
		v[i] = 1e9 + 10 * noise_uniform() + (i > N / 2 ? 100 : 0);
		nw_summary_add(&part[i * i % 7], v[i]); /* uneven, and part 7 stays empty */
	}
	all = nw_summary_of(v, N);
	for (i = 0; i < 8; i++) {
		nw_summary_merge(&forward, &part[i]);
		nw_summary_merge(&backward, &part[7 - i]);
	}
	CHECK(
	    forward.n == N && backward.n == N && forward.min == all.min && backward.max == all.max);
	CHECK_NEAR(forward.mean, all.mean, 1e-15, 0);
	CHECK_NEAR(nw_summary_sd(&forward), nw_summary_sd(&all), 1e-8, 0);
	CHECK_NEAR(nw_summary_sd(&backward), nw_summary_sd(&all), 1e-8, 0);
	CHECK_NEAR(forward.sum, all.sum, 1e-13, 0);
	nw_summary_merge(&empty, &empty);
	CHECK(empty.n == 0 && nw_summary_sd(&empty) == 0);

	/* huge with ordinary with tiny */
	t = nw_summary_of((double[]){ 1e300, -1e300 }, 2);
	nw_summary_merge(&t, &all);
	CHECK_NEAR(nw_summary_sd(&t), 1e300 * sqrt(2.0 / (N + 1)), 1e-12, 0);
	t = nw_summary_of((double[]){ 1e-300, 3e-300 }, 2);
	nw_summary_merge(&t, &all);
	CHECK_NEAR(t.mean, all.mean * N / (N + 2), 1e-14, 0);
}

static void
test_scale(void)
{
	double v[200], w[200];
	struct nw_summary a, b;
	int exp;
	size_t i;

	for (i = 0; i < 200; i++)
		v[i] = noise_uniform() - 0.3;
	a = nw_summary_of(v, 200);
	for (exp = -900; exp <= 900; exp += 100) {
		for (i = 0; i < 200; i++)
			w[i] = ldexp(v[i], exp);
		b = nw_summary_of(w, 200);
		CHECK_NEAR(ldexp(nw_summary_sd(&b), -exp), nw_summary_sd(&a), 1e-13, 0);
		b = streamed(w, 200);
		CHECK_NEAR(ldexp(nw_summary_sd(&b), -exp), nw_summary_sd(&a), 1e-13, 0);
	}
}

int
main(int argc, char **argv)
{
	noise_seed(argc, argv, 20240607);
	test_nist();
	test_edges();
	test_merge();
	test_scale();
	return check_done("summary");
}
