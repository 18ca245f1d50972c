/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a host's clock is corrected, and by which bound orders are judged. */
#include "web/lifelines/hostclocks.h"

#include "tests/check.h"

int
main(void)
{
	static const struct {
		const char *what;
		double offset_s, bound_s;
		bool raw;
		double want_bound_s, judged_s;
		int64_t lead_ns;
	} cases[] = {
		{ "not known", NAN, NAN, false, NAN, NAN, 0 },
		{ "within its bound", 0.001, 0.002, false, 0.003, 0.003, 0 },
		{ "behind, within its bound", -0.002, 0.002, false, 0.004, 0.004, 0 },
		{ "ahead", 0.5, 0.002, false, 0.002, 0.002, 500000000 },
		{ "behind", -0.5, 0.002, false, 0.002, 0.002, -500000000 },
		{ "ahead, raw", 0.5, 0.002, true, 0.502, 0.002, 0 },
		{ "within its bound, raw", 0.001, 0.002, true, 0.003, 0.003, 0 },
		{ "absurd", 5e9, 0.002, false, 5e9, 5e9, 0 },
	};
	struct lineset_clock c;
	double judged;
	size_t i;
	int failed;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		failed = check_failed;
		c = (struct lineset_clock){ .offset_s = cases[i].offset_s,
			.bound_s = cases[i].bound_s };
		judged = hostclock_settle(&c, cases[i].raw);
		CHECK_INT(c.lead_ns, cases[i].lead_ns);
		if (isnan(cases[i].judged_s)) {
			CHECK(isnan(judged) && isnan(c.bound_s));
		} else {
			CHECK_NEAR(judged, cases[i].judged_s, 1e-9, 0);
			CHECK_NEAR(c.bound_s, cases[i].want_bound_s, 1e-9, 0);
		}
		if (check_failed > failed)
			fprintf(stderr, "above: %s\n", cases[i].what);
	}
	return check_done("test_hostclocks");
}
