/* SPDX-License-Identifier: BSD-3-Clause */
/* Calipers against two-pass sums in long double, over windows, clamps and operations that cross a
 * window's end. */
#include "narrows/caliper.h"

#include "tests/check.h"
#include "narrows/err.h"
#include "narrows/hist.h"

enum { N_MAX = 20000 };

struct op {
	int64_t bytes, ns;
};

static uint64_t random_state = 88172645463325252ull;

static uint64_t
random64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

/* What the window must say of x[0..n). */
static void
check_sum(const struct nw_caliper_sum *got, const double *x, uint64_t n, double rel_m2)
{
	long double sum = 0, m2 = 0, mean;
	double min = INFINITY, max = -INFINITY;
	uint64_t i;

	for (i = 0; i < n; i++) {
		sum += x[i];
		min = x[i] < min ? x[i] : min;
		max = x[i] > max ? x[i] : max;
	}
	mean = sum / n;
	for (i = 0; i < n; i++)
		m2 += (x[i] - mean) * (x[i] - mean);
	CHECK_NEAR(got->sum, (double)sum, 1e-12, 0);
	CHECK_NEAR(got->min, min, 0, 0);
	CHECK_NEAR(got->max, max, 0, 0);
	CHECK_NEAR(got->mean, (double)mean, 1e-12, 0);
	CHECK_NEAR(got->m2, (double)m2, rel_m2, 0);
}

static void
check_window(struct nw_caliper *c, const struct op *ops, uint64_t n, double rel_m2)
{
	static double v[N_MAX], d[N_MAX], r[N_MAX], g[N_MAX];
	static uint64_t hist[NW_HIST_BUCKETS];
	struct nw_caliper_window w;
	uint64_t i, n_rate = 0, sum_ns = 0;
	int64_t now = 1000000000, start;

	nw_caliper_take(c, now, &w);
	start = now;
	memset(hist, 0, sizeof(hist));
	for (i = 0; i < n; i++) {
		int64_t ns = ops[i].ns > 0 ? ops[i].ns : 1;

		now += 10;
		nw_caliper_begin(c, now);
		now += ops[i].ns;
		nw_caliper_end(c, ops[i].bytes, now);
		v[i] = ops[i].bytes > 0 ? (double)ops[i].bytes : 0;
		d[i] = (double)ns;
		sum_ns += (uint64_t)ops[i].ns;
		hist[nw_hist_index((uint64_t)ns)]++;
		if (ops[i].bytes > 0) {
			r[n_rate] = v[i] / d[i];
			g[n_rate++] = d[i] / v[i];
		}
	}
	now += 5;
	nw_caliper_take(c, now, &w);
	CHECK_INT(w.n, n);
	CHECK_INT(w.n_rate, n_rate);
	check_sum(&w.v, v, n, 1e-12);
	check_sum(&w.d, d, n, 1e-12);
	check_sum(&w.r, r, n_rate, rel_m2);
	check_sum(&w.g, g, n_rate, rel_m2);
	CHECK_INT(w.first_begin_mono_ns, start + 10);
	CHECK_INT(w.last_end_mono_ns, now - 5);
	CHECK_INT(w.window_ns, now - start);
	CHECK_INT(w.busy_ns, sum_ns);
	CHECK_INT(w.busy_max_ns, sum_ns);
	CHECK_INT(w.threads, 1);
	CHECK(memcmp(w.hist, hist, sizeof(hist)) == 0);
}

static void
test_sums(struct nw_caliper *c)
{
	static struct op ops[N_MAX];
	int i;

	for (i = 0; i < 63; i++)
		ops[i] = (struct op){ 65536, 1000 + i };
	check_window(c, ops, 63, 1e-9); /* less than one batch */
	for (i = 0; i < N_MAX; i++)
		ops[i] = (struct op){ (int64_t)(random64() % 1000000) - 1000,
			(int64_t)(random64() % 100000) };
	check_window(c, ops, N_MAX, 1e-9);
	check_window(c, ops + 7, 64, 1e-9);
	for (i = 0; i < N_MAX; i++) /* nearly constant: where naive sums of squares fail */
		ops[i] = (struct op){ INT64_C(1) << 40, 1000000000 + (int64_t)(random64() % 3) };
	/* the rates themselves have rounding errors of that size */
	check_window(c, ops, N_MAX, 1e-4);
	ops[0] = (struct op){ 1, 1000000000 }; /* the first rate is far off */
	for (i = 1; i < N_MAX; i++)
		ops[i] = (struct op){ 1000000, (int64_t)(1000 + random64() % 10) };
	check_window(c, ops, N_MAX, 1e-9);
}

