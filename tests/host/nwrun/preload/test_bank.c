/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums by runs are those of all operations one by one, whatever the order of sizes. */
#include "host/nwrun/preload/bank.h"

#include <string.h>

#include "tests/check.h"

enum { OPS = 4000 };

static uint64_t bytes[OPS];
static int64_t ns[OPS];

/* Two passes, in long double. */
static struct nw_caliper_sum
sum_of(const long double *x, size_t n)
{
	long double sum = 0, m2 = 0, min = INFINITY, max = -INFINITY;
	size_t i;

	for (i = 0; i < n; i++) {
		sum += x[i];
		min = fminl(min, x[i]);
		max = fmaxl(max, x[i]);
	}
	for (i = 0; i < n; i++)
		m2 += (x[i] - sum / n) * (x[i] - sum / n);
	return (struct nw_caliper_sum){ (double)sum, (double)min, (double)max, (double)(sum / n),
		(double)m2 };
}

static bool
is_near(double got, double want)
{
	return fabs(got - want) <= 1e-9 * fabs(want) + 1e-12;
}

static void
check_sum(const struct nw_caliper_sum *got, const struct nw_caliper_sum *want)
{
	CHECK(is_near(got->sum, want->sum));
	CHECK(is_near(got->mean, want->mean));
	CHECK(is_near(got->min, want->min));
	CHECK(is_near(got->max, want->max));
	CHECK(fabs(got->m2 - want->m2) <= 1e-7 * want->m2 + 1e-9 * want->mean * want->mean);
}

static void
check_all(size_t n)
{
	static long double v[OPS], d[OPS], r[OPS], g[OPS];
	struct nwshm_bank b = { 0 };
	struct nw_caliper_sum want;
	size_t rated = 0, clamped = 0, i;

	for (i = 0; i < n; i++) {
		nwshm_bank_add(&b, bytes[i], ns[i]);
		v[i] = (long double)bytes[i];
		d[i] = ns[i] > 0 ? (long double)ns[i] : 1;
		clamped += ns[i] <= 0;
		if (ns[i] <= 0 || bytes[i] == 0)
			continue;
		r[rated] = v[i] / d[i];
		g[rated++] = d[i] / v[i];
	}
	nwshm_bank_fold(&b, true);
	CHECK_INT(b.n, n);
	CHECK_INT(b.n_rate, rated);
	CHECK_INT(b.clamped, clamped);
	want = sum_of(v, n);
	check_sum(&b.v, &want);
	want = sum_of(d, n);
	check_sum(&b.d, &want);
	want = sum_of(r, rated);
	check_sum(&b.r, &want);
	want = sum_of(g, rated);
	check_sum(&b.g, &want);
}

/* One size, sizes in runs, a size each; the first duration is far from the others. */
static void
test_sizes(void)
{
	static const unsigned run[] = { OPS, 37, 2, 1 };
	size_t k, i;

	for (k = 0; k < sizeof(run) / sizeof(run[0]); k++) {
		for (i = 0; i < OPS; i++) {
			bytes[i] = 4096 + i / run[k] * 11 % 9000;
			ns[i] = 500 + (int64_t)(i * 7919 % 1013);
		}
		ns[0] = 20000000;
		check_all(OPS);
		check_all(1);
	}
}

/* Without bytes there is no rate, without a duration neither; both count. */
static void
test_without(void)
{
	size_t i;

	for (i = 0; i < OPS; i++) {
		bytes[i] = i % 5 == 0 ? 0 : 4096;
		ns[i] = i % 7 == 3 ? 0 : 300 + (int64_t)(i % 11);
	}
	check_all(OPS);
}

int
main(void)
{
	test_sizes();
	test_without();
	return check_done("bank");
}
