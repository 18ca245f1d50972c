/* SPDX-License-Identifier: BSD-3-Clause */
/* What the silence of a collector means, also right behind the start of the box. */
#include "narrows/web.h"

#include "tests/check.h"

#define MINUTE INT64_C(60000000000)
#define DAY    (1440 * MINUTE)
#define NOW    INT64_C(1780000000000000000)

int
main(void)
{
	static const struct {
		int64_t last_ago_ns, started_ago_ns;
		enum collector_state state;
	} cases[] = {
		{ MINUTE, DAY, COLLECTOR_SPEAKS },
		{ 5 * MINUTE, DAY, COLLECTOR_SPEAKS },
		{ -DAY, DAY, COLLECTOR_SPEAKS }, /* its clock is ahead */
		{ 6 * MINUTE, DAY, COLLECTOR_SILENT },
		{ 6 * MINUTE, NOW, COLLECTOR_SILENT }, /* nobody knows when the box started */
		{ 2 * DAY, MINUTE, COLLECTOR_AWAITED },
		{ 2 * DAY, 6 * MINUTE, COLLECTOR_SILENT },
		{ 31 * DAY, 6 * MINUTE, COLLECTOR_GONE },
		{ 31 * DAY, MINUTE, COLLECTOR_GONE },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_INT(
		    collector_state(NOW - cases[i].last_ago_ns, NOW - cases[i].started_ago_ns, NOW),
		    cases[i].state);
	return check_done("test_collectors");
}