static void
test_constant(struct nw_caliper *c)
{
	struct nw_caliper_window w;
	int i;

	nw_caliper_take(c, 1000, &w);
	for (i = 0; i < 1000; i++) {
		nw_caliper_begin(c, 1000 + i * 100);
		nw_caliper_end(c, 3, 1007 + i * 100);
	}
	nw_caliper_take(c, 101000, &w);
	CHECK(w.v.m2 == 0 && w.d.m2 == 0 && w.r.m2 == 0 && w.g.m2 == 0);
	CHECK_NEAR(w.r.mean, 3.0 / 7, 0, 0);
	CHECK_INT(w.busy_ns, 7000);
}

static void
test_empty(struct nw_caliper *c)
{
	struct nw_caliper_window w;

	nw_caliper_take(c, 5000, &w);
	nw_caliper_end(c, 100, 5500); /* without begin: nothing */
	nw_caliper_take(c, 6000, &w);
	CHECK_INT(w.n, 0);
	CHECK_INT(w.n_rate, 0);
	CHECK_INT(w.window_ns, 1000);
	CHECK_INT(w.busy_ns, 0);
	CHECK(isnan(w.v.min) && isnan(w.r.mean) && w.d.sum == 0);
	CHECK_INT(w.first_begin_mono_ns, 0);
}

/* One operation from 1,500 to 4,200 over windows 1,000..2,000..3,000..5,000. */
static void
test_across(struct nw_caliper *c)
{
	struct nw_caliper_window w;

	nw_caliper_take(c, 1000, &w);
	nw_caliper_begin(c, 1500);
	nw_caliper_take(c, 2000, &w);
	CHECK_INT(w.n, 0);
	CHECK_INT(w.busy_ns, 500);
	nw_caliper_take(c, 3000, &w);
	CHECK_INT(w.busy_ns, 1000);
	nw_caliper_end(c, 10, 4200);
	nw_caliper_begin(c, 4900);
	nw_caliper_take(c, 5000, &w);
	CHECK_INT(w.n, 1);
	CHECK_NEAR(w.d.sum, 2700, 0, 0);
	CHECK_INT(w.busy_ns, 1200 + 100);
	nw_caliper_begin(c, 5500); /* abandons the open one */
	nw_caliper_end(c, 10, 5600);
	nw_caliper_take(c, 6000, &w);
	CHECK(w.busy_ns >= 0 && w.busy_ns <= 1000);
	CHECK_INT(w.n, 1);
}

static void
test_clamps(struct nw_caliper *c)
{
	struct nw_caliper_window w, next;

	nw_caliper_take(c, 1000, &w);
	nw_caliper_begin(c, 2000);
	nw_caliper_end(c, 5, 2000);
	nw_caliper_begin(c, 2000);
	nw_caliper_end(c, 5, 1900); /* a caller with a clock of its own */
	nw_caliper_begin(c, 2000);
	nw_caliper_end(c, -1, 2100); /* a failed read */
	nw_caliper_take(c, 3000, &w);
	CHECK_INT(w.n, 3);
	CHECK_INT(w.clamped, 2);
	CHECK_INT(w.n_rate, 2);
	CHECK_NEAR(w.d.min, 1, 0, 0);
	CHECK_NEAR(w.v.min, 0, 0, 0);
	CHECK_INT(w.busy_ns, 100);
	CHECK_INT(w.hist[1], 2);
	nw_caliper_begin(c, 3000);
	nw_caliper_end(c, INT64_MAX, 3000 + (INT64_C(1) << 45));
	CHECK_INT(w.hist[1], 2); /* on loan until the next take */
	nw_caliper_take(c, 3000 + (INT64_C(1) << 45), &next);
	CHECK_INT(next.hist[NW_HIST_BUCKETS - 1], 1);
	CHECK_NEAR(next.v.max, 0x1p63, 1e-15, 0);
	CHECK(next.v.m2 == 0);
}

/* 2^50 squared a million times does not fit into 128 bits times n: the long double way. */
static void
test_overflow(struct nw_caliper *c)
{
	struct nw_caliper_window w;
	int i;

	nw_caliper_take(c, 1000, &w);
	for (i = 0; i < 10000; i++) {
		nw_caliper_begin(c, 2000 + i);
		nw_caliper_end(c, i % 2 ? INT64_C(1) << 60 : 1, 2001 + i);
		if (i % 10 == 9) {
			nw_caliper_take(c, 3000 + i, &w);
			CHECK_NEAR(w.v.m2, 10 * 0x1p118, 1e-12, 0);
		}
	}
	for (i = 0; i < 1000; i++) {
		nw_caliper_begin(c, 20000 + i);
		nw_caliper_end(c, i % 2 ? INT64_C(1) << 53 : 1, 20001 + i);
	}
	nw_caliper_take(c, 30000, &w);
	CHECK_NEAR(w.v.m2, 1000 * 0x1p104, 1e-12, 0);
}

int
main(void)
{
	struct nw_caliper *c;

	CHECK_INT(nw_caliper_new(&c), NW_OK);
	test_sums(c);
	test_constant(c);
	test_empty(c);
	test_across(c);
	test_clamps(c);
	test_overflow(c);
	nw_caliper_free(c);
	nw_caliper_free(NULL);
	return check_done("caliper");
}
