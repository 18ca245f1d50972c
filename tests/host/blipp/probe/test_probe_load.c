/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/blipp/probe/probe.h"

#include "tests/check.h"
#include "narrows/err.h"

static const char *const bad[] = { "", "1.00 2.00", "1 2 3 4/5", "1.0 2.00 3.00 1/2",
	"1.00 2.00 3.00 7", "a.00 2.00 3.00 1/2" };

int
main(void)
{
	static const char good[] = "0.20 10.18 123.05 2/180 11206\n";
	struct load_info l;
	size_t i;

	CHECK_INT(load_parse(scan_text(good, sizeof(good) - 1), &l), NW_OK);
	CHECK_NEAR(l.averages[0], 0.2, 1e-15, 0);
	CHECK_NEAR(l.averages[1], 10.18, 1e-15, 0);
	CHECK_NEAR(l.averages[2], 123.05, 1e-15, 0);
	CHECK_INT(l.runnable, 2);
	CHECK_INT(l.tasks, 180);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(load_parse(scan_text(bad[i], strlen(bad[i])), &l), NW_EPROTO);
	return check_done("probe_load");
}
