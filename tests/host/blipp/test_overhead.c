/* SPDX-License-Identifier: BSD-3-Clause */
/* The budget: a collector of known cost, played, is slowed until it fits, and not for ever. */
#include "host/blipp/overhead.h"

#include "tests/check.h"

#define SECOND_NS INT64_C(1000000000)

/* Plays seconds of a collector that costs `share` of a core at stretch 1; returns what it took in
 * the last ten seconds. */
static double
play(struct overhead *b, double share, int seconds, int64_t *now_mono_ns, double *cpu_s)
{
	double late = 0;
	int i;

	for (i = 0; i < 10 * seconds; i++) {
		*now_mono_ns += SECOND_NS / 10;
		*cpu_s += share / b->stretch / 10;
		late += i >= 10 * (seconds - 10) ? share / b->stretch / 10 : 0;
		overhead_step(b, *now_mono_ns, *cpu_s);
	}
	return late / 10;
}

int
main(void)
{
	static const double costs[] = { 0.001, 0.0099, 0.011, 0.05, 0.3, 1, 4 };
	int64_t now_mono_ns = 77;
	double cpu_s = 3, used;
	struct overhead b;
	size_t i;

	for (i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
		overhead_begin(&b, 0.01, now_mono_ns, cpu_s);
		used = play(&b, costs[i], 60, &now_mono_ns, &cpu_s);
		CHECK(used <= 0.01);
		CHECK(used > 0.0049 || b.stretch == 1);
		CHECK_INT(b.stretch > 1, costs[i] > 0.01);
		CHECK_INT(b.overruns > 0, costs[i] > 0.01);
		/* the load goes: all is as before, step by step */
		play(&b, 0.0001, 120, &now_mono_ns, &cpu_s);
		CHECK_INT(b.stretch, 1);
	}
	/* near the budget nothing swings */
	overhead_begin(&b, 0.01, now_mono_ns, cpu_s);
	play(&b, 0.015, 30, &now_mono_ns, &cpu_s);
	CHECK_INT(b.stretch, 2);
	play(&b, 0.009, 60, &now_mono_ns, &cpu_s);
	CHECK_INT(b.stretch, 2);
	/* no budget */
	overhead_begin(&b, 0, now_mono_ns, cpu_s);
	play(&b, 2, 30, &now_mono_ns, &cpu_s);
	CHECK_INT(b.stretch, 1);
	return check_done("test_overhead");
}
