/* SPDX-License-Identifier: BSD-3-Clause */
/* chronyc's line: signs, the bound, and the states in which there is none. */
#include "host/blipp/probe.h"

#include "tests/check.h"
#include "narrows/err.h"

#define TAIL ",-0.000000210,0.000012000,-12.345,0.001,0.123,0.001500000,0.000250000,64.2,"

static int
parse(const char *text, struct clock_tracking *t)
{
	return clock_parse(scan_text(text, strlen(text)), t);
}

int
main(void)
{
	struct clock_tracking t;
	char cut[256];
	const char good[] =
	    "C0A80101,192.168.1.1,3,1700000000.123456789,0.000012345" TAIL "Normal\n";
	size_t i, commas = 0;

	CHECK_INT(parse(good, &t), NW_OK);
	/* chronyd says slow: this clock is behind */
	CHECK_NEAR(t.offset_s, -0.000012345, 1e-12, 0);
	CHECK_NEAR(t.frequency_ppm, -12.345, 1e-12, 0);
	CHECK_NEAR(t.skew_ppm, 0.123, 1e-12, 0);
	CHECK_NEAR(t.root_delay_s, 0.0015, 1e-12, 0);
	CHECK_NEAR(t.root_dispersion_s, 0.00025, 1e-12, 0);
	CHECK_INT(t.stratum, 3);
	CHECK_INT(t.leap, 0);
	CHECK(!t.local_reference);
	CHECK_NEAR(clock_bound_s(&t), 0.000012345 + 0.00025 + 0.00075, 1e-12, 0);

	CHECK_INT(
	    parse("C0A80101,192.168.1.1,3,1700000000.1,0.5" TAIL "Insert second\n", &t), NW_OK);
	CHECK_INT(t.leap, 1);
	CHECK_INT(parse("00000000,,0,0.0,0.0" TAIL "Not synchronised\n", &t), NW_OK);
	CHECK_INT(t.leap, 3);
	CHECK(isnan(clock_bound_s(&t)));
	CHECK_INT(parse("7F7F0101,,8,1795166032.5,0.0" TAIL "Normal\n", &t), NW_OK);
	CHECK(t.local_reference);
	CHECK(isnan(clock_bound_s(&t)));

	CHECK_INT(parse("506 Cannot talk to daemon\n", &t), NW_EPROTO);
	CHECK_INT(parse("", &t), NW_EPROTO);
	CHECK_INT(parse("C0A80101,192.168.1.1,99,1700000000.1,0.5" TAIL "Normal\n", &t), NW_EPROTO);
	CHECK_INT(parse("C0A80101,192.168.1.1,3,1700000000.1,nan" TAIL "Normal\n", &t), NW_EPROTO);
	CHECK_INT(parse("C0A80101,192.168.1.1,3,1700000000.1,0.5x" TAIL "Normal\n", &t), NW_EPROTO);
	for (i = 0; good[i] != '\0' && commas < 13; i++) { /* cut before the last field, anywhere */
		memcpy(cut, good, i);
		cut[i] = '\0';
		CHECK_INT(parse(cut, &t), NW_EPROTO);
		commas += good[i] == ',';
	}
	return check_done("probe_clock");
}
