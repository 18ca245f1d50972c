/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/net/softnet_stat of a new and of an old kernel. */
#include "host/blipp/probe/probe.h"

#include "narrows/err.h"
#include "tests/check.h"

static const char two[] =
    "00000100 00000003 00000002 00000000 00000000 00000000 00000000 00000000 00000000 00000005 "
    "00000007 00000000 00000000\n"
    "00000300 00000001 0000000a 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
    "00000001 00000000 00000001\n";
static const char old[] = "000000ff 00000001 00000002 00000000\n";

int
main(void)
{
	double v[SOFTNET_FIELDS];

	CHECK_INT(softnet_parse(scan_text(two, sizeof(two) - 1), v), NW_OK);
	CHECK(v[0] == 0x400 && v[1] == 4 && v[2] == 12 && v[3] == 5 && v[4] == 8);
	CHECK(v[5] == 0.75);
	CHECK_INT(softnet_parse(scan_text(old, sizeof(old) - 1), v), NW_OK);
	CHECK(v[0] == 255 && v[1] == 1 && v[4] == 0 && v[5] == 1);
	CHECK_INT(softnet_parse(scan_text("", 0), v), NW_EPROTO);
	return check_done("probe_softnet");
}
