/* SPDX-License-Identifier: BSD-3-Clause */
/* The cycle counter against the clock it stands for, and the end of the trust. */
#include "narrows/cycles.h"

#include <stdlib.h>
#include <time.h>

#include "tests/check.h"

static void
sleep_ms(long ms)
{
	const struct timespec ts = { .tv_nsec = ms * 1000000 };

	nanosleep(&ts, NULL);
}

/* Between two readings of the clock, but for the error of the calibration. */
static void
check_agrees(const struct nw_cycles *c)
{
	enum { TRIES = 1000, SLACK_NS = 2000 };
	int64_t before, at, after;
	int i, good = 0;

	for (i = 0; i < TRIES; i++) {
		before = nw_mono_ns();
		at = nw_cycles_ns(c);
		after = nw_mono_ns();
		good += at >= before - SLACK_NS && at <= after + SLACK_NS;
	}
	CHECK(good > TRIES - 5);
}

/* Numbers of a millisecond err by some 20 ppm: far below what is allowed here. */
static void
check_soon(void)
{
	enum { SLACK_NS = 200000 };
	struct nw_cycles c = { 0 };
	int64_t before, at;

	nw_cycles_calibrate_soon(&c); /* without a first reading: nothing */
	CHECK_INT(c.seq, 0);
	nw_cycles_calibrate(&c, nw_mono_ns());
	nw_cycles_calibrate_soon(&c);
	CHECK(c.seq == 2 && !c.given_up);
	before = nw_mono_ns();
	at = nw_cycles_ns(&c);
	CHECK(at >= before - SLACK_NS && at <= nw_mono_ns() + SLACK_NS);
}

int
main(void)
{
	struct nw_cycles c = { 0 };

	check_agrees(&c); /* not calibrated: the clock itself */
	nw_cycles_calibrate(&c, nw_mono_ns());
	CHECK_INT(c.seq, 0);
	if (c.given_up) {
		puts("the kernel does not keep time by the cycle counter here");
		return check_done("cycles");
	}
	check_soon();
	sleep_ms(25);
	nw_cycles_calibrate(&c, nw_mono_ns());
	CHECK(c.seq == 2 && !c.given_up);
	check_agrees(&c);
	nw_cycles_calibrate(&c, nw_mono_ns()); /* too early: nothing changes */
	CHECK_INT(c.seq, 2);
	sleep_ms(100);
	check_agrees(&c);
	nw_cycles_calibrate(&c, c.next_mono_ns);
	CHECK(c.seq == 4 && !c.given_up);
	check_agrees(&c);
	c.base_mono_ns -= 10000000; /* as if the counter had jumped by 10 ms */
	sleep_ms(20);
	nw_cycles_calibrate(&c, c.next_mono_ns);
	CHECK(c.seq == 0 && c.given_up);
	check_agrees(&c); /* fallen back */
	return check_done("cycles");
}
