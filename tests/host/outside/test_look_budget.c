/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks at all connections keep their share of a processor, and rest while the host rests. */
#include "host/outside/look_budget.h"

#include "tests/check.h"

#define MS INT64_C(1000000)

/* Looks offered every 100 ms for a minute, on a host of so many bytes/s, where each costs cost_ns.
 * Returns the number of looks. */
static unsigned
minute(double share, uint64_t bytes_per_s, int64_t cost_ns)
{
	struct look_budget b = { .share = share, .bytes_per_s = 1 << 20, .bytes = 8 << 20 };
	int64_t now;
	unsigned n = 0;

	for (now = 100 * MS; now <= 60000 * MS; now += 100 * MS) {
		uint64_t moved = 1 + bytes_per_s / 10 * (uint64_t)(now / (100 * MS));

		if (!look_budget_is_due(&b, now, moved))
			continue;
		look_budget_spend(&b, now, moved, cost_ns);
		n++;
	}
	return n;
}

static void
test_share(void)
{
	CHECK(minute(0.005, 100 << 20, 200000) == 600);   /* 0.2 ms: each look is within 0.5 % */
	CHECK(minute(0.005, 100 << 20, 20 * MS) == 15);   /* 20 ms: one in 4 s */
	CHECK(minute(0.1, 100 << 20, 20 * MS) == 300);    /* a larger budget */
	CHECK(minute(0.005, 100 << 20, 60000 * MS) == 1); /* never twice */
}

static void
test_rest(void)
{
	CHECK(minute(0.005, 1000, 200000) == 1);             /* next to nothing moves */
	CHECK(minute(0.005, 500 << 10, 200000) == 4);        /* half the rate: 8 MiB in 16.8 s */
	CHECK(minute(0.005, (1 << 20) + 10, 200000) == 600); /* the rate itself */
	CHECK(minute(0.005, 2 << 20, 200000) == 600);
}

static void
test_unknown(void)
{
	struct look_budget b = { .share = 0.5, .bytes_per_s = 1 << 20, .bytes = 8 << 20 };

	CHECK(look_budget_is_due(&b, 5, 0)); /* the first */
	look_budget_spend(&b, 1000 * MS, 0, MS);
	CHECK(!look_budget_is_due(&b, 1001 * MS, 0));
	CHECK(look_budget_is_due(&b, 1002 * MS, 0)); /* a kernel that does not count */
}

int
main(void)
{
	test_share();
	test_rest();
	test_unknown();
	return check_done("test_look_budget");
}
