/* SPDX-License-Identifier: BSD-3-Clause */
/* chronyd's answer: signs, numbers, the bound, the states in which there is none, and answers that
 * are none. */
#include "host/blipp/probe/probe.h"

#include <math.h>

#include "narrows/err.h"
#include "tests/check.h"

enum { ANSWER_BYTES = 104, SEQUENCE = 0x01020304 };

/* An answer as chrony 4.3 gives it: 192.168.1.1, stratum 3, 8 us slow, 6.25 ppm slow. */
static const uint8_t good[ANSWER_BYTES] = { 6, 2, 0, 0, 0, 33, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2,
	3, 4, 0, 0, 0, 0, 0, 0, 0, 0,
	/* reference, its address and family */
	0xc0, 0xa8, 1, 1, 0xc0, 0xa8, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0,
	/* stratum, leap, time of reference */
	0, 3, 0, 0, 0, 0, 0, 0, 0x65, 0x53, 0xf1, 0, 0, 0, 0, 0,
	/* offset 2^-17, last, RMS, frequency -6.25, residual, skew 2^-4, delay 2^-11,
	 * dispersion 2^-13, interval 64 */
	0xe2, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x09, 0x38, 0, 0, 0, 0, 0, 0, 0xfc, 0x80, 0, 0,
	0xee, 0x80, 0, 0, 0xea, 0x80, 0, 0, 0x0e, 0x80, 0, 0 };

static int
parse_with(size_t at, uint8_t byte, struct clock_tracking *t)
{
	uint8_t answer[ANSWER_BYTES];

	memcpy(answer, good, sizeof(good));
	answer[at] = byte;
	return clock_parse(answer, sizeof(answer), SEQUENCE, t);
}

static void
test_good(void)
{
	struct clock_tracking t;

	CHECK_INT(clock_parse(good, sizeof(good), SEQUENCE, &t), NW_OK);
	/* chronyd says slow: this clock is behind */
	CHECK_NEAR(t.offset_s, -ldexp(1, -17), 1e-12, 0);
	CHECK_NEAR(t.frequency_ppm, -6.25, 1e-12, 0);
	CHECK_NEAR(t.skew_ppm, 0.0625, 1e-12, 0);
	CHECK_NEAR(t.root_delay_s, ldexp(1, -11), 1e-12, 0);
	CHECK_NEAR(t.root_dispersion_s, ldexp(1, -13), 1e-12, 0);
	CHECK(t.stratum == 3 && t.leap == 0 && !t.local_reference);
	CHECK_NEAR(clock_bound_s(&t), ldexp(1, -17) + ldexp(1, -13) + ldexp(1, -12), 1e-12, 0);
}

static void
test_states(void)
{
	struct clock_tracking t;
	uint8_t local[ANSWER_BYTES];

	CHECK_INT(parse_with(28 + 27, 1, &t), NW_OK);
	CHECK_INT(t.leap, 1);
	CHECK_INT(parse_with(28 + 27, 3, &t), NW_OK);
	CHECK_INT(t.leap, 3);
	CHECK(isnan(clock_bound_s(&t)));
	CHECK_INT(parse_with(28 + 26, 1, &t), NW_OK); /* a state of the future */
	CHECK_INT(t.leap, 3);
	memcpy(local, good, sizeof(good));
	memcpy(local + 28, (const uint8_t[]){ 0x7f, 0x7f, 1, 1 }, 4);
	CHECK_INT(clock_parse(local, sizeof(local), SEQUENCE, &t), NW_OK);
	CHECK(t.local_reference && isnan(clock_bound_s(&t)));
}

static void
test_bad(void)
{
	static const struct {
		size_t at;
		uint8_t byte;
	} bad[] = { { 0, 5 }, { 1, 1 }, { 5, 34 }, { 7, 6 }, { 9, 2 }, { 19, 5 }, { 28 + 25, 17 } };
	struct clock_tracking t;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(parse_with(bad[i].at, bad[i].byte, &t), NW_EPROTO);
	for (i = 0; i < sizeof(good); i++)
		CHECK_INT(clock_parse(good, i, SEQUENCE, &t), NW_EPROTO);
}

static void
test_request(void)
{
	static const uint8_t head[] = { 6, 1, 0, 0, 0, 33, 0, 0, 1, 2, 3, 4 };
	uint8_t request[CLOCK_REQUEST_BYTES];
	size_t i;

	clock_request(request, SEQUENCE);
	CHECK(memcmp(request, head, sizeof(head)) == 0);
	for (i = sizeof(head); i < sizeof(request); i++)
		CHECK_INT(request[i], 0);
}

int
main(void)
{
	test_good();
	test_states();
	test_bad();
	test_request();
	return check_done("probe_clock");
}
