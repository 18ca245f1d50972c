/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/probe/probe.h"

#include "tests/check.h"
#include "narrows/err.h"

static int
parse(const char *text, double *some, double *full)
{
	return pressure_parse(scan_text(text, strlen(text)), some, full);
}

int
main(void)
{
	double some, full;

	CHECK_INT(parse("some avg10=0.00 avg60=0.12 avg300=0.00 total=123456\n"
			"full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
		      &some, &full),
	    NW_OK);
	CHECK_NEAR(some, 123456, 0, 0);
	CHECK_NEAR(full, 7, 0, 0);
	CHECK_INT(parse("some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n", &some, &full), NW_OK);
	CHECK_NEAR(some, 5, 0, 0);
	CHECK(isnan(full));
	CHECK_INT(parse("", &some, &full), NW_EPROTO);
	CHECK_INT(parse("some total=\n", &some, &full), NW_EPROTO);
	return check_done("probe_pressure");
}
