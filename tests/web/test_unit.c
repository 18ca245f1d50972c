/* SPDX-License-Identifier: BSD-3-Clause */
/* Units are what the sender said, else what our own names say, else not known. */
#include "web/unit.h"

#include "tests/check.h"

int
main(void)
{
	static const char *const cal = "nl:tools:calipers:summary:read", *const nw = "nw:process",
				 *const other = "x:y";
	const struct {
		const char *type, *params, *field, *unit;
	} cases[] = {
		{ cal, NULL, "sum_v", "By" },
		{ cal, "{}", "max_r", "By/ns" },
		{ cal, "{}", "sd_g", "ns/By" },
		{ cal, "{}", "mean_d", "s" },
		{ cal, "{}", "count", "1" },
		{ cal, "{}", "busy_max", "s" },
		{ nw, "{}", "rtt_s", "s" },
		{ nw, "{}", "cwnd_bytes", "By" },
		{ nw, "{}", "cpu_user", "s" },
		{ nw, "{}", "delivery_rate", "By/s" },
		{ nw, "{}", "value", "" },
		{ nw, "{}", "queue_d", "" },
		{ nw, "{}", "a_very_long_name_r", "" },
		{ nw, "{}", "", "" },
		{ nw, "{}", "_", "" },
		{ other, "{}", "sum_v", "" },
		{ other, "{}", "rxpck_s", "" },
		{ other, "{\"unit\":\"K\"}", "sum_v", "K" },
		{ cal, "{\"unit\":\"K\"}", "sum_v", "K" },
		{ other, "{\"unit\":\"K\",\"unit_a\":\"W\"}", "a", "W" },
		{ cal, "{\"unit\":5}", "dur", "s" },
		{ cal, "[1", "dur", "s" },
	};
	char unit[32];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_STR(unit_of_field(
			      cases[i].type, cases[i].params, cases[i].field, unit, sizeof(unit)),
		    cases[i].unit);
	return check_done("test_unit");
}
