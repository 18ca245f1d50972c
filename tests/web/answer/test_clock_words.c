/* SPDX-License-Identifier: BSD-3-Clause */
/* The words for a host's clock tell its bound, or that there is none. */
#include "web/answer/clock_words.h"

#include "tests/check.h"

int
main(void)
{
	static const struct {
		const char *clock, *bound, *offset;
	} cases[] = {
		{ "null", "clock not reported, no bound known", "" },
		{ "{\"known\": false, \"bound_s\": 1}", "clock not reported, no bound known", "" },
		{ "{\"known\": true, \"synchronised\": true, \"bound_s\": 0.0004, "
		  "\"offset_s\": -8e-5}",
		    "clock right within 400\xc2\xa0\xc2\xb5s", "(offset -80\xc2\xa0\xc2\xb5s)" },
		{ "{\"known\": true, \"synchronised\": true, \"bound_s\": 0.0004, "
		  "\"bound_lowest_s\": 0.0002, \"bound_highest_s\": 0.002}",
		    "clock right within 400\xc2\xa0\xc2\xb5s at the end, 200\xc2\xa0\xc2\xb5s to "
		    "2\xc2\xa0ms during the session",
		    "" },
		{ "{\"known\": true, \"synchronised\": true, \"bound_s\": 0.0004, "
		  "\"bound_lowest_s\": 0.00039, \"bound_highest_s\": 0.0004}",
		    "clock right within 400\xc2\xa0\xc2\xb5s", "" },
		{ "{\"known\": true, \"synchronised\": false, \"bound_s\": 2, \"offset_s\": null}",
		    "clock not synchronised, right within 2\xc2\xa0s", "" },
		{ "{\"known\": true, \"synchronised\": false, \"bound_s\": null}",
		    "clock not synchronised, no bound known", "" },
		{ "{\"known\": true, \"synchronised\": true, \"bound_s\": null}",
		    "clock synchronised, no bound known", "" },
	};
	struct clock_words w;
	json_t *clock;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		clock = json_loads(cases[i].clock, JSON_DECODE_ANY, NULL);
		w = clock_words(clock);
		CHECK_STR(w.bound, cases[i].bound);
		CHECK_STR(w.offset, cases[i].offset);
		json_decref(clock);
	}
	return check_done("clock_words");
}
