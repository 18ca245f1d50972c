/* SPDX-License-Identifier: BSD-3-Clause */
/* The budget of waiting times, and their documents. */
#include "host/magnet/budget.h"

#include <math.h>
#include <string.h>

#include "host/magnet/wait_doc.h"
#include "tests/check.h"

/* The load is not known at first, so that a busy link costs little from the beginning; a quiet one
 * is watched whole after one interval. A cost of twice the budget is met by half of the slots, and
 * as many slots come back as there is room for. */
static void
test_sampling(void)
{
	struct wait_budget b;

	wait_budget_init(&b, 0.02);
	CHECK_INT(b.slots, BUDGET_SLOTS_START);
	CHECK(!wait_budget_step(&b, 0.17 / BUDGET_SLOTS_START * 0.9) && b.slots == 8 && b.kept);
	CHECK(wait_budget_step(&b, 0.0005) && b.slots == 1 && b.kept);
	CHECK(!wait_budget_step(&b, 0.015) && b.slots == 1 && b.kept);
	CHECK(wait_budget_step(&b, 0.039) && b.slots == 2 && !b.kept);
	CHECK(!wait_budget_step(&b, 0.019) && b.slots == 2 && b.kept);
	CHECK(wait_budget_step(&b, 0.30) && b.slots == 32);
	CHECK(wait_budget_step(&b, 0.005) && b.slots == 16);
	CHECK(wait_budget_step(&b, 0.0025) && b.slots == 4);
}

/* Where sampling does not help, whole intervals are left out, so that the mean keeps the budget. */
static void
test_pause(void)
{
	struct wait_budget b;
	unsigned paused;

	wait_budget_init(&b, 0.02);
	CHECK(wait_budget_step(&b, 50) && b.slots == BUDGET_SLOTS_MAX && b.pause == 0);
	CHECK(wait_budget_step(&b, 0.2) && b.pause == 9);
	for (paused = 0; b.pause > 0; paused++)
		(void)wait_budget_step(&b, 0);
	CHECK_INT(paused, 9);
	CHECK_INT(b.slots, BUDGET_SLOTS_MAX);
	CHECK(wait_budget_step(&b, 1e9) && b.pause == BUDGET_PAUSE_MAX);
}

static void
stat_put(struct magnet_stat *s, uint64_t v)
{
	s->min = s->n == 0 || v < s->min ? v : s->min;
	s->max = v > s->max ? v : s->max;
	s->n++;
	s->sum += v;
	s->squares_lo += v * v;
	s->hist[magnet_bucket(v)]++;
}

static void
test_document(void)
{
	static struct magnet_stat s;
	static uint8_t hist[NW_HIST_ENCODED_MAX_BYTES];
	static uint64_t counts[NW_HIST_BUCKETS];
	double v[WAIT_DOC_FIELDS], lo, hi;
	size_t len, i, n = 0;

	memset(&s, 0, sizeof(s));
	CHECK(wait_doc_fill(&s, 1, 1, v, hist) == 0 && isnan(v[3]) && v[5] == 0);
	for (i = 0; i < 100; i++)
		stat_put(&s, 1000 + 10 * i);
	len = wait_doc_fill(&s, 1.5, 4, v, hist);
	CHECK(fabs(v[0] - 149.5e-6) < 1e-12 && fabs(v[1] - 1e-6) < 1e-15);
	CHECK(fabs(v[2] - 1.99e-6) < 1e-15);
	CHECK(fabs(v[3] - 1495e-9) < 1e-15 && fabs(v[4] - 290.1149e-9) < 1e-12);
	CHECK(v[5] == 100 && v[6] == 1.5 && v[7] == 4);
	CHECK_INT(nw_hist_decode_add(hist, len, counts), NW_OK);
	for (i = 0; i < NW_HIST_BUCKETS; i++) {
		if (counts[i] == 0)
			continue;
		n += counts[i];
		nw_hist_bounds((uint32_t)i, &lo, &hi);
		CHECK(lo >= 960 && hi <= 2048);
	}
	CHECK_INT(n, 100);
}

/* Each bucket's middle lies in the bucket. */
static void
test_buckets(void)
{
	uint32_t b;

	for (b = 0; b < MAGNET_STAT_BUCKETS; b++)
		CHECK_INT(magnet_bucket((uint64_t)wait_bucket_middle(b)), b);
}

int
main(void)
{
	test_sampling();
	test_pause();
	test_document();
	test_buckets();
	return check_done("test_budget");
}
