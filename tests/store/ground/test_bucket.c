/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of rows beside their definitions, one value after the other: zeros of both signs, NaN,
 * infinities, any number of rows. Where buckets end. */
#include "store/ground/bucket.h"

#include "narrows/err.h"
#include "narrows/splitmix.h"
#include "tests/check.h"

enum { ROWS_MAX = 70, ROUNDS = 20000 };
#define STEP_NS INT64_C(1000)

static uint64_t rng = 1;

/* Kinds of columns: all equal, zeros of both signs, few numbers, with NaN, with infinities. */
static double
drawn(int kind)
{
	uint64_t r = nw_splitmix(&rng);

	switch (kind) {
	case 0: return 7;
	case 1: return r % 2 == 0 ? 0.0 : -0.0;
	case 2: return (double)(int64_t)(r % 5) - 2;
	case 3: return r % 8 == 0 ? -0.0 : (double)(r % 3);
	case 4: return r % 9 == 0 ? NAN : (double)(r >> 40) * 1e-3;
	case 5: return r % 9 == 0 ? INFINITY : r % 9 == 1 ? -INFINITY : (double)(r >> 50);
	default: return (double)(int64_t)r * 1e-9;
	}
}

static bool
same_bits(double a, double b)
{
	return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

static void
check_bucket(const double *v, size_t n, double *const *got)
{
	double count = 0, sum = 0, min = NAN, max = NAN, mean, m2 = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (isnan(v[i]))
			continue;
		count++;
		sum += v[i];
		min = isnan(min) || v[i] < min ? v[i] : min;
		max = isnan(max) || v[i] > max ? v[i] : max;
	}
	mean = sum / count;
	for (i = 0; i < n; i++)
		m2 += isnan(v[i]) ? 0 : (v[i] - mean) * (v[i] - mean);
	CHECK(got[STAT_N][0] == count);
	CHECK(same_bits(got[STAT_MIN][0], min));
	CHECK(same_bits(got[STAT_MAX][0], max));
	if (!isfinite(sum))
		return;
	/* sums of up to ROWS_MAX numbers below 1e10 */
	CHECK_NEAR(got[STAT_SUM][0], sum, 1e-12, 1e-3);
	CHECK_NEAR(got[STAT_M2][0], m2, 1e-9, 1e-6);
}

static int
by_time(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Ends and number of buckets beside the number of each row's: times around 0, of today, and at both
 * ends of what a time can be. */
static void
test_ends(void)
{
	static const int64_t around[] = { 0, INT64_C(1700000000000000000), INT64_MIN + 5000,
		INT64_MAX - 5000 };
	int64_t t[ROWS_MAX];
	size_t n, i, want, count;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		n = 1 + nw_splitmix(&rng) % ROWS_MAX;
		for (i = 0; i < n; i++)
			t[i] = around[round % 4] + ((int64_t)(nw_splitmix(&rng) % 10000) - 5000);
		qsort(t, n, sizeof(t[0]), by_time);
		for (i = 0, count = 0; i < n; i = want, count++) {
			for (want = i + 1; want < n; want++)
				if (bucket_number(t[want], STEP_NS) != bucket_number(t[i], STEP_NS))
					break;
			CHECK_INT(bucket_end(t, i, n, STEP_NS), want);
		}
		CHECK_INT(buckets_count(t, 0, n, STEP_NS), count);
	}
	CHECK_INT(buckets_count(t, 3, 3, STEP_NS), 0);
}

int
main(void)
{
	static double v[ROWS_MAX];
	static int64_t t[ROWS_MAX];
	const double *const column = v;
	struct bucketer f = { 0 };
	struct columns out = { 0 };
	size_t n, i;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		n = 1 + nw_splitmix(&rng) % ROWS_MAX;
		for (i = 0; i < n; i++) {
			t[i] = (int64_t)i;
			v[i] = drawn(round % 7);
		}
		CHECK_INT(columns_reset(&out, STATS, NULL, 0, n), NW_OK);
		bucketer_begin(&f, STEP_NS, &out, NULL, 1);
		CHECK_INT(bucketer_add(&f,
			      &(struct chunk_columns){ .n_rows = (uint32_t)n,
				  .n_columns = 1,
				  .t_wall_ns = t,
				  .value = &column },
			      0, n, false),
		    NW_OK);
		CHECK_INT(bucketer_end(&f), NW_OK);
		CHECK_INT(out.n_rows, 1);
		CHECK(out.t_wall_ns[0] == t[n - 1]);
		check_bucket(v, n, out.value);
	}
	bucketer_clear(&f);
	columns_clear(&out);
	test_ends();
	return check_done("test_bucket");
}
